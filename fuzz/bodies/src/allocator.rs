//! Objects of many shapes and a plain model of who owns which bytes.
#![allow(unsafe_code, reason = "writes to copies through raw handles")]

use corelocal::percpu::PerCpuRef;
use corelocal::{Area, Lane, PerCpu, PerCpuPtr};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;

/// An object of some type, without its type.
#[derive(Debug)]
pub struct Object {
    /// What was asked for.
    pub shape: &'static Shape,
    /// Lane 0's copy; what `PerCpu::into_raw` gave.
    lane0: *mut u8,
}

// SAFETY: the bytes belong to the object's owner, whichever thread that is.
unsafe impl Send for Object {}

/// What a type's size and alignment decide, and how to make and drop objects of it.
#[derive(Debug)]
pub struct Shape {
    /// Bytes of one copy.
    pub size: usize,
    align: usize,
    stride: usize,
    offset: fn(*mut u8) -> usize,
    make: fn(&Area) -> *mut u8,
    free: unsafe fn(*mut u8),
}

#[repr(C, align(64))]
struct Lines<const N: usize>([[u8; 64]; N]);
#[repr(C, align(512))]
struct Aligned<const N: usize>([[u8; 512]; N]);
#[repr(C, align(4096))]
struct Pages<const N: usize>([[u8; 4096]; N]);

impl Shape {
    const fn of<T>() -> Self {
        Self {
            size: size_of::<T>(),
            align: align_of::<T>(),
            stride: PerCpuRef::<T>::STRIDE,
            offset: |lane0| raw::<T>(lane0).offset(),
            make: |area| {
                let raw = PerCpu::into_raw(area.try_alloc_uninit::<T>().expect("there is memory"));
                // SAFETY: the object lives, and every object has the lane of CPU 0.
                unsafe { raw.at(Lane::of_cpu(0.into())) }.cast()
            },
            // SAFETY: the caller gives the object up.
            free: |lane0| drop(unsafe { PerCpu::from_raw(raw::<T>(lane0)) }),
        }
    }
}

/// The raw handle whose word is `lane0`.
fn raw<T>(lane0: *mut u8) -> PerCpuPtr<MaybeUninit<T>> {
    const { assert!(size_of::<PerCpuPtr<T>>() == size_of::<*mut u8>()) };
    // SAFETY: a raw handle is the address of lane 0's copy (its documentation says: one word), and
    // `make` got the word from the handle of an object of this type.
    unsafe { std::mem::transmute_copy(&lane0) }
}

/// From a byte to a quarter of a mebibyte in a lane.
pub static SHAPES: [Shape; 24] = [
    Shape::of::<u8>(),
    Shape::of::<u64>(),
    Shape::of::<u64>(),
    Shape::of::<[u64; 2]>(),
    Shape::of::<[u64; 3]>(),
    Shape::of::<[u64; 5]>(),
    Shape::of::<[u8; 60]>(),
    Shape::of::<Lines<1>>(),
    Shape::of::<[u64; 13]>(),
    Shape::of::<Lines<2>>(),
    Shape::of::<[u64; 29]>(),
    Shape::of::<Lines<6>>(),
    Shape::of::<[u64; 80]>(),
    Shape::of::<[u64; 128]>(),
    Shape::of::<[u8; 1500]>(),
    Shape::of::<Lines<32>>(),
    Shape::of::<[u64; 400]>(),
    Shape::of::<[u64; 512]>(),
    Shape::of::<Aligned<1>>(),
    Shape::of::<[u8; 9000]>(),
    Shape::of::<Pages<1>>(),
    Shape::of::<Pages<4>>(),
    Shape::of::<[u64; 5000]>(),
    Shape::of::<[u64; 10_000]>(),
];

impl Object {
    /// Takes one.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    pub fn new(area: &Area, shape: &'static Shape) -> Self {
        Self { shape, lane0: (shape.make)(area) }
    }

    /// Puts a canary in the first and the last bytes of every lane.
    pub fn mark(&self, lanes: usize, mark: u64) {
        self.each_end(lanes, |at, byte| {
            // SAFETY: within the copy, which is ours alone.
            unsafe { at.write(mark.to_ne_bytes()[byte]) };
        });
    }

    /// Whether the canaries live.
    pub fn is_marked(&self, lanes: usize, mark: u64) -> bool {
        let mut good = true;
        // SAFETY: written by `mark`.
        self.each_end(lanes, |at, byte| good &= unsafe { at.read() } == mark.to_ne_bytes()[byte]);
        good
    }

    fn each_end(&self, lanes: usize, mut f: impl FnMut(*mut u8, usize)) {
        let ends = self.shape.size.min(8);
        for lane in 0..lanes {
            for byte in 0..ends {
                let first = lane * self.shape.stride + byte;
                f(self.lane0.wrapping_add(first), byte);
                f(self.lane0.wrapping_add(first + self.shape.size - ends), byte);
            }
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: made by `make` of the same shape, and given up here.
        unsafe { (self.shape.free)(self.lane0) };
    }
}

/// The plain model: which bytes of lane 0 are taken.
#[derive(Default)]
struct Model(BTreeMap<usize, usize>);

impl Model {
    fn insert(&mut self, object: &Object) {
        let (start, shape) = (object.lane0.addr(), object.shape);
        let end = start + shape.size;
        assert_eq!(start % shape.align, 0);
        let before = self.0.range(..end).next_back();
        assert!(before.is_none_or(|(_, other)| *other <= start), "two live objects overlap");
        let (_, room) = (self.0.insert(start, end), shape.stride - 4096);
        assert!((shape.offset)(object.lane0) + shape.size <= room, "beyond the end of a lane");
    }

    fn remove(&mut self, object: &Object) {
        assert_eq!(
            self.0.remove(&object.lane0.addr()),
            Some(object.lane0.addr() + object.shape.size)
        );
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(start, end)| end - start).sum()
    }
}

/// Numbers below `SHAPES.len()` allocate, the others free one of those that live.
///
/// # Panics
///
/// If two objects overlap, if one is misaligned or beyond its lane's end, if a canary dies, or if
/// something is left over at the end.
pub fn objects_never_overlap(cpus: u32, steps: impl IntoIterator<Item = usize>) {
    // More lanes than the machine has are not refused, fewer may be.
    let Ok(area) = Area::builder().cpus(cpus).build() else { return };
    let (lanes, mut model, mut live) = (area.lanes(), Model::default(), Vec::new());
    for (step, mark) in steps.into_iter().zip(1..) {
        if let Some(shape) = SHAPES.get(step) {
            let object = Object::new(&area, shape);
            model.insert(&object);
            object.mark(lanes, mark);
            live.push((object, mark));
        } else if !live.is_empty() {
            let (object, mark) = live.swap_remove(step * 7 % live.len());
            assert!(object.is_marked(lanes, mark), "somebody wrote to it");
            model.remove(&object);
        }
        assert!(area.stats().live >= model.bytes() * lanes);
    }
    assert!(live.iter().all(|(object, mark)| object.is_marked(lanes, *mark)));
    drop(live);
    is_empty(&area);
}

/// # Panics
///
/// If anything is left of what was taken from `area`.
#[track_caller]
pub fn is_empty(area: &Area) {
    let stats = area.stats();
    assert!(stats.live == 0 && stats.chunks <= 1, "{stats:?}");
}
