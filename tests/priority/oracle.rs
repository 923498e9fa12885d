//! Random sequences, each layout beside a `BTreeMap` from CPUs to levels.
//!
//! 50 000 operations a layout, a million with `CORELOCAL_STRESS=20` as `.ci/full` has it:
//!
//! ```text
//! CORELOCAL_STRESS=20 cargo test --release -p corelocal --test priority oracle
//! ```

use crate::common::{Rng, stress};
use corelocal::priority::Layout;
use corelocal::{ByCpu, CpuId, CpuMask, CpuSlot, Packed, Padded, Priority, PriorityVec, Split};
use std::collections::BTreeMap;

/// The lowest level below `priority` with an allowed CPU, and its CPUs.
fn brute_force(
    levels: &BTreeMap<CpuId, Priority>,
    priority: Priority,
    allowed: &CpuMask,
) -> Option<(Priority, CpuMask)> {
    let eligible = levels.iter().filter(|(cpu, at)| {
        allowed.contains(**cpu) && **at != Priority::INVALID && **at < priority
    });
    let lowest = eligible.clone().map(|(_, at)| *at).min()?;
    Some((lowest, eligible.filter(|(_, at)| **at == lowest).map(|(cpu, _)| *cpu).collect()))
}

fn priority(random: &mut Rng, levels: usize) -> Priority {
    match random.below(levels + 1) {
        0 => Priority::INVALID,
        level => Priority::from_level(level as u8 - 1).unwrap(),
    }
}

fn mask(random: &mut Rng, ids: usize) -> CpuMask {
    let mut mask = CpuMask::new();
    match random.below(4) {
        0 => mask.assign_words((0..ids.div_ceil(64) + 1).map(|_| u64::MAX)),
        1 => mask.assign_words((0..ids.div_ceil(64)).map(|_| random.next())),
        _ => (0..random.below(9)).for_each(|_| {
            mask.insert(CpuId::new(random.below(ids + 70) as u32));
        }),
    }
    mask
}

fn compare<L: Layout, const LEVELS: usize>(order: &[CpuId], operations: u64, seed: u64) {
    let mut random = Rng::new(seed);
    let vector = PriorityVec::<L, LEVELS>::try_new(order).unwrap();
    let mut slots: Vec<CpuSlot<_>> =
        order.iter().map(|cpu| PriorityVec::claim(&vector, *cpu).unwrap()).collect();
    let mut levels: BTreeMap<CpuId, Priority> =
        order.iter().map(|cpu| (*cpu, Priority::INVALID)).collect();
    let ids = order.iter().map(|cpu| cpu.index() + 1).max().unwrap();
    let mut found = CpuMask::new();
    for _ in 0..operations {
        let asked = priority(&mut random, LEVELS);
        match random.below(8) {
            0 => {
                let allowed = mask(&mut random, ids);
                let fit = mask(&mut random, ids);
                let level = vector.find_fit(asked, &allowed, &fit, &mut found);
                let mut both = allowed.clone();
                both.retain(|cpu| fit.contains(cpu));
                let right = brute_force(&levels, asked, &both);
                let right = right.or_else(|| brute_force(&levels, asked, &allowed));
                assert_eq!(level.map(|level| (level, found.clone())), right);
            }
            1 => {
                let allowed = mask(&mut random, ids);
                let near = CpuId::new(random.below(ids + 5) as u32);
                let one = vector.find_any(asked, &allowed, near);
                let right = brute_force(&levels, asked, &allowed);
                assert_eq!(one.map(|(_, level)| level), right.as_ref().map(|(level, _)| *level));
                if let Some((cpu, _)) = one {
                    assert!(right.unwrap().1.contains(cpu));
                }
            }
            2 => {
                let there = levels.values().filter(|level| **level == asked).count();
                assert_eq!(vector.count(asked), there, "{asked:?}");
            }
            3 | 4 => {
                let allowed = mask(&mut random, ids);
                let level = vector.find(asked, &allowed, &mut found);
                let right = brute_force(&levels, asked, &allowed);
                assert_eq!(level.is_none(), found.is_empty());
                assert_eq!(level.map(|level| (level, found.clone())), right);
                let among = PriorityVec::among(&vector, &allowed).unwrap();
                let mut found = CpuMask::first_cpus(random.below(200) as u32);
                assert_eq!(among.find(asked, &mut found), level);
                assert_eq!(found, right.map(|(_, cpus)| cpus).unwrap_or_default());
            }
            _ => {
                let at = random.below(order.len());
                // Few levels now and then, so that many CPUs are at one.
                let to = if random.below(2) == 0 { priority(&mut random, 3) } else { asked };
                let to = if to.level() >= Some(LEVELS as u8) { asked } else { to };
                slots[at].set(to).unwrap();
                assert_eq!(slots[at].get(), to);
                levels.insert(order[at], to);
            }
        }
    }
}

fn ids(ids: impl IntoIterator<Item = u32>) -> Vec<CpuId> {
    ids.into_iter().map(CpuId::new).collect()
}

/// Shares of `operations` over orders of every shape; says how many there were.
fn orders(operations: u64, each: impl Fn(&[CpuId], u64, u64)) -> u64 {
    let mut shuffled = ids(0..200);
    let mut random = Rng::new(7);
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, random.below(at + 1));
    }
    let shapes = [
        (10, ids([0])),
        (30, ids(0..65)),
        (5, ids(0..513)),
        (10, ids((0..240).flat_map(|core| [core, core + 240]))),
        (14, shuffled),
        (30, ids([5, 7, 63, 64, 700, 1023, 40_000])),
        (1, ids((0..4096).rev())),
    ];
    let mut done = 0;
    for (seed, (share, order)) in shapes.iter().enumerate() {
        each(order, operations * share / 100, seed as u64);
        done += operations * share / 100;
    }
    done
}

/// What each layout gets.
fn many() -> u64 {
    50_000 * stress()
}

/// All orders with the kernel's levels; then the fewest levels and the most.
fn whole<L: Layout, Most: Layout>() {
    let done = orders(many(), compare::<L, 101>);
    compare::<L, 2>(&ids(0..9), 1000 * stress(), 8);
    compare::<Most, 127>(&ids(0..9), 1000 * stress(), 9);
    println!("{}: {done} operations", L::NAME);
    assert!(done >= 50_000 * stress());
}

#[test]
fn packed_finds_what_a_search_by_hand_finds() {
    whole::<Packed, Packed>();
}

#[test]
fn padded_finds_what_a_search_by_hand_finds() {
    whole::<Padded, Padded>();
}

#[test]
fn split_finds_what_a_search_by_hand_finds() {
    whole::<Split, Split<9>>();
}

#[test]
fn by_cpu_finds_what_a_search_by_hand_finds() {
    whole::<ByCpu, ByCpu>();
}

#[test]
fn small_shards_find_what_a_search_by_hand_finds() {
    for each in [compare::<ByCpu<32>, 101>, compare::<ByCpu<24>, 101>, compare::<ByCpu<8>, 101>] {
        orders(many() / 10, each);
    }
}
