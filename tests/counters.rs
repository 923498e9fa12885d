//! Counters: what each kind promises, beside threads that migrate, are interrupted and end.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "handles signals")]

mod common;

use common::{Rng, allowed, alone, checked, pin, stress};
use corelocal::{
    AllocError, Area, BatchError, BatchedCounter, CounterRef, CounterSet, OverLimit, PerCpuCounter,
    PerCpuGauge, StaticCounter, StaticGauge,
};
use std::cmp::Ordering as Compared;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs `work` on four threads that change their CPU all the time.
fn on_moving_threads(steps: u64, work: impl Fn(&mut Rng, u64) + Sync) {
    let cpus = allowed();
    let thread = |seed: u64| {
        let mut rng = Rng::new(seed);
        for step in 0..steps {
            if step % 50 == 0 {
                pin(cpus[rng.below(cpus.len())]).expect("an allowed CPU");
            }
            work(&mut rng, step);
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || thread(seed))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_handle_is_one_word_and_a_counter_8_bytes_a_lane() {
    assert_eq!(size_of::<PerCpuCounter>(), size_of::<usize>());
    assert_eq!(size_of::<PerCpuGauge>(), size_of::<usize>());
    assert_eq!(size_of::<CounterRef<'_>>(), size_of::<usize>());
    let area = Area::builder().cpus(64).build().unwrap();
    let counters: Vec<_> = (0..100).map(|_| PerCpuCounter::in_area(&area).unwrap()).collect();
    assert_eq!(area.stats().live, counters.len() * 8 * 65);
    let set = CounterSet::in_area(&area, 7).unwrap();
    assert_eq!(area.stats().live, (counters.len() + set.len()) * 8 * 65);
}

#[test]
fn a_counter_counts_on_after_a_take_and_across_the_end_of_its_word() {
    let counter = PerCpuCounter::try_new().unwrap();
    assert_eq!((counter.sum(), counter.take()), (0, 0));
    counter.add(5);
    counter.inc();
    assert_eq!((counter.sum(), counter.take(), counter.sum()), (6, 6, 0));
    counter.add(u64::MAX);
    assert_eq!((counter.sum(), counter.take()), (u64::MAX, u64::MAX));
    // The lane's word has wrapped.
    counter.add(10);
    assert_eq!((counter.sum(), counter.take(), counter.take()), (10, 10, 0));
}

/// Random operations on counters against plain arithmetic, beside each other in one area.
#[test]
fn counters_do_what_plain_numbers_do() {
    let area = Area::builder().cpus(64).build().unwrap();
    let counters: [_; 4] = std::array::from_fn(|_| PerCpuCounter::in_area(&area).unwrap());
    let gauge = PerCpuGauge::in_area(&area).unwrap();
    let (mut rest, mut level) = ([0_u64; 4], 0_i64);
    let mut rng = Rng::new(11);
    for _ in 0..20_000 {
        let which = rng.below(4);
        let value = rng.next() >> rng.below(64);
        match rng.below(5) {
            0 | 1 => {
                counters[which].add(value);
                rest[which] = rest[which].wrapping_add(value);
            }
            2 => assert_eq!(counters[which].take(), std::mem::take(&mut rest[which])),
            3 => {
                gauge.add(value as i64);
                level = level.wrapping_add(value as i64);
            }
            _ => {
                gauge.sub(value as i64);
                level = level.wrapping_sub(value as i64);
            }
        }
        assert_eq!(counters.each_ref().map(PerCpuCounter::sum), rest);
        assert_eq!(gauge.sum(), level);
    }
}

/// Takers that run beside adders divide the events among them.
#[test]
fn every_event_is_in_one_take_or_in_the_rest() {
    let adds = 50_000 * stress();
    let counter = PerCpuCounter::new();
    let taken = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let take = || {
            while !over.load(Ordering::Relaxed) {
                let some = counter.take();
                assert!(some <= 4 * 3 * adds, "{some} is less than nothing");
                let sum = counter.sum();
                assert!(sum <= 4 * 3 * adds, "{sum} is less than nothing");
                taken.fetch_add(some, Ordering::Relaxed);
                std::thread::yield_now();
            }
        };
        let takers = [scope.spawn(take), scope.spawn(take)];
        on_moving_threads(adds, |_, _| counter.add(3));
        over.store(true, Ordering::Relaxed);
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
    let total = taken.load(Ordering::Relaxed) + counter.take();
    assert_eq!((total, counter.sum()), (4 * 3 * adds, 0));
}

/// I6, <https://github.com/golang/go/issues/80645>: a thread's own adds are in its sums and takes.
#[test]
fn a_thread_takes_what_it_added_itself() {
    static SEEN: StaticCounter = StaticCounter::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut added = 0_u64;
            while !done.load(Ordering::Relaxed) {
                SEEN.inc();
                added += 1;
            }
            added
        });
        let (mut taken, mut last) = (0, 0);
        for mine in 1..=20_000 {
            SEEN.inc();
            if mine % 100 == 0 {
                let some = SEEN.take();
                assert!(some >= 100, "{some} of at least 100");
                taken += some;
                last = 0;
            } else {
                let sum = SEEN.sum();
                assert!(sum >= mine % 100 && sum >= last, "{sum} after {last}");
                last = sum;
            }
        }
        done.store(true, Ordering::Relaxed);
        let others = other.join().unwrap();
        assert_eq!(taken + SEEN.sum(), 20_000 + others);
    });
}

