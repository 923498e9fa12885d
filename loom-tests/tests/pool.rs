//! Models of `corelocal::pool`: get and put beside each other and beside drains, batches on their way
//! to the shared queue and back, and the take-over of lanes (edges E50 to E52).
//!
//! Only under loom: the lists are private. On real threads `rseq-tests` has its own.
#![cfg(corelocal_loom)]

use loom_tests::pool::Shared;
use loom_tests::pool::Who::{self, OnCpu, Spilling};
use loom_tests::{Arc, AtomicUsize, large_model, model, part, together};
use std::sync::atomic::Ordering;

/// Counts nodes that left the lists.
fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

fn count(counter: &AtomicUsize, nodes: usize) {
    // Relaxed: read when all are done.
    counter.fetch_add(nodes, Ordering::Relaxed);
}

/// Gets; returns how many nodes left the lists.
fn get(shared: &Shared, who: Who) -> usize {
    let (node, over) = shared.get(who);
    usize::from(node.is_some()) + over
}

#[test]
fn an_object_is_handed_out_twice() {
    large_model("an_object_is_handed_out_twice", [3, 4], || {
        let shared = Shared::new(2, 1, 1);
        assert_eq!(shared.put(OnCpu, 0), 0);
        let out = counter();
        together([0, 1].map(|_| {
            let out = out.clone();
            part(&shared, move |shared| count(&out, get(shared, OnCpu)))
        }));
        assert_eq!(out.load(Ordering::Relaxed), 1);
        assert_eq!(shared.rest(), 0);
    });
}

#[test]
fn an_object_that_goes_round_is_lost() {
    large_model("an_object_that_goes_round_is_lost", [3, 4], || {
        let shared = Shared::new(2, 1, 2);
        let out = counter();
        together([0, 1].map(|node| {
            let out = out.clone();
            part(&shared, move |shared| {
                count(&out, shared.put(OnCpu, node));
                count(&out, get(shared, OnCpu));
            })
        }));
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 2);
    });
}

/// E24: what a drain found, no section pops any more, nor pushes behind its back.
#[test]
fn a_drain_and_a_get_have_one_object() {
    model("a_drain_and_a_get_have_one_object", 3, || {
        let shared = Shared::new(2, 1, 1);
        assert_eq!(shared.put(OnCpu, 0), 0);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, get(shared, OnCpu))),
            part(&shared, move |shared| count(&b, shared.drain().unwrap())),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 1);
    });
}

#[test]
fn a_put_beside_a_drain_is_lost() {
    model("a_put_beside_a_drain_is_lost", 3, || {
        let shared = Shared::new(2, 1, 2);
        assert_eq!(shared.put(OnCpu, 1), 0);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, shared.put(OnCpu, 0))),
            part(&shared, move |shared| count(&b, shared.drain().unwrap())),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 2);
    });
}

/// E51: the second drain brings the lists that the first one emptied into use again.
#[test]
fn lists_come_into_use_before_they_are_seen_empty() {
    large_model("lists_come_into_use_before_they_are_seen_empty", [3, 5], || {
        let shared = Shared::new(2, 1, 1);
        assert_eq!(shared.put(OnCpu, 0), 0);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, get(shared, OnCpu))),
            part(&shared, move |shared| {
                count(&b, shared.drain().unwrap());
                count(&b, shared.drain().unwrap());
            }),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 1);
    });
}

/// E52: who drains the same lists again sees that they are empty.
#[test]
fn two_drains_have_one_object() {
    model("two_drains_have_one_object", 3, || {
        let shared = Shared::new(2, 1, 1);
        assert_eq!(shared.put(OnCpu, 0), 0);
        let out = counter();
        together([1, 2].map(|times| {
            let out = out.clone();
            part(&shared, move |shared| {
                (0..times).for_each(|_| count(&out, shared.drain().unwrap_or(0)));
            })
        }));
        assert_eq!(out.load(Ordering::Relaxed), 1, "taken once, by one of them");
        assert_eq!(shared.rest(), 0);
    });
}

#[test]
fn a_drain_misses_what_a_spilling_thread_did() {
    large_model("a_drain_misses_what_a_spilling_thread_did", [3, 4], || {
        let shared = Shared::new(2, 1, 2);
        assert_eq!(shared.put(Spilling, 1), 0);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| {
                count(&a, shared.put(Spilling, 0));
                count(&a, get(shared, Spilling));
            }),
            part(&shared, move |shared| count(&b, shared.drain().unwrap())),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 2);
    });
}

