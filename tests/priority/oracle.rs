//! Random sequences, each layout beside a `BTreeMap` from CPUs to levels.
//!
//! 50 000 operations a layout, a million with `CORELOCAL_STRESS=20` as `.ci/full` has it:
//!
//! ```text
//! CORELOCAL_STRESS=20 cargo test --release -p corelocal --test priority oracle
//! ```

use crate::choices::Choices;
use crate::common::{Rng, stress};
use crate::compare;
use corelocal::priority::Layout;
use corelocal::{ByCpu, CpuId, Packed, Padded, Split};

impl Choices for Rng {
    fn below(&mut self, bound: usize) -> usize {
        Rng::below(self, bound)
    }

    fn word(&mut self) -> u64 {
        self.next()
    }
}

fn compare<L: Layout, const LEVELS: usize>(order: &[CpuId], operations: u64, seed: u64) {
    compare::compare::<L, LEVELS>(order, operations, &mut Rng::new(seed));
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
