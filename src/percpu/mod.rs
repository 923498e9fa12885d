//! [`PerCpu`]: one copy of a value for each CPU, found by adding an offset.
//!
//! `address = handle + lane * STRIDE`: a handle is one word, the stride is a constant of the type,
//! and no table is read. Small objects of different owners share a CPU's cache lines; copies of
//! different CPUs never do. The page [`docs::design`](crate::docs::design) explains the address
//! scheme and the allocator.
#![allow(unsafe_code, reason = "hands out references into memory of its own")]

mod area;
mod bounds;
mod builder;
mod bytes;
mod cell;
mod chunk;
mod constructors;
mod counters;
mod create;
mod forward;
mod guarded;
mod handle;
mod iter;
#[cfg(corelocal_loom)]
pub(crate) mod model;
mod ops;
mod pool;
mod raw;
mod region;
mod segment;
#[cfg(not(corelocal_loom))]
mod slice;
#[cfg(not(corelocal_loom))]
mod statics;
mod stride;

pub use area::{Area, AreaStats};
pub use builder::AreaBuilder;
pub(crate) use bytes::PerCpuBytes;
pub use cell::{Number, PerCpuCell, Word};
pub use counters::Counters;
pub(crate) use guarded::Added;
pub use handle::PerCpuRef;
pub use iter::{IntoIter, Iter, IterCpus, IterMut};
pub use raw::PerCpuPtr;
#[cfg(not(corelocal_loom))]
pub(crate) use slice::PerCpuSlice;
#[cfg(not(corelocal_loom))]
pub use statics::PerCpuStatic;

use crate::cpu::{CpuId, Lane};
use crate::field::Field;
#[cfg(not(corelocal_loom))]
use bytemuck::Zeroable;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Index;
use core::ptr::NonNull;

/// A `T` for each CPU, and one for threads whose CPU is not known.
///
/// One word. It owns a copy in every lane, drops each once, and gives out `&T`: two threads can
/// be on one copy at a time, since the CPU is only a hint outside a restartable section. Made in
/// the global [`Area`], or in one of your own.
///
/// `PerCpu<T>` is `Send` if `T` is, and `Sync` if `T` is both.
///
/// ```
/// use corelocal::{PerCpu, PerCpuCell};
///
/// let hits: PerCpu<PerCpuCell<u64>> = PerCpu::zeroed(); // touches no memory
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| (0..1000).for_each(|_| hits.add(1)));
///     }
/// });
/// assert_eq!(hits.sum(), 4000);
/// ```
#[repr(transparent)]
pub struct PerCpu<T> {
    lane0: NonNull<T>,
    _copies: PhantomData<T>,
}

// SAFETY: the owner of all copies: sending it sends them.
unsafe impl<T: Send> Send for PerCpu<T> {}
// SAFETY: shared, it gives out `&T` to any thread (`T: Sync`). `T: Send` is asked for as well,
// since what one thread makes, another may drop.
unsafe impl<T: Send + Sync> Sync for PerCpu<T> {}

impl<T> PerCpu<T> {
    /// # Safety
    ///
    /// `lane0` is lane 0's copy in a block for `T`, initialised in every lane; the caller gives
    /// it up.
    #[inline]
    pub(crate) unsafe fn from_lane0(lane0: NonNull<T>) -> Self {
        Self { lane0, _copies: PhantomData }
    }

    #[inline]
    pub(crate) fn lane0(&self) -> NonNull<T> {
        self.lane0
    }

