//! The kernel's priority vector in three layouts, described by hand, under one workload.
//!
//! 60 instances of 8 CPUs each. A CPU goes to real-time priority 99 and back; half of the
//! operations look for a CPU of the own instance below priority 99. What is replayed is which bytes
//! the operations read and write, level by level; there is no such structure in memory. A set with
//! a pointer to its mask is `count` (4 bytes), `mask` (8) and, elsewhere, 64 bytes of mask.
//!
//! The test holds the figures against those of an independent model of the same layouts, which was
//! written before this one.
//!
//! `cargo run --release -p model --example mix50 [DIRECTORY]`: a table; with a directory, a heat
//! map of each layout too.

use model::coherence::Kind::{Load, Rmw, Store};
use model::coherence::{
    Access, Directory, Field, HeatMap, Kind, Measure, Operation, Order, Params, TagReport, Timing,
    Workload,
};
use std::path::Path;
use std::process::ExitCode;

const MACHINE: &str = "sockets 2\ncores 120\nthreads 2\nnumbering linux\n\
                       hit 1\nwithin 70\nacross 180\nmemory 100";
const WARM_UP: u64 = 50_000;
const OPERATIONS: u64 = 200_000;
const SEED: u64 = 1;
const SET: u32 = 0;
const FIND: u32 = 1;
const LEVELS: u64 = 101;
/// Where the arrays lie that the structure points to.
const MASKS: u64 = 1 << 20;
const CUR: u64 = 2 << 20;

/// Where the fields of a level lie.
#[derive(Clone, Copy)]
enum Layout {
    Packed,
    Padded,
    Split,
}

impl Layout {
    const ALL: [Self; 3] = [Self::Packed, Self::Padded, Self::Split];

    fn name(self) -> &'static str {
        match self {
            Self::Packed => "Packed",
            Self::Padded => "Padded",
            Self::Split => "Split",
        }
    }

    /// In the root domain, `Packed` begins 0x38 bytes into a line.
    fn base(self) -> u64 {
        match self {
            Self::Packed => 0x38,
            Self::Padded | Self::Split => 0,
        }
    }

    /// The offset of a level's count.
    fn count(self, level: u64) -> u64 {
        match (self, level) {
            (Self::Packed, _) => 16 * level,
            (Self::Padded, _) => 128 * level,
            (Self::Split, 0) => 0,
            (Self::Split, _) => 64 + 4 * (level - 1),
        }
    }

    /// The offset of the pointer to a level's mask.
    fn pointer(self, level: u64) -> u64 {
        match self {
            Self::Packed => 16 * level + 8,
            Self::Padded => 128 * level + 64,
            Self::Split => 512 + 8 * level,
        }
    }

    /// The offset of the pointer to the array of current levels.
    fn cur(self) -> u64 {
        match self {
            Self::Packed => 16 * LEVELS,
            Self::Padded => 128 * LEVELS - 56,
            Self::Split => 512 + 8 * LEVELS,
        }
    }

    fn heat_map(self, directory: &Directory) -> String {
        let mut fields = Vec::new();
        for level in 0..LEVELS {
            fields.push(Field::new(format!("count[{level}]"), self.count(level), 4));
            fields.push(Field::new(format!("mask[{level}]"), self.pointer(level), 8));
        }
        fields.push(Field::new("cur", self.cur(), 8));
        let mask = |level| Field::new(format!("the mask of level {level}"), 64 * level, 64);
        let cur = |cpu: u64| Field::new(format!("cur[{cpu}]"), 4 * cpu, 4);
        HeatMap::new(format!("{}, Mix50, 480 CPUs", self.name()))
            .note(format!("{OPERATIONS} operations, half set, half find, after {WARM_UP} more"))
            .region("vec", self.base(), fields)
            .region("masks", MASKS, (0..LEVELS).map(mask).collect())
            .region("cur", CUR, (0..480).map(cur).collect())
            .measure(Measure::Transfers)
            .order(Order::Hottest)
            .rows(20)
            .svg(&directory.lines())
    }
}

