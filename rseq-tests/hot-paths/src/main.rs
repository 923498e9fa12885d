//! Functions that are one operation each: `rseq-tests/tests/hot_paths.rs` reads their code.

use corelocal::histogram::{HistogramRef, LogLinear};
use corelocal::pool::{PerCpuPool, Pooled, StaticPool};
use corelocal::ring::{PerCpuRing, StaticRing};
use corelocal::rwlock::ReadGuard;
use corelocal::{
    BatchedCounter, CounterRef, CpuId, Lane, PerCpu, PerCpuArc, PerCpuArcOwner, PerCpuCell,
    PerCpuRef, PerCpuRefCount, PerCpuRwLock, StaticCounter, StaticHistogram, per_cpu,
};
use std::hint::black_box;
use std::sync::PoisonError;

per_cpu! { static HITS: PerCpuCell<u64>; }

static EVENTS: StaticCounter = StaticCounter::new();

static LATENCY: StaticHistogram<100> = StaticHistogram::new(LogLinear);

type Cell = PerCpuRef<'static, PerCpuCell<u64>>;

#[inline(never)]
fn hot_add(cell: Cell, value: u64) {
    cell.add(value);
}

#[inline(never)]
fn hot_add_static(value: u64) {
    HITS.add(value);
}

#[inline(never)]
fn hot_add_byte(cell: PerCpuRef<'static, PerCpuCell<u8>>, value: u8) {
    cell.add(value);
}

#[inline(never)]
fn hot_add_on(cell: Cell, cpu: CpuId, value: u64) -> bool {
    cell.add_on(cpu, value).is_ok()
}

#[inline(never)]
fn hot_fetch_add(cell: Cell, value: u64) -> (Lane, u64) {
    cell.fetch_add(value)
}

#[inline(never)]
fn hot_swap(cell: Cell, value: u64) -> (Lane, u64) {
    cell.swap(value)
}

#[inline(never)]
fn hot_compare_exchange(cell: Cell, current: u64, new: u64) -> (Lane, Result<u64, u64>) {
    cell.compare_exchange(current, new)
}

#[inline(never)]
fn hot_counter_add(counter: CounterRef<'static>, value: u64) {
    counter.add(value);
}

#[inline(never)]
fn hot_counter_add_static(value: u64) {
    EVENTS.add(value);
}

#[inline(never)]
fn hot_batched_add(counter: &BatchedCounter, value: i64) {
    counter.add(value);
}

#[inline(never)]
fn hot_record(histogram: HistogramRef<'static, 100, LogLinear>, value: u64) {
    histogram.record(value);
}

#[inline(never)]
fn hot_record_static(value: u64) {
    LATENCY.record(value);
}

type Object = [u64; 8];

#[inline(never)]
fn hot_pool_get(pool: &PerCpuPool<Object>) -> Pooled<'_, Object> {
    pool.get()
}

#[inline(never)]
fn hot_pool_get_idle(pool: &PerCpuPool<Object>) -> Option<Pooled<'_, Object>> {
    pool.get_idle()
}

#[inline(never)]
fn hot_pool_put(object: Pooled<'_, Object>) {
    drop(object);
}

static POOL: StaticPool<Object> = StaticPool::new(|| PerCpuPool::new(|| [0; 8]));

#[inline(never)]
fn hot_pool_get_static() -> Pooled<'static, Object> {
    POOL.get()
}

type Value = [u64; 8];

#[inline(never)]
fn hot_arc_clone(arc: &PerCpuArc<Value>) -> PerCpuArc<Value> {
    arc.clone()
}

#[inline(never)]
fn hot_arc_drop(arc: PerCpuArc<Value>) {
    drop(arc);
}

#[inline(never)]
fn hot_refcount_get(count: &PerCpuRefCount) {
    count.get();
}

#[inline(never)]
fn hot_refcount_put(count: &PerCpuRefCount) {
    count.put();
}

#[inline(never)]
fn hot_refcount_try_get(count: &PerCpuRefCount) -> bool {
    count.try_get()
}

#[inline(never)]
fn hot_ring_write(ring: &PerCpuRing, bytes: &[u8]) -> bool {
    ring.write(bytes).is_ok()
}

static TRACE: StaticRing = StaticRing::new(1 << 16);

#[inline(never)]
fn hot_ring_write_static(time: u64, bytes: &[u8; 64]) {
    let _ = TRACE.write_at(time, bytes);
}

#[inline(never)]
fn hot_rwlock_read(lock: &PerCpuRwLock<Object>) -> ReadGuard<'_, Object> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

#[inline(never)]
fn hot_rwlock_leave(guard: ReadGuard<'_, Object>) {
    drop(guard);
}

fn main() {
    let cell = PerCpu::leak(PerCpu::zeroed());
    let byte = PerCpu::leak(PerCpu::zeroed());
    hot_add(black_box(cell), black_box(1));
    hot_add_static(black_box(1));
    hot_add_byte(black_box(byte), black_box(1));
    hot_counter_add(black_box(EVENTS.as_ref()), black_box(1));
    hot_counter_add_static(black_box(1));
    hot_batched_add(black_box(&BatchedCounter::new()), black_box(1));
    hot_record(black_box(LATENCY.as_ref()), black_box(1));
    hot_record_static(black_box(1));
    let there = hot_add_on(black_box(cell), black_box(CpuId::new(0)), black_box(1));
    let (lane, _) = black_box(hot_fetch_add(black_box(cell), black_box(1)));
    black_box(hot_swap(black_box(cell), black_box(7)));
    let _ = black_box(hot_compare_exchange(black_box(cell), black_box(7), black_box(7)));
    let pool = PerCpuPool::new(|| [0; 8]);
    for _ in 0..2 {
        hot_pool_put(black_box(hot_pool_get(black_box(&pool))));
        black_box(hot_pool_get_idle(black_box(&pool))).into_iter().for_each(std::mem::forget);
        std::mem::forget(black_box(hot_pool_get_static()));
    }
    let ring = PerCpuRing::new(4096);
    black_box(hot_ring_write(black_box(&ring), black_box(b"words")));
    hot_ring_write_static(black_box(1), black_box(&[7; 64]));
    let owner = std::mem::ManuallyDrop::new(PerCpuArcOwner::new([0; 8]));
    // Not inlined: a section of `main` is none of those that are read.
    let share: fn(&PerCpuArcOwner<Value>) -> PerCpuArc<Value> = black_box(PerCpuArcOwner::share);
    let arc = std::mem::ManuallyDrop::new(share(&owner));
    hot_arc_drop(black_box(hot_arc_clone(black_box(&arc))));
    let count: PerCpuRefCount = PerCpuRefCount::new(|| ());
    hot_refcount_get(black_box(&count));
    black_box(hot_refcount_try_get(black_box(&count)));
    hot_refcount_put(black_box(&count));
    let lock = PerCpuRwLock::new([0; 8]);
    hot_rwlock_leave(black_box(hot_rwlock_read(black_box(&lock))));
    let backend = corelocal::backend();
    println!("{backend}: {}; lane {}, {there}", backend.reason(), lane.index());
}
