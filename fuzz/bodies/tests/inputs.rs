//! Inputs that are kept: those that failed once, and those that a fuzzer begins with.

use fuzz_bodies::TARGETS;
use fuzz_bodies::memory::Counting;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[global_allocator]
static HEAP: Counting = Counting;

/// The paths in a directory beside the members, sorted.
fn paths_in(dir: &Path) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(dir);
    let Ok(entries) = fs::read_dir(&dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Runs every file below `kept`, and says how many there are.
fn run_all(kept: &str) -> usize {
    let mut runs = 0;
    for dir in paths_in(Path::new(kept)) {
        let name = name_of(&dir);
        let body = TARGETS.iter().find(|(target, _)| *target == name);
        let (_, body) = body.unwrap_or_else(|| panic!("{kept}/{name} belongs to no target"));
        for file in paths_in(&dir) {
            // The last one that is printed is the one that failed.
            println!("{}", file.display());
            body(&fs::read(&file).unwrap());
            runs += 1;
        }
    }
    runs
}

#[test]
fn an_input_that_failed_once_fails_again() {
    assert!(run_all("regressions") >= REGRESSIONS, "some are gone");
}

#[test]
fn an_input_that_a_fuzzer_begins_with_fails() {
    assert!(run_all("seeds") >= TARGETS.len(), "some are gone");
}

/// As many were found so far, at least.
const REGRESSIONS: usize = 3;

#[test]
fn a_target_has_no_body_that_is_tested_or_no_seed() {
    let known: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for dir in ["fuzz_targets", "seeds"] {
        let there: BTreeSet<String> = paths_in(Path::new(dir)).iter().map(|p| name_of(p)).collect();
        assert_eq!(there, known, "{dir}");
    }
}
