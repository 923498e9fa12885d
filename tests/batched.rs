//! Batched counters: the bound of `read`, what `compare` says, and limits that hold.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "what test files share asks libc")]

mod common;

use common::{Rng, allowed, on_moving_threads, pin, stress};
use corelocal::{AllocError, Area, BatchError, BatchedCounter, OverLimit};
use std::cmp::Ordering as Compared;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[test]
fn a_batched_counter_says_what_it_cannot_be() {
    for batch in [0, 3, 48, 1 << 33] {
        let refused = BatchedCounter::with_batch(batch).unwrap_err();
        assert_eq!(refused, BatchError::Batch { asked: batch, most: 1 << 32 });
        assert!(refused.to_string().contains("power of two"));
    }
    let area = Area::builder().capacity(1).build().unwrap();
    let refused = BatchedCounter::in_area(&area, 32).unwrap_err();
    assert_eq!(refused, BatchError::Alloc(AllocError::AreaFull { capacity: 1 }));
}

/// Random updates, one thread: the sum is exact after each, the root within its bound, and what is
/// compared is compared exactly.
#[test]
fn a_batched_count_is_within_its_bound_after_every_update() {
    for cpus in [64, 240] {
        let area = Area::builder().cpus(cpus).build().unwrap();
        for batch in [1, 4, 32, 1024] {
            let counter = BatchedCounter::in_area(&area, batch).unwrap();
            let mut rng = Rng::new(batch);
            let mut total = 0_i64;
            for _ in 0..3000 {
                let value = rng.next() as i64 >> (rng.below(3) * 8 + 40);
                if rng.below(2) == 0 {
                    counter.add(value);
                    total += value;
                } else {
                    counter.sub(value);
                    total -= value;
                }
                assert_eq!(counter.sum(), total);
                assert!(counter.read().abs_diff(total) <= counter.error_bound());
                for near in [-1, 0, 1, counter.error_bound() as i64, i64::MAX - total.max(0)] {
                    let limit = total + near;
                    assert_eq!(counter.compare(limit), total.cmp(&limit), "{total} and {limit}");
                }
            }
        }
    }
    assert_eq!(BatchedCounter::new().compare(i64::MIN), Compared::Greater);
    assert_eq!(BatchedCounter::new().compare(i64::MAX), Compared::Less);
}

#[test]
fn a_batched_count_is_exact_when_threads_that_moved_are_done() {
    let steps = 50_000 * stress();
    let counter = BatchedCounter::with_batch(8).unwrap();
    let total = AtomicU64::new(0);
    on_moving_threads(steps, |rng, _| {
        let value = rng.below(41) as i64 - 18;
        counter.add(value);
        total.fetch_add(value as u64, Ordering::Relaxed);
    });
    let total = total.load(Ordering::Relaxed) as i64;
    assert_eq!(counter.sum(), total);
    assert!(counter.read().abs_diff(total) <= counter.error_bound());
    assert_eq!(counter.compare(total), Compared::Equal);
}

/// One thread: refused is what would pass, and nothing else, however much is in stock.
#[test]
fn a_limit_refuses_what_would_pass_and_nothing_else() {
    let area = Area::builder().cpus(64).build().unwrap();
    let cpus = allowed();
    let counter = BatchedCounter::in_area(&area, 32).unwrap();
    let mut rng = Rng::new(5);
    let mut total = 0_i64;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 0..40_000 {
                if step % 50 == 0 {
                    pin(cpus[rng.below(cpus.len())]).expect("an allowed CPU");
                }
                let value = rng.next() >> (63 - rng.below(13));
                match rng.below(8) {
                    0 => {
                        counter.sub(value as i64);
                        total -= value as i64;
                    }
                    1 if step % 7 == 0 => {
                        counter.add(value as i64);
                        total += value as i64;
                    }
                    _ => {
                        // Two limits at once: what was set aside for the larger one is not used
                        // beyond the smaller one.
                        let limit = if rng.below(3) == 0 { 50_000 } else { 90_000 };
                        let fits = total + value as i64 <= limit;
                        let expected = if fits { Ok(()) } else { Err(OverLimit { value, limit }) };
                        assert_eq!(counter.limited_add(value, limit), expected, "at {total}");
                        total += if fits { value as i64 } else { 0 };
                    }
                }
                assert_eq!(counter.sum(), total);
            }
        });
    });
    let counter = BatchedCounter::new();
    for value in [i64::MAX as u64 + 1, u64::MAX] {
        assert_eq!(counter.limited_add(value, i64::MAX), Err(OverLimit { value, limit: i64::MAX }));
    }
    assert_eq!(counter.limited_add(i64::MAX as u64, i64::MAX), Ok(()));
    assert!(counter.limited_add(1, i64::MAX).is_err());
    assert_eq!(counter.sum(), i64::MAX);
}

/// Threads that only add: not even a live sum is past the limit, and in the end it is reached.
#[test]
fn a_limit_holds_while_threads_that_move_add_up_to_it() {
    for round in 0..20 * stress() {
        let limit = 20_000 + round as i64;
        let counter = BatchedCounter::with_batch(1 << (round % 8)).unwrap();
        let admitted = AtomicU64::new(0);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let look = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let sum = counter.sum();
                    assert!(sum <= limit, "{sum} is past {limit}");
                }
            });
            on_moving_threads(2500, |rng, _| {
                let value = rng.below(6) as u64;
                if counter.limited_add(value, limit).is_ok() {
                    admitted.fetch_add(value, Ordering::Relaxed);
                }
            });
            over.store(true, Ordering::Relaxed);
            look.join().unwrap();
        });
        assert_eq!(counter.sum(), admitted.load(Ordering::Relaxed) as i64);
        while counter.limited_add(1, limit).is_ok() {}
        assert_eq!(counter.sum(), limit, "what is in stock elsewhere is found");
    }
}

/// Threads that add and take back: at every moment those who are in hold no more than the limit.
#[test]
fn a_limit_holds_while_others_take_back() {
    const LIMIT: i64 = 40;
    let counter = BatchedCounter::with_batch(4).unwrap();
    let inside = AtomicU64::new(0);
    on_moving_threads(20_000 * stress(), |rng, _| {
        let value = 1 + rng.below(15) as u64;
        if counter.limited_add(value, LIMIT).is_ok() {
            // Raised after the counter and lowered before it: never more than is let in.
            let now = inside.fetch_add(value, Ordering::SeqCst) + value;
            assert!(now <= LIMIT as u64, "{now} are in");
            inside.fetch_sub(value, Ordering::SeqCst);
            counter.sub(value as i64);
        }
    });
    assert_eq!(counter.sum(), 0);
    assert_eq!(counter.limited_add(LIMIT as u64, LIMIT), Ok(()));
}
