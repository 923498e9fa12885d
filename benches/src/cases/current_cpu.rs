//! `current_cpu`: what it costs to know this thread's CPU, or a place that is this thread's.

use crate::machine::{forget, sched_getcpu};
use crate::{Case, Sample};
use corelocal::{CpuId, PerCpu, PerCpuCell};
use std::cell::Cell;
use std::hint::black_box;
use thread_local::ThreadLocal;

pub(super) const BASELINE: &str = "libc sched_getcpu";

thread_local! {
    static PLACE: Cell<u64> = const { Cell::new(0) };
}

/// `op` in a loop; its answer is used.
fn repeat<T>(ops: u64, op: impl Fn() -> T) -> Sample {
    Sample::of(ops, || {
        for _ in 0..ops {
            forget();
            black_box(op());
        }
    })
}

pub(super) fn cases() -> Vec<Case> {
    let case = |peer, make: fn() -> crate::sample::Body| Case::new("one call", peer, make);
    vec![
        case("empty loop", || Box::new(|ops| repeat(ops, || ()))),
        case("CpuId::current", || Box::new(|ops| repeat(ops, CpuId::current))),
        case("PerCpu::this", || {
            let object = PerCpu::<PerCpuCell<u64>>::zeroed();
            Box::new(move |ops| repeat(ops, || std::ptr::from_ref(object.this())))
        }),
        case(BASELINE, || Box::new(|ops| repeat(ops, sched_getcpu))),
        case("libc sched_getcpu again", || Box::new(|ops| repeat(ops, sched_getcpu))),
        case("std thread_local", || {
            black_box(PLACE.with(Cell::as_ptr));
            Box::new(|ops| repeat(ops, || PLACE.with(Cell::get)))
        }),
        case("ThreadLocal::get_or_default", || {
            let object = ThreadLocal::<Cell<u64>>::new();
            Box::new(move |ops| repeat(ops, || object.get_or_default().get()))
        }),
        case("thread::current().id", || {
            Box::new(|ops| repeat(ops, || std::thread::current().id()))
        }),
    ]
}
