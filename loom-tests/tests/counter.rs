//! Models of counters: takes beside adds (edge E40), carries through the tree of batches, and limits
//! (edges E41 and E42).

use corelocal::{Area, BatchedCounter, PerCpuCounter};
use loom_tests::{Arc, AtomicU64, finish, large_model, model, on_cpus, part, together};
use std::sync::atomic::Ordering;

/// Beyond every lane: a thread on this CPU counts on the spill lane, where takes are written too.
const SPILL: Option<u32> = Some(u32::MAX);

fn area() -> Area {
    Area::builder().odd_lines(false).build().expect("as many lanes as CPUs")
}

/// A counter, and what was taken out of it.
struct Taken {
    counter: PerCpuCounter,
    taken: AtomicU64,
}

impl Taken {
    fn new(area: &Area) -> Arc<Self> {
        let counter = PerCpuCounter::in_area(area).expect("memory for a model");
        Arc::new(Self { counter, taken: AtomicU64::new(0) })
    }

    /// Takes, and holds what is there against what there can be at most.
    fn take(&self, most: u64) {
        let taken = self.counter.take();
        assert!(taken <= most, "{taken} of {most} events were taken");
        self.taken.fetch_add(taken, Ordering::Relaxed);
    }

    fn end(shared: Arc<Self>, area: Area, events: u64) {
        let taken = shared.taken.load(Ordering::Relaxed);
        assert_eq!(taken + shared.counter.sum(), events, "{taken} taken");
        drop(shared);
        drop(area);
        finish();
    }
}

/// E40: the second taker sees what the first one left, but not yet what it took.
#[test]
fn two_takers_take_an_event_twice() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        model("two_takers_take_an_event_twice", 2, || {
            let area = area();
            let shared = Taken::new(&area);
            together([
                part(&shared, |shared| shared.counter.inc()),
                part(&shared, |shared| shared.take(1)),
                part(&shared, |shared| shared.take(1)),
            ]);
            Taken::end(shared, area, 1);
        });
    });
}

#[test]
fn a_take_loses_what_the_spill_lane_counts() {
    on_cpus([Some(0), SPILL, Some(0)], || {
        model("a_take_loses_what_the_spill_lane_counts", 3, || {
            let area = area();
            let shared = Taken::new(&area);
            shared.counter.inc();
            together([
                part(&shared, |shared| shared.counter.inc()),
                part(&shared, |shared| shared.take(2)),
                part(&shared, |shared| shared.take(2)),
            ]);
            Taken::end(shared, area, 2);
        });
    });
}

#[test]
fn a_sum_beside_a_take_is_less_than_nothing() {
    on_cpus([Some(0), Some(1), Some(0)], || {
        model("a_sum_beside_a_take_is_less_than_nothing", 2, || {
            let area = area();
            let shared = Taken::new(&area);
            together([
                part(&shared, |shared| shared.counter.inc()),
                part(&shared, |shared| shared.take(1)),
                part(&shared, |shared| {
                    let sum = shared.counter.sum();
                    assert!(sum <= 1, "{sum} of 1");
                }),
            ]);
            Taken::end(shared, area, 1);
        });
    });
}

/// Five leaves of batch 2 have two nodes of batch 8 between them and the root. Whatever the order, the
/// root ends as the final words say.
#[cfg(corelocal_loom)]
#[test]
fn a_carry_is_lost_on_its_way_to_the_root() {
    model("a_carry_is_lost_on_its_way_to_the_root", 3, || {
        let shared = Arc::new(corelocal::model::Batches::new(5, 2));
        together([(0, 4), (0, 4), (1, 4)].map(|(leaf, value)| {
            part(&shared, move |shared: &corelocal::model::Batches| shared.add(leaf, value))
        }));
        // The first node's word is 12, which is nearer to 16 than to 8, or as near.
        assert_eq!(shared.read().0, 16);
        shared.add(4, -8);
        let (read, more, less) = shared.read();
        assert_eq!(read, 8);
        let held = 4 - read;
        assert!(-(less as i64) <= held && held <= more as i64, "{held}");
    });
}

/// Two threads cross a batch on one lane: one of them carries it.
#[test]
fn a_batch_is_carried_twice_or_not_at_all() {
    on_cpus([SPILL, Some(0), Some(0)], || {
        model("a_batch_is_carried_twice_or_not_at_all", 3, || {
            let area = area();
            let made = BatchedCounter::in_area(&area, 4);
            let shared = Arc::new(made.expect("memory for a model"));
            let step = |shared: &BatchedCounter| {
                shared.add(1);
                // 2 of 4 are carried as 4.
                shared.add(1);
            };
            together([part(&shared, step), part(&shared, step), part(&shared, |s| s.sub(4))]);
            assert_eq!(shared.sum(), 0);
            if loom_tests::EXPLORES {
                assert_eq!(shared.read(), 0);
            }
            assert!(shared.read().unsigned_abs() <= shared.error_bound());
            drop(shared);
            drop(area);
            finish();
        });
    });
}

