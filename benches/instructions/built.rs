//! What is built on per-CPU memory, on the atomic contract.

use corelocal::histogram::{Buckets, Fixed, LogLinear};
use corelocal::{
    BatchedCounter, PerCpuArc, PerCpuArcOwner, PerCpuHistogram, PerCpuPool, PerCpuRefCount,
    PerCpuRing, PerCpuRwLock, pool::Pooled,
};
use gungraun::prelude::*;
use std::hint::black_box;
use std::mem::ManuallyDrop;

/// Bounds a decade apart, as exporters have them.
const DECADES: Fixed<8> = Fixed::new(&[1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]);

#[library_benchmark]
#[bench::small(3)]
#[bench::large(123_456_789)]
fn log_linear(value: u64) -> usize {
    Buckets::<100>::index(&LogLinear::<3>, black_box(value))
}

#[library_benchmark]
#[bench::first(0)]
#[bench::middle(1_000)]
#[bench::last(u64::MAX)]
fn fixed(value: u64) -> usize {
    Buckets::<8>::index(black_box(&DECADES), black_box(value))
}

library_benchmark_group!(name = buckets, benchmarks = [log_linear, fixed]);

/// For ever, so that nothing is dropped.
fn kept<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn histogram() -> &'static PerCpuHistogram<100, LogLinear> {
    let histogram = kept(PerCpuHistogram::new(LogLinear));
    histogram.record(1);
    histogram
}

#[library_benchmark]
#[bench::one(histogram())]
fn record(histogram: &'static PerCpuHistogram<100, LogLinear>) {
    black_box(histogram).record(black_box(123_456));
}

fn batched() -> &'static BatchedCounter {
    let counter = kept(BatchedCounter::new());
    counter.add(1);
    counter
}

#[library_benchmark]
#[bench::within_the_batch(batched())]
fn add_batched(counter: &'static BatchedCounter) {
    black_box(counter).add(black_box(1));
}

fn references() -> &'static PerCpuRefCount {
    let count: PerCpuRefCount = PerCpuRefCount::new(|| ());
    let count = kept(count);
    count.get();
    count
}

#[library_benchmark]
#[bench::one(references())]
fn get(count: &'static PerCpuRefCount) {
    black_box(count).get();
}

#[library_benchmark]
#[bench::one(references())]
fn try_get(count: &'static PerCpuRefCount) -> bool {
    black_box(count).try_get()
}

#[library_benchmark]
#[bench::one(references())]
fn put(count: &'static PerCpuRefCount) {
    black_box(count).put();
}

fn arc() -> ManuallyDrop<PerCpuArc<u64>> {
    ManuallyDrop::new(kept(PerCpuArcOwner::new(7)).share())
}

#[library_benchmark]
#[bench::one(arc())]
fn clone(arc: ManuallyDrop<PerCpuArc<u64>>) -> ManuallyDrop<PerCpuArc<u64>> {
    black_box(&arc).clone()
}

fn ring() -> &'static PerCpuRing {
    let ring = kept(PerCpuRing::new(4096));
    assert!(ring.write(&[1; 64]).is_ok());
    ring
}

#[library_benchmark]
#[bench::eight_bytes(ring())]
fn write(ring: &'static PerCpuRing) -> bool {
    black_box(ring).write(black_box(&[7; 8])).is_ok()
}

#[library_benchmark]
#[bench::eight_bytes(ring())]
fn write_at(ring: &'static PerCpuRing) -> bool {
    black_box(ring).write_at(black_box(1), black_box(&[7; 8])).is_ok()
}

fn lock() -> &'static PerCpuRwLock<u64> {
    let lock = kept(PerCpuRwLock::new(7));
    drop(lock.read());
    lock
}

#[library_benchmark]
#[bench::and_unlock(lock())]
fn read(lock: &'static PerCpuRwLock<u64>) -> u64 {
    black_box(lock).read().map_or(0, |value| *value)
}

fn pool() -> &'static PerCpuPool<u64> {
    let pool = kept(PerCpuPool::new(|| 7));
    drop(pool.get());
    pool
}

#[library_benchmark]
#[bench::an_idle_one(pool())]
fn take(pool: &'static PerCpuPool<u64>) -> ManuallyDrop<Pooled<'static, u64>> {
    ManuallyDrop::new(black_box(pool).get())
}

#[library_benchmark]
#[bench::one(pool().get())]
fn give_back(object: Pooled<'static, u64>) {
    drop(black_box(object));
}

library_benchmark_group!(
    name = structures,
    benchmarks =
        [record, add_batched, get, try_get, put, clone, write, write_at, read, take, give_back]
);
