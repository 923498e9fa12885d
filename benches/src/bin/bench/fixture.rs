//! A run that never was.

use crate::result::{Case, Events, FORMAT, Group, Reached, Report, Role};
use benches::stats::{self, Interval};
use std::fs;
use std::path::Path;

/// Seven samples about `ns`, 10 % to both sides.
fn case(scene: &str, peer: &str, ns: f64) -> Case {
    spread(scene, peer, ns, [0.9, 0.95, 1.0, 1.0, 1.0, 1.05, 1.1])
}

fn spread(scene: &str, peer: &str, ns: f64, around: [f64; 7]) -> Case {
    let samples = around.map(|factor| ns * factor).to_vec();
    let interval = stats::interval(samples.clone()).expect("seven");
    let (scene, peer, role) = (scene.into(), peer.to_owned(), Role::of(peer));
    Case { scene, peer, role, ns: interval, rejected: 2, samples, events: Vec::new() }
}

/// With all that a page has to show: ahead, level and behind, a null pair, goals held and not held.
pub(crate) fn report() -> Report {
    let (one, two, odd) = ("1 counter, 1 thread", "1 counter, 2 threads", "<odd> & scene");
    let mut uneven = case(two, "ThreadLocal", 1.0);
    uneven.samples.reverse();
    let add = vec![
        case(one, "PerCpu", 1.0),
        case(one, "PerCpu again", 1.02),
        case(one, "floor (wrong)", 0.5),
        case(one, "ThreadLocal", 2.0),
        case(one, "shared AtomicU64", 5.0),
        case(two, "PerCpu", 1.0),
        uneven,
        case(two, "shared AtomicU64", 120.0),
        case(odd, "PerCpu", 300.0),
        case(odd, "shared AtomicU64", 10.0),
    ];
    let goal = |own: [&str; 2], than: [&str; 2], most, ratio: [f64; 3]| {
        let [lo, median, hi] = ratio;
        let ratio = Interval { median, lo, hi };
        let held = median <= most;
        let (own, than) = (own.map(String::from), than.map(String::from));
        Reached { own, than, most, ratio, held }
    };
    let goals = vec![
        goal([one, "PerCpu"], [one, "floor (wrong)"], 3.0, [1.9, 2.0, 2.1]),
        goal([two, "PerCpu"], [one, "PerCpu"], 1.05, [1.0, 1.01, 1.2]),
        goal([odd, "PerCpu"], [odd, "shared AtomicU64"], 2.0, [29.0, 30.0, 31.0]),
    ];
    let sections = vec![case("list", "section", 4.0), case("list", "floor (wrong)", 2.0)];
    let group = |name: &str, baseline: &str, cases: Vec<Case>, goals| Group {
        name: name.into(),
        baseline: baseline.into(),
        detours: "1 aborts, 0 spills".into(),
        rejected: cases.iter().map(|case| case.rejected).sum(),
        cases,
        goals,
    };
    Report {
        format: FORMAT,
        name: "fixture".into(),
        quick: false,
        date: "2026-11-30T12:00:00Z".into(),
        machine: "a machine that never was".into(),
        cpus: 2,
        load: [0.5, 1.25],
        backend: "rseq".into(),
        reason: "it is made up".into(),
        command: "cargo run --release -p benches --bin bench -- report".into(),
        rounds: 7,
        seed: 1,
        seconds: 75,
        rejected: 24,
        anchor: "none: it is made up".into(),
        events: Events { names: Vec::new(), missing: "they are made up".into() },
        groups: vec![
            group("add", "shared AtomicU64", add, goals),
            group("sections", "floor (wrong)", sections, Vec::new()),
        ],
    }
}

/// Made-up figures for every case that there is.
pub(crate) fn of_all_groups() -> Report {
    let groups = benches::cases::GROUPS.map(|name| {
        let list = benches::cases::group(name).expect("a group");
        let cases = list.list.iter().map(|one| case(one.scene(), one.peer(), 1.0)).collect();
        let (baseline, detours) = (list.baseline.to_owned(), String::new());
        Group { name: name.into(), baseline, detours, rejected: 0, cases, goals: Vec::new() }
    });
    Report { groups: groups.into(), ..report() }
}

/// Compares with a file of `tests/golden`, or writes it if `CORELOCAL_BLESS` is set.
pub(crate) fn golden(file: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("CORELOCAL_BLESS").is_some() {
        fs::write(&file, text).expect("a place for golden files");
    }
    let golden = fs::read_to_string(&file).expect("a golden file");
    for (at, (is, was)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(is, was, "line {} of {}", at + 1, file.display());
    }
    assert_eq!(text.len(), golden.len(), "{}", file.display());
}
