//! `sched real` as people use it: one line where this machine does not let it, a table where it
//! does, and nothing left behind.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn sched(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sched"));
    command.arg("real").args(args);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn where_it_cannot_be_it_is_skipped_with_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let mounts = dir.path().join("mounts");
    fs::write(&mounts, "proc /proc proc rw 0 0\n").unwrap();
    let plain = dir.path().to_str().unwrap();
    for (args, expected) in [
        (["--mounts", mounts.to_str().unwrap()], "no mounted cgroup hierarchy"),
        (["--mounts", "/missing"], "/missing: No such file"),
        (["--cgroup", plain], "not a cgroup with the cpu controller"),
    ] {
        let output = sched(&args).output().unwrap();
        let line = said(&output);
        assert!(output.status.success(), "{args:?}: {output:?}");
        assert!(line.starts_with("skipped: ") && line.contains(expected), "{args:?}: {line}");
        assert_eq!((line.lines().count(), output.stderr.len()), (1, 0), "{args:?}: {line}");
    }
}

#[test]
fn bad_arguments_are_refused() {
    for args in [["--seconds", "0"], ["--seconds", "x"], ["--hz", "0"], ["--seeds", "0"]] {
        assert_eq!(sched(&args).output().unwrap().status.code(), Some(2), "{args:?}");
    }
}

/// The directory that the program said it uses, from its first line.
fn named(line: &str) -> Option<PathBuf> {
    line.trim_end().split_once(" groups in ").map(|(_, dir)| dir.into())
}

/// Where groups can be made: a table or an object, and no group afterwards. Nothing is said of how
/// near the figures are: that depends on what else runs.
#[test]
fn a_run_ends_in_a_table_and_leaves_no_group() {
    let output = sched(&["--seconds", "0.3", "--seeds", "1", "--shares", "1024", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    if said(&output).starts_with("skipped: ") {
        return;
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| row["group"].as_str().unwrap()).collect();
    assert_eq!(names, ["top", "a", "a1", "a2", "b", "b1"]);
    let dir = named(String::from_utf8(output.stderr).unwrap().lines().next().unwrap()).unwrap();
    assert!(!dir.exists(), "{} is left behind", dir.display());
}

#[test]
fn an_interrupted_run_leaves_no_group() {
    let mut command = sched(&["--seconds", "600", "--shares", "1024"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    // Without a group it ends by itself, with nothing said here.
    let dir = named(&line);
    assert!(dir.as_deref().is_none_or(Path::exists));
    if dir.is_some() {
        let process = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &process]).status().unwrap().success());
    }
    let status = child.wait().unwrap();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(status.success(), dir.is_none(), "{rest}");
    assert!(dir.is_none() || rest.contains("interrupted; the groups were removed"), "{rest}");
    assert!(dir.is_none_or(|dir| !dir.exists()), "a group is left behind");
}