/// The vector's contents, and who is next.
struct Mix50 {
    layout: Layout,
    cpus: usize,
    cores: usize,
    /// For each CPU, whether it is at priority 99, and how many of each instance are not.
    high: Vec<bool>,
    low_of_instance: Vec<usize>,
    random: u64,
}

impl Mix50 {
    fn new(layout: Layout, params: &Params) -> Self {
        let (cpus, cores) = (params.machine.cpus(), params.machine.cores());
        let low_of_instance = vec![4 * params.machine.threads(); cores / 4];
        Self { layout, cpus, cores, high: vec![false; cpus], low_of_instance, random: SEED }
    }

    fn random(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let once = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let twice = (once ^ (once >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((twice ^ (twice >> 31)) % bound as u64) as usize
    }

    fn any_cpu(&mut self) -> usize {
        self.random(self.cpus)
    }

    /// Four cores in a row, both CPUs of each.
    fn instance(&self, cpu: usize) -> usize {
        cpu % self.cores / 4
    }

    fn set(&mut self, cpu: usize, accesses: &mut Vec<Access>) {
        let instance = self.instance(cpu);
        let was_high = self.high[cpu];
        self.high[cpu] = !was_high;
        let (old, new) = if was_high { (99, 0) } else { (0, 99) };
        if was_high {
            self.low_of_instance[instance] += 1;
        } else {
            self.low_of_instance[instance] -= 1;
        }
        let cpu = cpu as u64;
        let word = |level| MASKS + 64 * level + cpu / 64 * 8;
        let at = self.layout.base();
        let mut push = |address, size, kind| accesses.push(Access { address, size, kind });
        push(at + self.layout.cur(), 8, Load);
        push(CUR + 4 * cpu, 4, Load);
        push(at + self.layout.pointer(new), 8, Load);
        push(word(new), 8, Rmw);
        push(at + self.layout.count(new), 4, Rmw);
        push(at + self.layout.count(old), 4, Rmw);
        push(at + self.layout.pointer(old), 8, Load);
        push(word(old), 8, Rmw);
        push(CUR + 4 * cpu, 4, Store);
    }

    /// Strictly below 99: level 0, and if nobody of the instance is there, all the empty levels.
    fn find(&self, cpu: usize, accesses: &mut Vec<Access>) {
        let at = self.layout.base();
        let mut push = |address, size, kind: Kind| accesses.push(Access { address, size, kind });
        push(at + self.layout.count(0), 4, Load);
        if self.high.iter().any(|high| !high) {
            push(at + self.layout.pointer(0), 8, Load);
            push(MASKS, 64, Load);
            if self.low_of_instance[self.instance(cpu)] > 0 {
                push(MASKS, 64, Load);
                return;
            }
        }
        for level in 1..99 {
            push(at + self.layout.count(level), 4, Load);
        }
    }
}

impl Workload for Mix50 {
    fn next(&mut self, cpu: usize, accesses: &mut Vec<Access>) -> Operation {
        if self.random(2) == 0 {
            self.set(cpu, accesses);
            Operation { tag: SET, overlap: false }
        } else {
            self.find(cpu, accesses);
            // Processors run ahead: they load the mask before they know the count.
            Operation { tag: FIND, overlap: true }
        }
    }
}

/// Operations of random CPUs, one after the other.
fn replay(layout: Layout, params: &Params, operations: u64) -> Directory {
    let mut directory = Directory::new(params.machine);
    let mut workload = Mix50::new(layout, params);
    let mut accesses = Vec::new();
    for turn in 0..WARM_UP + operations {
        if turn == WARM_UP {
            directory.reset_counts();
        }
        let cpu = workload.any_cpu();
        accesses.clear();
        let tag = workload.next(cpu, &mut accesses).tag;
        directory.begin(cpu, tag);
        for Access { address, size, kind } in &accesses {
            directory.access(cpu, *address, *size, *kind, tag);
        }
    }
    directory
}

fn set_and_find(directory: &Directory) -> (TagReport, TagReport) {
    match directory.tags()[..] {
        [set, find] => (set, find),
        _ => unreachable!("there are two tags"),
    }
}

fn print(layout: Layout, directory: &Directory, params: &Params) {
    let (set, find) = set_and_find(directory);
    let hottest = directory.hottest().map_or(0, |line| line.counts.transfers());
    print!(
        "{:<7} {:>6.2} {:>6.2} {:>7.3} {:>6.2} {:>6.2} {:>6.1} {:>6}",
        layout.name(),
        set.per_operation(set.counts.misses()),
        find.per_operation(find.counts.misses()),
        hottest as f64 / OPERATIONS as f64,
        set.per_operation(set.counts.invalidations),
        set.per_operation(set.counts.cross_socket),
        find.per_operation(find.lines_read),
        directory.lines().len(),
    );
    for think in [100_000, 20_000, 0] {
        let mut timing = Timing::new(params, think, SEED);
        let mut workload = Mix50::new(layout, params);
        timing.run(&mut workload, WARM_UP);
        let report = timing.run(&mut workload, WARM_UP);
        let [set, find] = [0, 1].map(|tag| report.tags[tag].mean_ns());
        print!("  {set:>6.0} {find:>6.0} {:>5.2}", report.throughput());
    }
    println!();
}

fn main() -> ExitCode {
    let directory = std::env::args_os().nth(1);
    let params = Params::parse(MACHINE).expect("a machine");
    println!(
        "misses/set, misses/find, transfers of the hottest line/operation, invalidations/set,"
    );
    println!("across/set, lines read/find, lines; then for think times of 100, 20 and 0 us:");
    println!("ns/set, ns/find, operations/us\n");
    for layout in Layout::ALL {
        let replayed = replay(layout, &params, OPERATIONS);
        print(layout, &replayed, &params);
        if let Some(directory) = &directory {
            let file = Path::new(directory).join(format!("mix50-{}.svg", layout.name()));
            if let Err(error) = std::fs::write(&file, layout.heat_map(&replayed)) {
                eprintln!("mix50: {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the independent model counted: misses a set and a find, transfers of the hottest line
    /// an operation, copies touched by a set, sets' misses across, lines read by a find.
    #[expect(clippy::approx_constant, reason = "misses, not a circle")]
    const OTHER: [(Layout, [f64; 6]); 3] = [
        (Layout::Packed, [6.28, 1.98, 0.995, 8.21, 2.69, 3.0]),
        (Layout::Padded, [5.79, 1.98, 0.995, 7.72, 2.40, 3.0]),
        (Layout::Split, [5.79, 1.98, 0.995, 7.72, 2.40, 3.0]),
    ];

    #[test]
    fn an_independent_model_counts_the_same() {
        let params = Params::parse(MACHINE).unwrap();
        let operations = 50_000;
        for (layout, theirs) in OTHER {
            let directory = replay(layout, &params, operations);
            let (set, find) = set_and_find(&directory);
            let hottest = directory.hottest().unwrap().counts.transfers();
            // The other model calls a copy that a read degrades from M to S invalidated, too.
            let touched = set.counts.invalidations + set.counts.read_modified;
            let ours = [
                set.per_operation(set.counts.misses()),
                find.per_operation(find.counts.misses()),
                hottest as f64 / operations as f64,
                set.per_operation(touched),
                set.per_operation(set.counts.cross_socket),
                find.per_operation(find.lines_read),
            ];
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                let name = layout.name();
                assert!((ours / theirs - 1.0).abs() < 0.15, "{name}: {ours:.3}, not {theirs}");
            }
        }
    }
}
