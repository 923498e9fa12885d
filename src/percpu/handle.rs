//! [`PerCpuRef`]: a handle to a per-CPU object, or to a part of one.

use super::iter::{Iter, IterCpus};
use super::region::{Header, Region};
use super::stride::{self, Shape};
use crate::cpu::{CpuId, Lane};
use crate::field::Field;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A shared handle to a `T` in every lane: a whole object, or a part of one allocated as an `O`.
///
/// One word, `Copy`, and not a pointer to be followed: this CPU's copy is at
/// `handle + lane * STRIDE`, and the stride belongs to `O`, the type of the allocation. Taking a
/// part ([`PerCpuRef::at`], [`PerCpuRef::index`]) changes `T` and keeps `O`.
///
/// ```
/// use corelocal::{CpuId, PerCpu};
/// let names = PerCpu::new(|lane| format!("lane {}", lane.index()));
/// let handle = names.as_ref();
/// assert_eq!(size_of_val(&handle), size_of::<usize>());
/// assert_eq!(handle.get(CpuId::new(0)).map(String::as_str), Some("lane 0"));
/// ```
#[repr(transparent)]
pub struct PerCpuRef<'a, T, O = T> {
    lane0: NonNull<T>,
    _copies: PhantomData<&'a T>,
    _owner: PhantomData<fn() -> O>,
}

// SAFETY: a `PerCpuRef` gives out `&T` only, so it may go where a `&T` may: to other threads if
// `T: Sync`. No `O` is ever given out.
unsafe impl<T: Sync, O> Send for PerCpuRef<'_, T, O> {}
// SAFETY: as above.
unsafe impl<T: Sync, O> Sync for PerCpuRef<'_, T, O> {}

impl<T, O> Clone for PerCpuRef<'_, T, O> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, O> Copy for PerCpuRef<'_, T, O> {}

impl<'a, T, O> PerCpuRef<'a, T, O> {
    /// Bytes from one lane's copy to the next lane's.
    ///
    /// ```
    /// # use corelocal::{CpuId, PerCpu, PerCpuRef};
    /// let numbers = PerCpu::new(|lane| lane.index() as u64);
    /// // For code that the crate knows nothing of: assembly, or a reader in another process.
    /// let zero: *const u64 = &numbers[CpuId::new(0)];
    /// let spill = zero.wrapping_byte_add(numbers.cpus() * PerCpuRef::<u64>::STRIDE);
    /// assert_eq!(spill, numbers.spill() as *const u64);
    /// ```
    pub const STRIDE: usize = stride::stride::<O>();

    /// # Safety
    ///
    /// * `lane0` is lane 0's copy of a `T` that lies in an `O` allocated from an area (or is it).
    /// * Every lane's `T` is initialised, and shared only, for as long as `'a`.
    #[inline]
    pub(crate) const unsafe fn from_lane0(lane0: NonNull<T>) -> Self {
        Self { lane0, _copies: PhantomData, _owner: PhantomData }
    }

    #[inline]
    pub(crate) fn lane0(self) -> NonNull<T> {
        self.lane0
    }

