//! The search: starts, moves and exchanges, disturbances.

use crate::bins::Space;
use core::cmp::Reverse;

/// Bins, their costs, and where each unit is.
#[derive(Clone)]
struct State {
    bins: Vec<Vec<usize>>,
    costs: Vec<f64>,
    home: Vec<usize>,
}

/// How much may be tried: an exchange that does not fit is 1, one that does is 4. Counting and not a
/// clock, so that the advice is the same on each machine.
const PATIENCE: u64 = 3_000_000;
/// How many disturbances there are at most.
const DISTURBANCES: u32 = 300;
/// What counts as cheaper: more than sums of floats are off by.
const CHEAPER: f64 = 1e-9;

/// The cheapest bins that were found from each start.
pub(crate) fn search(space: &Space<'_>) -> Vec<Vec<Vec<usize>>> {
    let mut random = Random(0);
    let starts = [given(space), clustered(space)];
    let patience = PATIENCE / starts.len() as u64;
    starts.into_iter().map(|bins| from_start(space, bins, patience, &mut random)).collect()
}

fn from_start(
    space: &Space<'_>,
    bins: Vec<Vec<usize>>,
    patience: u64,
    random: &mut Random,
) -> Vec<Vec<usize>> {
    let mut patience = patience;
    let mut best = State::new(space, bins);
    best.improve(space, &mut patience);
    for _ in 0..DISTURBANCES {
        let mut other = best.clone();
        other.disturb(space, random);
        other.improve(space, &mut patience);
        if patience == 0 {
            break;
        }
        // An equal one is taken too: it may lead further.
        if other.cost() <= best.cost() + CHEAPER {
            best = other;
        }
    }
    best.bins
}

/// The given order, cut where a line is full.
fn given(space: &Space<'_>) -> Vec<Vec<usize>> {
    let mut bins: Vec<Vec<usize>> = Vec::new();
    for at in 0..space.units.len() {
        put(space, bins.len().saturating_sub(1), at, &mut bins);
    }
    bins
}

/// Lines filled one after the other, each from the unit that is touched most, with the unit that is
/// touched most often together with those that are there; then the units that nobody touches.
fn clustered(space: &Space<'_>) -> Vec<Vec<usize>> {
    let units = space.units.len();
    let affinity: Vec<Vec<f64>> =
        (0..units).map(|a| (0..units).map(|b| space.affinity(a, b)).collect()).collect();
    let mut left: Vec<usize> = (0..units).filter(|&at| affinity[at][at] > 0.0).collect();
    // The first of equals, where `max_by` takes the last.
    let best = |from: &[usize], score: &dyn Fn(usize) -> f64| {
        from.iter().copied().max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a)))
    };
    let mut bins: Vec<Vec<usize>> = Vec::new();
    while let Some(seed) = best(&left, &|at| affinity[at][at]) {
        left.retain(|&at| at != seed);
        let mut bin = vec![seed];
        loop {
            let near = |at: usize| bin.iter().map(|&own| affinity[own][at]).sum::<f64>();
            let can = |at: usize| space.fits(&[&bin[..], &[at]].concat()) && near(at) > 0.0;
            let fitting: Vec<usize> = left.iter().copied().filter(|&at| can(at)).collect();
            let Some(next) = best(&fitting, &near) else { break };
            left.retain(|&at| at != next);
            bin.push(next);
        }
        bins.push(bin);
    }
    for at in (0..units).filter(|&at| affinity[at][at] == 0.0) {
        put(space, 0, at, &mut bins);
    }
    bins
}

/// Puts a unit into the first bin from `from` on that has room, or into a new one.
fn put(space: &Space<'_>, from: usize, unit: usize, bins: &mut Vec<Vec<usize>>) {
    for bin in bins.iter_mut().skip(from) {
        bin.push(unit);
        if space.fits(bin) {
            return;
        }
        bin.pop();
    }
    bins.push(vec![unit]);
}

impl State {
    fn new(space: &Space<'_>, mut bins: Vec<Vec<usize>>) -> Self {
        // Always one that is empty, for a unit that is better off alone.
        bins.push(Vec::new());
        let costs = bins.iter().map(|bin| space.cost(bin)).collect();
        let mut home = vec![0; space.units.len()];
        for (bin, members) in bins.iter().enumerate() {
            members.iter().for_each(|&at| home[at] = bin);
        }
        Self { bins, costs, home }
    }

    fn cost(&self) -> f64 {
        self.costs.iter().sum()
    }

