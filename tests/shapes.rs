//! Sizes and alignments: where copies lie, and what no size or alignment may do.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "values that must not pass the stack are made in place")]

mod common;

use corelocal::bytemuck::Zeroable;
use corelocal::percpu::PerCpuRef;
use corelocal::{AllocError, Area, CACHE_LINE, InitError, Lane, PerCpu, field};
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

const PAGE: usize = 4096;

/// `N` bytes aligned to as many as the name says.
macro_rules! aligned {
    ($($name:ident $align:literal)+) => {$(
        #[derive(Clone, Copy)]
        #[repr(C, align($align))]
        struct $name<const N: usize>([u8; N]);
        // SAFETY: bytes, and padding.
        unsafe impl<const N: usize> Zeroable for $name<N> {}
    )+};
}
aligned! {
    A1 1 A2 2 A4 4 A8 8 A16 16 A32 32 A64 64 A128 128 A256 256 A512 512 A1024 1024 A2048 2048
    A4096 4096 A8192 8192 A65536 65_536 A2M 2_097_152
}

/// Areas with as many CPU lanes as each of these, where the machine does not have more.
///
/// E7, <https://github.com/xacrimon/dashmap/pull/185>: numbers that are no powers of two.
fn areas(cpus: &[u32]) -> Vec<Area> {
    cpus.iter().filter_map(|&cpus| Area::builder().cpus(cpus).build().ok()).collect()
}

/// Which lane has which bytes: intervals `start -> (end, lane)` that must not overlap.
#[derive(Default)]
struct Map(BTreeMap<usize, (usize, usize)>);

impl Map {
    fn insert(&mut self, start: usize, size: usize, lane: usize) {
        let end = start + size.max(1);
        let before = self.0.range(..end).next_back();
        assert!(before.is_none_or(|(_, (other, _))| *other <= start), "two copies overlap");
        self.0.insert(start, (end, lane));
    }

    /// Copies of two lanes lie on no common unit of `unit` bytes.
    fn lanes_apart(&self, unit: usize) {
        for ((_, (end, lane)), (start, (_, next))) in self.0.iter().zip(self.0.iter().skip(1)) {
            let apart = lane == next || (end - 1) / unit != start / unit;
            assert!(apart, "lanes {lane} and {next} share {unit} bytes at {start:#x}");
        }
    }
}

/// Some objects of `T` in `area`: each copy aligned, no two overlapping, lanes apart.
fn check<T: Zeroable>(area: &Area) {
    let objects: Vec<_> = (0..5).map(|_| area.try_alloc_zeroed::<T>().unwrap()).collect();
    let what = || format!("{} bytes aligned to {}", size_of::<T>(), align_of::<T>());
    let mut map = Map::default();
    for object in &objects {
        assert_eq!(object.iter().len(), area.lanes());
        let mut last = None;
        for (lane, copy) in object {
            let at = std::ptr::from_ref(copy).addr();
            assert_eq!(at % align_of::<T>(), 0, "{}, lane {}", what(), lane.index());
            if let Some(last) = last {
                assert_eq!(at - last, PerCpuRef::<T>::STRIDE, "{}", what());
            }
            last = Some(at);
            map.insert(at, size_of::<T>(), lane.index());
        }
    }
    map.lanes_apart(PAGE);
    map.lanes_apart(CACHE_LINE);
    drop(objects);
    let left = area.stats();
    assert_eq!(left.live, 0, "{}", what());
    assert!(left.chunks <= 1, "{}", what());
}

macro_rules! check_all {
    ($area:expr; $($align:ident: $($size:literal)+;)+) => {
        $($(check::<$align<$size>>($area);)+)+
    };
}

