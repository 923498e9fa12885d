//! Allocation and freeing in any order, from threads and from forked children, against a model.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "forks")]

#[path = "../fuzz/bodies/src/allocator.rs"]
#[allow(unreachable_pub, reason = "a library's module elsewhere")]
mod allocator;
mod common;

use allocator::{Object, SHAPES, Shape, is_empty};
use common::{Rng, alone, stress};
use corelocal::{Area, PerCpu, PerCpuCell};
use proptest::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

fn area(cpus: u32) -> Area {
    Area::builder().cpus(cpus).build().expect("as many as this machine has, or more")
}

/// `PROPTEST_CASES`, or `usual` without it.
fn cases(usual: u32) -> u32 {
    match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a whole number"),
        Err(_) => usual,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, ..<_>::default() })]

    /// A fuzz target's body as well.
    #[test]
    fn objects_never_overlap_and_everything_comes_back(
        steps in prop::collection::vec(0..2 * SHAPES.len(), 1..600),
        cpus in prop::sample::select(&[0_u32, 5, 64][..]),
    ) {
        allocator::objects_never_overlap(cpus, steps);
    }
}

/// One of the sizes that programs have: mostly small, seldom larger than a page.
fn usual(rng: &mut Rng) -> &'static Shape {
    let most = if rng.below(64) == 0 { SHAPES.len() - 1 } else { 18 };
    &SHAPES[rng.below(most)]
}

/// 10^6 allocations and frees of mixed sizes: the address space follows what lives. (A tenth of
/// them without optimisation, unless `CORELOCAL_STRESS` asks for more.) Not for the heap of `cfg(miri)`,
/// which gives no part of a block back.
#[cfg(not(miri))]
#[test]
fn the_reservation_stays_near_the_peak_of_live_bytes() {
    let steps =
        if cfg!(debug_assertions) { 100_000 * stress().min(10) } else { 1_000_000 } as usize;
    let area = area(0);
    let (mut rng, mut live) = (Rng::new(7), Vec::<Object>::new());
    let (mut bytes, mut peak, mut most) = (0, 0, 0);
    for step in 0..steps {
        // The number of objects swings between 500 and 4500, as a program's load does.
        let phase = step % 80_000;
        let wanted = 500 + phase.min(80_000 - phase) / 10;
        if live.len() < wanted + rng.below(100) {
            live.push(Object::new(&area, usual(&mut rng)));
            bytes += live.last().unwrap().shape.size * area.lanes();
            peak = peak.max(bytes);
        } else {
            let gone = live.swap_remove(rng.below(live.len()));
            bytes -= gone.shape.size * area.lanes();
        }
        if step % 1000 == 0 {
            most = most.max(area.stats().reserved);
        }
    }
    let ratio = most as f64 / peak as f64;
    println!("peak {} KiB live, {} KiB reserved: {ratio:.3}", peak >> 10, most >> 10);
    assert!(ratio <= 1.5, "{most} bytes reserved for {peak} at the peak: {ratio:.3}");
    drop(live);
    is_empty(&area);
}

