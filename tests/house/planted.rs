//! Each rule is seen to fail on a planted fault, and to pass beside it.

use crate::floors::read_table;
use crate::links::{check_links, check_pages};
use crate::rules::{
    MAX_LINES, check_edges, check_facade, check_ignored, check_length, check_let_chains,
    check_readme, check_tree, check_unsafe, check_unsafe_count, manifest_value,
};
use crate::text::Source;

fn file(text: &str) -> [Source; 1] {
    [Source::new("src/percpu/alloc.rs", text)]
}

#[test]
fn planted_atomics_outside_the_facade_are_seen() {
    for text in [
        "use core::sync::atomic::AtomicU64;",
        "use std::sync::{Arc, atomic::AtomicU64};",
        "fn f() { std::sync::atomic::fence(Ordering::Acquire); }",
        "use loom::sync::Arc;",
        "fn f() { a.load(Ordering::SeqCst); }",
        "fn f() { a.store(1, SeqCst); }",
        "use crate::sync::Ordering::*;",
        "use crate::sync::Ordering::{Acquire, Release};",
    ] {
        assert_eq!(check_facade(&file(text)).len(), 1, "{text}");
    }
    for text in [
        "use crate::sync::{AtomicU64, Ordering}; use std::sync::Arc;",
        "// std::sync::atomic\nfn f() { fence(Ordering::SeqCst); } // loom::model",
        "#[cfg(all(corelocal_loom, feature = \"loom\"))] fn f() {}",
    ] {
        assert_eq!(check_facade(&file(text)), [""; 0], "{text}");
    }
    let facade = Source::new("src/sync.rs", "use loom::sync::atomic::AtomicU64;");
    assert_eq!(check_facade(&[facade]), [""; 0]);
}

const LEDGER: &str = "
| edge | from | to | what it orders | model | mutant |
|---|---|---|---|---|---|
| E1 | release | claim | the bytes | `a::one`, `a::two` | `b` |
";

fn exists(file: &str, text: &str) -> bool {
    match file {
        "tests/a.rs" => ["fn one(", "fn two("].contains(&text),
        "mutants/b.patch" => text == "E1",
        _ => false,
    }
}

fn edge_faults(text: &str, ledger: &str) -> Vec<String> {
    check_edges(&file(text), ledger, &exists)
}

const CITING: &str = "// Acquire [E1]: pairs with free.\nlet a = b.load(Ordering::Acquire);";

#[test]
fn planted_gaps_between_orderings_and_ledger_are_seen() {
    assert_eq!(edge_faults(CITING, LEDGER), [""; 0]);
    assert_eq!(edge_faults("b.load(Ordering::Relaxed); // [E1] elsewhere", LEDGER), [""; 0]);
    let split = "// Acquire [E1]: pairs\n// with free.\nlet a = b\n    .load(Ordering::Acquire);";
    assert_eq!(edge_faults(split, LEDGER), [""; 0]);
    let fence = "// Full [E1].\nfence_after_rmw();\npub(crate) fn fence_after_rmw() {}";
    assert_eq!(edge_faults(fence, LEDGER), [""; 0]);
    assert_eq!(edge_faults(CITING, &LEDGER.replace("`b`", "none: why")), [""; 0]);
    let far = CITING.replace('\n', "\n\n\n\n\n\n\n\n");
    let uncited = format!("{CITING}\n\n\n\n\n\n\nb.store(1, Ordering::Release);");
    let unknown = format!("{CITING}\n// [E9]");
    // Another operation's comment is not its own, and a barrier by another name is one too.
    let below = format!("{CITING}\nb.store(1, Ordering::Release);");
    let relaxed = format!("{CITING}\n// Relaxed: a hint.\nb.store(1, Ordering::Release);");
    let other = CITING.replace("// Acquire", "// Release");
    let barrier = format!("{CITING}\n// Full.\nfence_after_rmw();");
    for (text, ledger) in [
        (far.as_str(), LEDGER),
        (uncited.as_str(), LEDGER),
        (unknown.as_str(), LEDGER),
        (below.as_str(), LEDGER),
        (relaxed.as_str(), LEDGER),
        (other.as_str(), LEDGER),
        (barrier.as_str(), LEDGER),
        (CITING, &LEDGER.replace("`a::one`, `a::two`", "")),
        (CITING, &LEDGER.replace("`a::one`", "`a::three`")),
        (CITING, &LEDGER.replace("`a::one`", "`c::one`")),
        (CITING, &LEDGER.replace("`b`", "")),
        (CITING, &LEDGER.replace("`b`", "`c`")),
        (CITING, &LEDGER.replace("| `b` |", "|")),
        (CITING, &LEDGER.replace("`a::one`, `a::two`", "none: why")),
        (CITING, &format!("{LEDGER}| E2 | a | b | c | `a::one` | none: e |")),
    ] {
        assert_eq!(edge_faults(text, ledger).len(), 1, "{text}\n{ledger}");
    }
}

