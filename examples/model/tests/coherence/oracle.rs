//! The directory against a model that is too simple to be wrong: for each line, what each core has
//! of it, and every transition spelled out.

use model::coherence::{
    Access, CoreSet, Counts, Directory, Event, Kind, Machine, Numbering, Outcome, State, TagReport,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Sockets, cores of a socket, CPUs of a core.
type Shape = (usize, usize, usize);

/// Lines as lists of states.
struct Naive {
    shape: Shape,
    numbering: Numbering,
    lines: BTreeMap<u64, Vec<State>>,
    of_line: BTreeMap<u64, Counts>,
    of_tag: BTreeMap<u32, Counts>,
    /// Operations, different lines read, different lines written.
    operations: BTreeMap<u32, [u64; 3]>,
    /// The lines of the CPU's operation, and whether they were written.
    seen: BTreeMap<usize, BTreeSet<(u64, bool)>>,
}

impl Naive {
    fn core_and_socket(&self, cpu: usize) -> (usize, usize) {
        let (sockets, cores, threads) = self.shape;
        let core = match self.numbering {
            Numbering::Linux => cpu % (sockets * cores),
            Numbering::Topology => cpu / threads,
        };
        (core, core / cores)
    }

    fn begin(&mut self, cpu: usize, tag: u32) {
        self.operations.entry(tag).or_default()[0] += 1;
        self.of_tag.entry(tag).or_default();
        self.seen.remove(&cpu);
    }

    /// Byte by byte, so that nothing is computed about where lines end.
    fn access(&mut self, cpu: usize, access: Access, tag: u32) {
        let bytes = access.address..access.address + u64::from(access.size);
        let lines: BTreeSet<u64> = bytes.map(|byte| byte / 64).collect();
        for line in lines {
            let outcome = self.touch(cpu, line, access.kind);
            let is_write = access.kind != Kind::Load;
            let is_new = self.seen.entry(cpu).or_default().insert((line, is_write));
            self.operations.entry(tag).or_default()[if is_write { 2 } else { 1 }] +=
                u64::from(is_new);
            for counts in
                [self.of_line.entry(line).or_default(), self.of_tag.entry(tag).or_default()]
            {
                count(counts, access.kind, outcome);
            }
        }
    }

    fn touch(&mut self, cpu: usize, line: u64, kind: Kind) -> Outcome {
        use State::{Exclusive, Invalid, Modified, Shared};
        let (me, my_socket) = self.core_and_socket(cpu);
        let (sockets, cores, _) = self.shape;
        let states = self.lines.entry(line).or_insert_with(|| vec![Invalid; sockets * cores]);
        let others: Vec<usize> =
            (0..states.len()).filter(|&core| core != me && states[core] != Invalid).collect();
        let others_near = others.iter().filter(|&&core| core / cores == my_socket).count();
        let is_write = kind != Kind::Load;

        let event = match (states[me], is_write) {
            (Modified, _) => Event::Hit,
            (Exclusive, false) => Event::Hit,
            (Exclusive, true) => {
                states[me] = Modified;
                Event::Silent
            }
            (Shared, false) => Event::Hit,
            (Shared, true) => {
                others.iter().for_each(|&core| states[core] = Invalid);
                states[me] = Modified;
                Event::Upgrade
            }
            (Invalid, false) => {
                let had_modified = states.contains(&Modified);
                others.iter().for_each(|&core| states[core] = Shared);
                states[me] = if others.is_empty() { Exclusive } else { Shared };
                match (others.is_empty(), had_modified) {
                    (true, _) => Event::FirstTouch,
                    (false, true) => Event::ReadModified,
                    (false, false) => Event::ReadClean,
                }
            }
            (Invalid, true) => {
                others.iter().for_each(|&core| states[core] = Invalid);
                states[me] = Modified;
                if others.is_empty() { Event::FirstTouch } else { Event::WriteMiss }
            }
        };
        let takes_away = matches!(event, Event::Upgrade | Event::WriteMiss);
        let reads = matches!(event, Event::ReadModified | Event::ReadClean);
        let far = others.len() - others_near;
        Outcome {
            event,
            invalidated: if takes_away { others.len() } else { 0 },
            across: (takes_away && far > 0) || (reads && others_near == 0),
        }
    }
}

fn count(counts: &mut Counts, kind: Kind, outcome: Outcome) {
    *match kind {
        Kind::Load => &mut counts.loads,
        Kind::Store => &mut counts.stores,
        Kind::Rmw => &mut counts.rmws,
    } += 1;
    match outcome.event {
        Event::Hit => {}
        Event::Silent => counts.silent += 1,
        Event::FirstTouch => counts.first_touches += 1,
        Event::ReadModified => counts.read_modified += 1,
        Event::ReadClean => counts.read_clean += 1,
        Event::WriteMiss => counts.write_misses += 1,
        Event::Upgrade => counts.upgrades += 1,
    }
    counts.invalidations += outcome.invalidated as u64;
    counts.cross_socket += u64::from(outcome.across);
}

/// One step of a run.
#[derive(Clone, Debug)]
enum Step {
    Begin { cpu: usize, tag: u32 },
    Access { cpu: usize, access: Access, tag: u32 },
    Reset,
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![3 => Just(Kind::Load), 1 => Just(Kind::Store), 1 => Just(Kind::Rmw)]
}

/// Few lines, so that the cores meet; now and then an access that reaches over several.
fn steps(cpus: usize) -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![8 => 1..=8_u32, 1 => 0..=200_u32];
    // Far apart, and with the same low bits.
    let addresses = (0..3_u64, 0..320_u64).prop_map(|(far, near)| (far << 16) + near);
    let access = (0..cpus, addresses, sizes, kinds(), 0..3_u32).prop_map(
        |(cpu, address, size, kind, tag)| Step::Access {
            cpu,
            access: Access { address, size, kind },
            tag: tag * 1000,
        },
    );
    let begin = (0..cpus, 0..3_u32).prop_map(|(cpu, tag)| Step::Begin { cpu, tag: tag * 1000 });
    let step = prop_oneof![60 => access, 20 => begin, 1 => Just(Step::Reset)];
    prop::collection::vec(step, 0..600)
}

