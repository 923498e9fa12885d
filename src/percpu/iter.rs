//! Iterators over lanes. Their length is a property of the object and never changes.

use super::PerCpu;
use super::handle::PerCpuRef;
use crate::cpu::{CpuId, Lane};
use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::Range;
use core::ptr::NonNull;

/// The lane with number `index` of an object with `cpus` CPU lanes.
fn lane(index: usize, cpus: usize) -> Lane {
    if index < cpus { Lane::of_cpu(CpuId::new(index as u32)) } else { Lane::spill(cpus as u32) }
}

/// Gives an iterator its length and its other end; `$item` turns a lane's number into an item.
macro_rules! over_lanes {
    ([$($generics:tt)*] $name:ty, $item:ty, |$this:ident, $index:ident| $make:expr) => {
        #[allow(single_use_lifetimes, reason = "used by the item, in some of the types")]
        impl<$($generics)*> Iterator for $name {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let ($this, $index) = (&*self, self.left.clone().next()?);
                let item = $make;
                self.left.start += 1;
                Some(item)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                self.left.size_hint()
            }
        }

        #[allow(single_use_lifetimes, reason = "as above")]
        impl<$($generics)*> ExactSizeIterator for $name {}
        #[allow(single_use_lifetimes, reason = "as above")]
        impl<$($generics)*> FusedIterator for $name {}

        #[allow(single_use_lifetimes, reason = "as above")]
        impl<$($generics)*> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("left", &self.left.len()).finish()
            }
        }
    };
}

/// Every lane and its copy, the spill lane last. Made by [`PerCpuRef::iter`].
///
/// ```
/// # use corelocal::{PerCpu, PerCpuCell};
/// use corelocal::percpu::Iter;
///
/// fn busiest(lanes: Iter<'_, PerCpuCell<u64>>) -> u64 {
///     lanes.map(|(_, cell)| cell.load()).max().unwrap_or(0)
/// }
/// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
/// hits.add(3);
/// assert_eq!(busiest(hits.iter()), 3);
/// ```
///
/// # Only the lanes that were used
///
/// No lane knows whether it was used: that would be one more store in every update. Where there are
/// many CPUs and few of them update, and the walk is what has to be fast, mark a lane at its first
/// update; [`fetch_add`](PerCpuRef::fetch_add) tells which it was.
///
/// ```
/// use corelocal::bitmap::AtomicBitmap;
/// use corelocal::{Lane, PerCpu, PerCpuCell};
///
/// let hits: PerCpu<PerCpuCell<u64>> = PerCpu::zeroed();
/// let used = AtomicBitmap::new(hits.lanes());
/// for _ in 0..100 {
///     let (lane, before) = hits.fetch_add(1);
///     if before == 0 {
///         used.set(lane.index());
///     }
/// }
/// let copy = |index| hits.lane(Lane::of_index(index, hits.cpus() as u32)?);
/// assert_eq!(used.iter().filter_map(copy).map(PerCpuCell::load).sum::<u64>(), 100);
/// ```
///
/// An update that is interrupted before it marks its lane is not in the walk yet, as one that comes
/// just after it.
#[derive(Clone)]
#[must_use]
pub struct Iter<'a, T, O = T> {
    object: PerCpuRef<'a, T, O>,
    cpus: usize,
    left: Range<usize>,
}

impl<'a, T, O> Iter<'a, T, O> {
    #[inline]
    pub(super) fn new(object: PerCpuRef<'a, T, O>) -> Self {
        let cpus = object.cpus();
        Self { object, cpus, left: 0..cpus + 1 }
    }
}

over_lanes!(['a, T, O] Iter<'a, T, O>, (Lane, &'a T), |this, index| {
    // SAFETY: `left` holds numbers of the object's lanes.
    (lane(index, this.cpus), unsafe { this.object.at_index(index) })
});

/// Every CPU and its copy, without the spill lane. Made by [`PerCpuRef::iter_cpus`].
///
/// ```
/// # use corelocal::PerCpu;
/// use corelocal::percpu::IterCpus;
///
/// // The length is known, as that of a slice.
/// let objects = PerCpu::new(|lane| lane.index());
/// let mut cpus: IterCpus<'_, usize> = objects.iter_cpus();
/// assert_eq!(cpus.len(), objects.cpus());
/// assert_eq!(cpus.nth(0).map(|(cpu, _)| cpu.get()), Some(0));
/// assert_eq!(cpus.len(), objects.cpus() - 1);
/// ```
#[derive(Clone)]
#[must_use]
pub struct IterCpus<'a, T, O = T> {
    object: PerCpuRef<'a, T, O>,
    left: Range<usize>,
}

