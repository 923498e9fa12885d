//! Models of `corelocal::refcount`: references got and put beside a kill, in sections and by atomics
//! (edges E24, E70 and E71).

use corelocal::{Area, PerCpuArcOwner, PerCpuRefCount};
use loom_tests::{Arc, AtomicUsize, Canary, finish, large_model, model, on_cpus, part, together};
use std::sync::atomic::Ordering;

/// Beyond every lane: a thread on this CPU counts on the spill lane, which is the total.
const SPILL: Option<u32> = Some(u32::MAX);

fn area() -> Area {
    Area::builder().odd_lines(false).build().expect("as many lanes as CPUs")
}

/// What a count is of, and how often its end was told.
#[derive(Debug, Default)]
struct Thing {
    canary: Canary,
    ends: AtomicUsize,
}

impl Thing {
    /// Uses the thing beside others.
    fn look(&self) {
        self.canary.look();
    }

    /// The end: nobody else uses it.
    fn end(&self) {
        self.canary.touch();
        self.ends.fetch_add(1, Ordering::Relaxed);
    }

    fn ends(&self) -> usize {
        self.ends.load(Ordering::Relaxed)
    }
}

/// By atomics: the crate's own lanes.
type AtEnd = Box<dyn Fn() + Send + Sync>;

struct Counted {
    count: PerCpuRefCount<AtEnd>,
    thing: Arc<Thing>,
}

impl Counted {
    fn new(area: &Area) -> Arc<Self> {
        let thing = Arc::new(Thing::default());
        let of_end = thing.clone();
        let at_end: AtEnd = Box::new(move || of_end.end());
        let count = PerCpuRefCount::in_area(area, at_end).expect("memory for a model");
        Arc::new(Self { count, thing })
    }

    fn put(&self) {
        self.thing.look();
        self.count.put();
    }

    fn kill(&self) {
        self.thing.look();
        self.count.kill().expect("without sections there is no barrier to refuse");
    }

    fn end(shared: Arc<Self>, area: Area) {
        assert_eq!(shared.thing.ends(), 1, "the end is told once");
        assert!(!shared.count.try_get(), "there is nothing to get");
        drop(shared);
        drop(area);
        finish();
    }
}

/// E70: whoever put in a lane has used the thing, and the kill that closed the lane sees it.
#[test]
fn a_put_in_a_lane_hides_what_was_done() {
    on_cpus([Some(0), Some(0), Some(0)], || {
        model("a_put_in_a_lane_hides_what_was_done", 3, || {
            let area = area();
            let shared = Counted::new(&area);
            shared.count.get();
            together([part(&shared, Counted::put), part(&shared, Counted::kill)]);
            Counted::end(shared, area);
        });
    });
}

#[test]
fn a_put_beside_a_kill_counts_twice_or_not_at_all() {
    on_cpus([Some(0), Some(0), Some(0)], || {
        large_model("a_put_beside_a_kill_counts_twice_or_not_at_all", [3, 4], || {
            let area = area();
            let shared = Counted::new(&area);
            (0..2).for_each(|_| shared.count.get());
            together([
                part(&shared, Counted::put),
                part(&shared, Counted::put),
                part(&shared, Counted::kill),
            ]);
            Counted::end(shared, area);
        });
    });
}

/// S6: what is got while the lanes are closed one by one, and put in another lane.
#[test]
fn a_get_beside_a_kill_is_seen_by_nobody() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        large_model("a_get_beside_a_kill_is_seen_by_nobody", [3, 6], || {
            let area = area();
            let shared = Counted::new(&area);
            shared.count.get();
            together([
                part(&shared, |shared| {
                    shared.count.get();
                    shared.put();
                    shared.put();
                }),
                part(&shared, Counted::kill),
            ]);
            Counted::end(shared, area);
        });
    });
}

