//! Cells: every operation on every word, and sums that are exact whoever moves whom.
#![cfg(all(feature = "std", target_os = "linux"))]

mod common;

use common::{Rng, allowed, pin, stress};
use corelocal::percpu::Number;
use corelocal::{Area, CpuId, Moved, PerCpu, PerCpuCell, PerCpuRef, per_cpu};
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a cell does, in 128 bits: the oracle of `words_wrap_like_integers_of_their_width`.
trait Wide: Number + PartialEq + Debug {
    fn narrow(wide: i128) -> Self;
    fn wide(self) -> i128;
}

macro_rules! wide {
    ($($word:ty)+) => {$(
        impl Wide for $word {
            fn narrow(wide: i128) -> Self {
                wide as $word
            }
            fn wide(self) -> i128 {
                self as i128
            }
        }
    )+};
}
wide! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

/// Random operations on a cell of `W` against plain arithmetic.
fn check_arithmetic<W: Wide>(seed: u64) {
    let area = Area::builder().cpus(64).build().unwrap();
    let cell = area.try_alloc_zeroed::<PerCpuCell<W>>().unwrap();
    let mut rng = Rng::new(seed);
    let mut total = 0_i128;
    for _ in 0..2000 {
        let value = W::narrow(i128::from(rng.next()));
        match rng.below(7) {
            0 => {
                cell.add(value);
                total += value.wide();
            }
            1 => {
                cell.sub(value);
                total -= value.wide();
            }
            2 => {
                cell.inc();
                total += 1;
            }
            3 => {
                cell.dec();
                total -= 1;
            }
            4 => {
                let (lane, before) = cell.fetch_add(value);
                let now = W::narrow(before.wide() + value.wide());
                assert_eq!(cell.lane(lane).unwrap().load(), now);
                total += value.wide();
            }
            5 => {
                let (lane, before) = cell.swap(value);
                assert_eq!(cell.lane(lane).unwrap().load(), value);
                total += value.wide() - before.wide();
            }
            _ => {
                let current = cell.this().load();
                match cell.compare_exchange(current, value) {
                    (lane, Ok(before)) => {
                        assert_eq!(before, current);
                        assert_eq!(cell.lane(lane).unwrap().load(), value);
                        total += value.wide() - before.wide();
                    }
                    // The thread was moved to a copy that holds something else.
                    (lane, Err(found)) => {
                        assert_ne!(found, current);
                        assert_eq!(cell.lane(lane).unwrap().load(), found);
                    }
                }
            }
        }
        assert_eq!(cell.sum(), W::narrow(total), "{}", std::any::type_name::<W>());
    }
}

#[test]
fn words_wrap_like_integers_of_their_width() {
    check_arithmetic::<u8>(1);
    check_arithmetic::<u16>(2);
    check_arithmetic::<u32>(3);
    check_arithmetic::<u64>(4);
    check_arithmetic::<usize>(5);
    check_arithmetic::<i8>(6);
    check_arithmetic::<i16>(7);
    check_arithmetic::<i32>(8);
    check_arithmetic::<i64>(9);
    check_arithmetic::<isize>(10);
}

#[test]
fn neighbours_of_a_narrow_word_keep_their_value() {
    let bytes = PerCpu::new(|_| [(); 16].map(|()| PerCpuCell::new(0x55_u8)));
    let middle = bytes.index(7).unwrap();
    (0..1000).for_each(|_| middle.add(0xff));
    assert!(bytes.iter().all(|(_, copies)| {
        copies.iter().enumerate().all(|(i, copy)| i == 7 || copy.load() == 0x55)
    }));
}

#[test]
fn pointers_are_swapped_and_compared() {
    let (mut first, mut second) = (1_u8, 2_u8);
    let (first, second) = (&raw mut first, &raw mut second);
    let area = Area::builder().cpus(64).build().unwrap();
    let head = area.try_alloc_zeroed::<PerCpuCell<*mut u8>>().unwrap();
    assert!(head.iter().all(|(_, cell)| cell.load().is_null()));
    let head = area.try_alloc(|_| PerCpuCell::new(first)).unwrap();
    let (lane, before) = head.swap(second);
    assert_eq!((before, head.lane(lane).unwrap().load()), (first, second));
    let exchanged = loop {
        // The thread may be moved to a copy that holds the first one still.
        match head.compare_exchange(second, first) {
            (at, Ok(before)) => break (at, before),
            (at, Err(found)) => assert!(at != lane && found == first),
        }
        head.swap(second);
    };
    assert_eq!((head.lane(exchanged.0).unwrap().load(), exchanged.1), (first, second));
}

/// The thread's own CPU (Miri's threads have none), on which it was made to stay; `None` where the system does not say.
#[cfg(not(miri))]
fn stay() -> Option<(u32, u32)> {
    let cpu = *allowed().last().expect("one CPU at least");
    pin(cpu).expect("an allowed CPU");
    let known = CpuId::current()?.get();
    Some((cpu, known))
}