/// A batched counter that passes everything on, and how much was let in.
struct Limited {
    counter: BatchedCounter,
    admitted: AtomicU64,
}

impl Limited {
    fn new(area: &Area) -> Arc<Self> {
        let counter = BatchedCounter::in_area(area, 1).expect("memory for a model");
        Arc::new(Self { counter, admitted: AtomicU64::new(0) })
    }

    fn add(&self, value: u64, limit: i64) {
        if self.counter.limited_add(value, limit).is_ok() {
            self.admitted.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// How much was let in.
    fn end(shared: Arc<Self>, area: Area, limit: i64) -> u64 {
        let sum = shared.counter.sum();
        let admitted = shared.admitted.load(Ordering::Relaxed);
        assert_eq!(sum, admitted as i64);
        assert!(sum <= limit, "{sum} is past {limit}");
        drop(shared);
        drop(area);
        finish();
        admitted
    }
}

/// E41: who is last sees what the first one counted, or that it still has something aside.
#[test]
fn two_adders_pass_the_limit() {
    on_cpus([Some(0), Some(1)], || {
        model("two_adders_pass_the_limit", 3, || {
            let area = area();
            let shared = Limited::new(&area);
            together([0, 1].map(|_| part(&shared, |shared: &Limited| shared.add(1, 1))));
            assert_eq!(Limited::end(shared, area, 1), 1, "the first of the two finds room");
        });
    });
}

/// What is taken back makes room for one of two, not for both.
#[test]
fn room_that_was_made_is_used_twice() {
    on_cpus([Some(0), Some(1)], || {
        large_model("room_that_was_made_is_used_twice", [3, 5], || {
            let area = area();
            let shared = Limited::new(&area);
            shared.add(1, 1);
            together([
                part(&shared, |shared| {
                    shared.counter.sub(1);
                    shared.add(1, 1);
                }),
                part(&shared, |shared| shared.add(1, 1)),
            ]);
            // What was taken back is not in use any more. (It may be that nobody gets its room: each
            // of two can find what the other one has aside and then puts back.)
            shared.admitted.fetch_sub(1, Ordering::Relaxed);
            Limited::end(shared, area, 1);
        });
    });
}

/// A limit of which a third of a quarter, for two CPUs and the spill lane, is enough for a stock.
fn limit_with_stocks(area: &Area) -> i64 {
    20 * area.lanes() as i64
}

/// E42: what was taken out of a stock is counted, and the stock is collected.
#[test]
fn a_stock_is_collected_before_its_use_is_seen() {
    on_cpus([Some(0)], || {
        large_model("a_stock_is_collected_before_its_use_is_seen", [2, 4], || {
            let area = area();
            let (shared, limit) = (Limited::new(&area), limit_with_stocks(&area));
            // Fills this CPU's stock.
            shared.add(1, limit);
            together([
                part(&shared, move |shared| shared.add(1, limit)),
                part(&shared, move |shared| shared.add(limit as u64 - 1, limit)),
            ]);
            Limited::end(shared, area, limit);
        });
    });
}

/// One after the other: then nothing is refused but what would pass the limit.
#[test]
fn room_in_the_stock_of_another_cpu_is_lost() {
    on_cpus([Some(0), Some(1)], || {
        model("room_in_the_stock_of_another_cpu_is_lost", 2, || {
            let area = area();
            let (shared, limit) = (Limited::new(&area), limit_with_stocks(&area));
            shared.add(1, limit);
            let rest = part(&shared, move |shared| shared.add(limit as u64 - 1, limit));
            together([rest, Box::new(|| ())]);
            assert_eq!(Limited::end(shared, area, limit), limit as u64);
        });
    });
}

/// What is in stock was let in by the limit of whoever filled it.
#[test]
fn a_stock_lets_in_what_a_smaller_limit_refuses() {
    on_cpus([Some(0)], || {
        model("a_stock_lets_in_what_a_smaller_limit_refuses", 2, || {
            let area = area();
            let (shared, limit) = (Limited::new(&area), limit_with_stocks(&area));
            shared.add(1, limit);
            assert!(shared.counter.limited_add(1, 1).is_err(), "1 is counted, and 1 is the limit");
            assert_eq!(Limited::end(shared, area, 1), 1);
        });
    });
}
