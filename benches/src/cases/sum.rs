//! `sum`: one word over every lane, warm.
//!
//! Our lanes lie far apart, a page or more each: from some hundred lanes on the address translation
//! rules, and a packed array is read faster. That is the price of what `add` and `walk` gain.

use crate::{Case, Sample};
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

pub(super) fn cases() -> Vec<Case> {
    LANES.into_iter().flat_map(scene).collect()
}