#[cfg(not(miri))]
#[test]
fn add_on_adds_there_or_changes_nothing() {
    std::thread::spawn(|| {
        let area = Area::builder().cpus(240).build().unwrap();
        let cell = area.try_alloc_zeroed::<PerCpuCell<u32>>().unwrap();
        let staying = stay();
        for id in (0..240).chain([240, 241, 1 << 20, u32::MAX]) {
            let moved = cell.add_on(CpuId::new(id), 3);
            let here = staying.is_some_and(|(cpu, known)| id == cpu && known == cpu);
            assert_eq!(moved, if here { Ok(()) } else { Err(Moved) }, "CPU {id}");
            let on = cell.get(CpuId::new(id)).map_or(0, PerCpuCell::load);
            assert_eq!((cell.sum(), on), if here { (3, 3) } else { (cell.sum(), 0) });
        }
        assert_eq!(cell.sum(), if staying.is_some() { 3 } else { 0 });
    })
    .join()
    .unwrap();
}

#[cfg(not(miri))]
#[test]
fn a_pinned_thread_adds_to_the_lane_of_its_cpu() {
    std::thread::spawn(|| {
        let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
        let Some((cpu, _)) = stay() else { return };
        (0..1000).for_each(|_| cell.inc());
        assert_eq!(cell.get(CpuId::new(cpu)).map(PerCpuCell::load), Some(1000));
        assert_eq!(cell.sum(), 1000);
    })
    .join()
    .unwrap();
}

/// I3, <https://github.com/varnish/varnish-modules/issues/159>: a gauge that one CPU raises and
/// another lowers.
#[test]
fn a_gauge_that_is_lowered_on_another_cpu_is_not_huge() {
    let gauge = PerCpu::<PerCpuCell<u64>>::zeroed();
    let cpus = allowed();
    let on = |cpu: u32, step: fn(&PerCpu<PerCpuCell<u64>>), times: usize| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(cpu).expect("an allowed CPU");
                (0..times).for_each(|_| step(&gauge));
            });
        });
    };
    on(cpus[0], PerCpu::inc, 10);
    on(cpus[cpus.len() - 1], PerCpu::dec, 7);
    assert_eq!(gauge.sum(), 3);
    on(cpus[cpus.len() - 1], PerCpu::dec, 4);
    assert_eq!(gauge.sum() as i64, -1, "wrapping, as documented; no panic in debug either");
}

per_cpu! { static SEEN: PerCpuCell<u64>; }

/// I6, <https://github.com/golang/go/issues/80645>: a thread's own adds are in its later sums, and
/// a live sum of what only grows never goes back.
#[test]
fn a_thread_finds_its_own_adds_in_a_live_sum() {
    const ADDS: u64 = 20_000;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                (0..100).for_each(|_| SEEN.inc());
            }
        });
        let mut last = 0;
        for mine in 1..=ADDS {
            SEEN.inc();
            let sum = SEEN.sum();
            assert!(sum >= mine && sum >= last, "{sum} after {mine} own adds and a sum of {last}");
            last = sum;
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// G9, <https://github.com/asterinas/asterinas/pull/1073>: threads that are moved between finding
/// their copy and updating it.
#[test]
fn threads_that_change_cpus_all_the_time_lose_no_update() {
    let adds = 200_000 * stress();
    let cells = PerCpu::<[PerCpuCell<u32>; 2]>::zeroed();
    let cpus = allowed();
    let work = |seed: u64| {
        let (up, both) = (cells.index(0).unwrap(), cells.index(1).unwrap());
        let mut rng = Rng::new(seed);
        for i in 0..adds {
            if i % 50 == 0 {
                pin(cpus[rng.below(cpus.len())]).expect("an allowed CPU");
            }
            up.inc();
            if i % 2 == 0 { both.add(3) } else { both.sub(3) }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || work(seed))).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let sum = |i| cells.index(i).map(PerCpuRef::sum).unwrap();
    assert_eq!((sum(0), sum(1)), (4 * adds as u32, 0));
}

/// I1, <https://github.com/golang/go/issues/18802>: what was added on a CPU that this process may
/// no longer use stays in the sum.
#[test]
fn a_cpu_that_is_taken_away_keeps_its_value() {
    std::thread::spawn(|| {
        let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
        let cpus = allowed();
        for &cpu in &cpus {
            pin(cpu).expect("an allowed CPU");
            cell.add(5);
        }
        pin(cpus[0]).expect("an allowed CPU");
        assert_eq!(cell.sum(), 5 * cpus.len() as u64);
        for &cpu in &cpus {
            let kept = cell.get(CpuId::new(cpu)).map(PerCpuCell::load);
            assert!(CpuId::current().is_none() || kept == Some(5), "CPU {cpu}: {kept:?}");
        }
    })
    .join()
    .unwrap();
}
