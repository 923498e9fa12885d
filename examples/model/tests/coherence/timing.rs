//! The clock: times that can be added up by hand.

use model::coherence::{
    Access, Kind, Operation, Params, TagLatency, Timing, TimingReport, Workload,
};

const LOAD: Kind = Kind::Load;
const RMW: Kind = Kind::Rmw;

const TWO_SOCKETS: &str = "sockets 2\ncores 2\nthreads 2\nhit 1\nwithin 70\nacross 180\nmemory 100";

/// Operations from a function of the CPU and of how many it did before.
struct Of<F> {
    operation: F,
    done: [usize; 8],
    overlap: bool,
}

impl<F: Fn(usize, usize) -> Vec<(u64, Kind)>> Of<F> {
    fn new(operation: F) -> Self {
        Self { operation, done: [0; 8], overlap: false }
    }
}

impl<F: Fn(usize, usize) -> Vec<(u64, Kind)>> Workload for Of<F> {
    /// The tag is the CPU.
    fn next(&mut self, cpu: usize, accesses: &mut Vec<Access>) -> Operation {
        let steps = (self.operation)(cpu, self.done[cpu]);
        self.done[cpu] += 1;
        accesses.extend(steps.iter().map(|&(address, kind)| Access { address, size: 8, kind }));
        Operation { tag: cpu as u32, overlap: self.overlap }
    }
}

fn timing(params: &str, think: u64) -> Timing {
    Timing::new(&Params::parse(params).expect("a machine"), think, 1)
}

/// Accesses to lines that nobody else touches and that are new each turn: 100 ns for each.
fn away(cpu: usize, turn: usize, lines: u64) -> Vec<(u64, Kind)> {
    let first = 1 << 20 | (cpu as u64) << 32 | (turn as u64) << 40;
    (0..lines).map(|line| (first + 64 * line, RMW)).collect()
}

/// One operation of each of the eight CPUs, from time 0 on.
fn one_each(params: &str, workload: &mut impl Workload) -> (TimingReport, Vec<f64>) {
    let report = timing(params, 0).run(workload, 8);
    assert!(report.tags.iter().all(|tag| tag.operations == 1), "{report:?}");
    let means = report.tags.iter().map(TagLatency::mean_ns).collect();
    (report, means)
}

#[test]
fn transfers_of_one_line_wait_for_each_other() {
    // CPUs 0 to 3 in turn, cores of sockets 0, 0, 1, 1; then 4 to 7 on the same cores.
    let once = || {
        Of::new(|cpu, turn| match turn {
            0 => vec![(0, RMW)],
            _ => away(cpu, turn, 20),
        })
    };
    // One transfer answers both CPUs of a core; the second finds the line there.
    let (report, means) = one_each(TWO_SOCKETS, &mut once());
    assert_eq!(means, [100.0, 170.0, 350.0, 420.0, 101.0, 171.0, 351.0, 421.0]);
    assert_eq!(report.picoseconds, 421_000);

    let (report, means) = one_each(&format!("{TWO_SOCKETS}\nsiblings wait"), &mut once());
    let takes = [100, 70, 180, 70, 180, 70, 180, 70];
    let ends = takes.iter().scan(0, |sum, &ns| {
        *sum += ns;
        Some(f64::from(*sum))
    });
    assert_eq!(means, ends.collect::<Vec<_>>());
    assert_eq!(report.picoseconds, 920_000);
    let busiest = report.busiest.expect("a line");
    assert_eq!((busiest.address, busiest.share), (0, 1.0));
}

#[test]
fn different_lines_do_not_wait() {
    let (report, means) = one_each(
        TWO_SOCKETS,
        &mut Of::new(|cpu, turn| match turn {
            0 => vec![(64 * cpu as u64, RMW)],
            _ => away(cpu, turn, 20),
        }),
    );
    assert_eq!(means, [100.0; 8]);
    assert_eq!(report.picoseconds, 100_000);
}

