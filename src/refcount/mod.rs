//! Reference counts that threads change on their own CPU, until somebody wants to know when the last
//! reference is gone: [`PerCpuRefCount`], and [`PerCpuArc`] on it. The page
//! [`docs::refcounts`](crate::docs::refcounts) says which one is wanted, and when none is.
//!
//! | file | what is in it |
//! |---|---|
//! | `word` | what the words of a count hold |
//! | `lanes` | the words that a count is made of, wherever they lie |
//! | `protocol` | get, put and kill, over such words |
//! | `count` | the protocol, on lanes of an area |
//! | `shared` | the one piece of unsafe code: a pointer that is counted |
//! | `arc`, `owner` | [`PerCpuArc`], and who ends the counting on CPUs |

mod arc;
mod count;
mod error;
mod lanes;
#[cfg(corelocal_loom)]
pub(crate) mod model;
mod owner;
mod protocol;
mod shared;
mod word;

pub use arc::PerCpuArc;
pub use error::KillError;
pub use owner::{NotKilled, PerCpuArcOwner, leaked};

use crate::error::AllocError;
use crate::percpu::Area;
use core::fmt;
use count::Count;

/// A count of references to something, which tells its end: got and put on each CPU's own copy until it
/// is [killed](Self::kill), exact from there on.
///
/// It begins with one reference, its owner's. While that one is there the end cannot come, so nobody
/// has to know the sum, and a [`get`](Self::get) and a [`put`](Self::put) are an addition each to
/// this CPU's copy: with sections no locked instruction, and no line that another CPU writes. Whoever
/// owns the first reference gives it up with `kill`: then references are counted in one word, as an
/// `Arc`'s are, and when the last one is put the closure that the count was made with is called, once,
/// by the thread that put it.
///
/// Takes 8 bytes a lane. The algorithm is that of the Linux kernel's `percpu-refcount` (its header
/// describes it), with sections and the system's barrier in the place of disabled preemption and RCU.
///
/// # What it does not do
///
/// It counts, and keeps nothing alive: [`PerCpuArc`] does. That `get`s and `put`s are balanced is the
/// caller's business; a `put` too many brings the end too early, or never, and never twice.
///
/// ```
/// use corelocal::PerCpuRefCount;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let ended = AtomicU32::new(0);
/// let users = PerCpuRefCount::new(|| _ = ended.fetch_add(1, Ordering::Relaxed));
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         users.get(); // for the thread; it gives it back
///         scope.spawn(|| (0..1000).for_each(|_| { users.get(); users.put() }));
///     }
/// });
/// assert_eq!(users.references(), 5); // theirs were never put
/// users.kill()?;
/// (0..4).for_each(|_| users.put());
/// assert_eq!((ended.load(Ordering::Relaxed), users.try_get()), (1, false));
/// # Ok::<(), corelocal::refcount::KillError>(())
/// ```
pub struct PerCpuRefCount<F: Fn() = fn()> {
    count: Count,
    at_end: F,
}

