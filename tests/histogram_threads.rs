//! Histograms that threads record into while they are moved, interrupted and read.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "installs a signal handler")]

mod common;

use common::{Rng, allowed, pin, stress};
use corelocal::histogram::{Fixed, LogLinear, WithSum};
use corelocal::{HistogramSnapshot, PerCpuHistogram, StaticHistogram};
use std::sync::atomic::{AtomicBool, Ordering};

type Latency = PerCpuHistogram<200, WithSum<LogLinear<3>>>;

/// G9, M5: threads that change CPUs all the time, and one that reads meanwhile: nothing is lost, and
/// nothing goes back.
#[test]
fn eight_threads_that_move_lose_no_value_and_no_count_goes_back() {
    let (histogram, done) = (Latency::new(WithSum(LogLinear)), AtomicBool::new(false));
    let steps = 20_000 * stress();
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read_until(&histogram, &done));
        let work = |seed: u64| {
            let (cpus, histogram) = (allowed(), &histogram);
            move || {
                let mut rng = Rng::new(seed);
                let mut sum = 0_u64;
                for step in 0..steps {
                    if step % 64 == 0 {
                        let _ = pin(cpus[rng.below(cpus.len())]);
                    }
                    let value = rng.next() >> (24 + rng.below(40));
                    histogram.record(value);
                    sum += value;
                }
                sum
            }
        };
        let threads: Vec<_> = (1..=8).map(|seed| scope.spawn(work(seed))).collect();
        let sums = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
        sums
    });
    let snapshot = histogram.snapshot();
    assert_eq!((snapshot.count(), snapshot.sum()), (8 * steps, Some(sums.iter().sum())));
}

/// Snapshots one after the other, none with less than the one before; and how many.
fn read_until(histogram: &Latency, done: &AtomicBool) -> u64 {
    let mut snapshots = 0;
    let mut last = histogram.snapshot();
    let mut now = HistogramSnapshot::empty(*histogram.buckets());
    while !done.load(Ordering::Relaxed) {
        histogram.snapshot_into(&mut now);
        now.since(&last).expect("a count went back");
        assert!(now.sum() >= last.sum(), "the sum went back");
        std::mem::swap(&mut last, &mut now);
        snapshots += 1;
    }
    snapshots
}

/// I6: a thread's own values are in its own snapshots, wherever it is moved.
#[test]
fn a_thread_finds_its_own_values_in_a_live_snapshot() {
    let histogram = PerCpuHistogram::<5, _>::new(Fixed::new(&[1, 2, 3, 4]));
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let histogram = &histogram;
            scope.spawn(move || {
                let cpus = allowed();
                for step in 1..=500 * stress() {
                    let _ = pin(cpus[step as usize % cpus.len()]);
                    histogram.record(thread + 1);
                    assert_eq!(histogram.snapshot().counts()[thread as usize], step);
                }
            });
        }
    });
}

static RUNG: StaticHistogram<4, WithSum<Fixed<4>>> =
    StaticHistogram::new(WithSum(Fixed::new(&[1, 2, 3])));

extern "C" fn on_signal(_: i32) {
    RUNG.record(3);
}

#[test]
fn a_signal_handler_that_records_costs_no_value() {
    RUNG.try_as_ref().expect("memory for a static");
    // SAFETY: all zero is a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
    // SAFETY: the call reads the action; the handler calls nothing but the crate.
    let set = unsafe { libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()) };
    common::checked(set).unwrap();
    // SAFETY: always possible.
    let own = unsafe { libc::pthread_self() } as usize;
    let done = &AtomicBool::new(false);
    let signals: u64 = std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut sent = 0;
            while !done.load(Ordering::Relaxed) {
                // SAFETY: the thread waits for this one.
                let status = unsafe { libc::pthread_kill(own as libc::pthread_t, libc::SIGUSR2) };
                assert_eq!(status, 0);
                sent += 1;
                // Standard signals do not queue: until this one is delivered another is none.
                while RUNG.snapshot().counts()[2] < sent {
                    std::thread::yield_now();
                }
            }
            sent
        });
        (0..200_000 * stress()).for_each(|_| RUNG.record(1));
        done.store(true, Ordering::Relaxed);
        sender.join().unwrap()
    });
    let snapshot = RUNG.snapshot();
    let recorded = 200_000 * stress();
    assert_eq!(snapshot.counts(), [recorded, 0, signals, 0]);
    assert_eq!(snapshot.sum(), Some(recorded + 3 * signals));
}

static ENDED: StaticHistogram<2> = StaticHistogram::new(LogLinear);

/// Records its thread's end.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        ENDED.record(1);
    }
}

#[test]
fn the_destructor_of_a_thread_local_records() {
    thread_local! { static LAST: Last = const { Last }; }
    let begin = || LAST.with(|_| ENDED.record(0));
    (0..50).map(|_| std::thread::spawn(begin)).for_each(|thread| thread.join().unwrap());
    assert_eq!(ENDED.snapshot().counts(), [50, 50]);
}

/// CPUs that a test makes up, and operations that are cut off and moved.
#[cfg(feature = "testing")]
mod made_up {
    use super::*;
    use corelocal::Area;
    use corelocal::testing::{self, Config, Disturbance};

    #[test]
    fn a_made_up_cpu_costs_no_value() {
        let area = Area::builder().cpus(64).build().unwrap();
        let histogram = Latency::in_area(&area, WithSum(LogLinear)).unwrap();
        let mut ids = Rng::new(5);
        let source = move || match ids.below(6) {
            0 => None,
            1 => Some(u32::MAX),
            2 => Some(64),
            _ => Some(ids.below(4) as u32),
        };
        let mut expected = HistogramSnapshot::empty(*histogram.buckets());
        testing::with(Config::new().cpu_ids_from(source), || {
            let mut rng = Rng::new(6);
            for _ in 0..3000 {
                let value = rng.next() >> (30 + rng.below(34));
                let one = Latency::in_area(&area, WithSum(LogLinear)).unwrap();
                one.record(value);
                histogram.record(value);
                expected.merge(&one.snapshot()).unwrap();
            }
            assert_eq!(histogram.snapshot(), expected);
        });
        assert_eq!(expected.count(), 3000);
    }

    #[test]
    fn a_record_that_is_moved_before_it_commits_is_counted_once() {
        let cpus = allowed();
        for (what, attempts) in
            [(Disturbance::Migrate, 1), (Disturbance::Signal, 3), (Disturbance::Signal, 64)]
        {
            let histogram = Latency::new(WithSum(LogLinear));
            std::thread::scope(|scope| {
                for number in 0..3 {
                    let (histogram, cpus) = (&histogram, &cpus);
                    scope.spawn(move || {
                        pin(cpus[number % cpus.len()]).expect("an allowed CPU");
                        let config = Config::new().at(7, what).first_attempts(attempts);
                        let steps = || (1..=20).for_each(|value| histogram.record(value));
                        if number == 0 { testing::with(config, steps) } else { steps() }
                    });
                }
            });
            let snapshot = histogram.snapshot();
            assert_eq!((snapshot.count(), snapshot.sum()), (60, Some(3 * 210)), "{what:?}");
            assert_eq!(snapshot.counts()[..16], [&[0][..], &[3; 15]].concat(), "{what:?}");
        }
    }
}
