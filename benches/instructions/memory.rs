//! Per-CPU memory: cells with the atomics of the lower backends, where copies and fields lie, and
//! objects made and freed.

use corelocal::colocated::{CoLocated, Part};
use corelocal::{Area, CpuId, Lane, PerCpu, PerCpuCell, PerCpuRef, field};
use gungraun::prelude::*;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// More than most machines have, so that the counts are the same on them: objects have 65 lanes.
const CPUS: u32 = 64;

type Cell = PerCpuCell<u64>;

/// One whose copies were all used; the area stays for ever.
fn area() -> &'static Area {
    let area = Area::builder().cpus(CPUS).build().expect("a machine with 64 CPUs at most");
    Box::leak(Box::new(area))
}

fn cell() -> PerCpuRef<'static, Cell> {
    let cell = PerCpu::leak(area().try_alloc_zeroed().expect("memory"));
    cell.add(1);
    cell
}

#[library_benchmark]
#[bench::one(cell())]
fn add(cell: PerCpuRef<'static, Cell>) {
    black_box(cell).add(black_box(3));
}

#[library_benchmark]
#[bench::one(cell())]
fn fetch_add(cell: PerCpuRef<'static, Cell>) -> (Lane, u64) {
    black_box(cell).fetch_add(black_box(3))
}

#[library_benchmark]
#[bench::one(cell())]
fn swap(cell: PerCpuRef<'static, Cell>) -> (Lane, u64) {
    black_box(cell).swap(black_box(3))
}

#[library_benchmark]
#[bench::one(cell())]
fn compare_exchange(cell: PerCpuRef<'static, Cell>) -> (Lane, Result<u64, u64>) {
    black_box(cell).compare_exchange(black_box(1), black_box(3))
}

#[library_benchmark]
#[bench::of_65_lanes(cell())]
fn sum(cell: PerCpuRef<'static, Cell>) -> u64 {
    black_box(cell).sum()
}

library_benchmark_group!(name = cells, benchmarks = [add, fetch_add, swap, compare_exchange, sum]);

#[repr(C)]
struct Queue {
    load: u64,
    running: [u32; 8],
}

type State = CoLocated<Queue, u64, [u64; 4]>;

fn state() -> &'static State {
    let queue = Queue { load: 1, running: [2; 8] };
    Box::leak(Box::new(CoLocated::new(queue, 3, [4; 4])))
}

fn states() -> PerCpuRef<'static, State> {
    PerCpu::leak(
        area()
            .try_alloc(|_| State::new(Queue { load: 1, running: [2; 8] }, 3, [4; 4]))
            .expect("memory"),
    )
}

#[library_benchmark]
#[bench::third(states())]
fn copy_of(states: PerCpuRef<'static, State>) -> Option<&'static State> {
    black_box(states).get(black_box(CpuId::new(3)))
}

#[library_benchmark]
#[bench::one(states())]
fn copy_here(states: PerCpuRef<'static, State>) -> (Lane, &'static State) {
    black_box(states).here()
}

#[library_benchmark]
#[bench::second(states())]
fn part_of(states: PerCpuRef<'static, State>) -> Option<&'static u64> {
    black_box(states).at(State::PART_B).get(black_box(CpuId::new(3)))
}

#[library_benchmark]
#[bench::of_a_part(states())]
fn field_of(states: PerCpuRef<'static, State>) -> Option<&'static u32> {
    let running = black_box(states).at(State::PART_A).at(field!(Queue, running));
    running.index(black_box(5))?.get(black_box(CpuId::new(3)))
}

#[library_benchmark]
#[bench::of_the_second(state().part_b())]
fn whole(part: Part<'static, State, u64, 1>) -> &'static State {
    black_box(part).whole()
}

#[library_benchmark]
#[bench::the_first_of_the_second(state().part_b())]
fn sibling(part: Part<'static, State, u64, 1>) -> u64 {
    black_box(part).sibling::<0>().get().load
}

library_benchmark_group!(
    name = places,
    benchmarks = [copy_of, copy_here, part_of, field_of, whole, sibling]
);

type Line = [u64; 8];

/// An area with so many objects, all but one freed again, each written to if `used`.
fn freed(objects: usize, used: bool) -> &'static Area {
    let area = area();
    let objects: Vec<PerCpu<Line>> =
        (0..objects).map(|_| area.try_alloc(|_| [u64::from(used); 8]).expect("memory")).collect();
    objects.into_iter().skip(1).for_each(drop);
    area
}

fn object() -> PerCpu<MaybeUninit<Line>> {
    freed(3, true).try_alloc_uninit().expect("memory")
}

#[library_benchmark]
#[bench::first_of_an_area(area())]
#[bench::reused(freed(3, true))]
#[bench::reused_of_many(freed(200, true))]
fn allocate(area: &'static Area) -> Option<PerCpu<MaybeUninit<Line>>> {
    black_box(area).try_alloc_uninit().ok()
}

#[library_benchmark]
#[bench::never_used(area())]
#[bench::reused_and_clean(freed(3, false))]
#[bench::reused_and_dirty(freed(3, true))]
fn allocate_zeroed(area: &'static Area) -> Option<PerCpu<Line>> {
    black_box(area).try_alloc_zeroed().ok()
}

#[library_benchmark]
#[bench::one(object())]
fn free(object: PerCpu<MaybeUninit<Line>>) {
    drop(black_box(object));
}

library_benchmark_group!(name = objects, benchmarks = [allocate, allocate_zeroed, free]);