impl<'a, T, O> IterCpus<'a, T, O> {
    #[inline]
    pub(super) fn new(object: PerCpuRef<'a, T, O>) -> Self {
        Self { object, left: 0..object.cpus() }
    }
}

over_lanes!(['a, T, O] IterCpus<'a, T, O>, (CpuId, &'a T), |this, index| {
    // SAFETY: `left` holds numbers of the object's CPU lanes.
    (CpuId::new(index as u32), unsafe { this.object.at_index(index) })
});

/// Every lane and its copy, to be changed. Made by [`PerCpu::iter_mut`].
///
/// ```
/// # use corelocal::PerCpu;
/// let mut queues = PerCpu::new(|_| vec![0_u8; 16]);
/// for (lane, queue) in &mut queues {
///     queue.truncate(lane.index()); // nobody else has the object: any change is fine
/// }
/// assert_eq!(queues.get(corelocal::CpuId::new(0)).map(Vec::len), Some(0));
/// ```
#[must_use]
pub struct IterMut<'a, T> {
    lane0: NonNull<T>,
    cpus: usize,
    left: Range<usize>,
    _copies: PhantomData<&'a mut T>,
}

// SAFETY: gives out `&mut T`, each once, so it may go where they may.
unsafe impl<T: Send> Send for IterMut<'_, T> {}
// SAFETY: a shared `IterMut` gives out nothing.
unsafe impl<T: Sync> Sync for IterMut<'_, T> {}

impl<'a, T> IterMut<'a, T> {
    pub(super) fn new(object: &'a mut PerCpu<T>) -> Self {
        let cpus = object.cpus();
        Self { lane0: object.lane0(), cpus, left: 0..cpus + 1, _copies: PhantomData }
    }
}

over_lanes!(['a, T] IterMut<'a, T>, (Lane, &'a mut T), |this, index| {
    // SAFETY: the lanes of an object lie `STRIDE` apart in one mapping.
    let mut copy = unsafe { this.lane0.byte_add(index * PerCpuRef::<T>::STRIDE) };
    // SAFETY: borrowed from a `&mut PerCpu<T>`, and each lane's number comes out of `left` once.
    (lane(index, this.cpus), unsafe { copy.as_mut() })
});

/// Every lane and its value. Made by [`PerCpu::into_iter`]; what is not taken is dropped.
///
/// ```
/// # use corelocal::PerCpu;
/// // At the end, what the CPUs gathered becomes one list.
/// let logs = PerCpu::new(|lane| vec![lane.index()]);
/// let lanes = logs.lanes();
/// let all: Vec<usize> = logs.into_iter().flat_map(|(_, log)| log).collect();
/// assert!(all.into_iter().eq(0..lanes));
/// ```
#[must_use]
pub struct IntoIter<T> {
    lane0: NonNull<T>,
    cpus: usize,
    left: Range<usize>,
    _values: PhantomData<T>,
}

// SAFETY: owns the values that are left.
unsafe impl<T: Send> Send for IntoIter<T> {}
// SAFETY: a shared `IntoIter` gives out nothing.
unsafe impl<T: Sync> Sync for IntoIter<T> {}

impl<T> IntoIter<T> {
    pub(super) fn new(object: PerCpu<T>) -> Self {
        let object = ManuallyDrop::new(object);
        let cpus = object.cpus();
        Self { lane0: object.lane0(), cpus, left: 0..cpus + 1, _values: PhantomData }
    }
}

over_lanes!([T] IntoIter<T>, (Lane, T), |this, index| {
    // SAFETY: the lanes of an object lie `STRIDE` apart in one mapping.
    let copy = unsafe { this.lane0.byte_add(index * PerCpuRef::<T>::STRIDE) };
    // SAFETY: initialised, and read once: the number leaves `left` with it.
    (lane(index, this.cpus), unsafe { copy.read() })
});

impl<T> Drop for IntoIter<T> {
    fn drop(&mut self) {
        // SAFETY: the values with numbers in `left` were not taken; the block is the object's.
        unsafe { super::create::drop_lanes(self.lane0, self.left.clone()) };
    }
}
