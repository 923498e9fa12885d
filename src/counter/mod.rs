//! Counters that many CPUs update and anybody reads: [`PerCpuCounter`], [`PerCpuGauge`],
//! [`CounterSet`], [`BatchedCounter`]. The page [`docs::counters`](crate::docs::counters) says which
//! one is wanted, and when none is.
//!
//! | file | what is in it |
//! |---|---|
//! | `handle` | [`CounterRef`]: add, sum and take, written once |
//! | `gauge` | counts that go down as well |
//! | `statics` | counters in a static |
//! | `set` | many counters in one allocation, by index |
//! | `tree` | the tree of batches: what is carried up, and how far the root can be off |
//! | `batched` | counts that are read in one load |
//! | `limit` | counts that do not pass a limit |

mod batched;
mod gauge;
mod handle;
mod limit;
#[cfg(corelocal_loom)]
pub(crate) mod model;
#[cfg(not(corelocal_loom))]
mod set;
#[cfg(not(corelocal_loom))]
mod statics;
mod tree;

pub use batched::BatchedCounter;
pub use gauge::PerCpuGauge;
pub use handle::CounterRef;
#[cfg(not(corelocal_loom))]
pub use set::CounterSet;
#[cfg(not(corelocal_loom))]
pub use statics::{StaticCounter, StaticGauge};

use crate::error::AllocError;
use crate::percpu::{Area, Number, PerCpu, PerCpuCell};
use core::fmt;

/// A count of events, 64 bits wide, that only grows: added to on each CPU's own copy, summed over
/// all of them.
///
/// One word, and 8 bytes a lane. [`add`](Self::add) is a [`PerCpuCell`]'s: with sections no locked
/// instruction, no allocation, no lock, no panic; safe in signal handlers, in a forked child and in
/// the destructors of thread-locals. All updates are relaxed: a count orders nothing.
///
/// For a counter in a static there is [`StaticCounter`].
///
/// ```
/// use corelocal::PerCpuCounter;
/// let requests = PerCpuCounter::new();
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| (0..1000).for_each(|_| requests.inc()));
///     }
/// });
/// assert_eq!(requests.sum(), 4000);
/// assert_eq!((requests.take(), requests.sum()), (4000, 0));
/// ```
#[repr(transparent)]
pub struct PerCpuCounter(PerCpu<PerCpuCell<u64>>);

impl PerCpuCounter {
    /// A counter of zero, in the global area. Touches no memory of any lane.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// struct Server { requests: PerCpuCounter, errors: PerCpuCounter } // two words
    /// let server = Server { requests: PerCpuCounter::new(), errors: PerCpuCounter::new() };
    /// server.requests.inc();
    /// assert_eq!((server.requests.sum(), server.errors.sum()), (1, 0));
    /// ```
    #[cfg(not(corelocal_loom))]
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self(PerCpu::zeroed())
    }

    /// As [`PerCpuCounter::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuCounter};
    /// fn counters(many: usize) -> Result<Vec<PerCpuCounter>, AllocError> {
    ///     (0..many).map(|_| PerCpuCounter::try_new()).collect()
    /// }
    /// assert_eq!(counters(100)?.iter().map(|counter| counter.sum()).sum::<u64>(), 0);
    /// # Ok::<(), AllocError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn try_new() -> Result<Self, AllocError> {
        Self::in_area(Area::global())
    }

    /// A counter of zero in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, Area, PerCpuCounter};
    /// let tenant = Area::builder().capacity(4096).build()?; // too small for anything
    /// let refused = PerCpuCounter::in_area(&tenant).unwrap_err();
    /// assert_eq!(refused, AllocError::AreaFull { capacity: 4096 });
    /// # Ok::<(), corelocal::AreaError>(())
    /// ```
    pub fn in_area(area: &Area) -> Result<Self, AllocError> {
        zeros(area).map(Self)
    }

    /// A handle to share: one word, `Copy`.
    ///
    /// ```
    /// # use corelocal::{CounterRef, PerCpuCounter, StaticCounter};
    /// /// Counts lines, wherever the counter lies.
    /// fn count(lines: &str, counter: CounterRef<'_>) {
    ///     counter.add(lines.lines().count() as u64);
    /// }
    /// static TOTAL: StaticCounter = StaticCounter::new();
    /// let own = PerCpuCounter::new();
    /// for counter in [TOTAL.as_ref(), own.as_ref()] {
    ///     count("a\nb", counter);
    /// }
    /// assert_eq!((TOTAL.sum(), own.sum()), (2, 2));
    /// ```
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> CounterRef<'_> {
        CounterRef::new(self.0.as_ref())
    }

    /// See [`CounterRef::add`].
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// use std::sync::Arc;
    ///
    /// let bytes = Arc::new(PerCpuCounter::new());
    /// let writer = { let bytes = bytes.clone(); std::thread::spawn(move || bytes.add(4096)) };
    /// bytes.add(512);
    /// writer.join().unwrap();
    /// assert_eq!(bytes.sum(), 4608);
    /// ```
    #[inline]
    pub fn add(&self, value: u64) {
        self.as_ref().add(value);
    }

    /// See [`CounterRef::inc`].
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let calls = PerCpuCounter::new();
    /// let answer = |question: u64| { calls.inc(); question + 1 };
    /// assert_eq!((answer(1), answer(2), calls.sum()), (2, 3, 2));
    /// ```
    #[inline]
    pub fn inc(&self) {
        self.as_ref().inc();
    }

    /// See [`CounterRef::sum`].
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let requests = PerCpuCounter::new();
    /// requests.add(3);
    /// let line = format!("requests_total {}", requests.sum()); // what a scrape shows
    /// assert_eq!(line, "requests_total 3");
    /// ```
    #[inline]
    pub fn sum(&self) -> u64 {
        self.as_ref().sum()
    }

    /// See [`CounterRef::take`].
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let events = PerCpuCounter::new();
    /// let mut rates = Vec::new();
    /// for second in 1..=3 {
    ///     events.add(second * 100);
    ///     rates.push(events.take()); // what came since the last look
    /// }
    /// assert_eq!(rates, [100, 200, 300]);
    /// ```
    #[inline]
    pub fn take(&self) -> u64 {
        self.as_ref().take()
    }
}

#[cfg(not(corelocal_loom))]
impl Default for PerCpuCounter {
    /// As [`PerCpuCounter::new`].
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PerCpuCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuCounter").field("lanes", &self.0.lanes()).finish_non_exhaustive()
    }
}

/// A cell of zero in every lane.
fn zeros<W: Number>(area: &Area) -> Result<PerCpu<PerCpuCell<W>>, AllocError> {
    // A loom atomic is not valid in zeroed memory.
    #[cfg(corelocal_loom)]
    return area.try_alloc(|_| PerCpuCell::default());
    #[cfg(not(corelocal_loom))]
    area.try_alloc_zeroed()
}
