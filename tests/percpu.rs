//! Per-CPU objects as users meet them: every constructor, way in, iterator and bound.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "the raw and uninitialised forms are part of what is tested")]

mod common;

use common::{MayNot, Probe};
use corelocal::percpu::{IntoIter, Iter, IterCpus, IterMut};
use corelocal::{
    Area, AreaError, CpuId, InitError, Lane, PerCpu, PerCpuCell, PerCpuPtr, PerCpuRef, counters,
    field, per_cpu,
};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, MutexGuard};

fn area(cpus: u32) -> Area {
    Area::builder().cpus(cpus).build().expect("as many as this machine has, or more")
}

/// The machine's own number of lanes, a big machine's, and a very big one's.
fn areas() -> impl Iterator<Item = Area> {
    [0, 64, 240].into_iter().filter_map(|cpus| Area::builder().cpus(cpus).build().ok())
}

#[derive(Clone, Copy)]
struct Pair(usize, u8);

fn numbers<O>(object: PerCpuRef<'_, usize, O>) -> Vec<usize> {
    object.iter().map(|(_, value)| *value).collect()
}

fn in_place(lane: Lane, place: &mut MaybeUninit<usize>) -> Result<&mut usize, u8> {
    Ok(place.write(lane.index()))
}

fn filled(mut places: PerCpu<MaybeUninit<usize>>) -> PerCpu<usize> {
    for (lane, place) in &mut places {
        place.write(lane.index());
    }
    // SAFETY: the loop went through every lane.
    unsafe { places.assume_init() }
}

#[test]
fn every_constructor_gives_every_lane_its_value() {
    let lanes: Vec<usize> = (0..Area::global().lanes()).collect();
    for made in [
        PerCpu::new(Lane::index),
        PerCpu::try_new(Lane::index).unwrap(),
        PerCpu::try_new_with(|lane| Ok::<_, u8>(lane.index())).unwrap(),
        PerCpu::try_init_with(in_place).unwrap(),
        filled(PerCpu::new_uninit()),
        filled(PerCpu::try_new_uninit().unwrap()),
    ] {
        assert_eq!(numbers(made.as_ref()), lanes);
    }
    let none = vec![0; lanes.len()];
    for made in [PerCpu::zeroed(), PerCpu::try_zeroed().unwrap(), PerCpu::default()] {
        assert_eq!(numbers(made.as_ref()), none);
    }
    for area in areas() {
        let lanes: Vec<usize> = (0..area.lanes()).collect();
        for made in [
            area.try_alloc(Lane::index).unwrap(),
            area.try_alloc_with(|lane| Ok::<_, u8>(lane.index())).unwrap(),
            area.try_alloc_in_place(in_place).unwrap(),
            filled(area.try_alloc_uninit().unwrap()),
        ] {
            assert_eq!(numbers(made.as_ref()), lanes);
        }
        // Memory that was used before: the zeros are made.
        let zeroed = area.try_alloc_zeroed::<usize>().unwrap();
        assert_eq!(numbers(zeroed.as_ref()), vec![0; lanes.len()]);
    }
}

#[test]
fn initialisers_are_called_once_a_lane_in_order_and_the_spill_lane_comes_last() {
    for area in areas() {
        let mut called = Vec::new();
        let object = area.try_alloc(|lane| called.push(lane)).unwrap();
        let iterated: Vec<Lane> = object.iter().map(|(lane, ())| lane).collect();
        assert_eq!(called, iterated);
        let spills: Vec<bool> = called.iter().map(|lane| lane.is_spill()).collect();
        assert_eq!(spills.iter().filter(|spill| **spill).count(), 1);
        assert!(spills[area.lanes() - 1]);
    }
}

