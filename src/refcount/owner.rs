//! [`PerCpuArcOwner`]: who ends the counting on CPUs.

use super::PerCpuArc;
use super::count::Count;
use super::error::KillError;
use super::shared::Shared;
use crate::error::AllocError;
use crate::percpu::Area;
use crate::sync::Ordering;
use crate::sync::plain::AtomicUsize;
use core::fmt;
use core::ops::Deref;

/// The owner of a shared value: one for each, from which the [`PerCpuArc`]s come. Dropping it ends
/// the counting on CPUs; the value is dropped with the last reference, which may be this one.
///
/// It belongs to whoever decides that the value is no longer wanted: the `main` that ends a server,
/// the table that an entry is removed from, the reload that replaces a configuration. So a value whose
/// owner was dropped never leaks, and one whose owner is there never goes.
///
/// The drop makes every CPU of the process run through a barrier; see
/// [`PerCpuRefCount::kill`](super::PerCpuRefCount::kill).
///
/// ```
/// use corelocal::{PerCpuArc, PerCpuArcOwner};
/// let table = PerCpuArcOwner::new(vec![1, 2, 3]);
/// let mine = table.share();
/// assert_eq!((mine.len(), PerCpuArc::has_owner(&mine)), (3, true));
/// table.kill().expect("the system has barriers");
/// assert_eq!((mine.len(), PerCpuArc::has_owner(&mine)), (3, false));
/// drop(mine); // the last one: the table goes
/// ```
#[must_use = "without an owner the value is counted in one word, as an Arc's references are"]
pub struct PerCpuArcOwner<T>(Shared<T>);

impl<T> PerCpuArcOwner<T> {
    /// Shares `value`.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for the count.
    ///
    /// ```
    /// # use corelocal::PerCpuArcOwner;
    /// let config = PerCpuArcOwner::new(String::from("verbose"));
    /// let workers: Vec<_> = (0..4).map(|_| config.share()).collect();
    /// drop(config); // on CPUs no more; the string stays for the workers
    /// assert!(workers.iter().all(|config| **config == "verbose"));
    /// ```
    #[cfg(not(corelocal_loom))]
    #[track_caller]
    pub fn new(value: T) -> Self {
        match Self::try_new_with(|| value) {
            Ok(made) => made,
            Err(error) => panic!("{error}"),
        }
    }

    /// Shares what `make` makes, once there is memory for the count.
    ///
    /// # Errors
    ///
    /// [`AllocError`]; `make` was not called.
    ///
    /// # Panics
    ///
    /// If `make` does.
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuArcOwner};
    /// let table: Result<_, AllocError> = PerCpuArcOwner::try_new_with(|| vec![0_u8; 1 << 20]);
    /// let table = table?; // the large thing was made once there was memory for the count
    /// assert_eq!(table.share().len(), 1 << 20);
    /// # Ok::<(), AllocError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn try_new_with(make: impl FnOnce() -> T) -> Result<Self, AllocError> {
        Self::in_area(Area::global(), make)
    }

    /// As [`try_new_with`](Self::try_new_with), counted in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`]; `make` was not called.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuArcOwner};
    /// let tenant = Area::builder().build()?;
    /// let table = PerCpuArcOwner::in_area(&tenant, || vec![1, 2, 3])?;
    /// let mine = table.share();
    /// drop(table);
    /// assert_eq!(mine.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, make: impl FnOnce() -> T) -> Result<Self, AllocError> {
        let count = Count::in_area(area)?;
        Ok(Self(Shared::new(count, make())))
    }

    /// Another reference. As a clone of one: a section on this CPU's copy.
    ///
    /// ```
    /// # use corelocal::PerCpuArcOwner;
    /// let table = PerCpuArcOwner::new(vec![1, 2, 3]);
    /// let worker = { let table = table.share(); std::thread::spawn(move || table.iter().sum::<i32>()) };
    /// assert_eq!(worker.join().unwrap() as usize, 2 * table.len()); // the owner reads it as well
    /// ```
    #[inline]
    pub fn share(&self) -> PerCpuArc<T> {
        PerCpuArc::new(self.0.clone())
    }

    /// What dropping does, for those who want to know whether it could be done.
    ///
    /// # Errors
    ///
    /// [`NotKilled`] with the owner, if the system refuses the barrier that it granted when the value
    /// was shared. References count in one word from there on, and the owner can be killed later.
    ///
    /// ```
    /// # use corelocal::PerCpuArcOwner;
    /// let table = PerCpuArcOwner::new(vec![1]);
    /// let reader = table.share();
    /// match table.kill() {
    ///     Ok(()) => {} // the last reader drops the table
    ///     Err(refused) => drop(refused.into_owner()), // or keep it, and try again later
    /// }
    /// assert_eq!(*reader, [1]);
    /// ```
    pub fn kill(self) -> Result<(), NotKilled<T>> {
        match self.0.count().kill() {
            Ok(()) => {
                // Kills again, which has no effect, and drops the reference.
                drop(self);
                Ok(())
            }
            Err(error) => Err(NotKilled { owner: self, error }),
        }
    }

    /// How many references there are, this one among them; see [`PerCpuArc::references`].
    ///
    /// ```
    /// # use corelocal::PerCpuArcOwner;
    /// let table = PerCpuArcOwner::new(());
    /// let readers = [table.share(), table.share()];
    /// assert_eq!(table.references(), 1 + readers.len() as u64);
    /// ```
    pub fn references(&self) -> u64 {
        self.0.count().references()
    }
}

