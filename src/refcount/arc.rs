//! [`PerCpuArc`]: a shared value whose references are counted on the CPUs that clone and drop them.

use super::shared::Shared;
use core::borrow::Borrow;
use core::fmt;
use core::ops::Deref;

/// A shared value, as [`Arc`](std::sync::Arc) is one, whose clones and drops touch nothing that another
/// CPU writes, as long as its [owner](super::PerCpuArcOwner) is there.
///
/// Made by [`PerCpuArcOwner::share`](super::PerCpuArcOwner::share), and by cloning. When the owner is
/// gone references count in one word, as an `Arc`'s do, and the last one drops the value, on its thread.
///
/// One word. A clone or a drop is one section with sections: no locked instruction, no allocation, no
/// lock; else one atomic addition to this CPU's copy. Safe in signal handlers, where the drop of a `T`
/// is (it may be the last one).
///
/// There is no `Weak`: one would have to be counted as well to know when the memory may go. A table of
/// things that may go is one of `PerCpuArc`s that is cleared, or asks [`has_owner`](Self::has_owner).
/// There is no `get_mut` either: nobody knows that he is the only one.
///
/// ```
/// use corelocal::PerCpuArcOwner;
/// let config = PerCpuArcOwner::new(String::from("verbose"));
/// let workers: Vec<_> = (0..4)
///     .map(|_| {
///         let config = config.share();
///         std::thread::spawn(move || (0..1000).map(|_| config.clone().len()).sum::<usize>())
///     })
///     .collect();
/// drop(config); // the last worker drops the string
/// for worker in workers {
///     assert_eq!(worker.join().unwrap(), 7000);
/// }
/// ```
pub struct PerCpuArc<T>(Shared<T>);

impl<T> PerCpuArc<T> {
    #[inline]
    pub(super) fn new(shared: Shared<T>) -> Self {
        Self(shared)
    }

    /// Whether the owner is there, and references are counted on CPUs. A hint: it may go a moment later.
    ///
    /// For threads that keep a clone for long: they learn that it is wanted back.
    ///
    /// ```
    /// # use corelocal::{PerCpuArc, PerCpuArcOwner};
    /// let first = PerCpuArcOwner::new("old");
    /// let mut config = first.share();
    /// let second = PerCpuArcOwner::new("new");
    /// drop(first); // replaced
    /// if !PerCpuArc::has_owner(&config) {
    ///     config = second.share();
    /// }
    /// assert_eq!(*config, "new");
    /// ```
    #[inline]
    pub fn has_owner(this: &Self) -> bool {
        this.0.count().is_live()
    }

    /// How many references there are, the owner's among them. Exact while none is cloned or dropped,
    /// and the owner does not go meanwhile. Takes a load a lane while there is an owner; relaxed.
    ///
    /// ```
    /// # use corelocal::{PerCpuArc, PerCpuArcOwner};
    /// let owner = PerCpuArcOwner::new("table");
    /// let (one, two) = (owner.share(), owner.share());
    /// assert_eq!(PerCpuArc::references(&one), 3);
    /// drop((owner, two));
    /// assert_eq!(PerCpuArc::references(&one), 1);
    /// ```
    pub fn references(this: &Self) -> u64 {
        this.0.count().references()
    }

    /// Whether two references are to one value.
    ///
    /// ```
    /// # use corelocal::{PerCpuArc, PerCpuArcOwner};
    /// let (a, b) = (PerCpuArcOwner::new("same"), PerCpuArcOwner::new("same"));
    /// let (one, two) = (a.share(), a.share());
    /// assert!(PerCpuArc::ptr_eq(&one, &two));
    /// assert!(*one == *b.share() && !PerCpuArc::ptr_eq(&one, &b.share()));
    /// ```
    #[inline]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        this.0.is(&other.0)
    }
}

impl<T> Clone for PerCpuArc<T> {
    /// Another reference to the same value.
    ///
    /// More than 2^56 of them at once, which takes years of forgetting them, and the value is never
    /// dropped: nothing wraps, nothing aborts.
    #[inline]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Deref for PerCpuArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.value()
    }
}

impl<T> AsRef<T> for PerCpuArc<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T> Borrow<T> for PerCpuArc<T> {
    fn borrow(&self) -> &T {
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for PerCpuArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for PerCpuArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
