//! Counters: what each kind promises, beside threads that migrate, are interrupted and end.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "handles signals")]

mod common;

use common::{Rng, allowed, alone, checked, on_moving_threads, pin, stress};
use corelocal::{
    AllocError, Area, BatchedCounter, CounterRef, CounterSet, PerCpuCounter, PerCpuGauge,
    StaticCounter, StaticGauge,
};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
