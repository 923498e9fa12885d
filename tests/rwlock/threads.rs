//! Readers and writers on threads that change their CPU all the time.

use crate::common::{on_moving_threads, stress};
use corelocal::PerCpuRwLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two words that only a writer may see differ.
#[derive(Default)]
struct Pair {
    count: u64,
    twice: u64,
}

/// What a torn read would break, and what a second writer would lose.
#[test]
fn a_reader_sees_half_of_what_a_writer_did() {
    let (lock, written) = (PerCpuRwLock::new(Pair::default()), AtomicU64::new(0));
    on_moving_threads(2_000 * stress(), |rng, _| match rng.below(20) {
        0 | 1 => {
            let mut pair = lock.write().unwrap();
            pair.count += 1;
            std::hint::spin_loop();
            pair.twice += 2;
            written.fetch_add(1, Ordering::Relaxed);
        }
        2 => {
            if let Ok(mut pair) = lock.try_write() {
                pair.count += 1;
                pair.twice += 2;
                written.fetch_add(1, Ordering::Relaxed);
            }
        }
        3..6 => {
            if let Ok(pair) = lock.try_read() {
                assert_eq!(pair.twice, 2 * pair.count);
            }
        }
        _ => {
            let pair = lock.read().unwrap();
            assert_eq!(pair.twice, 2 * pair.count);
        }
    });
    let pair = lock.into_inner().unwrap();
    assert_eq!((pair.count, pair.twice), (written.load(Ordering::Relaxed), 2 * pair.count));
}

/// What a writer did is seen by every reader that comes in after it, on any CPU.
#[test]
fn a_reader_sees_an_older_value_than_it_saw_before() {
    let lock = PerCpuRwLock::new(0_u64);
    on_moving_threads(2_000 * stress(), |rng, _| {
        if rng.below(10) == 0 {
            *lock.write().unwrap() += 1;
        } else {
            let before = *lock.read().unwrap();
            assert!(*lock.read().unwrap() >= before);
        }
    });
}

/// The value comes and goes under the readers: one that is inside late reads freed memory.
#[test]
fn a_reader_holds_what_a_writer_has_freed() {
    let lock = PerCpuRwLock::new(vec![0_u64; 4]);
    on_moving_threads(2_000 * stress(), |rng, step| {
        if rng.below(8) == 0 {
            *lock.write().unwrap() = vec![step; 4];
        } else {
            let table = lock.read().unwrap();
            assert!(table.iter().all(|word| *word == table[0]));
        }
    });
}