/// E71: a thread without a lane counts on the total from the beginning.
#[test]
fn a_spilling_thread_ends_it_early_or_never() {
    on_cpus([Some(0), SPILL, Some(0)], || {
        large_model("a_spilling_thread_ends_it_early_or_never", [3, 6], || {
            let area = area();
            let shared = Counted::new(&area);
            shared.count.get();
            together([
                part(&shared, |shared| {
                    shared.count.get();
                    shared.put();
                    shared.put();
                }),
                part(&shared, Counted::kill),
            ]);
            Counted::end(shared, area);
        });
    });
}

/// E71: after the kill everybody counts on the total; the last one sees what the others did.
#[test]
fn the_last_put_misses_what_another_did() {
    on_cpus([Some(0), Some(0), Some(0)], || {
        model("the_last_put_misses_what_another_did", 3, || {
            let area = area();
            let shared = Counted::new(&area);
            (0..2).for_each(|_| shared.count.get());
            shared.kill();
            together([part(&shared, Counted::put), part(&shared, Counted::put)]);
            Counted::end(shared, area);
        });
    });
}

#[test]
fn a_reference_that_was_got_at_the_end_does_not_count() {
    on_cpus([Some(0), Some(0), Some(0)], || {
        model("a_reference_that_was_got_at_the_end_does_not_count", 3, || {
            let area = area();
            let shared = Counted::new(&area);
            shared.count.get();
            shared.kill();
            together([
                part(&shared, Counted::put),
                part(&shared, |shared| {
                    if shared.count.try_get() {
                        shared.put();
                    }
                }),
            ]);
            Counted::end(shared, area);
        });
    });
}

#[test]
fn two_kills_put_the_first_reference_twice() {
    on_cpus([Some(0), Some(0), Some(0)], || {
        model("two_kills_put_the_first_reference_twice", 3, || {
            let area = area();
            let shared = Counted::new(&area);
            shared.count.get();
            let done = Arc::new(AtomicUsize::new(0));
            together([0, 1].map(|_| {
                let done = done.clone();
                part(&shared, move |shared: &Counted| {
                    shared.thing.look();
                    let is_done = shared.count.kill().is_ok();
                    done.fetch_add(usize::from(is_done), Ordering::Relaxed);
                })
            }));
            assert_eq!((done.load(Ordering::Relaxed), shared.thing.ends()), (1, 0));
            shared.put();
            Counted::end(shared, area);
        });
    });
}

/// The value of an arc: dropped once, by nobody but the last.
struct Value(Arc<Thing>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[test]
fn a_shared_value_is_dropped_under_its_reader() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        large_model("a_shared_value_is_dropped_under_its_reader", [3, 6], || {
            let area = area();
            let thing = Arc::new(Thing::default());
            let value = Value(thing.clone());
            let owner = PerCpuArcOwner::in_area(&area, move || value).expect("memory for a model");
            let shared = owner.share();
            let reader = move || {
                let another = shared.clone();
                shared.0.look();
                drop(shared);
                another.0.look();
                drop(another);
            };
            together([
                Box::new(reader) as Box<dyn FnOnce() + Send>,
                Box::new(move || {
                    owner.0.look();
                    drop(owner);
                }),
            ]);
            assert_eq!(thing.ends(), 1, "the value is dropped once");
            drop(area);
            finish();
        });
    });
}

/// In sections, on a machine of one CPU. Only under loom: the protocol is private.
#[cfg(corelocal_loom)]
mod sections {
    use super::*;
    use corelocal::model::RefCount;
    use corelocal::model::Who::{self, OnCpu, Spilling};
    use corelocal::refcount::KillError;

    #[derive(Debug, Default)]
    struct Shared {
        count: RefCount,
        thing: Thing,
    }

    impl Shared {
        fn put(&self, who: Who) {
            self.thing.look();
            if self.count.put(who) {
                self.thing.end();
            }
        }