    #[inline]
    pub(super) fn header(self) -> &'a Header {
        // SAFETY: lane 0's copy lies in lane 0 of a region of `O`'s shape.
        let region = unsafe { Region::of(self.lane0.cast(), Shape::of::<O>()) };
        // SAFETY: the object keeps its region alive for `'a`.
        unsafe { region.header() }
    }

    /// The copy in the lane with this number.
    ///
    /// # Safety
    ///
    /// `index < self.lanes()`.
    #[inline]
    pub(super) unsafe fn at_index(self, index: usize) -> &'a T {
        // SAFETY: the lanes of an object lie `STRIDE` apart in one mapping.
        let copy = unsafe { self.lane0.byte_add(index * Self::STRIDE) };
        // SAFETY: initialised and shared only for `'a`, as `from_lane0` was promised.
        unsafe { copy.as_ref() }
    }

    /// CPU lanes of the object. They are numbered from 0 and do not change while it lives.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpu};
    /// let area = Area::builder().cpus(64).build()?;
    /// let objects = area.try_alloc(|_| ())?;
    /// let handle = objects.as_ref();
    /// assert_eq!(handle.cpus(), 64); // the object's, which may be more than the machine's
    /// assert_eq!(handle.iter_cpus().len(), handle.cpus());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn cpus(self) -> usize {
        self.header().cpus as usize
    }

    /// Lanes of the object: one for each CPU, and the spill lane.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// let objects = PerCpu::new(|lane| lane.index());
    /// let handle = objects.as_ref();
    /// let mut packed = Vec::with_capacity(handle.lanes()); // one for each CPU, and the spill lane's
    /// packed.extend(handle.iter().map(|(_, value)| *value));
    /// assert_eq!((packed.len(), packed.capacity()), (handle.cpus() + 1, handle.lanes()));
    /// ```
    #[inline]
    pub fn lanes(self) -> usize {
        self.cpus() + 1
    }

    /// The copy of `cpu`, or `None` if the object has no lane for it.
    ///
    /// ```
    /// # use corelocal::{CpuMask, PerCpu, PerCpuCell};
    /// let hits = PerCpu::new(|_| PerCpuCell::new(1_u64));
    /// let handle = hits.as_ref();
    /// let node: CpuMask = "0,60000".parse()?;
    /// // CPUs that this machine does not have are passed by.
    /// let there: u64 = node.iter().filter_map(|cpu| handle.get(cpu)).map(|cell| cell.load()).sum();
    /// assert_eq!(there, 1);
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    #[inline]
    pub fn get(self, cpu: CpuId) -> Option<&'a T> {
        // SAFETY: a CPU lane exists for each number below `cpus()`.
        (cpu.index() < self.cpus()).then(|| unsafe { self.at_index(cpu.index()) })
    }

    /// The copy in `lane`, or `None` if the object has no such lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let handle = hits.as_ref();
    /// let (lane, before) = handle.fetch_add(5);   // says where it was
    /// let after = handle.lane(lane).unwrap().load();
    /// assert_eq!((before, after), (0, 5));
    /// ```
    #[inline]
    pub fn lane(self, lane: Lane) -> Option<&'a T> {
        let cpus = self.cpus();
        let there = if lane.is_spill() { lane.index() == cpus } else { lane.index() < cpus };
        // SAFETY: the spill lane is number `cpus`, the CPU lanes are below.
        there.then(|| unsafe { self.at_index(lane.index()) })
    }

    /// The copy in the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.add(1);
    /// let handle = hits.as_ref();
    /// let on_cpus: u64 = handle.iter_cpus().map(|(_, cell)| cell.load()).sum();
    /// assert_eq!(on_cpus + handle.spill().load(), handle.sum()); // a sum without it may miss updates
    /// ```
    #[inline]
    pub fn spill(self) -> &'a T {
        // SAFETY: the spill lane is number `cpus`.
        unsafe { self.at_index(self.cpus()) }
    }

    /// The copy of a CPU that this thread was on a moment ago; where the CPU is not known, one by
    /// thread, and the spill lane's where the object has no lane for it. Wait-free.
    ///
    /// A hint: the thread may be moved before the reference is used, and another thread may use
    /// the same copy at the same time. That is why it is a `&T`.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// use std::sync::Mutex;
    ///
    /// // A buffer for each CPU: mostly nobody else is at it, and its lock says so if somebody is.
    /// let scratch = PerCpu::new(|_| Mutex::new(String::new()));
    /// let mut line = scratch.as_ref().this().lock().unwrap();
    /// line.clear();
    /// line.push_str("GET /");
    /// assert_eq!(line.len(), 5);
    /// ```
    #[inline]
    pub fn this(self) -> &'a T {
        self.here().1
    }

    /// [`PerCpuRef::this`], and which lane it is.
    ///
    /// ```
    /// # use corelocal::PerCpu;
    /// use std::sync::Mutex;
    ///
    /// let free = PerCpu::new(|_| Mutex::new(vec![1, 2, 3]));
    /// let (home, list) = free.as_ref().here();
    /// let taken = list.lock().unwrap().pop().unwrap();
    /// // Later, wherever the thread is by then: back to where it came from.
    /// free.lane(home).unwrap().lock().unwrap().push(taken);
    /// assert_eq!(free.lane(home).unwrap().lock().unwrap().len(), 3);
    /// ```
    #[inline]
    pub fn here(self) -> (Lane, &'a T) {
        let lane = self.lane_here();
        // SAFETY: `lane_here` gives lanes of this object.
        (lane, unsafe { self.at_index(lane.index()) })
    }

    /// The lane of a CPU that this thread was on a moment ago.
    #[inline]
    pub(super) fn lane_here(self) -> Lane {
        let cpus = crate::sys::cpus();
        match crate::sys::cpu_hint() {
            // Every area has a lane for each of the machine's CPUs, at least.
            Some(id) if id < cpus => Lane::of_cpu(CpuId::new(id)),
            other => self.lane_elsewhere(other, cpus),
        }
    }

    /// Where a thread goes whose CPU has no lane, or is not known.
    #[cold]
    fn lane_elsewhere(self, id: Option<u32>, cpus: u32) -> Lane {
        match id {
            Some(_) => Lane::spill(self.header().cpus),
            None => {
                let lane = crate::sys::thread_hash() % cpus as usize;
                Lane::of_cpu(CpuId::new(lane as u32))
            }
        }
    }

    /// Every lane and its copy, the spill lane last.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// hits.add(3);
    /// let busy: Vec<_> = hits.as_ref().iter().filter(|(_, cell)| cell.load() > 0).collect();
    /// assert_eq!((busy.len(), busy[0].1.load()), (1, 3));
    /// ```
    #[inline]
    pub fn iter(self) -> Iter<'a, T, O> {
        Iter::new(self)
    }

    /// Every CPU and its copy, without the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// let table: Vec<String> =
    ///     hits.as_ref().iter_cpus().map(|(cpu, cell)| format!("cpu{cpu} {}", cell.load())).collect();
    /// assert_eq!((table.len(), table[0].as_str()), (hits.cpus(), "cpu0 0"));
    /// ```
    #[inline]
    pub fn iter_cpus(self) -> IterCpus<'a, T, O> {
        IterCpus::new(self)
    }

    /// The part that `field` names, in every lane. See [`field!`](crate::field!).
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuRef, bytemuck, counters, field};
    /// counters! { struct Disk { reads: u64, writes: u64 } }
    /// struct Device { name: String, disk: Disk }
    ///
    /// let devices = PerCpu::new(|_| Device { name: "sda".into(), disk: bytemuck::Zeroable::zeroed() });
    /// let disk: PerCpuRef<'_, Disk, Device> = devices.as_ref().at(field!(Device, disk));
    /// disk.at(Disk::WRITES).add(4); // parts of parts
    /// assert_eq!((disk.snapshot().writes, devices.this().name.as_str()), (4, "sda"));
    /// ```
    #[inline]
    pub fn at<F>(self, field: Field<T, F>) -> PerCpuRef<'a, F, O> {
        // A part without a size may stand at the very end of lane 0, from where clearing low bits
        // would not lead back (see `Shape::base_align`). Its place does not matter: it is moved in.
        let last = size_of::<T>().saturating_sub(align_of::<F>());
        let offset = if size_of::<F>() == 0 { field.offset().min(last) } else { field.offset() };
        // SAFETY: a token's offset is that of an `F` in every `T`; and any aligned place in the
        // object is one of an `F` without a size.
        let part = unsafe { self.lane0.byte_add(offset) }.cast();
        // SAFETY:
        // * the `F` lies in a `T`, which lies in an `O`;
        // * it is initialised and shared as long as the `T` is.
        unsafe { PerCpuRef::from_lane0(part) }
    }

    /// The same handle, as one that was allocated as an `O2`.
    ///
    /// The build fails unless `O` and `O2` have one stride: only then does the handle lead to the
    /// same copies. So handles to parts of different objects can share one type.
    ///
    /// ```
    /// use corelocal::{PerCpu, PerCpuCell, PerCpuRef, counters};
    /// counters! { struct Stats { reads: u64 } }
    /// let (alone, stats) = (PerCpu::<PerCpuCell<u64>>::zeroed(), PerCpu::<Stats>::zeroed());
    /// let all: [PerCpuRef<'_, PerCpuCell<u64>>; 2] =
    ///     [alone.as_ref(), stats.at(Stats::READS).with_owner()];
    /// all[1].add(1);
    /// assert_eq!(all.map(|counter| counter.sum()), [0, 1]);
    /// ```
    #[inline]
    pub fn with_owner<O2>(self) -> PerCpuRef<'a, T, O2> {
        const {
            assert!(
                stride::one_shape::<O, O2>(),
                "PerCpuRef::with_owner: the two owner types have different strides (see the \
                 classes of size and alignment in the documentation of `percpu`)"
            );
        };
        // SAFETY: the shape is all that is ever derived from the owner, and it is the same.
        unsafe { PerCpuRef::from_lane0(self.lane0) }
    }
}

