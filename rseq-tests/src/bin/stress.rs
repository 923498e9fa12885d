//! The stress matrix: every kind of work, undisturbed and held up at every numbered point by
//! each kind of disturbance, with exact end states; `--quick` (under three minutes) or
//! `--full`; `--only KIND`, `--millis N` for a case; `--threads N`; `--part K/N` for every N-th case,
//! from the K-th on, so that N machines share the matrix and each has something of every kind.
//!
//! Six threads a CPU, unless told otherwise (an emulated machine has more CPUs than it can
//! drive). A case is a kind, a point, what happens there, and how threads are
//! pushed about besides: by migrations, by a timer signal whose handler does the same work and
//! then returns, yields, sleeps or migrates, or by both.

use corelocal::sys::rseq::Points;
use rseq_tests::churn::{self, Action};
use rseq_tests::implementation::{Atomics, Entries, sections};
use rseq_tests::lanes::Lanes;
use rseq_tests::run::{Plan, disturbed, run};
use rseq_tests::work::Kind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// What happens at a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Injection {
    None,
    /// The thread waits for some hundred cycles.
    Delay,
    /// It waits for as long as it takes a signal to arrive, whose handler then does this.
    Signal(Action),
}

const INJECTIONS: [Injection; 5] = [
    Injection::Delay,
    Injection::Signal(Action::Return),
    Injection::Signal(Action::Yield),
    Injection::Signal(Action::Sleep),
    Injection::Signal(Action::Migrate),
];

/// How threads are pushed about besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Push {
    Moved,
    Interrupted,
    Both,
}

#[derive(Clone, Copy, Debug)]
struct Case {
    kind: Kind,
    point: usize,
    injection: Injection,
    push: Push,
}

struct Options {
    full: bool,
    only: Option<String>,
    millis: u64,
    threads: usize,
    /// Which case is the first, and each how many-th after it.
    part: [usize; 2],
}

fn options() -> Result<Options, String> {
    let threads = 6 * churn::cpus().min(8) as usize;
    let mut options = Options { full: false, only: None, millis: 0, threads, part: [1, 1] };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--quick" => options.full = false,
            "--full" => options.full = true,
            "--only" => options.only = Some(words.next().ok_or("--only KIND")?),
            "--millis" => {
                let value = words.next().and_then(|word| word.parse().ok());
                options.millis = value.ok_or("--millis N")?;
            }
            "--threads" => {
                let value = words.next().and_then(|word| word.parse().ok());
                options.threads =
                    value.filter(|value| *value > 1).ok_or("--threads N, 2 or more")?;
            }
            "--part" => {
                options.part = words.next().as_deref().and_then(part).ok_or("--part K/N")?;
            }
            other => {
                return Err(format!(
                    "{other}: not an option (--quick, --full, --only, --millis, --threads, --part)"
                ));
            }
        }
    }
    if options.millis == 0 {
        options.millis = if options.full { 800 } else { 100 };
    }
    Ok(options)
}

/// `K/N`, K from 1 to N.
fn part(word: &str) -> Option<[usize; 2]> {
    let (index, parts) = word.split_once('/')?;
    let (index, parts) = (index.parse().ok()?, parts.parse().ok()?);
    (1..=parts).contains(&index).then_some([index, parts])
}

fn main() -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let entries = Entries::new();
    println!(
        "backend: {}, {} CPUs, {} threads, {} ms a case",
        if sections().is_some() { "rseq" } else { "atomics" },
        entries.cpus,
        options.threads,
        options.millis
    );
    let mut good = control(&options);
    let mut total = (0, 0);
    for kind in Kind::ALL {
        if options.only.as_ref().is_some_and(|only| *only != format!("{kind:?}")) {
            continue;
        }
        let mut aborts = [0u64; Points::COUNT];
        let mut exact = true;
        let [first, each] = options.part;
        for case in cases(kind, options.full).into_iter().skip(first - 1).step_by(each) {
            let before = churn::counts();
            match one(case, entries, &options) {
                Ok(done) => total = (total.0 + 1, total.1 + done),
                Err(error) => {
                    println!("FAILED {case:?}: {error}");
                    exact = false;
                }
            }
            aborts[case.point] += churn::counts().0 - before.0;
        }
        good &= exact;
        let how = if exact { "exact" } else { "NOT EXACT" };
        println!("{kind:?}: {how}; sections cut off while held up at points 0 to 8: {aborts:?}");
        if sections().is_some() && aborts[1..8].iter().sum::<u64>() == 0 {
            println!("FAILED {kind:?}: no section was cut off");
            good = false;
        }
    }
    let (aborts, spills, signals) = churn::counts();
    println!(
        "{} cases, {} operations, {aborts} aborts, {spills} spills, {signals} signals: {}",
        total.0,
        total.1,
        if good { "all exact" } else { "FAILED" }
    );
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cases(kind: Kind, full: bool) -> Vec<Case> {
    let pushes: &[Push] =
        if full { &[Push::Moved, Push::Interrupted, Push::Both] } else { &[Push::Both] };
    let mut cases = Vec::new();
    for &push in pushes {
        cases.push(Case { kind, point: 0, injection: Injection::None, push });
        for point in 0..Points::COUNT {
            let with = |injection| Case { kind, point, injection, push };
            cases.extend(INJECTIONS.map(with));
        }
    }
    cases
}

fn plan(case: Case, options: &Options) -> Plan {
    let mut turns = [0; Points::COUNT];
    turns[case.point] = match case.injection {
        Injection::None => 0,
        Injection::Delay => 150,
        Injection::Signal(_) => 15_000,
    };
    Plan {
        threads: options.threads,
        steps: u64::MAX,
        millis: options.millis,
        signal_every: match (case.push, case.injection) {
            (Push::Moved, Injection::None | Injection::Delay) => 0,
            (_, Injection::Signal(_)) => 300,
            _ => 211,
        },
        move_every: if case.push == Push::Interrupted { 0 } else { 250 },
        turns,
        ..Plan::default()
    }
}

fn one(case: Case, entries: Entries, options: &Options) -> Result<u64, String> {
    churn::set_action(match case.injection {
        Injection::Signal(action) => action,
        _ => Action::Return,
    });
    let plan = plan(case, options);
    let result = match sections() {
        Some(_) => run(entries, case.kind, plan),
        None => run(Atomics { cpus: entries.cpus }, case.kind, plan),
    };
    churn::set_action(Action::Return);
    result
}

/// The same threads and disturbance over a load, a wait and a store without a section: it must
/// fail, or the harness is no test. On an emulated machine whose host is busy that can take several
/// tries: the threads come to do next to nothing in one.
fn control(options: &Options) -> bool {
    const TRIES: usize = 100;
    let case = Case { kind: Kind::Add, point: 4, injection: Injection::Delay, push: Push::Both };
    let lanes = Lanes::new(churn::cpus());
    let steps = AtomicU64::new(0);
    for _ in 0..TRIES {
        disturbed(Plan { millis: options.millis.max(300), ..plan(case, options) }, &|| {
            let word = &lanes.lane(churn::cpu()).word;
            let old = word.load(Ordering::Relaxed);
            (0..150).for_each(|_| std::hint::spin_loop());
            word.store(old + 1, Ordering::Relaxed);
            steps.fetch_add(1, Ordering::Relaxed);
        });
        if lanes.sum() < steps.load(Ordering::Relaxed) {
            break;
        }
    }
    let (sum, steps) = (lanes.sum(), steps.load(Ordering::Relaxed));
    println!("control without sections: {sum} of {steps} updates arrived (must be fewer)");
    sum < steps
}