#[test]
fn an_initialiser_that_returns_another_place_is_refused() {
    let mut elsewhere = Some(Box::leak(Box::new(7_usize)));
    let body = || {
        PerCpu::<usize>::try_init_with(|_, _| Ok::<_, ()>(elsewhere.take().expect("asked once")))
    };
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

#[test]
fn an_error_names_the_lane_and_what_its_initialiser_said() {
    let made = area(0).try_alloc_with(|lane| if lane.is_spill() { Err("no") } else { Ok(1_u8) });
    let InitError::Init { lane, error } = made.unwrap_err() else { panic!("no memory") };
    assert!(lane.is_spill() && error == "no");
}

/// E6, <https://github.com/xacrimon/dashmap/pull/256>: fewer lanes than CPUs are refused.
#[test]
fn an_area_with_fewer_lanes_than_cpus_is_refused() {
    let machine = area(0).lanes() as u32 - 1;
    if machine > 1 {
        let error = Area::builder().cpus(machine - 1).build().unwrap_err();
        assert_eq!(error, AreaError::TooFewCpus { asked: machine - 1, machine });
    }
    assert!(matches!(
        Area::builder().cpus(u32::MAX).build(),
        Err(AreaError::TooManyCpus { asked: u32::MAX, most: 8192 })
    ));
    assert_eq!(area(8192).lanes(), 8193);
}

/// I4, <https://github.com/htop-dev/htop/pull/2044>, and C3,
/// <https://github.com/sched-ext/scx/pull/379>: one number of lanes, wherever one asks.
#[test]
fn every_way_to_count_lanes_gives_one_number() {
    for area in areas() {
        let (lanes, cpus) = (area.lanes(), area.lanes() - 1);
        let mut object = area.try_alloc(|lane| Pair(lane.index(), 7)).unwrap();
        assert_eq!((object.lanes(), object.cpus(), area.stats().lanes), (lanes, cpus, lanes));
        let part = object.at(field!(Pair, 1));
        assert_eq!((part.lanes(), part.cpus()), (lanes, cpus));
        assert_eq!((part.iter().len(), part.iter_cpus().len()), (lanes, cpus));
        assert_eq!((object.iter().len(), object.iter().count()), (lanes, lanes));
        assert_eq!((object.iter_cpus().len(), object.iter_cpus().count()), (cpus, cpus));
        assert!(object.iter_cpus().all(|(cpu, copy)| cpu.index() == copy.0));
        assert_eq!((object.iter_mut().len(), object.iter_mut().count()), (lanes, lanes));
        for id in 0..cpus as u32 {
            assert_eq!(object.get(CpuId::new(id)).map(|copy| copy.0), Some(id as usize));
            assert_eq!(object[CpuId::new(id)].0, id as usize);
        }
        for beyond in [cpus as u32, cpus as u32 + 1, 1 << 20, u32::MAX] {
            assert!(object.get(CpuId::new(beyond)).is_none(), "CPU {beyond} of {cpus}");
            assert!(object.lane(Lane::of_cpu(CpuId::new(beyond))).is_none());
            let index = || object[CpuId::new(beyond)].0;
            assert!(catch_unwind(AssertUnwindSafe(index)).is_err());
        }
        for other in [0, cpus as u32 - 1, cpus as u32 + 1, u32::MAX] {
            assert!(object.lane(Lane::spill(other)).is_none(), "the spill lane of another area");
        }
        assert_eq!(object.lane(Lane::spill(cpus as u32)).map(|copy| copy.0), Some(cpus));
        assert_eq!(object.spill().0, cpus);
        let half = object.into_iter();
        assert_eq!(half.len(), lanes);
        let taken: Vec<usize> = half.map(|(_, value)| value.0).collect();
        assert_eq!(taken, (0..lanes).collect::<Vec<_>>());
    }
}

#[test]
fn this_is_the_copy_of_the_lane_that_here_names() {
    for area in areas() {
        let object = area.try_alloc(Lane::index).unwrap();
        let (lane, copy) = object.here();
        assert_eq!(object.lane(lane), Some(copy));
        assert!(*object.this() < object.lanes());
        assert_eq!(*copy, lane.index());
    }
}

#[test]
fn what_iter_mut_changes_is_there_afterwards() {
    let mut object = area(64).try_alloc(Lane::index).unwrap();
    for (lane, value) in &mut object {
        *value += 1000 * lane.index();
    }
    assert!(object.iter().all(|(lane, value)| *value == 1001 * lane.index()));
    assert_eq!((&object).into_iter().len(), object.as_ref().into_iter().len());
}

#[test]
fn handles_are_one_word() {
    fn words<T>() -> usize {
        size_of::<PerCpu<T>>().max(size_of::<PerCpuRef<'_, T>>()).max(size_of::<PerCpuPtr<T>>())
    }
    let word = size_of::<usize>();
    assert_eq!([words::<u8>(), words::<()>(), words::<[u64; 1 << 18]>()], [word; 3]);
    let object = PerCpu::new(|_| [Pair(1, 2); 4]);
    let element = object.index(3).unwrap();
    assert_eq!(size_of_val(&element), word);
    assert_eq!(size_of_val(&element.at(field!(Pair, 1))), word);
    assert_eq!(size_of::<Option<PerCpu<u8>>>(), word);
}

/// G5, <https://github.com/rust-lang/rust/issues/25894>: two threads can be on one copy, and one
/// thread drops all of them.
#[test]
fn objects_go_to_other_threads_only_if_their_values_may() {
    macro_rules! markers {
        ($($type:ty => $send:literal $sync:literal;)+) => {$(
            let is = (Probe::<$type>::SEND, Probe::<$type>::SYNC);
            assert_eq!(is, ($send, $sync), "{}", stringify!($type));
        )+};
    }
    type Guard = MutexGuard<'static, u8>; // Sync, but not Send
    markers! {
        PerCpu<u8> => true true;
        PerCpu<Cell<u8>> => true false;
        PerCpu<Rc<u8>> => false false;
        PerCpu<Guard> => false false;
        PerCpu<PerCpuCell<*mut u8>> => true true;
        PerCpuRef<'static, u8> => true true;
        PerCpuRef<'static, Cell<u8>> => false false;
        PerCpuRef<'static, Guard> => true true;
        PerCpuRef<'static, Cell<u8>, u64> => false false;
        PerCpuRef<'static, u8, Rc<u8>> => true true;
        Iter<'static, Cell<u8>> => false false;
        IterCpus<'static, Cell<u8>> => false false;
        IterMut<'static, Cell<u8>> => true false;
        IterMut<'static, Guard> => false true;
        IntoIter<Cell<u8>> => true false;
        IntoIter<Rc<u8>> => false false;
        PerCpuPtr<Rc<u8>> => true true;
        Area => true true;
    }
}

#[test]
fn a_raw_handle_leads_to_the_same_copies_and_back() {
    for area in areas() {
        let names = area.try_alloc(|lane| format!("lane {}", lane.index())).unwrap();
        let addresses: Vec<_> = names.iter().map(|(_, name)| std::ptr::from_ref(name)).collect();
        let raw = PerCpu::into_raw(names);
        let copy = raw;
        assert_eq!(raw, copy);
        assert_eq!(raw.offset() % align_of::<String>(), 0);
        // SAFETY: the object lives until `from_raw` below.
        let lanes = unsafe { raw.lanes() };
        assert_eq!(lanes, area.lanes());
        // SAFETY: as above; the handle is gone before `from_raw`.
        let by_ref = unsafe { raw.as_ref() };
        for ((lane, _), address) in by_ref.iter().zip(&addresses) {
            // SAFETY: as above, and the lane is one of the object's.
            assert_eq!(unsafe { raw.at(lane) }.cast_const(), *address);
        }
        // SAFETY: given back once.
        let names = unsafe { PerCpu::from_raw(raw) };
        assert!(names.iter().all(|(lane, name)| *name == format!("lane {}", lane.index())));
        drop(names);
        assert_eq!(area.stats().live, 0);
    }
}

#[test]
fn a_leaked_object_outlives_its_area() {
    let area = area(64);
    let leaked = PerCpu::leak(area.try_alloc(|_| PerCpuCell::new(1_u64)).unwrap());
    drop(area);
    std::thread::spawn(move || leaked.add(1)).join().unwrap();
    assert_eq!(leaked.sum(), 66);
}

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static RACERS: Barrier = Barrier::new(8);

struct Counted(usize);

impl Counted {
    /// The first lane waits until all eight threads are at it: none finds a finished object.
    fn new(lane: Lane) -> Self {
        if lane.index() == 0 {
            RACERS.wait();
        }
        Self(MADE.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

per_cpu! {
    static RACED: Counted = Counted::new;
    static HITS: PerCpuCell<u64>;
    /// An array, documented.
    pub static TRIPLE: [PerCpuCell<u8>; 3];
    pub(crate) static LIMITS: usize = |lane| lane.index() * 3;
}

#[test]
fn eight_threads_that_use_a_static_first_find_one_value() {
    let first: Vec<usize> = std::thread::scope(|scope| {
        let spawn = |_| scope.spawn(|| RACED.iter().map(|(_, copy)| copy.0).collect::<Vec<_>>());
        let threads: Vec<_> = (0..8).map(spawn).collect();
        let mut seen: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        seen.dedup();
        assert_eq!(seen.len(), 1, "the threads saw different objects");
        seen.remove(0)
    });
    let lanes = Area::global().lanes();
    assert_eq!(first.len(), lanes);
    assert_eq!(MADE.load(Ordering::Relaxed), 8 * lanes);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 7 * lanes, "each loser's copies, once");
}

#[test]
fn statics_begin_as_zeros_or_with_a_value_for_each_lane() {
    assert!(LIMITS.iter().all(|(lane, limit)| *limit == 3 * lane.index()));
    assert_eq!(LIMITS.iter_cpus().len(), LIMITS.iter().len() - 1);
    assert_eq!(LIMITS.get(CpuId::new(0)), Some(&0));
    let (lane, limit) = LIMITS.here();
    assert_eq!((*limit, *LIMITS.this() % 3), (3 * lane.index(), 0));
    let seen = HITS.sum();
    HITS.add(2);
    HITS.inc();
    HITS.dec();
    assert_eq!(HITS.sum(), seen + 2);
    assert!(HITS.try_as_ref().is_ok());
    assert_eq!((HITS.lanes(), HITS.cpus() + 1), (Area::global().lanes(), HITS.lanes()));
    assert_eq!((LIMITS.lane(lane), LIMITS.spill()), (Some(limit), &(3 * LIMITS.cpus())));
    assert!(TRIPLE.index(2).is_some() && TRIPLE.index(3).is_none());
}

mod elsewhere {
    corelocal::counters! {
        /// What a store counts.
        pub struct Store { pub reads: u64, writes: u32, pub cold_starts as COLD: i16, }
    }
}

#[test]
fn counters_have_tokens_names_and_snapshots() {
    use elsewhere::Store;
    let store = area(64).try_alloc_zeroed::<Store>().unwrap();
    store.at(Store::READS).add(5);
    store.at(Store::WRITES).sub(1);
    store.at(Store::COLD).dec();
    store.at(field!(Store, reads)).inc();
    let now = store.snapshot();
    assert_eq!((now.reads, now.writes, now.cold_starts), (6, u32::MAX, -1));
    assert_eq!(store.as_ref().snapshot(), now);
    assert_eq!(Store::NAMES, ["reads", "writes", "cold_starts"]);
    assert_eq!(<Store as corelocal::Counters>::NAMES, Store::NAMES);
    counters! { struct One { anything: u8 } }
    let one = PerCpu::<One>::zeroed();
    one.at(field!(One, anything)).add(255);
    one.at(field!(One, anything)).add(2);
    assert_eq!((one.snapshot().anything, One::NAMES), (1, &["anything"][..]));
}

#[test]
fn debug_tells_sizes_and_never_a_value() {
    const SECRET: u64 = 7_340_861;
    let object = PerCpu::new(|_| PerCpuCell::new(SECRET));
    let mut plain = PerCpu::new(|_| SECRET);
    let texts = [
        format!("{object:?} {:?} {:?} {:?}", object.as_ref(), object.this(), object.iter()),
        format!("{plain:?}") + &format!("{:?}", plain.iter_mut()),
        format!("{:?} {:?}", plain.iter_cpus(), Area::global()),
        format!("{:#?} {HITS:?}", plain.into_iter()),
    ];
    for text in texts {
        assert!(!text.contains("7340861") && !text.contains("7_340_861"), "{text}");
    }
    assert!(format!("{object:?}").contains("size: 8"));
}