fn runs() -> impl Strategy<Value = (Shape, Numbering, Vec<Step>)> {
    let numbering = prop_oneof![Just(Numbering::Linux), Just(Numbering::Topology)];
    let shape = prop_oneof![
        4 => (1..=3_usize, 1..=3_usize, 1..=2_usize),
        // Sets of cores that take several words, sockets that end within one.
        1 => Just((3, 50, 1)),
    ];
    (shape, numbering).prop_flat_map(|(shape, numbering)| {
        (Just(shape), Just(numbering), steps(shape.0 * shape.1 * shape.2))
    })
}

/// The states of lines make sense together, and are the same in both.
fn check_states(directory: &Directory, naive: &Naive, lines: &[u64]) {
    for line in lines {
        let Some(states) = naive.lines.get(line) else { continue };
        let ours = (0..states.len()).map(|core| directory.state(core, line * 64 + 63));
        let ours: Vec<State> = ours.collect();
        assert_eq!(ours, *states, "line {line}");
        let with = |state| ours.iter().filter(|&&one| one == state).count();
        let owners = with(State::Exclusive) + with(State::Modified);
        assert!(owners <= 1, "{ours:?}: two owners");
        assert!(owners == 0 || with(State::Shared) == 0, "{ours:?}: an owner and sharers");
        assert!(owners == 1 || with(State::Shared) >= 2, "{ours:?}: a touched line of nobody");
    }
}