    /// A handle to share. Everything that a handle can do, the object can do too.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, PerCpuRef};
    /// struct Connection<'a> { bytes: PerCpuRef<'a, PerCpuCell<u64>> } // one word, no reference count
    ///
    /// let bytes = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let connections = [1, 2].map(|_| Connection { bytes: bytes.as_ref() });
    /// connections.iter().for_each(|connection| connection.bytes.add(1500));
    /// assert_eq!(bytes.sum(), 3000);
    /// ```
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'_, T> {
        // SAFETY: the copies live, and are only shared, as long as `self` is borrowed.
        unsafe { PerCpuRef::from_lane0(self.lane0) }
    }

    /// CPU lanes of the object; see [`PerCpuRef::cpus`].
    ///
    /// ```
    /// # use corelocal::{Lane, PerCpu};
    /// let objects = PerCpu::new(|lane| lane);
    /// assert_eq!(*objects.spill(), Lane::spill(objects.cpus() as u32));
    /// ```
    #[inline]
    pub fn cpus(&self) -> usize {
        self.as_ref().cpus()
    }

    /// Lanes of the object, the spill lane included; see [`PerCpuRef::lanes`].
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let limits = PerCpu::new(|_| PerCpuCell::new(100_u64)); // a hundred for each
    /// assert_eq!(limits.sum(), 100 * limits.lanes() as u64);
    /// ```
    #[inline]
    pub fn lanes(&self) -> usize {
        self.as_ref().lanes()
    }

    /// The copy of `cpu`; see [`PerCpuRef::get`].
    ///
    /// ```
    /// # use corelocal::{CpuId, PerCpu, PerCpuCell};
    /// /// What a web page about one CPU shows; the number comes from outside.
    /// fn page(hits: &PerCpu<PerCpuCell<u64>>, cpu: u32) -> Option<String> {
    ///     hits.get(CpuId::new(cpu)).map(|cell| format!("{} hits", cell.load()))
    /// }
    /// let hits = PerCpu::zeroed();
    /// assert_eq!(page(&hits, 0).as_deref(), Some("0 hits"));
    /// assert_eq!(page(&hits, 4_000_000), None);
    /// ```
    #[inline]
    pub fn get(&self, cpu: CpuId) -> Option<&T> {
        self.as_ref().get(cpu)
    }

    /// The copy in `lane`; see [`PerCpuRef::lane`].
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let (reads, bytes) = (PerCpu::<PerCpuCell<u64>>::zeroed(), PerCpu::<PerCpuCell<u64>>::zeroed());
    /// let (lane, _) = reads.fetch_add(1);
    /// // The lane of one object is one of any other in the same area.
    /// assert!(bytes.lane(lane).is_some_and(|cell| cell.load() == 0));
    /// ```
    #[inline]
    pub fn lane(&self, lane: Lane) -> Option<&T> {
        self.as_ref().lane(lane)
    }

    /// The copy in the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.inc();
    /// // Where it is a large part of the sum, threads run without a CPU id, or were cut off again and again.
    /// let lost_its_way = hits.spill().load() as f64 / hits.sum() as f64;
    /// assert!((0.0..=1.0).contains(&lost_its_way));
    /// ```
    #[inline]
    pub fn spill(&self) -> &T {
        self.as_ref().spill()
    }

    /// The copy of a CPU that this thread was on a moment ago; see [`PerCpuRef::this`].
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// // Values of one's own are shared ones: atomics, locks, or read only.
    /// let last_seen = PerCpu::new(|_| AtomicU64::new(0));
    /// last_seen.this().fetch_max(7, Ordering::Relaxed);
    /// assert_eq!(last_seen.iter().map(|(_, seen)| seen.load(Ordering::Relaxed)).max(), Some(7));
    /// ```
    #[inline]
    pub fn this(&self) -> &T {
        self.as_ref().this()
    }

    /// [`PerCpu::this`], and which lane it is.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// let names = PerCpu::new(|lane| format!("lane {}", lane.index()));
    /// let (lane, name) = names.here(); // both of one moment, unlike two calls
    /// assert_eq!(*name, format!("lane {}", lane.index()));
    /// ```
    #[inline]
    pub fn here(&self) -> (Lane, &T) {
        self.as_ref().here()
    }

    /// The part that `field` names, in every lane; see [`PerCpuRef::at`].
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell, field};
    /// #[derive(Default)]
    /// struct Queue { pushed: PerCpuCell<u64>, popped: PerCpuCell<u64> }
    ///
    /// let queues = PerCpu::new(|_| Queue::default());
    /// queues.at(field!(Queue, pushed)).add(3);
    /// queues.at(field!(Queue, popped)).add(1);
    /// let waiting = queues.at(field!(Queue, pushed)).sum() - queues.at(field!(Queue, popped)).sum();
    /// assert_eq!(waiting, 2);
    /// ```
    #[inline]
    pub fn at<F>(&self, field: Field<T, F>) -> PerCpuRef<'_, F, T> {
        self.as_ref().at(field)
    }

    /// Every lane and its copy, the spill lane last.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.add(2);
    /// let sum: u64 = hits.iter().map(|(_, cell)| cell.load()).sum();
    /// assert_eq!(sum, hits.sum());
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'_, T> {
        self.as_ref().iter()
    }

    /// Every CPU and its copy, without the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, Topology};
    /// let loads = PerCpu::new(|lane| lane.index() % 3);
    /// let online = Topology::current().online();
    /// let idle = loads.iter_cpus().find(|(cpu, load)| **load == 0 && online.contains(*cpu));
    /// println!("a job for CPU {:?}", idle.map(|(cpu, _)| cpu));
    /// assert!(idle.is_none_or(|(cpu, _)| cpu.index() % 3 == 0));
    /// ```
    #[inline]
    pub fn iter_cpus(&self) -> IterCpus<'_, T> {
        self.as_ref().iter_cpus()
    }

    /// Every lane and its copy, to be changed.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// let mut totals = PerCpu::new(|_| 5_u64);
    /// for (_, total) in totals.iter_mut() {
    ///     *total = 0; // back to the start, while nobody else is there
    /// }
    /// assert!(totals.iter().all(|(_, total)| *total == 0));
    /// ```
    #[inline]
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        IterMut::new(self)
    }
}