impl<F: Fn()> PerCpuRefCount<F> {
    /// A count of one. `at_end` is called when the last reference is put.
    ///
    /// # Panics
    ///
    /// If the system refuses memory.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// use std::sync::mpsc;
    ///
    /// let (tell, ended) = mpsc::channel();
    /// let requests = PerCpuRefCount::new(move || tell.send(()).unwrap());
    /// requests.get();
    /// requests.kill()?; // no more requests: who waits for the last one?
    /// assert!(ended.try_recv().is_err());
    /// requests.put();
    /// ended.recv().unwrap();
    /// # Ok::<(), corelocal::refcount::KillError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    #[must_use]
    #[track_caller]
    pub fn new(at_end: F) -> Self {
        match Self::try_new(at_end) {
            Ok(made) => made,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`PerCpuRefCount::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpuRefCount};
    /// fn count() -> Result<PerCpuRefCount, AllocError> {
    ///     PerCpuRefCount::try_new(|| println!("the last user is gone"))
    /// }
    /// let users = count()?;
    /// assert_eq!(users.references(), 1);
    /// # Ok::<(), AllocError>(())
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn try_new(at_end: F) -> Result<Self, AllocError> {
        Self::in_area(Area::global(), at_end)
    }

    /// A count of one in an area of one's own.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuRefCount};
    /// let plugin = Area::builder().build()?;
    /// let users = PerCpuRefCount::in_area(&plugin, || println!("it can be unloaded"))?;
    /// users.get();
    /// assert_eq!((users.references(), plugin.stats().live), (2, 8 * plugin.lanes()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_area(area: &Area, at_end: F) -> Result<Self, AllocError> {
        Ok(Self { count: Count::in_area(area)?, at_end })
    }

    /// One reference more. The caller has one, or the first one has not been given up.
    ///
    /// With sections, before the kill: one section on this CPU's copy. Wait-free; never allocates,
    /// never panics; safe in signal handlers. Relaxed.
    ///
    /// The count is exact up to 2^56 references at once. More can only be forgotten ones, some years of
    /// them: then the end never comes.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// let users = PerCpuRefCount::new(|| ());
    /// users.get(); // for the thread: before it starts, not in it
    /// std::thread::scope(|scope| { scope.spawn(|| users.put()); });
    /// assert_eq!(users.references(), 1);
    /// ```
    #[inline]
    pub fn get(&self) {
        self.count.get();
    }

    /// One reference more, unless the end has come: for whoever has no reference, and found the thing
    /// in a table, say. Says whether. As [`get`](Self::get) else.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// /// Finds a device in a table, and keeps it if it is still there.
    /// fn open<'a>(table: &'a [PerCpuRefCount], index: usize) -> Option<&'a PerCpuRefCount> {
    ///     table.get(index).filter(|device| device.try_get())
    /// }
    /// let table = [PerCpuRefCount::new((|| ()) as fn())];
    /// let device = open(&table, 0).expect("it is there");
    /// device.kill()?;
    /// assert!(open(&table, 0).is_some_and(|device| { device.put(); true })); // going, not gone
    /// device.put();
    /// assert!(open(&table, 0).is_none());
    /// # Ok::<(), corelocal::refcount::KillError>(())
    /// ```
    #[must_use = "there is a reference to put, or there is none"]
    #[inline]
    pub fn try_get(&self) -> bool {
        self.count.try_get()
    }

    /// One reference more, unless somebody has begun to [`kill`](Self::kill): what is on its way
    /// to its end takes no new users. Says whether.
    ///
    /// A kill that begins at the same time may come too late to refuse it, and counts it then.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// let server = PerCpuRefCount::new(|| ());
    /// assert!(server.try_get_live()); // a request
    /// server.kill()?;
    /// assert!(!server.try_get_live(), "is shutting down"); // no new ones,
    /// server.put();                                        // and the one that runs ends
    /// # Ok::<(), corelocal::refcount::KillError>(())
    /// ```
    #[must_use = "there is a reference to put, or there is none"]
    #[inline]
    pub fn try_get_live(&self) -> bool {
        self.count.is_live() && self.count.try_get()
    }

    /// One reference less. If it was the last, the closure is called before this returns, and sees all
    /// that was done before any `put` (Release by each; Acquire before the call).
    ///
    /// As [`get`](Self::get) else: safe in signal handlers where the closure is.
    ///
    /// # Panics
    ///
    /// If the closure does. It has been called then.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// /// A reference that puts itself.
    /// struct InUse<'a>(&'a PerCpuRefCount);
    /// impl Drop for InUse<'_> {
    ///     fn drop(&mut self) {
    ///         self.0.put();
    ///     }
    /// }
    /// let users: PerCpuRefCount = PerCpuRefCount::new(|| ());
    /// users.get();
    /// let one = InUse(&users);
    /// assert_eq!(users.references(), 2);
    /// drop(one);
    /// assert_eq!(users.references(), 1);
    /// ```
    #[inline]
    pub fn put(&self) {
        if self.count.put() {
            (self.at_end)();
        }
    }

    /// Ends the counting on CPUs, and puts the reference that the count began with. From here on the
    /// last `put` calls the closure; or this does, if no other reference is left.
    ///
    /// Once, by whoever owns that reference. Makes every CPU of the process run through a barrier
    /// (`membarrier`, about 20 us where another CPU is busy), and reads a word a lane. Others get and
    /// put meanwhile. Without sections there is no barrier, and a word a lane is written.
    ///
    /// # Errors
    ///
    /// [`KillError`]; nothing was put, and the caller owns the reference still.
    ///
    /// # Panics
    ///
    /// If the closure does, as in [`put`](Self::put).
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// let ended = AtomicBool::new(false);
    /// let users = PerCpuRefCount::new(|| ended.store(true, Ordering::Relaxed));
    /// users.get();
    /// users.kill()?; // exact from here on, and not the end: one is left
    /// assert_eq!((users.references(), ended.load(Ordering::Relaxed)), (1, false));
    /// users.put();
    /// assert!(ended.load(Ordering::Relaxed));
    /// # Ok::<(), corelocal::refcount::KillError>(())
    /// ```
    pub fn kill(&self) -> Result<(), KillError> {
        self.count.kill()?;
        self.put();
        Ok(())
    }

    /// Whether somebody has begun to [`kill`](Self::kill) it. A hint: it may be so a moment later.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// let server = PerCpuRefCount::new(|| ());
    /// server.get();
    /// let mut answered = 0;
    /// while !server.is_killed() { // a connection that would stay for ever
    ///     answered += 1;
    ///     if answered == 3 {
    ///         server.kill()?;
    ///     }
    /// }
    /// server.put();
    /// assert_eq!(answered, 3);
    /// # Ok::<(), corelocal::refcount::KillError>(())
    /// ```
    #[inline]
    pub fn is_killed(&self) -> bool {
        !self.count.is_live()
    }

    /// How many references there are, the first one among them. Exact while none is got or put, and
    /// nobody kills; else a number that was near the truth. Takes a load a lane; relaxed.
    ///
    /// ```
    /// # use corelocal::PerCpuRefCount;
    /// let users = PerCpuRefCount::new(|| ());
    /// (0..5).for_each(|_| users.get());
    /// println!("{} in use", users.references() - 1); // for people: the next moment it is another number
    /// assert_eq!(users.references(), 6);
    /// ```
    pub fn references(&self) -> u64 {
        self.count.references()
    }
}

impl<F: Fn()> fmt::Debug for PerCpuRefCount<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuRefCount")
            .field("lanes", &self.count.lanes())
            .field("is_killed", &self.is_killed())
            .finish_non_exhaustive()
    }
}
