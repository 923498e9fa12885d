//! `sum`: one word over every lane, warm; and over 64 lanes, of 256 words in turn, when no near cache
//! holds any of them.
//!
//! Our lanes lie far apart, a page or more each: from some hundred lanes on the address translation
//! rules, and a packed array is read faster. That is the price of what `add` and `walk` gain.

use crate::{Case, Sample, cold};
use corelocal::{Area, PerCpu, PerCpuCell};
use crossbeam_utils::CachePadded;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const BASELINE: &str = "CachePadded array";

/// Lanes, the spill lane included.
const LANES: [u32; 5] = [3, 16, 64, 256, 1024];

fn ours(lanes: u32) -> Option<PerCpu<PerCpuCell<u64>>> {
    // A machine may have more CPUs than a scene has lanes for: then the scene is left out.
    let area = Area::builder().cpus(lanes - 1).build().ok()?;
    let object = area.try_alloc(|lane| PerCpuCell::new(lane.index() as u64));
    Some(object.expect("memory for one object"))
}

fn repeat(ops: u64, sum: impl Fn() -> u64) -> Sample {
    // What other cases put into the caches in between.
    black_box(sum());
    Sample::of(ops, || {
        for _ in 0..ops {
            crate::machine::forget();
            black_box(sum());
        }
    })
}

fn scene(lanes: u32) -> Vec<Case> {
    if ours(lanes).is_none() {
        eprintln!("sum: this machine has more CPUs than {lanes} lanes serve; scene left out");
        return Vec::new();
    }
    let name = format!("{lanes} lanes");
    let percpu = |peer| {
        Case::new(name.as_str(), peer, move || {
            let object = ours(lanes).expect("tried before");
            Box::new(move |ops| repeat(ops, || object.sum()))
        })
    };
    // Relaxed, below: a sum of counters orders nothing.
    let padded = Case::new(name.as_str(), BASELINE, move || {
        let array: Box<[CachePadded<AtomicU64>]> =
            (0..lanes).map(|lane| CachePadded::new(AtomicU64::new(lane.into()))).collect();
        Box::new(move |ops| {
            repeat(ops, || array.iter().map(|lane| lane.load(Ordering::Relaxed)).sum())
        })
    });
    let boxes = Case::new(name.as_str(), "boxes", move || {
        let boxes: Vec<Box<CachePadded<AtomicU64>>> = (0..lanes)
            .map(|lane| Box::new(CachePadded::new(AtomicU64::new(lane.into()))))
            .collect();
        Box::new(move |ops| {
            repeat(ops, || boxes.iter().map(|lane| lane.load(Ordering::Relaxed)).sum())
        })
    });
    let mut cases = vec![percpu("PerCpu"), padded, boxes];
    if lanes == 64 {
        cases.push(percpu("PerCpu again"));
    }
    cases
}

/// The sums that a monitor reads now and then.
fn swept() -> Vec<Case> {
    const SWEPT: u32 = 64;
    // A machine may have more CPUs.
    if ours(SWEPT).is_none() {
        return Vec::new();
    }
    let scene = format!("{SWEPT} lanes, {}", cold::NAME);
    let percpu = |peer| {
        let area = Area::builder().cpus(SWEPT - 1).build().expect("tried before");
        let make = move || area.try_alloc(|_| PerCpuCell::new(1)).expect("memory for an object");
        cold::case(scene.as_str(), peer, 1, make, |object: &PerCpu<PerCpuCell<u64>>, _| {
            black_box(object.sum());
        })
    };
    // Relaxed, below: a sum of counters orders nothing.
    let padded = || (0..SWEPT).map(|_| CachePadded::new(AtomicU64::new(1))).collect::<Vec<_>>();
    let boxes =
        || (0..SWEPT).map(|_| Box::new(CachePadded::new(AtomicU64::new(1)))).collect::<Vec<_>>();
    vec![
        percpu("PerCpu"),
        percpu("PerCpu again"),
        cold::case(scene.as_str(), BASELINE, 1, padded, |array: &Vec<_>, _| {
            black_box(array.iter().map(|lane| lane.load(Ordering::Relaxed)).sum::<u64>());
        }),
        cold::case(scene.as_str(), "boxes", 1, boxes, |boxes: &Vec<_>, _| {
            black_box(boxes.iter().map(|lane| lane.load(Ordering::Relaxed)).sum::<u64>());
        }),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    LANES.into_iter().flat_map(scene).chain(swept()).collect()
}