/// E9, <https://github.com/rust-lang/rust/issues/135719>, and F7,
/// <https://github.com/Amanieu/atomic-rs/issues/1>: every lane's copy is aligned, and shares no
/// line and no page with another lane's.
#[test]
fn copies_are_aligned_and_lanes_share_neither_a_line_nor_a_page() {
    for area in areas(&[3, 5, 6, 7, 12, 64, 96, 240]) {
        let area = &area;
        check_all! { area;
            A1: 0 1 3 8 63 64 65 127 1000 4096 8191 8192 8193 65535 65536 65537 3145728;
            A2: 2 6; A4: 4 12; A8: 8 24 1024 1088; A16: 16 48; A32: 32 96; A64: 0 64 192 8192;
            A128: 0 128 1024; A256: 0 256; A512: 512; A1024: 1024; A2048: 2048 69632;
            A4096: 0 4096 65536 3145728; A8192: 8192; A65536: 0 65536 131072;
        }
    }
    for area in areas(&[3, 12]) {
        check::<A2M<0>>(&area);
        check::<A2M<3_145_728>>(&area);
    }
}

/// The last object of a full lane and the first one of the next lane: F7, as above.
#[test]
fn the_ends_of_full_lanes_share_neither_a_line_nor_a_page() {
    fn check<T: Zeroable>(area: &Area) {
        let (mut map, mut objects) = (Map::default(), Vec::new());
        while area.stats().chunks < 2 {
            objects.push(area.try_alloc_zeroed::<T>().unwrap());
        }
        for (lane, copy) in objects.iter().flatten() {
            map.insert(std::ptr::from_ref(copy).addr(), size_of::<T>(), lane.index());
        }
        map.lanes_apart(PAGE);
        map.lanes_apart(CACHE_LINE);
    }
    for area in areas(&[3, 12, 64]) {
        check::<A64<64>>(&area);
        check::<A4096<4096>>(&area);
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Parts<A> {
    first: u8,
    aligned: A,
    last: [A; 3],
}

// SAFETY: zeros are good for each field.
unsafe impl<A: Zeroable> Zeroable for Parts<A> {}

/// Parts keep the stride of the whole: each lane's part lies in that lane's whole, aligned.
fn check_parts<A: Zeroable + Copy>(area: &Area) {
    let _neighbour = area.try_alloc_zeroed::<Parts<A>>().unwrap();
    let object = area.try_alloc_zeroed::<Parts<A>>().unwrap();
    let aligned = object.at(field!(Parts<A>, aligned));
    let last = object.at(field!(Parts<A>, last));
    assert!(last.index(3).is_none() && last.index(usize::MAX).is_none());
    let address = |part: Option<&A>| std::ptr::from_ref(part.expect("there is this lane")).addr();
    for (lane, whole) in &object {
        let first = address(aligned.lane(lane));
        assert_eq!(first, std::ptr::from_ref(&whole.aligned).addr());
        assert_eq!(first % align_of::<A>(), 0);
        for (i, element) in whole.last.iter().enumerate() {
            let by_index = address(last.index(i).and_then(|element| element.lane(lane)));
            assert_eq!(by_index, std::ptr::from_ref(element).addr());
            assert_eq!(by_index % align_of::<A>(), 0);
        }
    }
    assert_eq!(address(Some(aligned.spill())), std::ptr::from_ref(&object.spill().aligned).addr());
}

#[test]
fn parts_are_found_in_their_own_lane_whatever_the_alignment_of_the_whole() {
    for area in areas(&[3, 64]) {
        check_parts::<A1<1>>(&area);
        check_parts::<A8<8>>(&area);
        check_parts::<A64<64>>(&area);
        check_parts::<A128<128>>(&area);
        check_parts::<A256<256>>(&area);
        check_parts::<A4096<4096>>(&area);
        check_parts::<A65536<65_536>>(&area);
        check_parts::<A1<3_145_728>>(&area);
    }
    for area in areas(&[3]) {
        check_parts::<A2M<1>>(&area);
    }
}

/// Fills a place with the lane's number, a value of any type for which all bytes are good.
fn filled<T: Zeroable>(lane: Lane, place: &mut MaybeUninit<T>) -> Result<&mut T, ()> {
    // SAFETY: the place is as long as a `T`.
    unsafe { place.as_mut_ptr().write_bytes(lane.index() as u8 + 1, 1) };
    // SAFETY: every byte was just written, and the types here are arrays of integers.
    Ok(unsafe { place.assume_init_mut() })
}

/// E11, <https://github.com/crossbeam-rs/crossbeam/pull/130>: what is written in one lane is read
/// in that lane only.
fn check_bytes<const N: usize>(area: &Area) {
    let make = || area.try_alloc_in_place(filled::<[u8; N]>).unwrap();
    let objects = [make(), make()];
    for (lane, bytes) in objects.iter().flatten() {
        assert!(bytes.iter().all(|byte| *byte == lane.index() as u8 + 1), "{N}, {lane:?}");
    }
}

#[test]
fn large_objects_keep_what_was_written_in_every_lane() {
    for area in areas(&[5]) {
        check_bytes::<{ 12 << 10 }>(&area);
        check_bytes::<{ 100 << 10 }>(&area);
        check_bytes::<{ 3 << 20 }>(&area);
    }
}

/// E9, <https://github.com/rust-lang/rust/issues/49492>: a value larger than the stack of the
/// thread that makes, reads and drops it.
#[test]
fn a_value_of_3_mib_is_made_by_a_thread_with_a_stack_of_64_kib() {
    type Big = [u64; 3 << 17];
    const LAST: usize = (3 << 17) - 1;
    let small = std::thread::Builder::new().stack_size(64 << 10);
    let work = || {
        let zeroed = PerCpu::<Big>::zeroed();
        assert_eq!(zeroed.spill()[LAST], 0);
        let mut places = PerCpu::<Big>::new_uninit();
        places.iter_mut().for_each(|(lane, place)| assert!(filled(lane, place).is_ok()));
        // SAFETY: the loop went through every lane.
        let by_loop = unsafe { places.assume_init() };
        let made = PerCpu::<Big>::try_init_with(filled).unwrap();
        for ((lane, by_loop), (_, in_place)) in by_loop.iter().zip(&made) {
            let want = u64::from_ne_bytes([lane.index() as u8 + 1; 8]);
            assert!(by_loop[0] == want && by_loop[LAST] == want);
            assert!(in_place[0] == want && in_place[LAST] == want);
        }
    };
    small.spawn(work).unwrap().join().unwrap();
}

/// E10, <https://github.com/rust-lang/nomicon/issues/120>.
#[test]
fn values_without_size_are_dropped_once_a_lane() {
    macro_rules! counted {
        ($align:literal) => {{
            static DROPS: AtomicUsize = AtomicUsize::new(0);
            #[repr(align($align))]
            struct Nothing;
            impl Drop for Nothing {
                fn drop(&mut self) {
                    assert!(std::ptr::from_mut(self).is_aligned());
                    DROPS.fetch_add(1, Ordering::Relaxed);
                }
            }
            for area in areas(&[8, 240]) {
                let before = DROPS.load(Ordering::Relaxed);
                let (one, other) = (area.try_alloc(|_| Nothing), area.try_alloc(|_| Nothing));
                drop(one.unwrap());
                assert_eq!(DROPS.load(Ordering::Relaxed) - before, area.lanes());
                assert_eq!(other.unwrap().into_iter().count(), area.lanes());
                assert_eq!(DROPS.load(Ordering::Relaxed) - before, 2 * area.lanes());
                assert_eq!(area.stats().live, 0);
            }
        }};
    }
    counted!(1);
    counted!(128);
    counted!(65_536);
}

/// How far apart two objects of `T` lie that are made one after the other.
fn step<T: Zeroable>(area: &Area) -> usize {
    let objects: Vec<_> = (0..5).map(|_| area.try_alloc_zeroed::<T>().unwrap()).collect();
    let at: Vec<usize> = objects.iter().map(|one| std::ptr::from_ref(one.spill()).addr()).collect();
    let steps: Vec<usize> = at.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
    assert!(steps.iter().all(|step| *step == steps[0]), "in creation order: {steps:?}");
    steps[0]
}

#[test]
fn objects_of_two_lines_or_more_take_an_odd_number_of_lines() {
    let odd = Area::builder().build().unwrap();
    let even = Area::builder().odd_lines(false).build().unwrap();
    let line = CACHE_LINE.max(64);
    assert_eq!((step::<[u64; 128]>(&odd), step::<[u64; 128]>(&even)), (1024 + line, 1024));
    assert_eq!((step::<A64<4096>>(&odd), step::<A64<4096>>(&even)), (4096 + line, 4096));
    assert_eq!(step::<A1<8192>>(&odd), 8192 + line);
    if line == 64 {
        assert_eq!((step::<[u64; 16]>(&odd), step::<[u64; 16]>(&even)), (192, 128));
        assert_eq!((step::<[u64; 9]>(&odd), step::<[u64; 9]>(&even)), (192, 128));
        assert_eq!((step::<[u64; 24]>(&odd), step::<A64<64>>(&odd)), (192, 64));
    }
    // Small ones lie side by side, 8 bytes a counter; large alignments take what they ask for.
    assert_eq!((step::<u64>(&odd), step::<u8>(&odd), step::<[u64; 5]>(&odd)), (8, 8, 40));
    assert_eq!((step::<A128<128>>(&odd), step::<A4096<1>>(&odd)), (128, 4096));
}

/// E8, <https://github.com/mozilla/thin-vec/issues/88>: sizes whose multiples or round-ups overflow
/// are refused before an initialiser is called.
fn check_refused<T>(area: &Area) {
    fn called<T>(_: Lane, _: &mut MaybeUninit<T>) -> Result<&mut T, ()> {
        panic!("an initialiser was called for {} bytes", size_of::<T>())
    }
    let error = area.try_alloc_in_place(called::<T>).unwrap_err();
    let InitError::Alloc(error) = error else { panic!("an initialiser was called") };
    let lanes = area.lanes();
    // A lane of its own: the object, and a dead page.
    let stride = size_of::<T>()
        .checked_add(4096)
        .and_then(|size| size.checked_next_multiple_of(align_of::<T>().max(4096)));
    let all = stride.and_then(|stride| stride.checked_mul(lanes));
    let fits = all.is_some_and(|all| all <= isize::MAX as usize);
    match error {
        AllocError::CapacityOverflow { lanes: named, .. } => assert!(!fits && named == lanes),
        AllocError::OutOfMemory { bytes } => assert!(fits && bytes > size_of::<T>()),
        other => panic!("{other}"),
    }
    assert!(area.try_alloc_uninit::<T>().is_err());
    assert_eq!((area.stats().live, area.stats().reserved), (0, 0));
}

/// The largest type that the compiler makes on 64-bit targets ends below this many bytes.
#[cfg(target_pointer_width = "64")]
const LARGEST: usize = 1 << 61;

#[cfg(target_pointer_width = "64")]
#[test]
fn sizes_that_overflow_are_an_error_before_any_initialiser_runs() {
    for area in areas(&[0, 64, 240, 8192]) {
        check_refused::<[u8; LARGEST - 1]>(&area);
        check_refused::<[u8; LARGEST / 2 + 1]>(&area);
        check_refused::<A128<{ LARGEST - 128 }>>(&area);
        check_refused::<A4096<{ LARGEST - 8191 }>>(&area);
        check_refused::<A2M<{ LARGEST / 16 }>>(&area);
        check_refused::<[u64; 1 << 53]>(&area);
        check_refused::<A128<{ 1 << 48 }>>(&area);
    }
}
