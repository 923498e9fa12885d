//! Sequences of operations of a priority vector, beside a `BTreeMap` from CPUs to levels.

use crate::choices::Choices;
use corelocal::priority::Layout;
use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
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

fn priority(random: &mut impl Choices, levels: usize) -> Priority {
    match random.below(levels + 1) {
        0 => Priority::INVALID,
        level => Priority::from_level(level as u8 - 1).unwrap(),
    }
}

fn mask(random: &mut impl Choices, ids: usize) -> CpuMask {
    let mut mask = CpuMask::new();
    match random.below(4) {
        0 => mask.assign_words((0..ids.div_ceil(64) + 1).map(|_| u64::MAX)),
        1 => mask.assign_words((0..ids.div_ceil(64)).map(|_| random.word())),
        _ => (0..random.below(9)).for_each(|_| {
            mask.insert(CpuId::new(random.below(ids + 70) as u32));
        }),
    }
    mask
}

/// `operations` choices of `random` on a vector of `order`, beside a map from CPUs to levels.
///
/// # Panics
///
/// If the vector says something else than a search through the map.
pub fn compare<L: Layout, const LEVELS: usize>(
    order: &[CpuId],
    operations: u64,
    random: &mut impl Choices,
) {
    let vector = PriorityVec::<L, LEVELS>::try_new(order).unwrap();
    let mut slots: Vec<CpuSlot<_>> =
        order.iter().map(|cpu| PriorityVec::claim(&vector, *cpu).unwrap()).collect();
    let mut levels: BTreeMap<CpuId, Priority> =
        order.iter().map(|cpu| (*cpu, Priority::INVALID)).collect();
    let ids = order.iter().map(|cpu| cpu.index() + 1).max().unwrap();
    let mut found = CpuMask::new();
    for _ in 0..operations {
        let asked = priority(random, LEVELS);
        match random.below(8) {
            0 => {
                let allowed = mask(random, ids);
                let fit = mask(random, ids);
                let level = vector.find_fit(asked, &allowed, &fit, &mut found);
                let mut both = allowed.clone();
                both.retain(|cpu| fit.contains(cpu));
                let right = brute_force(&levels, asked, &both);
                let right = right.or_else(|| brute_force(&levels, asked, &allowed));
                assert_eq!(level.map(|level| (level, found.clone())), right);
            }
            1 => {
                let allowed = mask(random, ids);
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
                let allowed = mask(random, ids);
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
                let to = if random.below(2) == 0 { priority(random, 3) } else { asked };
                let to = if to.level() >= Some(LEVELS as u8) { asked } else { to };
                slots[at].set(to).unwrap();
                assert_eq!(slots[at].get(), to);
                levels.insert(order[at], to);
            }
        }
    }
}