/// I3, <https://github.com/varnish/varnish-modules/issues/159>: what one CPU raises and another
/// lowers is not huge, and below zero is negative.
#[test]
fn a_gauge_below_zero_is_negative() {
    static OPEN: StaticGauge = StaticGauge::new();
    let cpus = allowed();
    let on = |cpu: u32, step: fn(&StaticGauge), times: usize| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(cpu).expect("an allowed CPU");
                (0..times).for_each(|_| step(&OPEN));
            });
        });
    };
    on(cpus[0], StaticGauge::inc, 10);
    on(cpus[cpus.len() - 1], StaticGauge::dec, 7);
    assert_eq!(OPEN.sum(), 3);
    on(cpus[cpus.len() - 1], |gauge| gauge.sub(8), 1);
    assert_eq!(OPEN.sum(), -5);
}

#[test]
fn a_set_has_each_counter_once_across_its_allocations() {
    let area = Area::builder().cpus(64).build().unwrap();
    for len in [0, 1, 8, 1023, 1024, 1025, 3000] {
        let set = CounterSet::in_area(&area, len).unwrap();
        assert_eq!((set.len(), set.is_empty(), set.iter().count()), (len, len == 0, len));
        for (index, counter) in set.iter().enumerate() {
            counter.add(index as u64 + 1);
        }
        let expected: Vec<u64> = (1..=len as u64).collect();
        assert_eq!(set.sums(), expected);
        for index in (0..len).rev() {
            assert_eq!(set.get(index).map(CounterRef::take), Some(index as u64 + 1));
        }
        assert!(set.sums().iter().all(|sum| *sum == 0), "also where the spill lane is below zero");
        assert!(set.get(len).is_none() && set.get(usize::MAX).is_none());
        let again = CounterSet::in_area(&area, len).unwrap();
        assert!(again.sums().iter().all(|sum| *sum == 0), "memory is cleared");
    }
    // Memory that was used and freed is cleared.
    assert!(CounterSet::in_area(&area, 3000).unwrap().sums().iter().all(|sum| *sum == 0));
    assert_eq!(area.stats().live, 0);
}

#[test]
fn a_set_that_no_memory_holds_is_an_error() {
    for len in [usize::MAX, usize::MAX / 8, 1 << 60] {
        let refused = CounterSet::try_new(len).unwrap_err();
        assert!(matches!(refused, AllocError::CapacityOverflow { align: 8, .. }), "{refused}");
    }
    let refused = CounterSet::try_new(1 << 57).unwrap_err();
    assert!(matches!(refused, AllocError::OutOfMemory { .. }), "{refused}");
    let area = Area::builder().capacity(8 << 20).build().unwrap();
    let refused = CounterSet::in_area(&area, 1 << 24).unwrap_err();
    assert_eq!(refused, AllocError::AreaFull { capacity: 8 << 20 });
    assert_eq!(area.stats().live, 0, "what was had is given back");
}

