//! `Level` on its own, beside a set of CPUs.

use crate::common::{Rng, stress};
use crate::mask;
use corelocal::priority::{LevelMask, Padding, UnknownCpu};
use corelocal::{CACHE_LINE, CpuId, CpuMask, Level, Packed, Padded};
use std::collections::BTreeSet;
use std::mem::offset_of;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::thread;

type Words<const N: usize> = [AtomicU64; N];

fn boxed(words: usize) -> Box<[AtomicU64]> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

fn beside_a_set<M: LevelMask<corelocal::priority::Atomic>, P: Padding>(level: &Level<M, P>) {
    let mut random = Rng::new(3);
    let mut there = BTreeSet::new();
    let mut found = CpuMask::new();
    for _ in 0..5000 * stress() {
        let cpu = CpuId::new(random.below(200) as u32);
        let known = cpu.get() < 192;
        let unknown = Err(UnknownCpu { cpu, bound: 192 });
        match random.below(5) {
            0 | 1 => {
                let is_new = known && there.insert(cpu);
                assert_eq!(level.enter(cpu), if known { Ok(is_new) } else { unknown });
            }
            2 => {
                let was_there = there.remove(&cpu);
                assert_eq!(level.leave(cpu), if known { Ok(was_there) } else { unknown });
            }
            3 => assert_eq!(level.contains(cpu), there.contains(&cpu)),
            _ => {
                let first = random.below(220) as u32;
                let allowed: CpuMask = (first..first + 40).map(CpuId::new).collect();
                let right: CpuMask =
                    there.iter().copied().filter(|cpu| allowed.contains(*cpu)).collect();
                assert_eq!(level.find(&allowed, &mut found), !right.is_empty());
                assert_eq!(found, right);
            }
        }
        assert_eq!(level.count(), there.len());
    }
}

#[test]
fn a_level_holds_what_a_set_holds() {
    beside_a_set::<Words<3>, Packed>(&Level::default());
    beside_a_set::<Words<3>, Padded>(&Level::default());
    beside_a_set::<_, Packed>(&Level::new(boxed(3)));
    beside_a_set::<_, Padded>(&Level::new(boxed(3)));
}

#[test]
fn a_level_without_words_knows_no_cpu() {
    let level: Level<Words<0>> = Level::default();
    let error = level.enter(CpuId::new(0)).unwrap_err();
    assert!(error.to_string().contains("no CPU 0"), "{error}");
    assert!(level.leave(CpuId::new(u32::MAX)).is_err() && !level.contains(CpuId::new(0)));
    let mut found = mask("3");
    assert!(!level.find(&mask("0-99"), &mut found) && found.is_empty());
}

/// What the padding is for: whoever changes the mask leaves the count's line alone.
#[test]
fn count_and_mask_are_a_line_apart_or_side_by_side() {
    #[repr(C)]
    struct Two<P: Padding>(Level<Words<8>, P>, Level<Words<8>, P>);
    assert_eq!(size_of::<Level<Words<8>, Padded>>(), CACHE_LINE + 64_usize.max(CACHE_LINE));
    assert_eq!(align_of::<Level<Words<8>, Padded>>(), CACHE_LINE);
    assert_eq!(offset_of!(Two<Padded>, 1) % CACHE_LINE, 0, "neighbours share no line");
    assert_eq!(size_of::<Level<Words<8>, Packed>>(), 8 + 64);
    assert!(offset_of!(Two<Packed>, 1) % CACHE_LINE != 0, "without it they do");
}

/// K4: eight threads, each with CPUs of its own, in the same words.
#[test]
fn threads_that_come_and_go_leave_nobody_behind() {
    let levels: [Level<Words<1>, Packed>; 2] = Default::default();
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for thread in 0..8 {
            let (levels, start) = (&levels, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..400 * stress() as usize {
                    for cpu in (0..8).map(|at| CpuId::new(8 * at + thread)) {
                        let (new, old) = (round % 2, (round + 1) % 2);
                        assert_eq!(levels[new].enter(cpu), Ok(true));
                        assert_eq!(levels[old].leave(cpu), Ok(round > 0));
                    }
                }
            });
        }
    });
    let counts = levels.each_ref().map(Level::count);
    assert_eq!(counts, [0, 64], "everybody is at the level of the last round");
    let mut found = CpuMask::new();
    assert!(levels[1].find(&CpuMask::first_cpus(64), &mut found) && found.len() == 64);
}
