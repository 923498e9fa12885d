//! Models of `corelocal::sys::rseq`: sections that lose their CPU, spill lanes beside them,
//! guards against fences, drains, and the locks of lanes (edges E20 to E24).
#![allow(unsafe_code, reason = "raw lanes")]

use corelocal::sys::rseq::{
    Anchored, Atomic, Contract, HERE, Hot, HotWords, Outcome, Word, Words, try_lock, unlock, update,
};
use loom_tests::sections::{CPU, Node, SPILL, Shared, Side};
use loom_tests::{Arc, AtomicU64, fence, large_model, model, part, together};
use std::sync::atomic::Ordering;

/// Attempts until one is not cut off; with two threads each can cut the other off a few times. (Without a
/// bound for ever: a model in which both try has one.)
fn settled<T>(attempt: impl Fn() -> Outcome<T>) -> Outcome<T> {
    loop {
        match attempt() {
            Outcome::Aborted => loom_tests::thread::yield_now(),
            settled => return settled,
        }
    }
}

fn add(shared: &Shared, on: impl Contract) {
    // SAFETY:
    // - the lanes are the model's, and cover what `on` acts on.
    let outcome = settled(|| unsafe { on.add::<Side, u64, _>(shared.word(), 1, HERE) });
    assert!(matches!(outcome, Outcome::Committed { .. }));
}

#[test]
fn two_sections_on_one_cpu_lose_an_update() {
    large_model("two_sections_on_one_cpu_lose_an_update", [3, 5], || {
        let shared = Shared::new();
        let one = |shared: &Shared| add(shared, shared.machine.on(CPU));
        together([part(&shared, one), part(&shared, one)]);
        assert_eq!(shared.sum(), 2);
    });
}

#[test]
fn a_spilling_thread_disturbs_sections() {
    model("a_spilling_thread_disturbs_sections", 3, || {
        let shared = Shared::new();
        together([
            part(&shared, |shared| add(shared, shared.machine.on(CPU))),
            part(&shared, |shared| add(shared, Atomic::on_lane(SPILL))),
            part(&shared, |shared| add(shared, Atomic::on_lane(SPILL))),
        ]);
        assert_eq!(shared.sum(), 3);
    });
}

#[test]
fn fetched_values_are_given_to_two_threads() {
    large_model("fetched_values_are_given_to_two_threads", [3, 5], || {
        let shared = Shared::new();
        let seen = Arc::new(AtomicU64::new(0));
        let threads = [0, 1].map(|_| {
            let seen = seen.clone();
            part(&shared, move |shared| {
                let on = shared.machine.on(CPU);
                // SAFETY:
                // - the lanes are the model's.
                let outcome = settled(|| unsafe {
                    on.update::<Side, u64, _, { update::ADD }>(shared.word(), 1, HERE)
                });
                let Outcome::Committed { value, .. } = outcome else { panic!("{outcome:?}") };
                seen.fetch_add(1 << (8 * value), Ordering::Relaxed);
            })
        });
        together(threads);
        assert_eq!(seen.load(Ordering::Relaxed), 0x101, "one saw 0, the other one 1");
    });
}

/// Two threads push a node each and pop one: nobody gets a node that another has.
fn push_and_pop(shared: &Shared, on: impl Contract, index: usize) {
    let (list, node) = (shared.list(0), shared.node(index));
    shared.nodes[index].thing.touch();
    let _ = node.expose_provenance();
    // SAFETY:
    // - the lanes are the model's; nodes live as long, and their first word is the link.
    let pushed = settled(|| unsafe { on.list_push::<Side, _>(list, node, 0, HERE) });
    if matches!(pushed, Outcome::Busy) {
        return;
    }
    // SAFETY:
    // - as above.
    let popped = settled(|| unsafe { on.list_pop::<Side, _>(list, 0, HERE) });
    if let Outcome::Committed { value, .. } = popped {
        let index = (value - shared.nodes.as_ptr().addr()) / size_of::<Node>();
        shared.nodes[index].thing.touch();
    }
}

#[test]
fn a_popped_node_has_two_owners() {
    large_model("a_popped_node_has_two_owners", [2, 4], || {
        let shared = Shared::new();
        together([0, 1].map(|index| {
            part(&shared, move |shared| push_and_pop(shared, shared.machine.on(CPU), index))
        }));
    });
}

#[test]
fn a_node_popped_by_atomics_has_two_owners() {
    model("a_node_popped_by_atomics_has_two_owners", 3, || {
        let shared = Shared::new();
        together([0, 1].map(|index| {
            part(&shared, move |shared| push_and_pop(shared, Atomic::on_lane(SPILL), index))
        }));
    });
}