#[test]
fn planted_unsafe_outside_its_rooms_is_seen() {
    let table = "| floor | room | unsafe | |\n|---|\n| F0 | bitmap | no | |\n| F0 | field | fn | |\n\
                 | F2 | percpu | yes | |";
    let rooms = read_table(table).unwrap();
    let faults = |path, text| check_unsafe(&rooms, &[Source::new(path, text)]).len();
    assert_eq!(faults("src/bitmap.rs", "fn f() { unsafe { g() } }"), 1);
    assert_eq!(faults("src/bitmap.rs", "#![allow(unsafe_code)]"), 1);
    assert_eq!(faults("src/lib.rs", "unsafe impl Send for A {}"), 1);
    assert_eq!(faults("src/field.rs", "fn f() { unsafe { g() } }"), 1);
    assert_eq!(faults("src/field.rs", "#![allow(unsafe_code)] pub unsafe fn f() {}"), 0);
    assert_eq!(faults("src/field.rs", "macro_rules! m { () => { unsafe { f() } } }"), 0);
    assert_eq!(faults("src/bitmap.rs", "macro_rules! m { () => { unsafe { f() } } }"), 1);
    assert_eq!(faults("src/percpu/area.rs", "fn f() { unsafe { g() } }"), 0);
    assert_eq!(faults("src/bitmap.rs", "// unsafe\nfn f() { \"unsafe\"; unsafe_looking(); }"), 0);
}

#[test]
fn planted_unsafe_that_nobody_counted_is_seen() {
    let page = "| room | blocks | functions | impls | for |\n| a | 1 | 1 | 1 | x |\n";
    let faults = |text: &str| check_unsafe_count(&[Source::new("src/a.rs", text)], page);
    let right = "unsafe fn f() { unsafe { g() } } unsafe impl T for U {}";
    assert_eq!(faults(right), [""; 0]);
    assert_eq!(faults(&right.replace("unsafe { g() }", "")).len(), 1);
    assert_eq!(faults(&format!("{right} unsafe trait V {{}}")).len(), 1);
    assert_eq!(faults("// unsafe { }").len(), 1, "a row without a room");
}

#[test]
fn a_planted_long_file_is_seen() {
    assert_eq!(check_length(&file(&"\n".repeat(MAX_LINES))).len(), 1);
    assert_eq!(check_length(&file(&"\n".repeat(MAX_LINES - 1))), [""; 0]);
}

#[test]
fn planted_let_chains_are_seen() {
    for text in [
        "if let Some(a) = b && a > 1 {}",
        "if a > 1 && let Some(a) = b {}",
        "while let Some(Point { x, .. }) = next() && x > 1 {}",
    ] {
        assert!(!check_let_chains(&file(text)).is_empty(), "{text}");
    }
    for text in [
        "if let Some(a) = b { if a > 1 && a < 3 {} }",
        "if let Some(a) = b.filter(|a| a > 1 && a < 3) {}",
        "let a = b && c; let Some(x) = y else { return a && b };",
        "if let Point { x, .. } = p {} else if a && b {}",
    ] {
        assert_eq!(check_let_chains(&file(text)), [""; 0], "{text}");
    }
}

#[test]
fn planted_ignored_tests_are_seen() {
    assert_eq!(check_ignored(&file("#[ignore = \"slow\"]\nfn f() {}")).len(), 1);
    assert_eq!(check_ignored(&file("/// ```rust,ignore\n/// f();\n/// ```")).len(), 1);
    assert_eq!(check_ignored(&file("/// ```no_run\n/// f();\n/// ```\nfn ignore() {}")), [""; 0]);
}

#[test]
fn a_planted_dependency_is_seen() {
    let tree = "corelocal v0.1.0 (/somewhere)\nbytemuck v1.25.2\nlibc v0.2.191\n";
    assert_eq!(check_tree(tree), [""; 0]);
    assert_eq!(check_tree(&format!("{tree}serde v1.0.0\n")).len(), 1);
}

#[test]
fn a_readme_without_its_commands_is_seen() {
    assert_eq!(check_readme("nothing").len(), 3);
    assert_eq!(check_readme("`cargo test --workspace`").len(), 2);
}

#[test]
fn a_manifest_is_read() {
    let manifest = "[workspace.package]\nedition = \"2024\"\nrust-version = \"1.85\"\n";
    assert_eq!(manifest_value(manifest, "rust-version"), Some("1.85"));
    assert_eq!(manifest_value(manifest, "license"), None);
}

#[test]
fn planted_links_to_nowhere_are_seen() {
    let there = |file: &std::path::Path| file == std::path::Path::new("src/docs/design.md");
    for text in ["see [it](desing.md)", "[`design`]: docs/design.md", "[a](../design.md#words)"] {
        assert_eq!(check_links("src/docs/page.md", text, &there).len(), 1, "{text}");
    }
    for text in [
        "[`design`]: design.md",
        "see [it](design.md#words), [there](../docs/design.md)",
        "[a](crate::PerCpu), [b](https://docs.rs/loom), [c](#below), [d](../../x.html#y)",
        "```\nlist[0](no.md)\n```",
        "* [`design`]: the words",
    ] {
        assert_eq!(check_links("src/docs/page.md", text, &there), [""; 0], "{text}");
    }
}

#[test]
fn a_page_without_a_definition_is_seen() {
    let modules = "page! {\n    design \"design.md\";\n    other \"other-one.md\";\n}";
    let definitions = "[`design`]: crate::docs::design\n";
    assert_eq!(check_pages(modules, definitions).len(), 1);
    assert_eq!(
        check_pages(modules, &format!("{definitions}[`other`]: crate::docs::other")),
        [""; 0]
    );
}
