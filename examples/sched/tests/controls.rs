//! `sched controls` as people use it.

use serde_json::Value;
use std::process::{Command, Output};

fn controls(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
    command.arg("controls").args(args).output().expect("the binary runs")
}

#[test]
fn a_quick_run_has_every_control_with_its_null_pair() {
    let output = controls(&["--quick", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tables = results["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 3);
    for table in tables {
        let rows = table["rows"].as_array().unwrap();
        let subjects: Vec<&str> = rows.iter().filter_map(|row| row["subject"].as_str()).collect();
        assert_eq!(subjects, ["work alone", "L0", "L2", "L0-null"]);
        assert!(rows.iter().all(|row| row["ns"]["median"].as_f64().unwrap() > 0.0), "{table}");
        assert_eq!(rows[1]["overlap"], Value::from(true));
    }
}

#[test]
fn no_rounds_are_refused_in_one_line() {
    let output = controls(&["--rounds", "0"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
}
