//! Barriers against sections: a take-over of lists while their CPUs push, and what the
//! machine says of itself.
#![allow(unsafe_code, reason = "raw lanes")]

use corelocal::cpu::CpuId;
use corelocal::sys::rseq::{
    HAS_SECTIONS, HERE, Outcome, Unverified, can_fence, fence_all, fence_cpu, fields, try_lock,
    unlock, verify,
};
use rseq_tests::churn::{self, cpu};
use rseq_tests::implementation::{Implementation, sections};
use rseq_tests::lanes::Lanes;
use rseq_tests::run::{Plan, disturbed};
use rseq_tests::{over_each, settle};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

#[test]
fn the_kernel_cuts_sections_off_here() {
    match verify() {
        Ok(seen) => {
            eprintln!("{seen:?}");
            assert!(seen.aborts > 0);
        }
        Err(Unverified::NoSections) => assert!(sections().is_none()),
        Err(other) => panic!("{other}"),
    }
    if HAS_SECTIONS {
        eprintln!("{:?}, fence: {}", fields(), can_fence());
    }
}

/// D15: without the barrier a take-over is refused, not attempted.
#[test]
fn a_fence_of_one_cpu_and_of_all_work_where_they_are_said_to() {
    assert_eq!(fence_all().is_ok(), can_fence());
    assert_eq!(fence_cpu(CpuId::new(cpu())).is_ok(), can_fence());
}

const NODES: usize = 40_000;

#[repr(C)]
#[derive(Default)]
struct Node {
    next: AtomicUsize,
    drained: AtomicUsize,
}

/// S4: threads push to one of two lists, as a phase word says; a drainer turns the phase,
/// fences, and empties the other list of every lane with plain loads and stores.
#[test]
fn a_drain_beside_pushes_hands_out_every_node_once() {
    fn body<I: Implementation>(on: I) {
        if sections().is_some() && !can_fence() {
            eprintln!("skipped: no barrier, so no take-over with sections");
            return;
        }
        let lanes = Lanes::new(churn::cpus());
        let nodes: Vec<Node> = (0..NODES).map(|_| Node::default()).collect();
        let (phase, ticket, refused) = Default::default();
        let (phase, ticket, refused): (AtomicUsize, AtomicUsize, AtomicUsize) =
            (phase, ticket, refused);
        let push = || {
            let mine = ticket.fetch_add(1, Ordering::Relaxed);
            let Some(node) = nodes.get(mine) else { return };
            let address = std::ptr::from_ref(node).cast_mut().cast::<u8>();
            let _ = address.expose_provenance();
            for _ in 0..1000 {
                let now = phase.load(Ordering::Relaxed);
                let form = HERE.guarded(&raw const phase, now).release();
                match settle!(on, list_push::<_>(lanes.list(now & 1), address, 0, form)) {
                    Outcome::Committed { .. } => return,
                    Outcome::Closed => {}
                    Outcome::Busy => break,
                    other => panic!("{other:?}"),
                }
            }
            refused.fetch_add(1, Ordering::Relaxed);
        };
        let over = AtomicBool::new(false);
        let mut turns = 0;
        let drained = std::thread::scope(|scope| {
            let workers = scope.spawn(|| {
                disturbed(Plan { threads: 4, steps: NODES as u64 / 4, ..Plan::default() }, &push);
                over.store(true, Ordering::Release);
            });
            let mut drained = 0;
            loop {
                let last = over.load(Ordering::Acquire);
                drained += drain(&lanes, &nodes, &phase);
                drained += drain(&lanes, &nodes, &phase);
                turns += 2;
                if last {
                    break;
                }
            }
            workers.join().unwrap();
            drained
        });
        let refused = refused.load(Ordering::Relaxed);
        eprintln!("{drained} drained in {turns} turns, {refused} refused, over {on:?}");
        assert_eq!(drained + refused, NODES);
        assert!(nodes.iter().all(|node| node.drained.load(Ordering::Relaxed) <= 1));
    }
    over_each!(body);
}

fn drain(lanes: &Lanes, nodes: &[Node], phase: &AtomicUsize) -> usize {
    let old = phase.fetch_add(1, Ordering::Relaxed) & 1;
    if fence_all().is_err() {
        fence(Ordering::SeqCst);
    }
    let mut count = 0;
    for (lane, copy) in lanes.iter().enumerate() {
        let anchor = &copy.lists[old];
        // Lanes that atomics push to have holders of their lock; sections never take it.
        let locked = (0..100_000).any(|_| {
            let locked = try_lock(anchor);
            if !locked {
                std::thread::yield_now();
            }
            locked
        });
        assert!(locked, "lane {lane} is held for ever");
        let mut head = anchor.word.load(Ordering::Acquire);
        anchor.word.store(0, Ordering::Relaxed);
        unlock(anchor);
        while head != 0 {
            let index = (head - nodes.as_ptr().addr()) / size_of::<Node>();
            head = nodes[index].next.load(Ordering::Relaxed);
            nodes[index].drained.fetch_add(1, Ordering::Relaxed);
            count += 1;
        }
    }
    count
}