#[test]
fn debug_tells_no_values() {
    let (counter, gauge, batched) =
        (PerCpuCounter::default(), PerCpuGauge::default(), BatchedCounter::default());
    counter.add(424_242);
    gauge.add(424_242);
    batched.add(424_242);
    let set = CounterSet::try_new(3).unwrap();
    set.get(1).unwrap().add(424_242);
    static STATIC: (StaticCounter, StaticGauge) = (StaticCounter::new(), StaticGauge::new());
    STATIC.0.add(424_242);
    let text =
        format!("{counter:?} {:?} {gauge:?} {batched:?} {set:?} {STATIC:?}", counter.as_ref());
    assert!(!text.contains("4242"), "{text}");
    assert!(text.contains("CounterSet { len: 3, .. }"), "{text}");
}

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

static RUNG: (StaticCounter, StaticGauge) = (StaticCounter::new(), StaticGauge::new());
static SIGNALS: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static BATCHED: std::sync::OnceLock<BatchedCounter> = std::sync::OnceLock::new();

extern "C" fn on_signal(_: i32) {
    RUNG.0.add(2);
    RUNG.1.dec();
    // Lock-free, so a handler may also take.
    TAKEN.fetch_add(RUNG.0.take(), Ordering::Relaxed);
    if let Some(batched) = BATCHED.get() {
        batched.add(3);
        if batched.limited_add(1, i64::MAX).is_ok() {
            batched.sub(1);
        }
    }
    SIGNALS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_signal_handler_that_counts_and_takes_disturbs_nobody() {
    alone("a_signal_handler_that_counts_and_takes_disturbs_nobody", || {
        let _ = (RUNG.0.sum(), RUNG.1.sum());
        let batched = BATCHED.get_or_init(|| BatchedCounter::with_batch(4).unwrap());
        // SAFETY: all zero is a valid action; the handler calls nothing but the crate.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_signal as extern "C" fn(i32) as usize;
        // SAFETY: the call reads the action; the handler lives for ever.
        let set = unsafe { libc::sigaction(libc::SIGALRM, &raw const action, ptr::null_mut()) };
        checked(set).unwrap();
        let every = libc::timeval { tv_sec: 0, tv_usec: 300 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        // SAFETY: the call reads the timer.
        checked(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, ptr::null_mut()) })
            .unwrap();
        let mut adds = 0;
        while SIGNALS.load(Ordering::Relaxed) < 1000 {
            RUNG.0.inc();
            RUNG.1.inc();
            batched.inc();
            batched.limited_add(2, i64::MAX).unwrap();
            adds += 1;
        }
        let none = libc::itimerval { it_interval: libc::timeval { tv_usec: 0, ..every }, ..timer };
        let none = libc::itimerval { it_value: none.it_interval, ..none };
        // SAFETY: as above.
        checked(unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const none, ptr::null_mut()) })
            .unwrap();
        let signals = SIGNALS.load(Ordering::Relaxed);
        assert_eq!(TAKEN.load(Ordering::Relaxed) + RUNG.0.take(), adds + 2 * signals);
        assert_eq!(RUNG.1.sum(), adds as i64 - signals as i64);
        assert_eq!(batched.sum(), 3 * (adds + signals) as i64);
    });
}

static ENDED: (StaticCounter, StaticGauge) = (StaticCounter::new(), StaticGauge::new());

/// Counts its thread's end.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        ENDED.0.inc();
        ENDED.1.dec();
        let own = PerCpuCounter::new();
        own.add(4);
        assert_eq!(own.take(), 4);
        let own = BatchedCounter::new();
        assert_eq!((own.limited_add(40, 40), own.sum()), (Ok(()), 40));
    }
}

#[test]
fn the_destructor_of_a_thread_local_counts() {
    thread_local! { static LAST: Last = const { Last }; }
    let begin = || LAST.with(|_| ENDED.1.inc());
    (0..50).map(|_| std::thread::spawn(begin)).for_each(|thread| thread.join().unwrap());
    assert_eq!((ENDED.0.take(), ENDED.0.sum(), ENDED.1.sum()), (50, 0, 0));
}

/// I4: a set's lanes are those of its area, whatever the machine says later.
#[test]
fn the_lanes_of_counters_are_a_property_of_their_area() {
    let area = Area::builder().cpus(100).build().unwrap();
    let batched = BatchedCounter::in_area(&area, 2).unwrap();
    let text = format!("{:?} {batched:?}", PerCpuCounter::in_area(&area).unwrap());
    assert!(text.contains("lanes: 101"), "{text}");
    // 100 CPUs and the spill lane; 25 nodes over the CPUs, 7 over those, 2, and the root.
    assert_eq!(batched.error_bound(), 101 + 25 * 4 + 7 * 16 + 2 * 64);
}