/// Two threads allocate and free at random, also what the other one made; a canary in each lane.
#[test]
fn two_threads_that_allocate_and_free_never_meet() {
    let steps = 20_000 * stress();
    let area = area(5);
    let shared = Mutex::new(Vec::<(Object, u64)>::new());
    let work = |seed: u64| {
        let (mut rng, mut own) = (Rng::new(seed), Vec::<(Object, u64)>::new());
        for step in 0..steps {
            match rng.below(8) {
                0..4 if own.len() < 500 => {
                    let object = Object::new(&area, usual(&mut rng));
                    let mark = seed << 56 | step;
                    object.mark(area.lanes(), mark);
                    own.push((object, mark));
                }
                4 => shared.lock().unwrap().extend(own.pop()),
                5 => own.extend(shared.lock().unwrap().pop()),
                _ if !own.is_empty() => {
                    let (object, mark) = own.swap_remove(rng.below(own.len()));
                    assert!(object.is_marked(area.lanes(), mark), "somebody wrote to it");
                }
                _ => {}
            }
        }
        assert!(own.iter().all(|(object, mark)| object.is_marked(area.lanes(), *mark)));
    };
    std::thread::scope(|scope| {
        let threads = [1, 2].map(|seed| scope.spawn(move || work(seed)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    shared.lock().unwrap().clear();
    is_empty(&area);
}

/// Threads that empty a chunk and fill it again: it is given back, or used, never both.
#[test]
fn a_chunk_that_becomes_empty_while_others_allocate_is_not_lost() {
    let rounds = 3000 * stress();
    let area = area(5);
    std::thread::scope(|scope| {
        for seed in 0..4_u64 {
            let area = &area;
            scope.spawn(move || {
                for round in 0..rounds {
                    // Each fills most of a chunk: every free of the last one empties it.
                    let shape = if round % 2 == 0 { &SHAPES[16] } else { &SHAPES[22] };
                    let objects: Vec<_> = (0..8).map(|_| Object::new(area, shape)).collect();
                    let mark = seed << 56 | round;
                    objects.iter().for_each(|object| object.mark(area.lanes(), mark));
                    let good = objects.iter().all(|object| object.is_marked(area.lanes(), mark));
                    assert!(good, "somebody wrote to it");
                }
            });
        }
    });
    is_empty(&area);
}

corelocal::per_cpu! { static FORKED: PerCpuCell<u64>; }

/// What a child does after `fork`, while the threads that may have held something are gone.
/// Nothing here allocates from the heap, whose locks are another matter.
fn child(seed: u64) -> i32 {
    let before = FORKED.sum();
    (0..1000).for_each(|_| FORKED.add(1));
    let Ok(object) = PerCpu::<PerCpuCell<u64>>::try_new(|_| PerCpuCell::new(seed)) else {
        return 2;
    };
    let Ok(large) = PerCpu::<[PerCpuCell<u32>; 2000]>::try_zeroed() else { return 3 };
    (0..1000).for_each(|_| object.add(1));
    if object.sum() != seed * object.lanes() as u64 + 1000 {
        return 4;
    }
    if large.iter().any(|(_, cells)| cells.iter().any(|cell| cell.load() != 0)) {
        return 5;
    }
    drop(large);
    drop(object);
    for round in 0..20 {
        let objects = [(); 16].map(|()| PerCpu::<[u64; 100]>::try_new(|_| [round; 100]).ok());
        let good = |object: &PerCpu<[u64; 100]>| object.iter().all(|(_, a)| *a == [round; 100]);
        if !objects.iter().all(|object| object.as_ref().is_some_and(good)) {
            return 6;
        }
    }
    if FORKED.sum() == before + 1000 { 0 } else { 7 }
}

/// H7, <https://github.com/gperftools/gperftools/issues/499>, and H8,
/// <https://github.com/ruby/ruby/pull/7434>.
#[test]
fn a_forked_child_allocates_while_the_parents_threads_did() {
    const FORKS: u64 = 200;
    alone("a_forked_child_allocates_while_the_parents_threads_did", || {
        let done = AtomicBool::new(false);
        FORKED.add(5);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        // Grows and gives back a chunk again and again: the rarest paths too.
                        let many = [(); 20].map(|()| PerCpu::<[u64; 512]>::zeroed());
                        drop(many);
                        drop(PerCpu::<[u64; 2000]>::zeroed());
                    }
                });
            }
            let fork = |seed| {
                // SAFETY: the child calls nothing but the crate, `alarm` and `_exit`.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    // SAFETY: arms a timer that kills the child if it hangs.
                    unsafe { libc::alarm(20) };
                    // SAFETY: ends the child at once.
                    unsafe { libc::_exit(child(seed)) };
                }
                let mut status = 0;
                // SAFETY: waits for the child just made, and writes to `status` only.
                let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
                (waited == pid, status)
            };
            let bad = (0..FORKS).map(fork).find(|end| *end != (true, 0));
            done.store(true, Ordering::Relaxed);
            assert_eq!(bad, None, "hung (14), crashed (a signal), or a wrong value (code * 256)");
        });
        assert_eq!(FORKED.sum(), 5, "a child's adds are its own");
        assert!(Area::global().stats().chunks <= 2, "{:?}", Area::global().stats());
    });
}