#[test]
fn a_stack_hands_a_value_out_twice() {
    large_model("a_stack_hands_a_value_out_twice", [2, 4], || {
        let shared = Shared::new();
        let popped = Arc::new(AtomicU64::new(0));
        let threads = [1, 2].map(|value: usize| {
            let popped = popped.clone();
            part(&shared, move |shared| {
                let (on, stack) = (shared.machine.on(CPU), shared.stack());
                // SAFETY:
                // - the lanes are the model's.
                let pushed = settled(|| unsafe { on.stack_push::<Side, _>(stack, value, HERE) });
                assert!(matches!(pushed, Outcome::Committed { .. }));
                // SAFETY:
                // - as above.
                let outcome = settled(|| unsafe { on.stack_pop::<Side, _>(stack, HERE) });
                let Outcome::Committed { value, .. } = outcome else { panic!("{outcome:?}") };
                popped.fetch_add(value as u64, Ordering::Relaxed);
            })
        });
        together(threads);
        assert_eq!(popped.load(Ordering::Relaxed), 3, "each value once");
    });
}

/// The owner of a guard changes it and fences: a guarded section that committed is in what the
/// owner finds, and one that comes later does not commit.
#[test]
fn a_guarded_section_commits_behind_the_fence() {
    model("a_guarded_section_commits_behind_the_fence", 3, || {
        let shared = Shared::new();
        let found = Arc::new(AtomicU64::new(0));
        let committed = Arc::new(AtomicU64::new(0));
        let (owner, guarded) = (found.clone(), committed.clone());
        together([
            part(&shared, move |shared| {
                let form = HERE.guarded(shared.guard(), 0);
                let on = shared.machine.on(CPU);
                // SAFETY:
                // - the lanes are the model's, and so is the guard.
                let outcome = settled(|| unsafe { on.add::<Side, u64, _>(shared.word(), 1, form) });
                if matches!(outcome, Outcome::Committed { .. }) {
                    guarded.store(1, Ordering::Relaxed);
                }
            }),
            part(&shared, move |shared| {
                shared.phase.store(1, Ordering::Relaxed);
                shared.machine.fence_all();
                owner.store(shared.sum(), Ordering::Relaxed);
            }),
        ]);
        assert_eq!(found.load(Ordering::Relaxed), committed.load(Ordering::Relaxed));
    });
}

/// The same by atomics (E21): what the owner does not find is `Late`, never committed.
#[test]
fn a_guarded_atomic_commits_behind_the_fence() {
    model("a_guarded_atomic_commits_behind_the_fence", 3, || {
        let shared = Shared::new();
        let found = Arc::new(AtomicU64::new(0));
        let committed = Arc::new(AtomicU64::new(0));
        let (owner, guarded) = (found.clone(), committed.clone());
        together([
            part(&shared, move |shared| {
                let form = HERE.guarded(shared.guard(), 0);
                let on = Atomic::on_lane(SPILL);
                // SAFETY:
                // - the lanes are the model's, and so is the guard.
                let outcome = unsafe { on.add::<Side, u64, _>(shared.word(), 1, form) };
                if matches!(outcome, Outcome::Committed { .. }) {
                    guarded.store(1, Ordering::Relaxed);
                }
            }),
            part(&shared, move |shared| {
                shared.phase.store(1, Ordering::Relaxed);
                fence(Ordering::SeqCst);
                owner.store(shared.sum(), Ordering::Relaxed);
            }),
        ]);
        let (found, committed) = (found.load(Ordering::Relaxed), committed.load(Ordering::Relaxed));
        assert!(found >= committed, "committed, and not found");
    });
}

/// A drain: turn the phase, fence, empty the other list of each lane.
#[test]
fn a_drain_misses_a_node_or_takes_it_early() {
    model("a_drain_misses_a_node_or_takes_it_early", 3, || {
        let shared = Shared::new();
        let drained = Arc::new(AtomicU64::new(0));
        let count = drained.clone();
        together([
            part(&shared, |shared| {
                let node = shared.node(0);
                let _ = node.expose_provenance();
                shared.nodes[0].thing.touch();
                let on = shared.machine.on(CPU);
                let outcome = settled(|| {
                    let phase = shared.phase.load(Ordering::Relaxed);
                    let form = HERE.guarded(shared.guard(), phase).release();
                    // SAFETY:
                    // - the lanes are the model's, and so are node and guard.
                    match unsafe { on.list_push::<Side, _>(shared.list(phase & 1), node, 0, form) }
                    {
                        // The phase was turned: once more, with the new one.
                        Outcome::Closed => Outcome::Aborted,
                        other => other,
                    }
                });
                assert!(matches!(outcome, Outcome::Committed { .. }));
            }),
            part(&shared, move |shared| {
                drain(shared, &count);
            }),
        ]);
        drain(&shared, &drained);
        drain(&shared, &drained);
        assert_eq!(drained.load(Ordering::Relaxed), 1);
    });
}