impl<T> Drop for PerCpuArcOwner<T> {
    fn drop(&mut self) {
        if let Err(KillError::NoFence) = self.0.count().kill() {
            // The bias stays, so the value does, too.
            // Relaxed: statistics.
            LEAKED.fetch_add(1, Ordering::Relaxed);
        }
        // And then the reference itself is dropped.
    }
}

static LEAKED: AtomicUsize = AtomicUsize::new(0);

/// Values of this process that are never dropped, since the system refused the barrier when their owner
/// was dropped, and had granted it when they were shared: a sandbox was closed in between. With
/// [`PerCpuArcOwner::kill`] instead of a drop the owner learns of it, and can wait for a better time.
///
/// ```
/// use corelocal::{PerCpuArcOwner, refcount::leaked};
///
/// let before = leaked();
/// drop(PerCpuArcOwner::new(vec![1]));
/// if leaked() > before {
///     eprintln!("a sandbox refuses membarrier: use PerCpuArcOwner::kill, or allow it");
/// }
/// # assert_eq!(leaked(), before);
/// ```
pub fn leaked() -> usize {
    // Relaxed: statistics.
    LEAKED.load(Ordering::Relaxed)
}

impl<T> Deref for PerCpuArcOwner<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.value()
    }
}

impl<T: fmt::Debug> fmt::Debug for PerCpuArcOwner<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The owner could not end the counting on CPUs, and is there still.
///
/// ```
/// use corelocal::{PerCpuArcOwner, refcount::NotKilled};
///
/// /// Ends what can be ended; the owners of the others come back.
/// fn end<T>(owners: Vec<PerCpuArcOwner<T>>) -> Vec<PerCpuArcOwner<T>> {
///     let refused = |not: NotKilled<T>| { eprintln!("{not}"); not.into_owner() };
///     owners.into_iter().filter_map(|owner| owner.kill().err().map(refused)).collect()
/// }
/// assert!(end(vec![PerCpuArcOwner::new(1), PerCpuArcOwner::new(2)]).is_empty());
/// ```
pub struct NotKilled<T> {
    owner: PerCpuArcOwner<T>,
    error: KillError,
}

impl<T> NotKilled<T> {
    /// The owner, to try again.
    ///
    /// ```
    /// use corelocal::{PerCpuArcOwner, refcount::NotKilled};
    ///
    /// fn end_or_keep<T>(owner: PerCpuArcOwner<T>, kept: &mut Vec<PerCpuArcOwner<T>>) {
    ///     kept.extend(owner.kill().map_err(NotKilled::into_owner).err());
    /// }
    /// let mut kept = Vec::new();
    /// end_or_keep(PerCpuArcOwner::new("table"), &mut kept);
    /// assert!(kept.is_empty());
    /// ```
    pub fn into_owner(self) -> PerCpuArcOwner<T> {
        self.owner
    }

    /// Why not.
    ///
    /// ```
    /// use corelocal::PerCpuArcOwner;
    /// use corelocal::refcount::KillError;
    ///
    /// let result = PerCpuArcOwner::new("table").kill();
    /// let refused = result.as_ref().err().map(|not| not.error());
    /// // An owner is the only one who kills, so the other reason does not occur.
    /// assert!(matches!(refused, None | Some(KillError::NoFence)));
    /// ```
    pub fn error(&self) -> KillError {
        self.error
    }
}

impl<T> fmt::Debug for NotKilled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotKilled").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for NotKilled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> core::error::Error for NotKilled<T> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        Some(&self.error)
    }
}