    /// Moves and exchanges units until nothing helps or the patience is at its end.
    fn improve(&mut self, space: &Space<'_>, patience: &mut u64) {
        let mut is_better = true;
        while is_better {
            is_better = false;
            for unit in 0..space.units.len() {
                if *patience == 0 {
                    return;
                }
                for bin in 0..self.bins.len() {
                    is_better |= self.try_unit(space, unit, bin, patience);
                }
            }
        }
    }

    /// Tries to move `unit` to `bin`, for nothing, for one unit or for two.
    fn try_unit(&mut self, space: &Space<'_>, unit: usize, bin: usize, patience: &mut u64) -> bool {
        if self.home[unit] == bin {
            return false;
        }
        let members = self.bins[bin].clone();
        let size = |at: usize| space.units[at].size;
        if self.exchange(space, unit, bin, &[], patience) {
            return true;
        }
        for (at, &one) in members.iter().enumerate() {
            if !space.are_alike(unit, one) && self.exchange(space, unit, bin, &[one], patience) {
                return true;
            }
            // Two small ones for a large one; two large ones are two exchanges.
            for &other in members[at + 1..].iter().filter(|&&o| size(one) + size(o) <= size(unit)) {
                if self.exchange(space, unit, bin, &[one, other], patience) {
                    return true;
                }
            }
        }
        false
    }

    /// Moves `unit` to `bin` and `back` to where it was, if they fit and it is cheaper.
    fn exchange(
        &mut self,
        space: &Space<'_>,
        unit: usize,
        bin: usize,
        back: &[usize],
        patience: &mut u64,
    ) -> bool {
        *patience = patience.saturating_sub(1);
        let Some((from, to)) = self.exchanged(space, unit, bin, back) else { return false };
        *patience = patience.saturating_sub(3);
        let costs = (space.cost(&from), space.cost(&to));
        let home = self.home[unit];
        if costs.0 + costs.1 >= self.costs[home] + self.costs[bin] - CHEAPER {
            return false;
        }
        self.set(home, from, costs.0);
        self.set(bin, to, costs.1);
        true
    }

    /// Both bins after an exchange, if everything fits.
    fn exchanged(
        &self,
        space: &Space<'_>,
        unit: usize,
        bin: usize,
        back: &[usize],
    ) -> Option<(Vec<usize>, Vec<usize>)> {
        let without = |members: &[usize], gone: &[usize]| -> Vec<usize> {
            members.iter().copied().filter(|at| !gone.contains(at)).collect()
        };
        let mut to = without(&self.bins[bin], back);
        to.push(unit);
        if !space.fits(&to) {
            return None;
        }
        let mut from = without(&self.bins[self.home[unit]], &[unit]);
        from.extend_from_slice(back);
        space.fits(&from).then_some((from, to))
    }

    fn set(&mut self, bin: usize, members: Vec<usize>, cost: f64) {
        members.iter().for_each(|&at| self.home[at] = bin);
        self.bins[bin] = members;
        self.costs[bin] = cost;
        if self.bins.iter().all(|bin| !bin.is_empty()) {
            self.bins.push(Vec::new());
            self.costs.push(0.0);
        }
    }

    /// A few random moves and exchanges.
    fn disturb(&mut self, space: &Space<'_>, random: &mut Random) {
        let mut wanted = 2 + random.below(4);
        for _ in 0..64 {
            let (unit, bin) = (random.below(space.units.len()), random.below(self.bins.len()));
            let members = &self.bins[bin];
            let back: Vec<usize> = match members.is_empty() || random.below(4) == 0 {
                true => Vec::new(),
                false => vec![members[random.below(members.len())]],
            };
            if self.home[unit] == bin || wanted == 0 {
                continue;
            }
            if let Some((from, to)) = self.exchanged(space, unit, bin, &back) {
                let costs = (space.cost(&from), space.cost(&to));
                self.set(self.home[unit], from, costs.0);
                self.set(bin, to, costs.1);
                wanted -= 1;
            }
        }
    }
}

/// Bins in a readable order: the first one, then the most used.
pub(crate) fn sorted(space: &Space<'_>, mut bins: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    bins.retain(|bin| !bin.is_empty());
    let heat = |bin: &Vec<usize>| (space.heat(bin) * 1e6) as u64;
    bins.sort_by_key(|bin| (!space.is_first(bin), Reverse(heat(bin)), bin.iter().min().copied()));
    bins
}

/// `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * bound as u128) >> 64) as usize
    }
}
