//! Levels, and the priority vector in each layout: 128 CPUs, of which 0 to 63 run at NORMAL, 64 to
//! 126 at 50 and 127 at 99.

use corelocal::priority::{Among, Layout};
use corelocal::{
    ByCpu, CpuId, CpuMask, CpuSlot, Level, Packed, Padded, Priority, PriorityVec, Split,
};
use gungraun::prelude::*;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

const CPUS: u32 = 128;
/// Who searches.
const TASK: Priority = Priority::rt(99);

/// A level with the CPUs of `here`.
fn level(here: &[u32]) -> Level<[AtomicU64; 2]> {
    let level = Level::default();
    here.iter().for_each(|&cpu| assert_eq!(level.enter(CpuId::new(cpu)), Ok(true)));
    level
}

#[library_benchmark]
#[bench::a_cpu(level(&[]))]
fn enter(level: Level<[AtomicU64; 2]>) -> Level<[AtomicU64; 2]> {
    let _ = black_box(black_box(&level).enter(black_box(CpuId::new(70))));
    level
}

#[library_benchmark]
#[bench::a_cpu(level(&[70]))]
fn leave(level: Level<[AtomicU64; 2]>) -> Level<[AtomicU64; 2]> {
    let _ = black_box(black_box(&level).leave(black_box(CpuId::new(70))));
    level
}

#[library_benchmark]
#[bench::nobody(level(&[]), CpuMask::first_cpus(CPUS), CpuMask::with_bound(CPUS as usize))]
#[bench::a_cpu(level(&[70]), CpuMask::first_cpus(CPUS), CpuMask::with_bound(CPUS as usize))]
fn find_in_level(
    level: Level<[AtomicU64; 2]>,
    allowed: CpuMask,
    mut found: CpuMask,
) -> (Level<[AtomicU64; 2]>, CpuMask, CpuMask) {
    black_box(black_box(&level).find(black_box(&allowed), &mut found));
    (level, allowed, found)
}

library_benchmark_group!(name = levels, benchmarks = [enter, leave, find_in_level]);

/// A vector with all its slots, and who may run where.
struct Prepared<L: Layout> {
    vector: Arc<PriorityVec<L>>,
    slots: Vec<CpuSlot<Arc<PriorityVec<L>>>>,
    allowed: CpuMask,
    found: CpuMask,
}

fn vector<L: Layout>(allowed: CpuMask) -> Prepared<L> {
    let vector = PriorityVec::try_new((0..CPUS).map(CpuId::new)).expect("an order");
    let vector = Arc::new(vector);
    let claim = |cpu| {
        let priority = match cpu {
            0..64 => Priority::NORMAL,
            64..127 => Priority::rt(50),
            _ => Priority::rt(99),
        };
        let mut slot = PriorityVec::claim(Arc::clone(&vector), CpuId::new(cpu)).expect("free");
        slot.set(priority).expect("a level");
        slot
    };
    let slots = (0..CPUS).map(claim).collect();
    Prepared { vector, slots, allowed, found: CpuMask::with_bound(CPUS as usize) }
}

/// Everybody may run everywhere: somebody is at NORMAL.
fn all<L: Layout>() -> Prepared<L> {
    vector(CpuMask::first_cpus(CPUS))
}

/// Only on eight CPUs that run at 50.
fn eight<L: Layout>() -> Prepared<L> {
    vector((80..88).map(CpuId::new).collect())
}

/// Only on the one that is as busy as can be.
fn busy<L: Layout>() -> Prepared<L> {
    vector([CpuId::new(127)].into_iter().collect())
}

#[library_benchmark]
#[bench::by_cpu(all::<ByCpu<64>>())]
#[bench::packed(all::<Packed>())]
#[bench::padded(all::<Padded>())]
#[bench::split(all::<Split>())]
fn set_priority<L: Layout>(mut prepared: Prepared<L>) -> Prepared<L> {
    let slot = black_box(&mut prepared.slots[70]);
    let _ = black_box(slot.set(black_box(Priority::rt(20))));
    prepared
}

#[library_benchmark]
#[bench::by_cpu_normal(all::<ByCpu<64>>())]
#[bench::by_cpu_eight(eight::<ByCpu<64>>())]
#[bench::by_cpu_nobody(busy::<ByCpu<64>>())]
#[bench::packed_normal(all::<Packed>())]
#[bench::packed_eight(eight::<Packed>())]
#[bench::packed_nobody(busy::<Packed>())]
#[bench::padded_eight(eight::<Padded>())]
#[bench::split_eight(eight::<Split>())]
fn find<L: Layout>(mut prepared: Prepared<L>) -> Prepared<L> {
    let Prepared { vector, allowed, found, .. } = black_box(&mut prepared);
    black_box(vector.find(black_box(TASK), allowed, found));
    prepared
}

#[library_benchmark]
#[bench::by_cpu_normal(all::<ByCpu<64>>())]
#[bench::by_cpu_eight(eight::<ByCpu<64>>())]
#[bench::by_cpu_nobody(busy::<ByCpu<64>>())]
#[bench::packed_eight(eight::<Packed>())]
#[bench::padded_eight(eight::<Padded>())]
#[bench::split_eight(eight::<Split>())]
fn find_any<L: Layout>(prepared: Prepared<L>) -> Prepared<L> {
    let Prepared { vector, allowed, .. } = black_box(&prepared);
    black_box(vector.find_any(black_box(TASK), allowed, black_box(CpuId::new(83))));
    prepared
}

#[library_benchmark]
#[bench::by_cpu_eight(eight::<ByCpu<64>>())]
#[bench::packed_eight(eight::<Packed>())]
fn find_fit<L: Layout>(mut prepared: Prepared<L>) -> Prepared<L> {
    let Prepared { vector, allowed, found, .. } = black_box(&mut prepared);
    let odd = |cpu: CpuId| cpu.get() % 2 == 1;
    black_box(vector.find_fit(black_box(TASK), allowed, odd, found));
    prepared
}

fn prepared_mask() -> (Among<Arc<PriorityVec>>, CpuMask) {
    let Prepared { vector, allowed, found, slots } = eight();
    slots.into_iter().for_each(std::mem::forget);
    (PriorityVec::among(vector, &allowed).expect("memory"), found)
}

#[library_benchmark]
#[bench::by_cpu_eight(prepared_mask())]
fn find_among(
    (among, mut found): (Among<Arc<PriorityVec>>, CpuMask),
) -> (Among<Arc<PriorityVec>>, CpuMask) {
    black_box(black_box(&among).find(black_box(TASK), &mut found));
    (among, found)
}

#[library_benchmark]
#[bench::by_cpu(all::<ByCpu<64>>())]
#[bench::packed(all::<Packed>())]
fn count<L: Layout>(prepared: Prepared<L>) -> Prepared<L> {
    black_box(black_box(&prepared).vector.count(black_box(Priority::rt(50))));
    prepared
}

library_benchmark_group!(
    name = vectors,
    benchmarks = [set_priority, find, find_any, find_fit, find_among, count]
);
