//! `sched pick` as people use it.

use serde_json::Value;
use std::fs;
use std::process::{Command, Output};

fn pick(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
    command.arg("pick").args(args).output().expect("the binary runs")
}

#[test]
fn what_happens_in_virtual_time_is_the_same_bit_for_bit() {
    let run = |seed| pick(&["--untimed", "--seconds", "2", "--seed", seed]);
    let output = run("1");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, include_str!("../golden/pick.txt"));
    assert_ne!(text, String::from_utf8(run("2").stdout).unwrap());
}

#[test]
fn a_quick_run_times_every_operation() {
    let output = pick(&["--quick", "--json", "--depths", "1,2", "--widths", "2", "--tasks", "1,4"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["timed"]["costs"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * 5);
    for row in rows {
        for picker in ["hierarchical", "flat"] {
            let ns = row[picker]["ns"].as_array().unwrap();
            assert_eq!(ns.len(), 2);
            assert!(ns.iter().all(|ns| ns["median"].as_f64().unwrap() > 0.0), "{row}");
        }
    }
    assert_eq!(report["simulated"]["latencies"].as_array().unwrap().len(), 4);
}

#[test]
fn the_picture_has_a_line_for_what_each_group_got_and_was_due() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("service.svg");
    let output = pick(&["--untimed", "--seconds", "1", "--svg", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let picture = fs::read_to_string(file).unwrap();
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    // For two picks: three groups' service, due and difference, and a zero line.
    assert_eq!(picture.matches("<polyline").count(), 2 * (3 * 3 + 1));
}

#[test]
fn bad_input_is_one_line_and_status_two() {
    for (args, expected) in [
        (&["--depths", "0"][..], "0"),
        (&["--widths", "1,x"], "x"),
        (&["--tasks", "100000"], "100000"),
        (&["--seconds", "0"], "0"),
        (
            &["--untimed", "--seconds", "1", "--svg", "/nowhere/at/all.svg"],
            "/nowhere/at/all.svg: No such",
        ),
    ] {
        let output = pick(args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}
