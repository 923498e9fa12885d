//! [`PerCpuStatic`]: a per-CPU object in a static, made by [`per_cpu!`](crate::per_cpu!).

use super::PerCpu;
use super::handle::PerCpuRef;
use super::iter::{Iter, IterCpus};
use crate::cpu::{CpuId, Lane};
use crate::error::AllocError;
use crate::field::Field;
use crate::once::OncePtr;
use core::fmt;

/// Defines per-CPU statics.
///
/// `static NAME: T;` begins as zeros (`T: bytemuck::Zeroable`), `static NAME: T = |lane| value;`
/// with a value for each lane. The memory is taken at the first use, from any thread and from the
/// first instruction of `main` on; two threads that come first race without a lock, and one value
/// of each lane survives. It is never dropped.
///
/// ```
/// use corelocal::{per_cpu, PerCpuCell};
/// per_cpu! {
///     /// Requests served.
///     pub static HITS: PerCpuCell<u64>;
///     static LIMITS: usize = |lane| 100 + lane.index();
/// }
/// HITS.add(1);
/// assert_eq!(HITS.sum(), 1);
/// assert!(LIMITS.iter().all(|(lane, limit)| *limit == 100 + lane.index()));
/// for (lane, hits) in &HITS {
///     println!("{:?}: {}", lane.cpu(), hits.load());
/// }
/// ```
#[macro_export]
macro_rules! per_cpu {
    () => {};
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $(#[$meta])*
        $vis static $name: $crate::percpu::PerCpuStatic<$type> =
            $crate::percpu::PerCpuStatic::new($crate::percpu::PerCpu::try_zeroed);
        $crate::per_cpu! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $(#[$meta])*
        $vis static $name: $crate::percpu::PerCpuStatic<$type> =
            $crate::percpu::PerCpuStatic::new(|| $crate::percpu::PerCpu::try_new($init));
        $crate::per_cpu! { $($rest)* }
    };
}

/// A per-CPU object that is made at its first use and lives for ever; see
/// [`per_cpu!`](crate::per_cpu!).
///
/// A use costs one load and one predictable branch more than a handle in a register. After the
/// first use it is as safe in signal handlers as the operation itself.
///
/// # Panics
///
/// Every use panics where the object is not there yet and the system refuses memory for it:
/// [`PerCpuStatic::try_as_ref`] in time avoids that.
///
/// # In a global allocator
///
/// The first use may be the heap's own first request: where the heap is asked for something on the
/// way (the machine's nodes, say) and that leads back here, the answer is found without it. But a
/// global allocator must not panic, so it goes through [`PerCpuStatic::try_as_ref`]; and its
/// initialisers must not ask the heap, or they come back to themselves.
pub struct PerCpuStatic<T: 'static> {
    /// Lane 0's copy; null before the first use.
    lane0: OncePtr<T>,
    make: fn() -> Result<PerCpu<T>, AllocError>,
}

impl<T: Send + Sync + 'static> PerCpuStatic<T> {
    /// A static whose object `make` makes at the first use.
    pub const fn new(make: fn() -> Result<PerCpu<T>, AllocError>) -> Self {
        Self { lane0: OncePtr::new(), make }
    }
}

impl<T: 'static> PerCpuStatic<T> {
    /// A handle to the object, which is made now if this is the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for it.
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'static, T> {
        match self.lane0.get() {
            // SAFETY: leaked by `make_slow`: initialised in every lane, and shared for ever.
            Some(lane0) => unsafe { PerCpuRef::from_lane0(lane0) },
            None => match self.make_slow() {
                Ok(handle) => handle,
                Err(error) => panic!("no memory for a per-CPU static: {error}"),
            },
        }
    }

    /// As [`PerCpuStatic::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    pub fn try_as_ref(&self) -> Result<PerCpuRef<'static, T>, AllocError> {
        self.make_slow()
    }

    #[cold]
    #[inline(never)]
    fn make_slow(&self) -> Result<PerCpuRef<'static, T>, AllocError> {
        let lane0 = match self.lane0.get() {
            Some(lane0) => lane0,
            None => {
                let made = (self.make)()?;
                match self.lane0.publish(made.lane0()) {
                    Ok(()) => return Ok(PerCpu::leak(made)),
                    Err(first) => first,
                }
            }
        };
        // SAFETY: leaked by whoever was first: initialised in every lane, and shared for ever.
        Ok(unsafe { PerCpuRef::from_lane0(lane0) })
    }

    /// CPU lanes of the object; see [`PerCpuRef::cpus`].
    #[inline]
    pub fn cpus(&self) -> usize {
        self.as_ref().cpus()
    }

    /// Lanes of the object, the spill lane included; see [`PerCpuRef::lanes`].
    #[inline]
    pub fn lanes(&self) -> usize {
        self.as_ref().lanes()
    }

    /// The copy of `cpu`; see [`PerCpuRef::get`].
    #[inline]
    pub fn get(&self, cpu: CpuId) -> Option<&'static T> {
        self.as_ref().get(cpu)
    }

    /// The copy in `lane`; see [`PerCpuRef::lane`].
    #[inline]
    pub fn lane(&self, lane: Lane) -> Option<&'static T> {
        self.as_ref().lane(lane)
    }

    /// The copy in the spill lane.
    #[inline]
    pub fn spill(&self) -> &'static T {
        self.as_ref().spill()
    }

    /// The copy of a CPU that this thread was on a moment ago; see [`PerCpuRef::this`].
    #[inline]
    pub fn this(&self) -> &'static T {
        self.as_ref().this()
    }

    /// [`PerCpuStatic::this`], and which lane it is.
    #[inline]
    pub fn here(&self) -> (Lane, &'static T) {
        self.as_ref().here()
    }

    /// The part that `field` names, in every lane; see [`PerCpuRef::at`].
    #[inline]
    pub fn at<F>(&self, field: Field<T, F>) -> PerCpuRef<'static, F, T> {
        self.as_ref().at(field)
    }

    /// Every lane and its copy, the spill lane last.
    #[inline]
    pub fn iter(&self) -> Iter<'static, T> {
        self.as_ref().iter()
    }

    /// Every CPU and its copy, without the spill lane.
    #[inline]
    pub fn iter_cpus(&self) -> IterCpus<'static, T> {
        self.as_ref().iter_cpus()
    }
}

impl<T: 'static, const N: usize> PerCpuStatic<[T; N]> {
    /// Element `i` in every lane; see [`PerCpuRef::index`].
    #[inline]
    pub fn index(&self, i: usize) -> Option<PerCpuRef<'static, T, [T; N]>> {
        self.as_ref().index(i)
    }
}

impl<T: 'static> IntoIterator for &PerCpuStatic<T> {
    type Item = (Lane, &'static T);
    type IntoIter = Iter<'static, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: 'static> fmt::Debug for PerCpuStatic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.lane0.get().is_some();
        f.debug_struct("PerCpuStatic").field("made", &made).finish_non_exhaustive()
    }
}
