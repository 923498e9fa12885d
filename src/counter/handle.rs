//! [`CounterRef`]: what can be done with a counter that only grows, wherever it lies.
//!
//! # Taking
//!
//! Only the CPU itself may store to a CPU's lane, so nobody can set a counter back to zero. What has
//! been taken is subtracted in the **spill lane** instead, whose word is updated by atomics alone, by
//! anybody. So the wrapping sum over all lanes is always what was added less what was taken.
//!
//! A taker loads the spill lane's word, then the other lanes, and then replaces the word by what makes the
//! sum of what it saw zero. If the word was replaced or added to in the meantime, it begins again.
//!
//! * **Nothing is lost or counted twice**, since the word goes down by just what the taker returns.
//!   That holds for any word that compares equal, also one that came back to its value.
//! * **Nothing is taken before it is there**: what the lanes held when they were taken from is what
//!   the taker saw. Whoever sees the replaced word sees those values, or newer ones (edge E40);
//!   lanes only grow, so what is left never falls below zero.

use crate::percpu::{IterCpus, PerCpuCell, PerCpuRef};
use core::fmt;

/// A handle to a counter that only grows: a [`PerCpuCounter`](super::PerCpuCounter), one of a
/// [`CounterSet`](super::CounterSet), or a [`StaticCounter`](super::StaticCounter).
///
/// One word, and `Copy`.
///
/// ```
/// use corelocal::{CounterRef, CounterSet};
///
/// /// What a connection keeps of the table of counters: two words.
/// struct Connection<'a> { received: CounterRef<'a>, sent: CounterRef<'a> }
///
/// let table = CounterSet::try_new(64)?;
/// let [received, sent] = [10, 11].map(|index| table.get(index).expect("there are 64"));
/// let connection = Connection { received, sent };
/// connection.received.add(1500);
/// connection.sent.inc();
/// assert_eq!(table.sums()[10..12], [1500, 1]);
/// # Ok::<(), corelocal::AllocError>(())
/// ```
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct CounterRef<'a>(PerCpuRef<'a, PerCpuCell<u64>>);

impl<'a> CounterRef<'a> {
    #[inline]
    pub(super) fn new(lanes: PerCpuRef<'a, PerCpuCell<u64>>) -> Self {
        Self(lanes)
    }

    /// Counts `value` events, on this CPU's copy.
    ///
    /// What [`PerCpuRef::add`] does, and just as fast. Never allocates, never panics; safe in
    /// signal handlers. Relaxed.
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let bytes = PerCpuCounter::new();
    /// let handle = bytes.as_ref();
    /// for packet in [&b"GET /"[..], b"200 OK"] {
    ///     handle.add(packet.len() as u64);
    /// }
    /// assert_eq!(bytes.sum(), 11);
    /// ```
    #[inline]
    pub fn add(self, value: u64) {
        self.0.add(value);
    }

    /// Counts one event.
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let errors = PerCpuCounter::new();
    /// let handle = errors.as_ref();
    /// let parsed: Vec<u8> =
    ///     ["7", "x", "9"].iter().filter_map(|text| text.parse().inspect_err(|_| handle.inc()).ok()).collect();
    /// assert_eq!((parsed.len(), errors.sum()), (2, 1));
    /// ```
    #[inline]
    pub fn inc(self) {
        self.0.inc();
    }

    /// What was counted and not taken, modulo 2^64.
    ///
    /// Exact while nobody counts or takes. A live sum is not a snapshot: it holds every event
    /// whose `add` was over before (one's own among them), none that began later, and any of those in
    /// between. So it is off by what is added while it runs, and by nothing else. It is never
    /// negative, and between two takes the sums of one thread never go back.
    ///
    /// Takes a load a lane: one of them Acquire, to see what the last taker saw, the others Relaxed.
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let hits = PerCpuCounter::new();
    /// let handle = hits.as_ref();
    /// handle.add(5);
    /// let before = handle.sum();
    /// handle.add(2);
    /// assert_eq!(handle.sum() - before, 2); // sums of one thread never go back
    /// ```
    pub fn sum(self) -> u64 {
        let others = self.0.iter_cpus();
        rest(self.0.spilled(), others)
    }

    /// What was counted since the last take, which is counted no more: [`sum`](Self::sum) goes
    /// on from zero.
    ///
    /// Every event is in exactly one take, or in the sum, however many threads take at the same
    /// time; they divide the events among them. What is returned has the precision of a live sum:
    /// an event whose `add` was not over may be left for the next one. Exact up to 2^64 - 1 events
    /// from one take to the next.
    ///
    /// No lane of a CPU is written. Lock-free: it begins again only when another one took, or a
    /// thread without a CPU counted, in the meantime. Safe in signal handlers.
    ///
    /// ```
    /// # use corelocal::PerCpuCounter;
    /// let events = PerCpuCounter::new();
    /// let handle = events.as_ref();
    /// // Two reporters divide the events among them: none is reported twice.
    /// let reported: u64 = std::thread::scope(|scope| {
    ///     handle.add(1000);
    ///     let reporters = [0, 1].map(|_| scope.spawn(move || handle.take()));
    ///     reporters.map(|reporter| reporter.join().unwrap()).iter().sum()
    /// });
    /// assert_eq!((reported, events.sum()), (1000, 0));
    /// ```
    pub fn take(self) -> u64 {
        loop {
            let others = self.0.iter_cpus();
            let base = self.0.spilled();
            let taken = rest(base, others);
            // Wrapping: below zero, by what the other lanes hold.
            if self.0.replace_spilled(base, base.wrapping_sub(taken)) {
                return taken;
            }
        }
    }
}

/// The sum over all lanes, if the spill lane holds `base`, which was loaded *before*: the other way
/// round, lanes from before a take and the word from after it would give less than zero.
fn rest(base: u64, others: IterCpus<'_, PerCpuCell<u64>>) -> u64 {
    others.fold(base, |sum, (_, cell)| sum.wrapping_add(cell.load()))
}

impl fmt::Debug for CounterRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterRef").field("lanes", &self.0.lanes()).finish_non_exhaustive()
    }
}
