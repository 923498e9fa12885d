//! Bitmaps, sets of CPUs and their texts.

use corelocal::bitmap::AtomicBitmap;
use corelocal::{CpuId, CpuMask};
use gungraun::prelude::*;
use std::hint::black_box;

/// Of 512 bits, the first so many set.
fn bits(set: usize) -> AtomicBitmap {
    let bits = AtomicBitmap::new(512);
    (0..set).for_each(|bit| assert!(bits.set(bit)));
    bits
}

#[library_benchmark]
#[bench::empty(bits(0))]
#[bench::in_the_first_word(bits(40))]
#[bench::in_the_last_word(bits(511))]
#[bench::full(bits(512))]
fn claim(bits: AtomicBitmap) -> (AtomicBitmap, Option<usize>) {
    let claimed = black_box(&bits).claim(black_box(0));
    (bits, claimed)
}

#[library_benchmark]
#[bench::one(bits(512))]
fn clear(bits: AtomicBitmap) -> (AtomicBitmap, bool) {
    let was = black_box(&bits).clear(black_box(300));
    (bits, was)
}

#[library_benchmark]
#[bench::one(bits(0))]
fn set(bits: AtomicBitmap) -> (AtomicBitmap, bool) {
    let was = black_box(&bits).set(black_box(300));
    (bits, was)
}

#[library_benchmark]
#[bench::none(bits(0))]
#[bench::all(bits(512))]
fn scan(bits: AtomicBitmap) -> (AtomicBitmap, usize) {
    let sum = black_box(&bits).iter().sum();
    (bits, sum)
}

#[library_benchmark]
#[bench::all(bits(512))]
fn count(bits: AtomicBitmap) -> (AtomicBitmap, usize) {
    let count = black_box(&bits).count();
    (bits, count)
}

library_benchmark_group!(name = bitmap, benchmarks = [claim, clear, set, scan, count]);

/// Every third CPU of 480, but for the first.
fn thirds() -> CpuMask {
    (1..160).map(|third| CpuId::new(3 * third)).collect()
}

/// The CPUs 0 to 239.
fn half() -> CpuMask {
    CpuMask::first_cpus(240)
}

#[library_benchmark]
#[bench::there(thirds(), 300)]
#[bench::absent(thirds(), 301)]
#[bench::too_large(thirds(), 100_000)]
fn contains(mask: CpuMask, cpu: u32) -> (CpuMask, bool) {
    let is_in = black_box(&mask).contains(CpuId::new(black_box(cpu)));
    (mask, is_in)
}

#[library_benchmark]
#[bench::within(thirds())]
fn insert(mut mask: CpuMask) -> CpuMask {
    black_box(&mut mask).insert(CpuId::new(black_box(301)));
    mask
}

#[library_benchmark]
#[bench::within(thirds())]
fn remove(mut mask: CpuMask) -> CpuMask {
    black_box(&mut mask).remove(CpuId::new(black_box(300)));
    mask
}

#[library_benchmark]
#[bench::in_another_word(thirds(), 62)]
#[bench::behind_the_last(thirds(), 477)]
fn next_after(mask: CpuMask, cpu: u32) -> (CpuMask, Option<CpuId>) {
    let next = black_box(&mask).next_after(CpuId::new(black_box(cpu)));
    (mask, next)
}

#[library_benchmark]
#[bench::of_480(thirds())]
fn iterate(mask: CpuMask) -> (CpuMask, usize) {
    let sum = black_box(&mask).iter().map(CpuId::index).sum();
    (mask, sum)
}

#[library_benchmark]
#[bench::of_480(thirds(), half())]
fn is_subset(mask: CpuMask, of: CpuMask) -> (CpuMask, CpuMask, bool) {
    let is_subset = black_box(&mask).is_subset(black_box(&of));
    (mask, of, is_subset)
}

#[library_benchmark]
#[bench::of_480(thirds(), half())]
fn is_disjoint(mask: CpuMask, with: CpuMask) -> (CpuMask, CpuMask, bool) {
    let is_disjoint = black_box(&mask).is_disjoint(black_box(&with));
    (mask, with, is_disjoint)
}

#[library_benchmark]
#[bench::of_480(thirds(), half())]
fn intersection(mask: CpuMask, with: CpuMask) -> (CpuMask, CpuMask, CpuMask) {
    let both = black_box(&mask).intersection(black_box(&with));
    (mask, with, both)
}

// As the kernel writes them.
#[library_benchmark]
#[bench::one("0\n")]
#[bench::a_range("0-63\n")]
#[bench::mixed("0-3,8,10-11,240-243,479\n")]
#[bench::broken("0-3,x")]
fn read_list(text: &str) -> Option<CpuMask> {
    CpuMask::from_list(black_box(text)).ok()
}

#[library_benchmark]
#[bench::of_96("ffffffff,00000000,ffffffff\n")]
fn read_map(text: &str) -> Option<CpuMask> {
    CpuMask::from_hex_map(black_box(text)).ok()
}

library_benchmark_group!(
    name = cpus,
    benchmarks = [
        contains,
        insert,
        remove,
        next_after,
        iterate,
        is_subset,
        is_disjoint,
        intersection,
        read_list,
        read_map
    ]
);
