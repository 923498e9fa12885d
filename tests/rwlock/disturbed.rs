//! Readers whose sections are cut off, moved and held up at every point.

use crate::common::{allowed, pin};
use corelocal::PerCpuRwLock;
use corelocal::testing::{self, Config, Disturbance};
use std::sync::atomic::{AtomicBool, Ordering};

/// Two readers, one inside the other, in whichever lanes: they keep a writer out, and no longer.
fn nested(lock: &PerCpuRwLock<u64>) {
    for _ in 0..2 {
        let outer = lock.read().unwrap();
        let inner = lock.try_read().expect("no writer");
        assert!(lock.try_write().is_err());
        drop(outer);
        assert!(lock.try_write().is_err());
        drop(inner);
        *lock.try_write().expect("nobody is inside") += 1;
    }
}

#[test]
fn a_reader_that_is_cut_off_counts_twice_or_never() {
    for point in 0..=8 {
        for (what, attempts) in [
            (Disturbance::Signal, 1),
            (Disturbance::Signal, 3),
            (Disturbance::Migrate, 1),
            (Disturbance::Delay(200), 1),
        ] {
            let lock = PerCpuRwLock::new(0);
            let config = Config::new().at(point, what).first_attempts(attempts);
            testing::with(config, || nested(&lock));
            assert_eq!(lock.into_inner().unwrap(), 2, "{what:?} at {point}");
        }
    }
}

/// Each section is cut off as often as one is tried: the spill lane.
#[test]
fn a_reader_that_is_cut_off_for_ever_is_not_let_in() {
    let lock = PerCpuRwLock::new(0);
    let config = Config::new().at(7, Disturbance::Signal).first_attempts(64);
    testing::with(config, || nested(&lock));
    assert_eq!(lock.into_inner().unwrap(), 2);
}

/// Sections that saw the word open and wait before they commit, while writers come and go: the barrier
/// cuts them off.
#[test]
fn a_section_that_saw_the_word_open_lets_a_reader_in_behind_a_writer() {
    let (lock, over) = (PerCpuRwLock::new([0_u64; 2]), AtomicBool::new(false));
    let cpus = allowed();
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (lock, over, cpu) = (&lock, &over, cpus[number % cpus.len()]);
            scope.spawn(move || {
                pin(cpu).expect("an allowed CPU");
                let config = Config::new().at(7, Disturbance::Delay(20_000)).first_attempts(2);
                testing::with(config, || {
                    while !over.load(Ordering::Relaxed) {
                        let pair = lock.read().unwrap();
                        let first = pair[0];
                        std::hint::spin_loop();
                        assert_eq!([first; 2], *pair);
                    }
                });
            });
        }
        for step in 1..=300 {
            let mut pair = lock.write().unwrap();
            pair[0] = step;
            // Long enough for a section that was not cut off to commit and read.
            (0..2_000).for_each(|_| std::hint::spin_loop());
            pair[1] = step;
            drop(pair);
            // Long enough for those who waited to be in their next section.
            (0..1_000).for_each(|_| std::hint::spin_loop());
        }
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(lock.into_inner().unwrap(), [300; 2]);
}