/// How long an operation of CPU 1 takes that begins long after CPU 0, of another core, has written
/// the lines at 0, 64, 128 and 192.
fn after_a_writer(siblings: &str, overlap: bool, accesses: &[(u64, Kind)]) -> f64 {
    let params = "sockets 1\ncores 2\nthreads 1\nhit 1\nwithin 70\nmemory 100\nsiblings ";
    let mut workload = Of::new(|cpu, turn| match (cpu, turn) {
        (0, 0) => vec![(0, RMW), (64, RMW), (128, RMW), (192, RMW)],
        (1, 0) => away(cpu, turn, 10),
        (1, 1) => accesses.to_vec(),
        _ => away(cpu, turn, 100),
    });
    workload.overlap = overlap;
    let mut timing = timing(&format!("{params}{siblings}"), 0);
    let before = timing.run(&mut workload, 2);
    assert_eq!([0, 1].map(|tag| before.tags[tag].mean_ns()), [400.0, 1000.0]);
    let [latency] = timing.run(&mut workload, 1).tags[..] else { panic!("one operation") };
    assert_eq!(latency.tag, 1);
    latency.mean_ns()
}

#[test]
fn loads_go_out_together_only_where_they_may() {
    let loads = [(0, LOAD), (64, LOAD), (128, LOAD)];
    assert_eq!(after_a_writer("share", false, &loads), 210.0);
    assert_eq!(after_a_writer("share", true, &loads), 70.0);
}

#[test]
fn a_write_goes_out_alone() {
    for (accesses, ns) in [
        ([(0, LOAD), (64, LOAD), (128, RMW)], 140.0),
        ([(0, RMW), (64, LOAD), (128, LOAD)], 140.0),
        ([(0, LOAD), (64, RMW), (128, LOAD)], 210.0),
        ([(0, RMW), (64, RMW), (128, RMW)], 210.0),
    ] {
        assert_eq!(after_a_writer("share", true, &accesses), ns, "{accesses:?}");
    }
}

#[test]
fn a_transfer_answers_all_that_its_cpu_asked_of_the_line() {
    for siblings in ["share", "wait"] {
        let twice = [(0, LOAD), (8, LOAD), (16, LOAD)];
        assert_eq!(after_a_writer(siblings, true, &twice), 71.0);
        assert_eq!(after_a_writer(siblings, false, &twice), 72.0);
    }
}

#[test]
fn a_copy_that_came_for_a_read_does_not_answer_a_write() {
    // CPUs 1 and 3 are of one core. CPU 0 writes; then 1 reads and 3 writes at once.
    let params = "sockets 1\ncores 2\nthreads 2\nhit 1\nwithin 70\nmemory 100";
    let mut workload = Of::new(|cpu, turn| match (cpu, turn) {
        (0, 0) => vec![(0, RMW)],
        (1 | 3, 0) => away(cpu, turn, 10),
        (1, 1) => vec![(0, LOAD)],
        (3, 1) => vec![(0, RMW)],
        _ => away(cpu, turn, 100),
    });
    let mut timing = timing(params, 0);
    assert_eq!(timing.run(&mut workload, 3).picoseconds, 1_000_000);
    let means: Vec<f64> =
        timing.run(&mut workload, 2).tags.iter().map(TagLatency::mean_ns).collect();
    assert_eq!(means, [70.0, 140.0]);
    assert_eq!(timing.directory().total().upgrades, 1);
}

#[test]
fn a_transfer_that_is_under_way_counts_as_far_as_it_came() {
    let params = "sockets 1\ncores 2\nthreads 1\nhit 1\nwithin 70\nmemory 100";
    let mut workload = Of::new(|cpu, turn| match (cpu, turn) {
        // Two lines from memory, until 200; then hits until 250, and more.
        (0, 0) => vec![(0, RMW), (4096, RMW)],
        (0, 1) => vec![(4096, RMW); 50],
        // One line from memory, hits until 210, and from then to 280 the other one's first.
        (1, 0) => [vec![(64, RMW); 111], vec![(0, RMW)]].concat(),
        _ => vec![(4096 - 64 * cpu as u64, RMW); 1000],
    });
    let mut timing = timing(params, 0);
    let mut run = |operations| {
        let report = timing.run(&mut workload, operations);
        let busiest = report.busiest.expect("a line");
        (report.picoseconds, busiest.address, busiest.share)
    };
    assert_eq!(run(2), (250_000, 0, (100.0 + 40.0) / 250.0));
    assert_eq!(run(1), (30_000, 0, 1.0));
}

#[test]
fn a_cpu_waits_for_the_line_that_its_neighbour_asked_for() {
    // Two CPUs of one core at once: one first touch, which both wait for.
    let params = "sockets 1\ncores 1\nthreads 2\nhit 1\nmemory 100";
    let mut workload = Of::new(|_, _| vec![(0, RMW)]);
    let report = timing(params, 0).run(&mut workload, 2);
    let means: Vec<f64> = report.tags.iter().map(TagLatency::mean_ns).collect();
    assert_eq!(means, [100.0, 101.0]);
}