/// E50: who takes a batch sees what was done to its objects.
#[test]
fn a_batch_hides_what_was_done_to_it() {
    model("a_batch_hides_what_was_done_to_it", 3, || {
        let shared = Shared::new(2, 1, 1);
        let out = counter();
        let a = out.clone();
        together([
            part(&shared, move |shared| count(&a, shared.unshare())),
            part(&shared, move |shared| assert!(shared.share(0))),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 1);
    });
}

#[test]
fn a_batch_is_taken_twice() {
    model("a_batch_is_taken_twice", 3, || {
        let shared = Shared::new(2, 2, 1);
        assert!(shared.share(0));
        let out = counter();
        together([0, 1].map(|_| {
            let out = out.clone();
            part(&shared, move |shared| count(&out, shared.unshare()))
        }));
        assert_eq!(out.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_batch_is_put_over_another() {
    model("a_batch_is_put_over_another", 3, || {
        let shared = Shared::new(2, 1, 2);
        let out = counter();
        together([0, 1].map(|node| {
            let out = out.clone();
            part(&shared, move |shared| count(&out, usize::from(!shared.share(node))))
        }));
        assert_eq!((out.load(Ordering::Relaxed), shared.rest()), (1, 1));
    });
}

/// Lists of one node each: every put finds the loaded list full, and moves it.
#[test]
fn a_full_list_is_lost_on_its_way() {
    large_model("a_full_list_is_lost_on_its_way", [3, 4], || {
        let shared = Shared::new(1, 1, 3);
        assert_eq!(shared.put(OnCpu, 0), 0);
        let out = counter();
        together([1, 2].map(|node| {
            let out = out.clone();
            part(&shared, move |shared| count(&out, shared.put(OnCpu, node)))
        }));
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 3);
    });
}

/// The same where there is no place to move it to: the new object has none.
#[test]
fn a_full_list_without_a_place_is_lost() {
    large_model("a_full_list_without_a_place_is_lost", [2, 3], || {
        let shared = Shared::new(1, 0, 4);
        assert_eq!(shared.put(OnCpu, 0) + shared.put(OnCpu, 1), 0);
        let out = counter();
        together([2, 3].map(|node| {
            let out = out.clone();
            part(&shared, move |shared| count(&out, shared.put(OnCpu, node)))
        }));
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 4);
    });
}

#[test]
fn a_full_list_is_lost_beside_a_drain() {
    large_model("a_full_list_is_lost_beside_a_drain", [3, 4], || {
        let shared = Shared::new(1, 1, 3);
        assert_eq!(shared.put(OnCpu, 0) + shared.put(OnCpu, 1), 0);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, shared.put(OnCpu, 2))),
            part(&shared, move |shared| count(&b, shared.drain().unwrap())),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 3);
    });
}

/// Gets that find the loaded list empty take the spare one, or a batch, and leave the rest.
#[test]
fn the_rest_of_a_batch_is_lost() {
    large_model("the_rest_of_a_batch_is_lost", [3, 4], || {
        let shared = Shared::new(2, 1, 4);
        // Two in the spare list, one in the loaded one.
        assert_eq!((0..3).map(|node| shared.put(OnCpu, node)).sum::<usize>(), 0);
        assert_eq!(get(&shared, OnCpu), 1);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, get(shared, OnCpu))),
            part(&shared, move |shared| count(&b, shared.put(OnCpu, 3))),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 3);
    });
}

#[test]
fn the_rest_of_a_batch_is_lost_beside_a_drain() {
    large_model("the_rest_of_a_batch_is_lost_beside_a_drain", [3, 5], || {
        let shared = Shared::new(2, 1, 4);
        assert_eq!((0..3).map(|node| shared.put(OnCpu, node)).sum::<usize>(), 0);
        assert_eq!(get(&shared, OnCpu), 1);
        let out = counter();
        let (a, b) = (out.clone(), out.clone());
        together([
            part(&shared, move |shared| count(&a, get(shared, OnCpu))),
            part(&shared, move |shared| count(&b, shared.drain().unwrap())),
        ]);
        assert_eq!(out.load(Ordering::Relaxed) + shared.rest(), 2);
    });
}
