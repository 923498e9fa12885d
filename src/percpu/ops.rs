//! Updates of cells, through handles. Written once, for [`PerCpuRef`]; the others forward (`forward`).
//!
//! What an update does is `sys::rseq`'s business: a section on this CPU's copy, or an atomic on the
//! copy of the lane that `sys::rseq` chose. No atomic ever stores to the copy of a CPU whose sections
//! store to it.

use super::cell::{Number, PerCpuCell, Word};
use super::handle::PerCpuRef;
use super::stride::StrideOf;
use crate::cpu::{CpuId, Lane};
use crate::error::Moved;
use crate::sync::AtomicUsize;
use crate::sys::rseq::{Entry, HERE, Outcome, Words, on, update};

impl<W: Word, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Where the operations on this object's copies begin. Its spill lane is looked up only where it
    /// is needed.
    #[inline(always)]
    fn entry(self) -> Entry<impl Fn() -> u32 + Copy> {
        Entry(move || self.header().cpus)
    }

    /// Lane 0's word.
    #[inline(always)]
    fn word(self) -> *mut W {
        self.lane0().as_ptr().cast()
    }

    /// Puts `new` into this CPU's copy. Returns the lane, and what was there.
    ///
    /// Relaxed. Safe in signal handlers, as [`add`](PerCpuRef::add) is.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// // What the CPU did last.
    /// let last = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let handle = last.as_ref();
    /// let (lane, before) = handle.swap(7);
    /// assert_eq!((before, handle.lane(lane).unwrap().load()), (0, 7));
    /// ```
    #[inline]
    pub fn swap(self, new: W) -> (Lane, W) {
        // SAFETY:
        // * a cell, which is a word, lies in every lane of the object, `StrideOf<O>` apart;
        // * its CPU lanes are stored to by `Entry` alone.
        let outcome = unsafe { self.entry().swap::<StrideOf<O>, W, _>(self.word(), new, HERE) };
        match done(outcome) {
            (lane, Ok(old) | Err(old)) => (lane, old),
        }
    }

    /// Puts `new` into this CPU's copy if it holds `current`. Returns the lane, and what was
    /// there: `Ok` if it was `current`, `Err` if it was not.
    ///
    /// Relaxed. Safe in signal handlers, as [`add`](PerCpuRef::add) is.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// /// Whether an event is the first one on its CPU.
    /// fn is_first(seen: corelocal::PerCpuRef<'_, PerCpuCell<u32>>) -> bool {
    ///     seen.compare_exchange(0, 1).1.is_ok()
    /// }
    /// let seen = PerCpu::<PerCpuCell<u32>>::zeroed();
    /// let firsts = (0..1000).filter(|_| is_first(seen.as_ref())).count();
    /// assert!((1..=seen.lanes()).contains(&firsts)); // one for each CPU that the thread was on
    /// ```
    #[inline]
    pub fn compare_exchange(self, current: W, new: W) -> (Lane, Result<W, W>) {
        let (entry, word) = (self.entry(), self.word());
        // SAFETY: as in `swap`.
        done(unsafe { entry.compare_store::<StrideOf<O>, W, _>(word, current, new, HERE) })
    }
}

/// The spill lane's copy is stored to by atomic read-modify-writes alone, so anybody may, from
/// anywhere. The rooms above keep there what is of the whole object.
impl<W: Word, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// What the spill lane holds, and all that whoever replaced it saw before.
    #[inline]
    pub(crate) fn spilled(self) -> W {
        self.spill().load_replaced()
    }

    /// Puts `new` into the spill lane if it holds `current`; says whether it did.
    #[inline]
    pub(crate) fn replace_spilled(self, current: W, new: W) -> bool {
        self.spill().replace(current, new)
    }
}

/// For what is counted in lanes until somebody takes them over.
impl<W: Number, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Adds `value`, wrapping: in a section on this CPU's copy, while `guard` holds `expect`; without
    /// sections, and on the spill lane, by an atomic that does not look at `guard`. `RELEASE`: the
    /// store is one.
    ///
    /// `Closed`, or `Committed` with what was there.
    #[inline(always)]
    pub(crate) fn add_in_section_while<const RELEASE: bool>(
        self,
        value: W,
        guard: &AtomicUsize,
        expect: usize,
    ) -> Outcome<W> {
        const ADD: u32 = update::ADD;
        let (entry, word) = (self.entry(), self.word());
        let form = HERE.guarded_in_sections(guard, expect);
        if RELEASE {
            // SAFETY: as in `swap`; the guard is borrowed until the section has committed, after
            // which nobody looks at it.
            unsafe { entry.update::<StrideOf<O>, W, _, ADD>(word, value, form.release()) }
        } else {
            // SAFETY: as above.
            unsafe { entry.update::<StrideOf<O>, W, _, ADD>(word, value, form) }
        }
    }
}

/// Where an operation without a guard, and on whichever CPU, took place; `Err` if it found another
/// value than it compared with.
#[inline(always)]
fn done<T>(outcome: Outcome<T>) -> (Lane, Result<T, T>) {
    match outcome {
        Outcome::Committed { lane, value } => (lane_of(lane), Ok(value)),
        Outcome::Differs { lane, value } => (lane_of(lane), Err(value)),
        _ => unreachable!("words have no lock, and the form has no CPU and no guard"),
    }
}

/// Lanes of CPUs that operations act on lie below the machine's number of CPUs, the spill lane of
/// whichever area does not.
#[inline(always)]
fn lane_of(index: u32) -> Lane {
    if index < crate::sys::cpus() { Lane::of_cpu(CpuId::new(index)) } else { Lane::spill(index) }
}

