//! Random sequences, each layout beside a `BTreeMap` from CPUs to levels.

use corelocal::priority::Layout;
use corelocal::{ByCpu, CpuId, CpuMask, CpuSlot, Packed, Padded, Priority, PriorityVec, Split};
use std::collections::BTreeMap;

/// A small generator (SplitMix64), so that a million operations take a moment.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound
    }
}

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

fn priority(random: &mut Random, levels: u64) -> Priority {
    match random.below(levels + 1) {
        0 => Priority::INVALID,
        level => Priority::from_level(level as u8 - 1).unwrap(),
    }
}

fn mask(random: &mut Random, ids: u64) -> CpuMask {
    let mut mask = CpuMask::new();
    match random.below(4) {
        0 => mask.assign_words((0..ids.div_ceil(64) + 1).map(|_| u64::MAX)),
        1 => mask.assign_words((0..ids.div_ceil(64)).map(|_| random.below(u64::MAX))),
        _ => (0..random.below(9)).for_each(|_| {
            mask.insert(CpuId::new(random.below(ids + 70) as u32));
        }),
    }
    mask
}

fn compare<L: Layout, const LEVELS: usize>(order: &[CpuId], operations: u64, seed: u64) {
    let mut random = Random(seed);
    let vector = PriorityVec::<L, LEVELS>::try_new(order).unwrap();
    let mut slots: Vec<CpuSlot<_>> =
        order.iter().map(|cpu| PriorityVec::claim(&vector, *cpu).unwrap()).collect();
    let mut levels: BTreeMap<CpuId, Priority> =
        order.iter().map(|cpu| (*cpu, Priority::INVALID)).collect();
    let ids = order.iter().map(|cpu| u64::from(cpu.get()) + 1).max().unwrap();
    let mut found = CpuMask::new();
    for _ in 0..operations {
        let asked = priority(&mut random, LEVELS as u64);
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
                let at = random.below(order.len() as u64) as usize;
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

/// One thousand random operations and more, over orders of every shape.
fn orders(each: impl Fn(&[CpuId], u64, u64)) {
    let mut shuffled = ids(0..200);
    let mut random = Random(7);
    for at in (1..shuffled.len()).rev() {
        shuffled.swap(at, random.below(at as u64 + 1) as usize);
    }
    each(&ids([0]), 20_000, 1);
    each(&ids(0..65), 20_000, 2);
    each(&ids(0..513), 10_000, 3);
    each(&ids((0..240).flat_map(|core| [core, core + 240])), 10_000, 4);
    each(&shuffled, 10_000, 5);
    each(&ids([5, 7, 63, 64, 700, 1023, 40_000]), 20_000, 6);
    each(&ids((0..4096).rev()), 1000, 7);
}

#[test]
fn packed_finds_what_a_search_by_hand_finds() {
    orders(compare::<Packed, 101>);
    compare::<Packed, 2>(&ids(0..9), 20_000, 8);
    compare::<Packed, 127>(&ids(0..9), 20_000, 9);
}

#[test]
fn padded_finds_what_a_search_by_hand_finds() {
    orders(compare::<Padded, 101>);
    compare::<Padded, 2>(&ids(0..9), 20_000, 8);
    compare::<Padded, 127>(&ids(0..9), 20_000, 9);
}

#[test]
fn split_finds_what_a_search_by_hand_finds() {
    orders(compare::<Split, 101>);
    compare::<Split, 2>(&ids(0..9), 20_000, 8);
    compare::<Split<9>, 127>(&ids(0..9), 20_000, 9);
}

#[test]
fn by_cpu_finds_what_a_search_by_hand_finds() {
    orders(compare::<ByCpu, 101>);
    orders(compare::<ByCpu<32>, 101>);
    orders(compare::<ByCpu<24>, 101>);
    orders(compare::<ByCpu<8>, 101>);
    compare::<ByCpu, 2>(&ids(0..9), 20_000, 8);
    compare::<ByCpu, 127>(&ids(0..9), 20_000, 9);
}