impl<T, const N: usize> PerCpu<[T; N]> {
    /// Element `i` in every lane; see [`PerCpuRef::index`].
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let by_status: PerCpu<[PerCpuCell<u64>; 6]> = PerCpu::zeroed(); // 1xx to 5xx
    /// for status in [200, 204, 404] {
    ///     by_status.index(status / 100).expect("a status of three digits").inc();
    /// }
    /// assert_eq!(by_status.index(2).map(|class| class.sum()), Some(2));
    /// assert!(by_status.index(9).is_none());
    /// ```
    #[inline]
    pub fn index(&self, i: usize) -> Option<PerCpuRef<'_, T, [T; N]>> {
        self.as_ref().index(i)
    }
}

impl<T> Drop for PerCpu<T> {
    fn drop(&mut self) {
        let lanes = 0..self.lanes();
        // SAFETY: the owner of the block; every lane is initialised, and nobody else is left.
        unsafe { create::drop_lanes(self.lane0, lanes) };
    }
}

/// The copy of a CPU.
///
/// # Panics
///
/// If the object has no lane for `cpu`: its lanes are numbered below [`PerCpu::cpus`].
impl<T> Index<CpuId> for PerCpu<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, cpu: CpuId) -> &T {
        match self.get(cpu) {
            Some(copy) => copy,
            None => panic!("CPU {cpu} has no lane here: there are {} CPU lanes", self.cpus()),
        }
    }
}

impl<'a, T> IntoIterator for &'a PerCpu<T> {
    type Item = (Lane, &'a T);
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut PerCpu<T> {
    type Item = (Lane, &'a mut T);
    type IntoIter = IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> IntoIterator for PerCpu<T> {
    type Item = (Lane, T);
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter::new(self)
    }
}

#[cfg(not(corelocal_loom))]
impl<T: Zeroable> Default for PerCpu<T> {
    /// As [`PerCpu::zeroed`].
    fn default() -> Self {
        Self::zeroed()
    }
}

impl<T> fmt::Debug for PerCpu<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpu")
            .field("size", &size_of::<T>())
            .field("lanes", &self.lanes())
            .finish_non_exhaustive()
    }
}
