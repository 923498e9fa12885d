//! [`PerCpuRwLock`]: a lock whose readers touch only their own CPU's lane.
//!
//! The page [`docs::reader_locks`](crate::docs::reader_locks) says when it is wanted, and when not.
//!
//! # How it is built
//!
//! ```text
//!               lane of CPU 0     lane of CPU 1    ...    spill lane
//!             +---------------+ +---------------+      +---------------+
//!   readers > | entries exits | | entries exits |      | entries exits |
//!             +---------------+ +---------------+      +---------------+
//!                     ^
//!                     '-- only while this word is what the reader saw: +------+
//!                                                     writers change > | word |  value
//!                                                                      +------+
//! ```
//!
//! * **A reader** adds one to its lane's entries when it comes, and one to a lane's exits when it goes:
//!   a section each, which compares the word and adds, with no lock prefix. Nothing that another
//!   CPU writes is written, so readers on many CPUs do not wait for each other's cache lines.
//! * **A writer** closes the word, has the kernel end every section that saw it open (`membarrier`),
//!   and waits until the exits of all lanes are as many as the entries.
//! * **Without sections, or without that barrier**, readers count themselves by atomics on the lane of
//!   their CPU, with a full fence and a second look at the word.
//!
//! Entries and exits are counted apart for the same reason as in the kernel's sleepable RCU, and the
//! whole is what its `percpu-rwsem` does with a grace period in the place of the barrier
//! (Documentation/locking/percpu-rw-semaphore.rst; Documentation/RCU). That two words are compared
//! and counted in one section is what takes the fence out of the reader.
//!
//! | file | what is in it |
//! |---|---|
//! | `gate` | who may be inside: the protocol, and why it holds |
//! | `lanes` | the counts, and who updates them |
//! | `guard` | guards, and all that is unsafe |

mod gate;
mod guard;
mod lanes;
#[cfg(corelocal_loom)]
pub(crate) mod model;
mod poison;

pub use guard::{ReadGuard, WriteGuard};

use crate::cacheline::CacheLine;
use crate::error::AllocError;
use crate::percpu::Area;
use crate::sys::rseq::NoFence;
use core::cell::UnsafeCell;
use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use gate::Gate;
use lanes::{By, Lanes};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

/// A readers-writer lock for what is read all the time and replaced now and then.
///
/// Used as `std::sync::RwLock` is, poisoning included. A read lock and its release are two additions in
/// this CPU's copy; they do not slow each other down on however many CPUs. A write lock costs a barrier
/// on all CPUs (tens of microseconds), two loads a lane, and every reader's time while it lasts.
///
/// ```
/// use corelocal::PerCpuRwLock;
/// let table = PerCpuRwLock::new(vec!["/"]);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| assert!(table.read().unwrap().contains(&"/")));
///     }
///     table.write().unwrap().push("/status");
/// });
/// assert_eq!(table.into_inner().unwrap().len(), 2);
/// ```
///
/// # Who waits for whom
///
/// * A writer waits for the readers that are inside, and for writers that asked before it. Readers
///   that come after it wait, so no stream of readers starves it.
/// * A reader waits while a writer is inside or waiting to be, and at most for that one: those
///   who waited are let in before the next writer. So no stream of writers starves it.
/// * All of them sleep while they wait.
///
/// **A thread that holds a guard must not ask for another one of the same lock**, not even to read
/// twice: a writer may have asked in between, which waits for the first guard while the second one waits
/// for it. That is a deadlock, and nothing notices it. [`try_read`](Self::try_read) does not wait.
///
/// # Panics, signals, forks
///
/// * **Poisoning** is that of the standard library: a panic while the value can be changed, that is
///   with a [`WriteGuard`] alive, makes every later lock return an error with the guard in it, until
///   [`clear_poison`](Self::clear_poison). A panic of a reader does nothing but drop its guard.
/// * **Signal handlers** must not use the lock: with a writer about, even leaving takes a mutex.
/// * **A child of `fork`** inherits the guards of threads that it does not have. If there were any, its
///   writers wait for ever; so they do if there was a writer, and its readers as well.
///
/// # Memory orderings
///
/// What a writer did is seen by whoever comes in after it (Acquire and Release; edges E80 to E83 in
/// [`docs::orderings`](crate::docs::orderings)). Two readers are not ordered.
#[repr(C)]
pub struct PerCpuRwLock<T: ?Sized> {
    /// On a line of its own: every reader loads it, and what else is written near it would cost them
    /// all a miss (the counts of an `Arc` around the lock, the value).
    gate: CacheLine<Gate<Lanes>>,
    value: UnsafeCell<T>,
}

