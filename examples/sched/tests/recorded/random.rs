//! Any bytes, and any order of well-formed lines: nothing panics, and time is neither lost nor made.

use crate::{by_name, schedule};
use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::policy::CgroupMode;
use sched::recorded::{Grouping, Recording, Schedule, compare};

/// `PROPTEST_CASES`, or few without it.
pub(crate) fn config() -> ProptestConfig {
    let cases = match std::env::var("PROPTEST_CASES") {
        Ok(cases) => cases.parse().expect("PROPTEST_CASES is a whole number"),
        Err(_) => 64,
    };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Microsecond, kind of event, CPUs and pids.
pub(crate) type Drawn = (u32, u8, [u8; 2], [u8; 2]);

/// Events without any sense in them.
pub(crate) fn lines() -> impl Strategy<Value = Vec<Drawn>> {
    vec((0_u32..30_000, 0_u8..8, [0_u8..3, 0..3], [0_u8..5, 0..5]), 1..60)
}

pub(crate) fn text(lines: &[Drawn]) -> String {
    lines.iter().map(line).collect()
}

fn line(&(us, kind, cpus, pids): &Drawn) -> String {
    let [cpu, other] = cpus;
    // The last one is of real-time priority.
    let prio = |pid: u8| if pid == 4 { 50 } else { 118 + pid };
    let [a, b] = pids.map(|pid| format!("p{pid}:{pid} [{}]", prio(pid)));
    let event = match kind {
        0 => format!("sched_wakeup: {a} CPU:{other}"),
        1 => format!("sched_waking: {a} CPU:{other}"),
        2 => format!("sched_migrate_task: {a} orig_cpu=0 dest_cpu={other}"),
        3 => format!("sched_switch: {a} X ==> {b}"),
        4 | 5 => format!("sched_switch: {a} S ==> {b}"),
        _ => format!("sched_switch: {a} R ==> {b}"),
    };
    format!("x-1 [00{cpu}] 7.{us:06}: {event}\n")
}

/// What both forms are made of, and bytes that are not.
fn scraps() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "x 1 [000] 1.000001: ",
        "x-1 [001] d..2. 1.5: ",
        "sched_switch: ",
        "sched:sched_waking: ",
        "sched_wakeup: ",
        "sched_migrate_task: ",
        "prev_comm=",
        " prev_pid=1",
        " prev_prio=120",
        " prev_state=R",
        " ==> ",
        "next_comm=",
        " next_pid=2",
        " next_prio=139",
        "comm=a b",
        " pid=3",
        " prio=99",
        " target_cpu=4000000000",
        "dest_cpu=1",
        "a:1 [120] S",
        "b:2 [120]",
        " CPU:002",
        "[",
        "]",
        ":",
        "\n",
        "18446744073709551615",
        "9999999999.5: ",
        "-1",
        "\u{fffd}",
    ];
    let word = prop_oneof![
        9 => (0..words.len()).prop_map(move |at| words[at].as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..9),
    ];
    vec(word, 0..80).prop_map(|words| words.concat())
}

fn try_all(bytes: &[u8]) {
    let recording = Recording::read(bytes, 3);
    assert!(recording.named.len() <= 3 && recording.bad <= recording.lines);
    assert!(recording.told.len() <= recording.lines);
    let _ = compare(&Schedule::of(&recording), &Grouping::by_name(), CgroupMode::Smp);
    let _ = Grouping::parse(&String::from_utf8_lossy(bytes));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..2000)) {
        try_all(&bytes);
    }

    #[test]
    fn any_scraps_of_recordings_are_read_without_a_panic(bytes in scraps()) {
        try_all(&bytes);
    }

    #[test]
    fn no_model_runs_more_than_its_cpus_have(lines in lines()) {
        let schedule = schedule(&text(&lines));
        if !schedule.tasks.is_empty() {
            let all = by_name(&schedule).all;
            let time = schedule.span * schedule.cpus as u64;
            for figures in all.figures {
                prop_assert!(figures.run <= time, "{figures:?} in {time}");
            }
        }
    }
}