impl<'a, T, O, const N: usize> PerCpuRef<'a, [T; N], O> {
    /// Element `i` in every lane, or `None` if `i >= N`.
    ///
    /// ```
    /// use corelocal::{PerCpu, PerCpuCell};
    /// let buckets: PerCpu<[PerCpuCell<u64>; 4]> = PerCpu::zeroed();
    /// buckets.index(2).unwrap().add(7);
    /// assert!(buckets.index(4).is_none());
    /// ```
    #[inline]
    pub fn index(self, i: usize) -> Option<PerCpuRef<'a, T, O>> {
        if i >= N {
            return None;
        }
        // SAFETY: element `i` of an array of `N` lies in it.
        let element = unsafe { self.lane0.cast::<T>().add(i) };
        // SAFETY: initialised and shared as long as the array is, and in the same `O`.
        Some(unsafe { PerCpuRef::from_lane0(element) })
    }
}

impl<'a, T, O> IntoIterator for PerCpuRef<'a, T, O> {
    type Item = (Lane, &'a T);
    type IntoIter = Iter<'a, T, O>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T, O> fmt::Debug for PerCpuRef<'_, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuRef")
            .field("size", &size_of::<T>())
            .field("lanes", &self.lanes())
            .finish_non_exhaustive()
    }
}