fn check((sockets, cores, threads): Shape, numbering: Numbering, steps: &[Step]) {
    let machine = Machine::new(sockets, cores, threads, numbering).expect("a machine");
    let mut directory = Directory::new(machine);
    let mut naive = Naive {
        shape: (sockets, cores, threads),
        numbering,
        lines: BTreeMap::new(),
        of_line: BTreeMap::new(),
        of_tag: BTreeMap::new(),
        operations: BTreeMap::new(),
        seen: BTreeMap::new(),
    };
    for step in steps {
        match *step {
            Step::Begin { cpu, tag } => {
                directory.begin(cpu, tag);
                naive.begin(cpu, tag);
            }
            Step::Access { cpu, access, tag } => {
                directory.access(cpu, access.address, access.size, access.kind, tag);
                naive.access(cpu, access, tag);
            }
            Step::Reset => {
                directory.reset_counts();
                naive.of_line.values_mut().for_each(|counts| *counts = Counts::default());
                naive.of_tag.values_mut().for_each(|counts| *counts = Counts::default());
                naive.operations.clear();
            }
        }
        if let Step::Access { access, .. } = step {
            check_states(&directory, &naive, &[access.address / 64]);
        }
    }
    check_states(&directory, &naive, &naive.lines.keys().copied().collect::<Vec<_>>());
    let lines: BTreeMap<u64, Counts> =
        directory.lines().iter().map(|line| (line.address / 64, line.counts)).collect();
    assert_eq!(lines, naive.of_line);
    let tags: BTreeMap<u32, Counts> =
        directory.tags().iter().map(|tag| (tag.tag, tag.counts)).collect();
    assert_eq!(tags, naive.of_tag);
    for report in directory.tags() {
        let ours = [report.operations, report.lines_read, report.lines_written];
        assert_eq!(ours, naive.operations.get(&report.tag).copied().unwrap_or_default());
    }
    let mut all = TagReport { tag: 9, ..TagReport::default() };
    directory.tags().into_iter().for_each(|report| all += report);
    let mut total = Counts::default();
    naive.of_line.values().for_each(|&counts| total += counts);
    assert_eq!(directory.total(), total);
    assert_eq!((all.tag, all.counts), (9, total));
    let sum = |at: usize| naive.operations.values().map(|counts| counts[at]).sum::<u64>();
    assert_eq!([all.operations, all.lines_read, all.lines_written], [0, 1, 2].map(sum));
    let hottest = naive.of_line.iter().rev().max_by_key(|(_, counts)| counts.transfers());
    let ours = directory.hottest().map(|line| (line.address / 64, line.counts));
    assert_eq!(ours, hottest.map(|(&line, &counts)| (line, counts)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_directory_counts_what_the_lists_count((shape, numbering, steps) in runs()) {
        check(shape, numbering, &steps);
    }

    #[test]
    fn a_set_of_cores_is_a_set(numbers in prop::collection::vec((0..512_usize, any::<bool>()), 0..60)) {
        let (mut set, mut naive) = (CoreSet::EMPTY, BTreeSet::new());
        for (core, put_in) in numbers {
            if put_in {
                set.insert(core);
                naive.insert(core);
            } else {
                set = set.without(core);
                naive.remove(&core);
            }
            prop_assert_eq!(set.len(), naive.len());
            prop_assert_eq!(set.is_empty(), naive.is_empty());
            prop_assert_eq!(set.contains(core), put_in);
        }
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), naive.into_iter().collect::<Vec<_>>());
    }
}

/// The random runs are worth something only if they meet everything.
#[test]
fn every_event_is_met_often() {
    let mut state = 7_u64;
    let mut random = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let steps: Vec<Step> = (0..5000)
        .map(|_| Step::Access {
            cpu: random(8) as usize,
            access: Access {
                address: random(4000),
                size: 1,
                kind: [Kind::Load, Kind::Load, Kind::Store, Kind::Rmw][random(4) as usize],
            },
            tag: 0,
        })
        .collect();
    check((2, 2, 2), Numbering::Linux, &steps);
    let mut directory = Directory::new(Machine::new(2, 2, 2, Numbering::Linux).unwrap());
    for step in &steps {
        if let Step::Access { cpu, access, tag } = *step {
            directory.access(cpu, access.address, access.size, access.kind, tag);
        }
    }
    let total = directory.total();
    for (name, count) in [
        ("first touches", total.first_touches),
        ("silent", total.silent),
        ("read modified", total.read_modified),
        ("read clean", total.read_clean),
        ("write misses", total.write_misses),
        ("upgrades", total.upgrades),
        ("across", total.cross_socket),
    ] {
        assert!(count >= 5, "{name}: {count}");
    }
}
