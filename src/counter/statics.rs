//! [`StaticCounter`] and [`StaticGauge`]: counters in a static, made at their first use.

use super::CounterRef;
use crate::error::AllocError;
use crate::percpu::{PerCpu, PerCpuCell, PerCpuRef, PerCpuStatic};
use core::fmt;

/// A [`PerCpuCounter`](super::PerCpuCounter) for a static.
///
/// The memory is taken at the first use, without a lock, and never given back. A use costs one load
/// and one predictable branch more than a handle in a register.
///
/// ```
/// use corelocal::StaticCounter;
/// static REQUESTS: StaticCounter = StaticCounter::new();
/// REQUESTS.inc();
/// assert_eq!(REQUESTS.sum(), 1);
/// ```
///
/// # Panics
///
/// Every use panics where the counter is not there yet and the system refuses memory for it:
/// [`StaticCounter::try_as_ref`] in time avoids that, and makes later uses safe in signal handlers.
pub struct StaticCounter(PerCpuStatic<PerCpuCell<u64>>);

impl StaticCounter {
    /// A counter of zero, which takes no memory yet.
    ///
    /// ```
    /// # use corelocal::StaticCounter;
    /// mod metrics {
    ///     use corelocal::StaticCounter;
    ///     pub static HITS: StaticCounter = StaticCounter::new();
    ///     pub static MISSES: StaticCounter = StaticCounter::new();
    /// }
    /// metrics::HITS.add(9);
    /// metrics::MISSES.inc();
    /// assert_eq!(10 * metrics::HITS.sum() / (metrics::HITS.sum() + metrics::MISSES.sum()), 9);
    /// ```
    #[allow(clippy::new_without_default, reason = "for statics, where there is no `default()`")]
    pub const fn new() -> Self {
        Self(PerCpuStatic::new(PerCpu::try_zeroed))
    }

    /// A handle to the counter, which is made now if this is the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for it.
    ///
    /// ```
    /// # use corelocal::{CounterRef, StaticCounter};
    /// static READS: StaticCounter = StaticCounter::new();
    /// static WRITES: StaticCounter = StaticCounter::new();
    /// let all: [(&str, CounterRef<'static>); 2] = [("reads", READS.as_ref()), ("writes", WRITES.as_ref())];
    /// all[0].1.add(2);
    /// let text: Vec<String> = all.iter().map(|(name, counter)| format!("{name}={}", counter.sum())).collect();
    /// assert_eq!(text.join(" "), "reads=2 writes=0");
    /// ```
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> CounterRef<'static> {
        CounterRef::new(self.0.as_ref())
    }

    /// As [`StaticCounter::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    ///
    /// ```
    /// # use corelocal::{AllocError, StaticCounter};
    /// static CAUGHT: StaticCounter = StaticCounter::new();
    /// /// Before the handler is installed: its first signal must not make the counter.
    /// fn install_handler() -> Result<(), AllocError> {
    ///     CAUGHT.try_as_ref()?;
    ///     // sigaction(..)
    ///     Ok(())
    /// }
    /// install_handler()?;
    /// CAUGHT.inc(); // in the handler
    /// assert_eq!(CAUGHT.sum(), 1);
    /// # Ok::<(), AllocError>(())
    /// ```
    pub fn try_as_ref(&self) -> Result<CounterRef<'static>, AllocError> {
        self.0.try_as_ref().map(CounterRef::new)
    }

    /// See [`CounterRef::add`].
    ///
    /// ```
    /// # use corelocal::StaticCounter;
    /// static BYTES: StaticCounter = StaticCounter::new();
    /// std::thread::scope(|scope| {
    ///     for _ in 0..2 {
    ///         scope.spawn(|| BYTES.add(1500));
    ///     }
    /// });
    /// assert_eq!(BYTES.sum(), 3000);
    /// ```
    #[inline]
    pub fn add(&self, value: u64) {
        self.as_ref().add(value);
    }

    /// See [`CounterRef::inc`].
    ///
    /// ```
    /// # use corelocal::StaticCounter;
    /// fn cached(key: u32) -> u32 {
    ///     static LOOKUPS: StaticCounter = StaticCounter::new(); // where it is used
    ///     LOOKUPS.inc();
    ///     key + LOOKUPS.sum() as u32
    /// }
    /// assert_eq!((cached(10), cached(10)), (11, 12));
    /// ```
    #[inline]
    pub fn inc(&self) {
        self.as_ref().inc();
    }

    /// See [`CounterRef::sum`].
    ///
    /// ```
    /// # use corelocal::StaticCounter;
    /// static LOGGED: StaticCounter = StaticCounter::new();
    /// assert_eq!(LOGGED.sum(), 0); // the first use: there is memory for it now
    /// LOGGED.add(3);
    /// assert_eq!(LOGGED.sum(), 3);
    /// ```
    #[inline]
    pub fn sum(&self) -> u64 {
        self.as_ref().sum()
    }

    /// See [`CounterRef::take`].
    ///
    /// ```
    /// # use corelocal::StaticCounter;
    /// static DROPPED: StaticCounter = StaticCounter::new();
    /// /// One line for all that was dropped since the last one.
    /// fn report() -> Option<String> {
    ///     match DROPPED.take() {
    ///         0 => None,
    ///         many => Some(format!("{many} records dropped")),
    ///     }
    /// }
    /// DROPPED.add(12);
    /// assert_eq!((report().as_deref(), report()), (Some("12 records dropped"), None));
    /// ```
    #[inline]
    pub fn take(&self) -> u64 {
        self.as_ref().take()
    }
}

