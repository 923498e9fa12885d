//! [`CounterSet`]: many counters in one allocation, by index.

use super::CounterRef;
use crate::error::AllocError;
use crate::percpu::{Area, PerCpuSlice};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

type Piece = PerCpuSlice<u64>;

/// As many [`PerCpuCounter`](super::PerCpuCounter)s as are asked for at run time, by index.
///
/// 8 bytes a counter a lane: on each CPU the counters lie side by side, eight in a cache line. One
/// allocation for every 1024 counters. For counters whose names are known when the program is
/// written, [`counters!`](crate::counters!) finds a mistyped one at compile time.
///
/// ```
/// use corelocal::CounterSet;
/// let by_status = CounterSet::try_new(600)?;
/// let ok = by_status.get(200).expect("600 counters");
/// ok.add(3);
/// assert_eq!(by_status.sums()[200], 3);
/// assert!(by_status.get(600).is_none());
/// # Ok::<(), corelocal::AllocError>(())
/// ```
pub struct CounterSet {
    /// All but the last have [`Piece::MAX`] counters.
    pieces: Box<[Piece]>,
    len: usize,
}

impl CounterSet {
    /// `len` counters of zero, in the global area. Touches no memory of any lane.
    ///
    /// # Errors
    ///
    /// [`AllocError`], with nothing allocated: the system refuses, or no address space could hold
    /// so many.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// // As many as the configuration names.
    /// let queues = ["high", "normal", "low"];
    /// let depth = CounterSet::try_new(queues.len())?;
    /// depth.get(2).expect("one for each name").add(5);
    /// assert_eq!(depth.sums(), [0, 0, 5]);
    /// assert!(CounterSet::try_new(usize::MAX).is_err());
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    pub fn try_new(len: usize) -> Result<Self, AllocError> {
        Self::in_area(Area::global(), len)
    }

    /// `len` counters of zero in an area of one's own.
    ///
    /// # Errors
    ///
    /// As [`CounterSet::try_new`].
    ///
    /// ```
    /// # use corelocal::{Area, CounterSet};
    /// let tenant = Area::builder().build()?;
    /// let by_status = CounterSet::in_area(&tenant, 600)?;
    /// by_status.get(404).expect("three digits").inc();
    /// drop(by_status);
    /// assert_eq!(tenant.stats().live, 0); // gone with the tenant's other objects
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, len: usize) -> Result<Self, AllocError> {
        let (size, lanes) = (size_of::<u64>(), area.lanes());
        let fits = len.checked_mul(size).and_then(|bytes| bytes.checked_mul(lanes));
        if fits.is_none_or(|bytes| bytes > isize::MAX as usize) {
            let size = len.saturating_mul(size);
            return Err(AllocError::CapacityOverflow { size, align: align_of::<u64>(), lanes });
        }
        let mut pieces = Vec::new();
        // The table is the least of it, but it must not abort either.
        let count = len.div_ceil(Piece::MAX);
        if pieces.try_reserve_exact(count).is_err() {
            return Err(AllocError::OutOfMemory {
                bytes: count.saturating_mul(size_of::<Piece>()),
            });
        }
        for begin in (0..len).step_by(Piece::MAX) {
            pieces.push(Piece::try_zeroed(area, (len - begin).min(Piece::MAX))?);
        }
        Ok(Self { pieces: pieces.into_boxed_slice(), len })
    }

    /// How many counters there are.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// let by_thread = CounterSet::try_new(16)?;
    /// let worker = 37; // more workers than counters: they share
    /// by_thread.get(worker % by_thread.len()).expect("below the length").inc();
    /// assert_eq!(by_thread.sums()[5], 1);
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// let none = CounterSet::try_new(0)?;
    /// assert!(none.is_empty() && none.sums().is_empty());
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Counter number `index`, or `None` if there is none.
    ///
    /// The handle is one word, and worth keeping: adding through it looks nothing up.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// let by_kind = CounterSet::try_new(4)?;
    /// let errors = by_kind.get(3).expect("4 kinds"); // looked up once,
    /// (0..100).for_each(|_| errors.inc());            // and used often
    /// assert_eq!(by_kind.get(3).map(|counter| counter.sum()), Some(100));
    /// assert!(by_kind.get(4).is_none());
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn get(&self, index: usize) -> Option<CounterRef<'_>> {
        let piece = self.pieces.get(index / Piece::MAX)?;
        piece.get(index % Piece::MAX).map(CounterRef::new)
    }

    /// All counters, in their order.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// let names = ["reads", "writes"];
    /// let counts = CounterSet::try_new(names.len())?;
    /// counts.get(1).unwrap().add(7);
    /// let mut text = String::new();
    /// for (name, counter) in names.iter().zip(counts.iter()) {
    ///     text += &format!("{name} {}\n", counter.take());
    /// }
    /// assert_eq!(text, "reads 0\nwrites 7\n");
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = CounterRef<'_>> {
        self.pieces
            .iter()
            .flat_map(|piece| (0..piece.len()).filter_map(|index| piece.get(index)))
            .map(CounterRef::new)
    }

    /// The [sum](CounterRef::sum) of each counter, in their order.
    ///
    /// Takes what a sum of each takes: a load a lane. Live sums are not of one moment.
    ///
    /// ```
    /// # use corelocal::CounterSet;
    /// let by_size = CounterSet::try_new(8)?;
    /// for bytes in [3_u32, 70, 90] {
    ///     by_size.get(bytes.ilog2() as usize).unwrap().inc();
    /// }
    /// assert_eq!(by_size.sums(), [0, 1, 0, 0, 0, 0, 2, 0]);
    /// # Ok::<(), corelocal::AllocError>(())
    /// ```
    #[must_use]
    pub fn sums(&self) -> Vec<u64> {
        let mut sums = Vec::with_capacity(self.len);
        sums.extend(self.iter().map(CounterRef::sum));
        sums
    }
}

impl fmt::Debug for CounterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterSet").field("len", &self.len).finish_non_exhaustive()
    }
}