impl<W: Number, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Adds `value` to this CPU's copy, wrapping.
    ///
    /// Relaxed. Safe in signal handlers and in a forked child; allocates nothing, takes no lock.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, PerCpuRef};
    /// fn received(bytes: PerCpuRef<'_, PerCpuCell<u64>>, packet: &[u8]) {
    ///     bytes.add(packet.len() as u64);
    /// }
    /// let bytes = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// received(bytes.as_ref(), &[0; 1500]);
    /// assert_eq!(bytes.sum(), 1500);
    /// ```
    #[inline]
    pub fn add(self, value: W) {
        // SAFETY: as in `swap`.
        let _ = unsafe { self.entry().add::<StrideOf<O>, W, _>(self.word(), value, HERE) };
    }

    /// Subtracts `value` from this CPU's copy, wrapping.
    ///
    /// Increments and decrements of one thing happen on different CPUs: single copies wrap below
    /// zero, and [`PerCpuRef::sum`] is right.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let open = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let handle = open.as_ref();
    /// handle.add(3);
    /// std::thread::scope(|scope| { scope.spawn(|| handle.sub(2)); }); // on another CPU, perhaps
    /// assert_eq!(handle.sum(), 1);
    /// ```
    #[inline]
    pub fn sub(self, value: W) {
        self.add(value.negated());
    }

    /// Adds one to this CPU's copy, wrapping.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let calls = PerCpu::<PerCpuCell<u32>>::zeroed();
    /// let calls = calls.as_ref();
    /// for _ in 0..3 {
    ///     calls.inc();
    /// }
    /// assert_eq!(calls.sum(), 3);
    /// ```
    #[inline]
    pub fn inc(self) {
        self.add(W::ONE);
    }

    /// Subtracts one from this CPU's copy, wrapping.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, PerCpuRef};
    /// struct Session<'a>(PerCpuRef<'a, PerCpuCell<i64>>);
    /// impl<'a> Session<'a> {
    ///     fn new(open: PerCpuRef<'a, PerCpuCell<i64>>) -> Self {
    ///         open.inc();
    ///         Self(open)
    ///     }
    /// }
    /// impl Drop for Session<'_> {
    ///     fn drop(&mut self) {
    ///         self.0.dec();
    ///     }
    /// }
    /// let open = PerCpu::<PerCpuCell<i64>>::zeroed();
    /// drop([Session::new(open.as_ref()), Session::new(open.as_ref())]);
    /// assert_eq!(open.sum(), 0);
    /// ```
    #[inline]
    pub fn dec(self) {
        self.sub(W::ONE);
    }

    /// Adds `value` to this CPU's copy, wrapping. Returns the lane, and what was there.
    ///
    /// Relaxed. Safe in signal handlers, as [`add`](PerCpuRef::add) is.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let events = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let events = events.as_ref();
    /// // One in eight of each CPU's events is looked at closely.
    /// let looked_at = (0..800).filter(|_| events.fetch_add(1).1 % 8 == 0).count();
    /// assert!(looked_at >= 100);
    /// ```
    #[inline]
    pub fn fetch_add(self, value: W) -> (Lane, W) {
        let (entry, word) = (self.entry(), self.word());
        // SAFETY: as in `swap`; addition is one of the constants.
        let outcome =
            unsafe { entry.update::<StrideOf<O>, W, _, { update::ADD }>(word, value, HERE) };
        match done(outcome) {
            (lane, Ok(old) | Err(old)) => (lane, old),
        }
    }

    /// Adds `value` to the copy of `cpu`, if this thread runs there.
    ///
    /// Relaxed. Safe in signal handlers, as [`add`](PerCpuRef::add) is.
    ///
    /// # Errors
    ///
    /// [`Moved`], with nothing changed: the thread runs on another CPU, or its CPU is not known.
    ///
    /// ```
    /// # use corelocal::{CpuId, PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let hits = hits.as_ref();
    /// // A step for the CPU that the thread believes to be on; elsewhere it has to begin again.
    /// let committed = match CpuId::current() {
    ///     Some(cpu) => hits.add_on(cpu, 1).is_ok(),
    ///     None => false,
    /// };
    /// assert_eq!(hits.sum(), u64::from(committed));
    /// ```
    #[inline]
    pub fn add_on(self, cpu: CpuId, value: W) -> Result<(), Moved> {
        let (entry, word) = (self.entry(), self.word());
        // SAFETY: as in `swap`.
        match unsafe { entry.add::<StrideOf<O>, W, _>(word, value, on(cpu)) } {
            Outcome::Committed { .. } => Ok(()),
            _ => Err(Moved),
        }
    }

    /// The wrapping sum over all lanes, the spill lane included.
    ///
    /// Exact while nobody updates; a thread's own updates are always in it. A live sum is not a
    /// snapshot: it holds each update that was over before it began, none that began after it
    /// ended, and some of those between. Takes a relaxed load a lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, counters};
    /// counters! { struct Disk { reads: u64, writes: u64 } }
    /// let disk = PerCpu::<Disk>::zeroed();
    /// disk.at(Disk::READS).add(4);
    /// disk.at(Disk::WRITES).add(1);
    /// let (reads, writes) = (disk.at(Disk::READS), disk.at(Disk::WRITES));
    /// assert_eq!(reads.sum() + writes.sum(), 5); // wraps, if the sum does
    /// ```
    #[inline]
    pub fn sum(self) -> W {
        self.iter().fold(W::ZERO, |sum, (_, cell)| sum.plus(cell.load()))
    }
}