fn drain(shared: &Shared, drained: &AtomicU64) {
    let old = shared.phase.fetch_add(1, Ordering::Relaxed) & 1;
    shared.machine.fence_all();
    let anchor = &shared.lanes[0].list[old];
    let head = anchor.word.load(Ordering::Relaxed);
    anchor.word.store(0, Ordering::Relaxed);
    if head != 0 {
        let index = (head - shared.nodes.as_ptr().addr()) / size_of::<Node>();
        shared.nodes[index].thing.touch();
        drained.fetch_add(1, Ordering::Relaxed);
    }
}

/// E22: who takes a lane's lock sees what its last holder did.
#[test]
fn a_lanes_holder_misses_what_the_last_one_did() {
    model("a_lanes_holder_misses_what_the_last_one_did", 3, || {
        let shared = Shared::new();
        let hold = |shared: &Shared| {
            let anchor = &shared.lanes[1].list[0];
            if try_lock(anchor) {
                shared.nodes[0].thing.touch();
                unlock(anchor);
            }
        };
        together([part(&shared, hold), part(&shared, hold)]);
    });
}

/// E23: who sees a release commit sees what was done before it.
fn seen_commit_hides(name: &str, push: fn(&Shared, *mut u8) -> Outcome<usize>, lane: usize) {
    model(name, 3, move || {
        let shared = Shared::new();
        // The pusher last: it then runs first. loom remembers one access to an atomic, and would
        // take the pusher's own load for the one that its store has to be tried before.
        together([
            part(&shared, move |shared| {
                // Acquire [E23], for what the pusher did before.
                if shared.lanes[lane].list[0].word.load(Ordering::Acquire) != 0 {
                    shared.nodes[0].thing.touch();
                }
            }),
            part(&shared, move |shared| {
                shared.nodes[0].thing.touch();
                let node = shared.node(0);
                let _ = node.expose_provenance();
                assert!(matches!(push(shared, node), Outcome::Committed { .. }));
            }),
        ]);
    });
}

#[test]
fn a_seen_commit_hides_what_came_before() {
    let push = |shared: &Shared, node: *mut u8| {
        let on = shared.machine.on(CPU);
        // SAFETY:
        // - the lanes are the model's, and so is the node.
        unsafe { on.list_push::<Side, _>(shared.list(0), node, 0, HERE.release()) }
    };
    seen_commit_hides("a_seen_commit_hides_what_came_before", push, 0);
}

#[test]
fn a_seen_atomic_commit_hides_what_came_before() {
    let push = |shared: &Shared, node: *mut u8| {
        let on = Atomic::on_lane(SPILL);
        // SAFETY:
        // - the lanes are the model's, and so is the node.
        unsafe { on.list_push::<Side, _>(shared.list(0), node, 0, HERE.release()) }
    };
    seen_commit_hides("a_seen_atomic_commit_hides_what_came_before", push, 1);
}

#[test]
fn a_seen_atomic_word_hides_what_came_before() {
    let store = |shared: &Shared, node: *mut u8| {
        let on = Atomic::on_lane(SPILL);
        let word = shared.list(0).cast::<usize>();
        let form = HERE.release();
        // SAFETY:
        // - the lanes are the model's; an anchor begins with its word.
        unsafe { on.swap::<Side, usize, _>(word, usize::of(node.addr() as u64), form) }
    };
    seen_commit_hides("a_seen_atomic_word_hides_what_came_before", store, 1);
}

/// E20: no section stores its descriptor through an offset that is not there yet.
#[test]
fn the_limit_is_seen_before_the_offset() {
    model("the_limit_is_seen_before_the_offset", 3, || {
        let words = Arc::new(HotWords::new());
        let (a, b) = (words.clone(), words.clone());
        let hot = Hot { limit: 4, offset: 2336 };
        together([
            Box::new(move || a.publish(hot)) as Box<dyn FnOnce() + Send>,
            Box::new(move || {
                if let Some(seen) = b.load() {
                    assert_eq!(seen, hot);
                }
            }),
        ]);
    });
}
