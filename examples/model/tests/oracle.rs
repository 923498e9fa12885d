//! The model against a brute-force one: all lines of a level in one list, newest last.

use model::{Access, Hierarchy, Level, Params};

/// A level that remembers every use and decides by counting.
#[derive(Clone)]
struct Naive {
    sets: u64,
    ways: usize,
    /// Lines in the order of their last use, all sets mixed.
    lines: Vec<u64>,
}

impl Naive {
    fn look(&mut self, line: u64) -> bool {
        let hit = self.lines.contains(&line);
        self.lines.retain(|&other| other != line);
        self.lines.push(line);
        let of_set: Vec<u64> = self
            .lines
            .iter()
            .copied()
            .filter(|other| other % self.sets == line % self.sets)
            .collect();
        if of_set.len() > self.ways {
            self.lines.retain(|&other| other != of_set[0]);
        }
        hit
    }
}

struct NaiveMachine {
    private: Vec<[Naive; 2]>,
    shared: Naive,
}

impl NaiveMachine {
    fn access(&mut self, core: usize, address: u64) -> Level {
        let line = address / 64;
        if self.private[core][0].look(line) {
            Level::L1
        } else if self.private[core][1].look(line) {
            Level::L2
        } else if self.shared.look(line) {
            Level::Shared
        } else {
            Level::Memory
        }
    }
}

/// `SplitMix64`.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let once = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let twice = (once ^ (once >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    twice ^ (twice >> 31)
}

/// Sets and ways of the three levels, as a text and as lists.
fn machines(cores: usize, levels: [(u64, usize); 3]) -> (Hierarchy, NaiveMachine) {
    let naive = |(sets, ways)| Naive { sets, ways, lines: Vec::new() };
    let [l1, l2, shared] = levels;
    let bytes = |(sets, ways): (u64, usize)| format!("{} {ways}", sets * ways as u64 * 64);
    let text =
        format!("cores {cores}\nl1 {}\nl2 {}\nshared {}", bytes(l1), bytes(l2), bytes(shared));
    let params = Params::parse(&text).expect("a machine");
    let private = vec![[naive(l1), naive(l2)]; cores];
    (Hierarchy::new(&params), NaiveMachine { private, shared: naive(shared) })
}

#[test]
fn the_model_finds_every_line_where_the_lists_do() {
    let shapes = [
        (1, [(1, 1), (1, 2), (1, 3)]),
        (2, [(2, 2), (4, 2), (3, 4)]),
        (3, [(4, 1), (2, 4), (8, 2)]),
        (4, [(1, 8), (8, 1), (5, 3)]),
    ];
    for (seed, (cores, levels)) in shapes.into_iter().enumerate() {
        let (mut model, mut naive) = machines(cores, levels);
        let mut state = seed as u64;
        // About twice what fits, and a hot part, so that every level hits and misses.
        let lines = 2 * levels.iter().map(|(sets, ways)| sets * *ways as u64).sum::<u64>();
        let mut found = [0_u64; 4];
        for step in 0..20_000 {
            let core = (random(&mut state) % cores as u64) as usize;
            let spread = if random(&mut state) % 2 == 0 { lines } else { lines.div_ceil(8) };
            let address = random(&mut state) % (spread * 64);
            let access = if random(&mut state) % 3 == 0 { Access::Write } else { Access::Read };
            let level = model.access(core, address, access);
            assert_eq!(level, naive.access(core, address), "step {step} of shape {seed}");
            found[level as usize] += 1;
        }
        assert!(found.iter().all(|&count| count > 20), "shape {seed} leaves levels out: {found:?}");
        let total = model.total();
        assert_eq!([total.l1.hits(), total.l2.hits(), total.shared.hits()], found[..3]);
        assert_eq!((total.from_memory(), total.l1.accesses()), (found[3], 20_000));
    }
}