// As std's: a panic of a writer poisons it, so what a caught panic left behind is announced.
impl<T: ?Sized> UnwindSafe for PerCpuRwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for PerCpuRwLock<T> {}

impl<T> PerCpuRwLock<T> {
    /// An open lock around `value`, its lanes in the global area.
    ///
    /// For a static there is `std::sync::LazyLock`.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// use std::collections::HashMap;
    /// use std::sync::LazyLock;
    ///
    /// static ROUTES: LazyLock<PerCpuRwLock<HashMap<&str, u16>>> = LazyLock::new(PerCpuRwLock::default);
    /// ROUTES.write().unwrap().insert("/", 200);
    /// let local = PerCpuRwLock::new(ROUTES.read().unwrap().len());
    /// assert_eq!(*local.read().unwrap(), 1);
    /// ```
    #[cfg(not(corelocal_loom))]
    #[must_use]
    #[track_caller]
    pub fn new(value: T) -> Self {
        match Self::try_new(value) {
            Ok(made) => made,
            Err(error) => panic!("no memory for a reader lock: {error}"),
        }
    }

    /// As [`PerCpuRwLock::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`]; the value is dropped.
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuRwLock};
    /// /// A lock for each shard, as long as there is memory.
    /// fn shards(many: usize) -> Result<Vec<PerCpuRwLock<Vec<u8>>>, AllocError> {
    ///     (0..many).map(|_| PerCpuRwLock::try_new(Vec::new())).collect()
    /// }
    /// let shards = shards(8)?;
    /// shards[3].write().unwrap().push(7);
    /// assert_eq!(shards[3].read().unwrap()[0], 7);
    /// # Ok::<(), AllocError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn try_new(value: T) -> Result<Self, AllocError> {
        Self::in_area(Area::global(), value)
    }

    /// An open lock with its lanes, 16 bytes each, in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`]; the value is dropped.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuRwLock};
    /// let tenant = Area::builder().build()?;
    /// let lock = PerCpuRwLock::in_area(&tenant, "settings")?;
    /// assert_eq!(*lock.read().unwrap(), "settings");
    /// assert!(tenant.stats().live >= 16 * tenant.lanes()); // entries and exits; the value lies in the lock
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, value: T) -> Result<Self, AllocError> {
        let lanes = Lanes::try_new(area)?;
        let shared = lanes.by() == By::AtomicsAlone;
        Ok(Self { gate: CacheLine::new(Gate::new(lanes, shared)), value: UnsafeCell::new(value) })
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// The value, if a writer panicked.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let lock = PerCpuRwLock::new(vec![1]);
    /// lock.write().unwrap().push(2);
    /// let table = lock.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    /// assert_eq!(table, [1, 2]);
    /// ```
    pub fn into_inner(self) -> LockResult<T> {
        let poisoned = self.gate.is_poisoned();
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> PerCpuRwLock<T> {
    /// Waits until no writer is inside, and none waits that asked earlier. Then the value can be read
    /// as long as the guard lives, beside other readers.
    ///
    /// Without a writer: two loads and one addition in this CPU's copy.
    ///
    /// # Errors
    ///
    /// The guard, if a writer panicked.
    ///
    /// # Deadlock
    ///
    /// For ever, perhaps, if this thread holds a guard of this lock.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let table = PerCpuRwLock::new(vec![("/", 200), ("/gone", 410)]);
    /// let status = |path: &str| {
    ///     let table = table.read().unwrap(); // left at the end of the block: keep it short
    ///     table.iter().find(|(name, _)| *name == path).map(|(_, status)| *status)
    /// };
    /// assert_eq!((status("/gone"), status("/none")), (Some(410), None));
    /// ```
    #[inline]
    pub fn read(&self) -> LockResult<ReadGuard<'_, T>> {
        ReadGuard::enter(self)
    }

    /// As [`read`](Self::read), without waiting for a writer.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if a writer is inside or about to be, even one that will find that it cannot
    /// (`try_write`); the guard, if one panicked.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// use std::sync::TryLockError;
    ///
    /// let table = PerCpuRwLock::new(1);
    /// let writer = table.write().unwrap();
    /// // A thread that must not sleep goes on without.
    /// assert!(matches!(table.try_read(), Err(TryLockError::WouldBlock)));
    /// drop(writer);
    /// assert_eq!(*table.try_read().unwrap(), 1);
    /// ```
    #[inline]
    pub fn try_read(&self) -> TryLockResult<ReadGuard<'_, T>> {
        tried(ReadGuard::try_enter(self))
    }

    /// Waits until nobody else is inside. Then the value can be changed as long as the guard lives.
    ///
    /// A barrier on all CPUs where readers use sections, a fence else; and two loads a lane, again for
    /// each reader that leaves while it waits.
    ///
    /// # Errors
    ///
    /// The guard, if an earlier writer panicked.
    ///
    /// # Panics
    ///
    /// If the system refuses a barrier which it had granted when the lock was made (a sandbox that
    /// was closed later): then nobody can know whether readers are inside. The lock stays open.
    ///
    /// # Deadlock
    ///
    /// For ever, if this thread holds a guard of this lock.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let config = PerCpuRwLock::new(String::from("old"));
    /// // Made first: readers wait while the guard lives.
    /// let new = String::from("new");
    /// *config.write().unwrap() = new;
    /// assert_eq!(*config.read().unwrap(), "new");
    /// ```
    #[track_caller]
    pub fn write(&self) -> LockResult<WriteGuard<'_, T>> {
        WriteGuard::close(self).unwrap_or_else(no_fence)
    }

    /// As [`write`](Self::write), without waiting for anybody. It does hold readers up that come while
    /// it looks.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if somebody is inside, or waits to be; the guard, if an earlier writer panicked.
    ///
    /// # Panics
    ///
    /// As [`write`](Self::write).
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// use std::sync::TryLockError;
    ///
    /// let cache = PerCpuRwLock::new(vec![1, 2, 3]);
    /// let reader = cache.read().unwrap();
    /// // Clearing up can wait for another time.
    /// assert!(matches!(cache.try_write(), Err(TryLockError::WouldBlock)));
    /// drop(reader);
    /// cache.try_write().unwrap().clear();
    /// assert!(cache.read().unwrap().is_empty());
    /// ```
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<WriteGuard<'_, T>> {
        tried(WriteGuard::try_close(self).unwrap_or_else(no_fence))
    }

    /// The value, without a lock: nobody else can have one.
    ///
    /// # Errors
    ///
    /// The value, if a writer panicked.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let mut table = PerCpuRwLock::new(Vec::new());
    /// table.get_mut().unwrap().extend(["/", "/status"]); // nobody else has it yet: no barrier
    /// assert_eq!(table.read().unwrap().len(), 2);
    /// ```
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.gate.is_poisoned();
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }

    /// Whether readers count themselves in sections: then a reader needs no locked instruction, and a
    /// writer a barrier on all CPUs. Else both use atomics.
    ///
    /// ```
    /// # use corelocal::{Backend, PerCpuRwLock, backend};
    /// let lock = PerCpuRwLock::new(());
    /// if !lock.uses_sections() {
    ///     println!("readers take an atomic and a fence each: {}", backend().reason());
    /// }
    /// assert!(backend() == Backend::Rseq || !lock.uses_sections());
    /// ```
    #[must_use]
    pub fn uses_sections(&self) -> bool {
        self.gate.count.by() == By::Sections
    }
}

fn tried<G>(entered: Option<LockResult<G>>) -> TryLockResult<G> {
    match entered {
        Some(result) => result.map_err(TryLockError::from),
        None => Err(TryLockError::WouldBlock),
    }
}

#[cold]
#[track_caller]
fn no_fence<R>(error: NoFence) -> R {
    panic!("a write lock is impossible now: {error}")
}

#[cfg(not(corelocal_loom))]
impl<T: Default> Default for PerCpuRwLock<T> {
    /// A lock around the default value; see [`PerCpuRwLock::new`].
    fn default() -> Self {
        Self::new(T::default())
    }
}

#[cfg(not(corelocal_loom))]
impl<T> From<T> for PerCpuRwLock<T> {
    /// As [`PerCpuRwLock::new`].
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: ?Sized> fmt::Debug for PerCpuRwLock<T> {
    /// Not the value, which would take a lock.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuRwLock")
            .field("lanes", &self.gate.count.lanes())
            .field("poisoned", &self.is_poisoned())
            .finish_non_exhaustive()
    }
}
