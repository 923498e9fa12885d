//! The program `bench` as its users call it; nothing is measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_bench"));
    bench.args(args).output().expect("the program was built")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

fn golden(name: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    file.to_str().expect("UTF-8").to_owned()
}

/// A directory of a test's own.
fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("a directory for a test");
    directory
}

#[test]
fn compare_fails_only_if_something_is_slower() {
    let before = golden("fixture.json");
    let after = directory("compare").join("after.json");
    let old = r#""peer":"shared AtomicU64","role":"peer","ns":{"median":5.0,"lo":4.5,"hi":5.5}"#;
    let new = r#""peer":"shared AtomicU64","role":"peer","ns":{"median":9.0,"lo":8.5,"hi":9.5}"#;
    let result = fs::read_to_string(&before).expect("a golden file");
    assert!(result.contains(old), "{result}");
    fs::write(&after, result.replace(old, new)).expect("a place for a result");
    let after = after.to_str().expect("UTF-8");

    for (pair, status, words) in [
        ([&before[..], &before], 0, "0 slower, 0 faster, 12 overlap"),
        ([&before, after], 1, "+80.0 % | +54.5 to +111.1 % | **slower** |"),
        ([after, &before], 0, "0 slower, 1 faster, 11 overlap"),
    ] {
        let output = bench(&["compare", pair[0], pair[1]]);
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(text(&output.stdout).contains(words), "{}", text(&output.stdout));
    }
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let (good, page) = (golden("fixture.json"), golden("fixture.html"));
    for (args, word) in [
        (vec![], "no command"),
        (vec!["report", "walks"], "walks"),
        (vec!["compare", &good], "needs 2 file(s)"),
        (vec!["compare", &good, "no/such.json"], "no/such.json: "),
        (vec!["compare", &page, &good], "fixture.html: not a result"),
    ] {
        let output = bench(&args);
        let line = text(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{output:?}");
        assert!(line.starts_with("bench: ") && line.contains(word), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
}

#[test]
fn a_page_is_made_of_a_result_beside_it() {
    let directory = directory("page");
    let result = directory.join("result.json");
    fs::copy(golden("fixture.json"), &result).expect("a golden file");
    let output = bench(&["page", result.to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{output:?}");
    // It is called as the result calls itself.
    let page = fs::read_to_string(directory.join("fixture.html")).expect("a page");
    assert!(page.contains("<h2 id=\"maps\">") && page.contains("Heat map"), "no maps");
    let summary = fs::read_to_string(directory.join("fixture.md")).expect("a summary");
    assert_eq!(summary, fs::read_to_string(golden("fixture.md")).expect("a golden file"));
}