#[test]
fn an_access_over_two_lines_waits_for_the_later_one() {
    let params = "sockets 1\ncores 2\nthreads 1\nhit 1\nwithin 70\nmemory 100";
    let mut workload = Of::new(|cpu, turn| match (cpu, turn) {
        (0, 0) => vec![(0, RMW)],
        // The first line after CPU 0, the second from memory.
        (1, 0) => vec![(60, RMW)],
        _ => away(cpu, turn, 20),
    });
    let report = timing(params, 0).run(&mut workload, 2);
    assert_eq!([0, 1].map(|tag| report.tags[tag].mean_ns()), [100.0, 170.0]);
}

#[test]
fn below_the_knee_the_machine_does_what_it_is_asked_and_above_what_the_line_allows() {
    let params = "sockets 1\ncores 8\nthreads 1\nhit 1\nwithin 70";
    let throughput = |think| {
        let mut timing = timing(params, think);
        let mut workload = Of::new(|_, _| vec![(0, RMW)]);
        timing.run(&mut workload, 1_000);
        let report = timing.run(&mut workload, 50_000);
        (report.throughput(), report.busiest.unwrap().share)
    };
    // Eight CPUs, one operation each 100 us and a bit.
    let (rare, share) = throughput(100_000);
    assert!((rare - 8.0 / 100.07).abs() < 0.002, "{rare}");
    assert!((share - 0.07 * rare * 7.0 / 8.0).abs() < 0.001, "{share}: 7 of 8 were elsewhere");
    let (ceiling, share) = throughput(0);
    assert!((ceiling - 1000.0 / 70.0).abs() < 0.01 && share > 0.9999, "{ceiling} {share}");
    // The knee: eight CPUs ask for twice what the line can do.
    let (above, _) = throughput(280);
    assert!((ceiling * 0.85..=ceiling).contains(&above), "{above}");
}

#[test]
fn warming_up_and_running_on_is_the_same_run() {
    let operation = |cpu: usize, turn: usize| {
        let kind = if (cpu + turn) % 3 == 0 { RMW } else { LOAD };
        vec![(64 * (turn % 5) as u64, kind), (64 * cpu as u64, RMW)]
    };
    let mut whole = timing(TWO_SOCKETS, 500);
    let mut workload = Of::new(operation);
    let report = whole.run(&mut workload, 3000);
    let mut parts = timing(TWO_SOCKETS, 500);
    let mut workload = Of::new(operation);
    let first = parts.run(&mut workload, 1000);
    let second = parts.run(&mut workload, 2000);
    assert_eq!(report.picoseconds, first.picoseconds + second.picoseconds);
    assert_eq!(whole.directory().lines(), parts.directory().lines());
    assert_eq!(whole.directory().tags(), parts.directory().tags());
    let operations = |report: &TimingReport| report.tags.iter().map(|t| t.operations).sum::<u64>();
    assert_eq!((operations(&report), operations(&second)), (3000, 2000));

    // The parts' latencies together are the whole's.
    let mut together = first.tags.clone();
    together.iter_mut().zip(&second.tags).for_each(|(sum, &part)| *sum += part);
    assert_eq!(together, report.tags);

    // And again: bit for bit.
    let again = timing(TWO_SOCKETS, 500).run(&mut Of::new(operation), 3000);
    assert_eq!(format!("{report:?}"), format!("{again:?}"));
    // Another seed is another run.
    let params = Params::parse(TWO_SOCKETS).unwrap();
    let other = Timing::new(&params, 500, 2).run(&mut Of::new(operation), 3000);
    assert_ne!(report, other);
}

#[test]
fn the_clock_changes_when_things_happen_not_what_is_counted() {
    // A fixed order: one CPU at a time, by think times that are far longer than operations.
    let mut timing = timing("sockets 1\ncores 4\nthreads 1", 1_000_000);
    let mut workload = Of::new(|_, _| vec![(0, LOAD), (0, RMW)]);
    timing.run(&mut workload, 400);
    timing.reset_counts();
    let report = timing.run(&mut workload, 400);
    let total = timing.directory().total();
    // Whenever another CPU comes: one read of a modified line, one upgrade.
    assert_eq!((total.read_modified, total.upgrades), (total.misses() / 2, total.misses() / 2));
    let operations: u64 = timing.directory().tags().iter().map(|tag| tag.operations).sum();
    assert_eq!((operations, report.operations), (400, 400));
}