        fn kill(&self) {
            self.count.kill(OnCpu).expect("nobody else kills");
            self.put(OnCpu);
        }

        fn end(&self) {
            assert_eq!(self.thing.ends(), 1, "the end is told once");
            assert!(!self.count.try_get(OnCpu) && !self.count.try_get(Spilling));
        }
    }

    /// `body` beside a kill, with one reference that it has to put.
    fn beside_a_kill(name: &str, bounds: [usize; 2], body: fn(&Shared)) {
        large_model(name, bounds, move || {
            let shared = Arc::new(Shared::default());
            shared.count.get(OnCpu);
            together([part(&shared, body), part(&shared, Shared::kill)]);
            shared.end();
        });
    }

    /// E24: a section that saw the count alive is over before the lanes are added up.
    #[test]
    fn a_put_in_a_section_is_folded_twice_or_not_at_all() {
        let put = |shared: &Shared| shared.put(OnCpu);
        beside_a_kill("a_put_in_a_section_is_folded_twice_or_not_at_all", [3, 5], put);
    }

    #[test]
    fn a_get_after_the_kill_is_seen_by_nobody() {
        beside_a_kill("a_get_after_the_kill_is_seen_by_nobody", [3, 5], |shared| {
            shared.count.get(OnCpu);
            shared.put(OnCpu);
            shared.put(OnCpu);
        });
    }

    #[test]
    fn a_reference_that_is_put_on_the_spill_lane_ends_it_early() {
        beside_a_kill(
            "a_reference_that_is_put_on_the_spill_lane_ends_it_early",
            [2, 4],
            |shared| {
                shared.count.get(OnCpu);
                shared.put(Spilling);
                shared.put(Spilling);
            },
        );
    }

    #[test]
    fn a_reference_that_is_got_on_the_spill_lane_is_lost() {
        beside_a_kill("a_reference_that_is_got_on_the_spill_lane_is_lost", [3, 6], |shared| {
            shared.count.get(Spilling);
            shared.put(OnCpu);
            shared.put(Spilling);
        });
    }

    /// Two threads of one CPU take it from each other, and a third one kills.
    #[test]
    fn two_threads_of_a_cpu_lose_a_reference() {
        large_model("two_threads_of_a_cpu_lose_a_reference", [2, 3], || {
            let shared = Arc::new(Shared::default());
            (0..2).for_each(|_| shared.count.get(OnCpu));
            let body = |shared: &Shared| shared.put(OnCpu);
            together([part(&shared, body), part(&shared, body), part(&shared, Shared::kill)]);
            shared.end();
        });
    }

    #[test]
    fn a_try_get_beside_a_kill_finds_what_is_not_there() {
        large_model("a_try_get_beside_a_kill_finds_what_is_not_there", [3, 4], || {
            let shared = Arc::new(Shared::default());
            together([
                part(&shared, |shared| {
                    if shared.count.try_get(OnCpu) {
                        shared.put(OnCpu);
                    }
                }),
                part(&shared, Shared::kill),
            ]);
            shared.end();
        });
    }

    #[test]
    fn a_barrier_that_is_refused_loses_a_reference() {
        large_model("a_barrier_that_is_refused_loses_a_reference", [3, 5], || {
            let shared = Arc::new(Shared::default());
            shared.count.get(OnCpu);
            shared.count.refuse_barrier(true);
            together([
                part(&shared, |shared| {
                    shared.count.get(OnCpu);
                    shared.put(OnCpu);
                    shared.put(OnCpu);
                }),
                part(&shared, |shared| {
                    assert_eq!(shared.count.kill(OnCpu), Err(KillError::NoFence));
                }),
            ]);
            assert_eq!((shared.thing.ends(), shared.count.references()), (0, 1));
            shared.count.refuse_barrier(false);
            shared.kill();
            shared.end();
            assert_eq!(shared.count.kill(OnCpu), Err(KillError::Killed));
        });
    }
}
