//! The binary with recordings.

use crate::{PERF, REAL, TRACE_CMD, by_name, schedule};
use sched::pick::policy::CgroupMode;
use sched::recorded::{Grouping, compare};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn trace(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
    command.arg("trace").args(args).output().expect("the binary runs")
}

fn here(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    path.to_str().expect("a path of text").to_owned()
}

fn printed(args: &[&str]) -> String {
    let output = trace(args);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_recording_of_perf_comes_out_the_same_each_time() {
    let groups = here("tests/recorded/small.groups");
    let from = here("tests/recorded/small.perf.txt");
    let text = printed(&["--from", &from, "--groups", &groups]);
    assert_eq!(text, include_str!("../golden/recorded-perf.txt"));
}

#[test]
fn a_recording_of_trace_cmd_comes_out_the_same_each_time() {
    let text = printed(&["--from", &here("tests/recorded/small.trace-cmd.txt")]);
    assert_eq!(text, include_str!("../golden/recorded-trace-cmd.txt"));
}

#[test]
fn a_real_recording_of_a_machine_comes_out_the_same_each_time() {
    let text = printed(&["--from", &here("recorded/tar.perf.txt"), "--top", "5"]);
    assert_eq!(text, include_str!("../golden/recorded-real.txt"));
}

#[test]
fn both_forms_of_one_recording_are_one_schedule() {
    let (perf, other) = (schedule(PERF), schedule(TRACE_CMD));
    assert_eq!(perf, other);
    assert_eq!(by_name(&perf), by_name(&other));
}

#[test]
fn without_groups_both_picks_do_the_same() {
    let grouping = Grouping::parse("* /").unwrap();
    for text in [PERF, REAL] {
        let comparison = compare(&schedule(text), &grouping, CgroupMode::Concur).unwrap();
        let [_, hierarchical, flat] = comparison.all.figures;
        assert_eq!((hierarchical, comparison.groups.len()), (flat, 0));
    }
}

#[test]
fn lines_that_were_not_understood_are_named_up_to_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("recording");
    let bad = "x 1 [000] 5001.0: sched:sched_switch: prev_comm=x\n";
    fs::write(&file, [PERF, "what is this\n", bad, bad].concat()).unwrap();
    let from = file.to_str().unwrap();
    let text = printed(&["--from", from, "--bad", "2"]);
    let lines: Vec<&str> = text.lines().take(4).collect();
    assert!(lines[0].ends_with("1 of other kinds, 3 lines not understood"), "{text}");
    assert!(lines[1].starts_with("  line 17: \"what is this\": the columns are neither"), "{text}");
    assert!(lines[2].starts_with("  line 18: ") && lines[2].contains("prev_state=S"), "{text}");
    assert_eq!(lines[3], "  and 1 more");
    let report: Value = serde_json::from_str(&printed(&["--from", from, "--json"])).unwrap();
    assert_eq!((&report["bad"], report["named"].as_array().unwrap().len()), (&Value::from(3), 3));
    assert_eq!(report["comparison"]["all"]["figures"].as_array().unwrap().len(), 3);
}

#[test]
fn what_cannot_be_compared_is_one_line_and_status_two() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let small = here("tests/recorded/small.perf.txt");
    let far = "x-1 [0] 99999999.0: sched_wakeup: x:1 [120] CPU:0\n";
    for (args, expected) in [
        (vec![], "--from"),
        (vec!["--from", "missing"], "missing: No such file"),
        (vec!["--from", &file("empty", "")], "no switch of a task of the fair class"),
        (vec!["--from", &file("prose", "a\nb\n")], "; line 1: \"a\": the columns are neither"),
        (vec!["--from", &file("far", &[PERF, far].concat())], "99994999 s of 2 CPUs are more than"),
        (vec!["--from", &small, "--mode", "fair"], "none of up, smp, concur"),
        (vec!["--from", &small, "--groups", &file("groups", "* x")], "groups: line 1: the group"),
    ] {
        let output = trace(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.lines().count() == 1 && said.contains(expected), "{args:?}: {said}");
    }
}