impl fmt::Debug for StaticCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticCounter").finish_non_exhaustive()
    }
}

/// A [`PerCpuGauge`](super::PerCpuGauge) for a static.
///
/// Made, used and refused as a [`StaticCounter`].
///
/// ```
/// use corelocal::StaticGauge;
/// static OPEN: StaticGauge = StaticGauge::new();
/// OPEN.inc();
/// OPEN.dec();
/// assert_eq!(OPEN.sum(), 0);
/// ```
pub struct StaticGauge(PerCpuStatic<PerCpuCell<i64>>);

impl StaticGauge {
    /// A gauge of zero, which takes no memory yet.
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static OPEN: StaticGauge = StaticGauge::new();
    /// struct Session;
    /// impl Session {
    ///     fn new() -> Self {
    ///         OPEN.inc();
    ///         Self
    ///     }
    /// }
    /// impl Drop for Session {
    ///     fn drop(&mut self) {
    ///         OPEN.dec();
    ///     }
    /// }
    /// let sessions = [Session::new(), Session::new()];
    /// assert_eq!(OPEN.sum(), 2);
    /// drop(sessions);
    /// assert_eq!(OPEN.sum(), 0);
    /// ```
    #[allow(clippy::new_without_default, reason = "for statics, where there is no `default()`")]
    pub const fn new() -> Self {
        Self(PerCpuStatic::new(PerCpu::try_zeroed))
    }

    /// A handle to the gauge, which is made now if this is the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for it.
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static QUEUED: StaticGauge = StaticGauge::new();
    /// let queued = QUEUED.as_ref(); // looked up once, before a hot loop
    /// for round in 0..1000 {
    ///     queued.add(if round % 2 == 0 { 3 } else { -3 });
    /// }
    /// assert_eq!(QUEUED.sum(), 0);
    /// ```
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'static, PerCpuCell<i64>> {
        self.0.as_ref()
    }

    /// As [`StaticGauge::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static ALLOCATED: StaticGauge = StaticGauge::new();
    /// /// In a global allocator, which must not panic.
    /// fn freed(bytes: usize) {
    ///     if let Ok(allocated) = ALLOCATED.try_as_ref() {
    ///         allocated.sub(bytes as i64);
    ///     }
    /// }
    /// freed(64);
    /// assert_eq!(ALLOCATED.sum(), -64);
    /// ```
    pub fn try_as_ref(&self) -> Result<PerCpuRef<'static, PerCpuCell<i64>>, AllocError> {
        self.0.try_as_ref()
    }

    /// See [`PerCpuGauge::add`](super::PerCpuGauge::add).
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static IN_USE: StaticGauge = StaticGauge::new();
    /// IN_USE.add(4096);
    /// IN_USE.add(-96); // a part of it was given back
    /// assert_eq!(IN_USE.sum(), 4000);
    /// ```
    #[inline]
    pub fn add(&self, value: i64) {
        self.0.add(value);
    }

    /// See [`PerCpuGauge::sub`](super::PerCpuGauge::sub).
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static IN_USE: StaticGauge = StaticGauge::new();
    /// IN_USE.add(4096);
    /// std::thread::spawn(|| IN_USE.sub(4096)).join().unwrap(); // on whichever CPU
    /// assert_eq!(IN_USE.sum(), 0);
    /// ```
    #[inline]
    pub fn sub(&self, value: i64) {
        self.0.sub(value);
    }

    /// See [`PerCpuGauge::inc`](super::PerCpuGauge::inc).
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static RUNNING: StaticGauge = StaticGauge::new();
    /// RUNNING.inc();
    /// assert!(RUNNING.sum() == 1, "one job runs");
    /// ```
    #[inline]
    pub fn inc(&self) {
        self.0.inc();
    }

    /// See [`PerCpuGauge::dec`](super::PerCpuGauge::dec).
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static RUNNING: StaticGauge = StaticGauge::new();
    /// let jobs = (0..4).map(|_| std::thread::spawn(|| { RUNNING.inc(); RUNNING.dec() }));
    /// jobs.collect::<Vec<_>>().into_iter().for_each(|job| job.join().unwrap());
    /// assert_eq!(RUNNING.sum(), 0);
    /// ```
    #[inline]
    pub fn dec(&self) {
        self.0.dec();
    }

    /// See [`PerCpuGauge::sum`](super::PerCpuGauge::sum).
    ///
    /// ```
    /// # use corelocal::StaticGauge;
    /// static OPEN: StaticGauge = StaticGauge::new();
    /// OPEN.add(120);
    /// let crowded = OPEN.sum() > 100; // a load a lane: not for every request
    /// assert!(crowded);
    /// ```
    #[inline]
    pub fn sum(&self) -> i64 {
        self.0.sum()
    }
}

impl fmt::Debug for StaticGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticGauge").finish_non_exhaustive()
    }
}
