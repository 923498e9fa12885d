//! The house rules, read off the repository itself (see CONTRIBUTING.md).
//!
//! Each rule is a function over text that returns the faults it found; `planted.rs` and the tests
//! beside the functions show each of them failing.

mod floors;
mod links;
mod planted;
mod rules;
mod text;

use std::process::Command;
use text::{Source, read_sources, root};

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn crate_sources() -> Vec<Source> {
    let sources = read_sources(&["src"]);
    assert!(sources.len() > 5, "the crate has files");
    sources
}

fn workspace_sources() -> Vec<Source> {
    read_sources(&["src", "tests", "benches", "loom-tests", "examples"])
}

fn floor_table() -> Vec<floors::Room> {
    floors::read_table(&page("src/docs/design.md")).expect("the floor table in src/docs/design.md")
}

#[track_caller]
fn none(faults: Vec<String>) {
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn every_room_stands_in_the_floor_table() {
    none(floors::check_table(&floor_table(), &crate_sources()));
}

#[test]
fn arrows_between_rooms_go_down() {
    none(floors::check_arrows(&floor_table(), &crate_sources()));
}

#[test]
fn atomics_are_named_by_the_facade_alone() {
    none(rules::check_facade(&crate_sources()));
}

#[test]
fn every_ordering_has_an_edge_and_every_edge_a_model() {
    let in_loom_tests = |file: &str, text: &str| {
        let file = std::fs::read_to_string(root().join("loom-tests").join(file));
        file.is_ok_and(|content| content.contains(text))
    };
    none(rules::check_edges(&crate_sources(), &page("src/docs/orderings.md"), &in_loom_tests));
}

#[test]
fn unsafe_stays_in_its_rooms() {
    none(rules::check_unsafe(&floor_table(), &crate_sources()));
}

#[test]
fn unsafe_code_is_counted() {
    none(rules::check_unsafe_count(&crate_sources(), &page("UNSAFE.md")));
}

#[test]
fn files_stay_short() {
    none(rules::check_length(&workspace_sources()));
}

#[test]
fn no_test_or_doc_block_is_ignored() {
    none(rules::check_ignored(&workspace_sources()));
}

#[test]
fn the_code_is_as_old_as_its_rust_version() {
    assert_eq!(rules::manifest_value(&page("Cargo.toml"), "rust-version"), Some("1.85"));
    none(rules::check_let_chains(&workspace_sources()));
}

#[test]
fn a_user_pulls_libc_and_bytemuck_only() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let output = Command::new(cargo)
        .args(["tree", "--package", "corelocal", "--edges", "normal", "--prefix", "none"])
        .current_dir(root())
        .output()
        .expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    assert!(tree.contains("corelocal"), "{tree}");
    none(rules::check_tree(&tree));
}

#[test]
fn every_link_of_a_page_leads_to_a_file() {
    let mut faults = Vec::new();
    let folders = [
        "",
        "src/docs",
        "benches",
        "examples",
        "examples/sched",
        "fuzz",
        "loom-tests",
        "rseq-tests",
    ];
    for folder in folders {
        let entries = std::fs::read_dir(root().join(folder)).expect("a folder of the repository");
        for entry in entries {
            let name = entry.expect("an entry").file_name().into_string().expect("a name in UTF-8");
            if name.ends_with(".md") {
                let path = std::path::Path::new(folder).join(&name);
                let path = path.to_str().expect("as above");
                let exists = |file: &std::path::Path| root().join(file).exists();
                faults.extend(links::check_links(path, &page(path), &exists));
            }
        }
    }
    none(faults);
}

#[test]
fn every_page_is_linked_to_in_the_rustdoc() {
    let modules = page("src/docs/mod.rs");
    let mut definitions = page("src/docs/links.md") + &page("src/docs/links-std.md");
    definitions.push_str(&modules); // those behind features
    none(links::check_pages(&modules, &definitions));
}

#[test]
fn the_readme_has_its_commands() {
    none(rules::check_readme(&page("README.md")));
}
