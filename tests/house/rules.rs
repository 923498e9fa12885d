//! The rules about single files: atomics, orderings, `unsafe`, length, the language's age.

use crate::floors::{Room, Unsafe, cells, is_outside};
use crate::text::{Source, ident, is_word, item_length, words};
use std::collections::BTreeMap;

/// Atomics and loom are named by the facade alone, and `Ordering` is spelled out.
pub(crate) fn check_facade(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources {
        let code = &source.code;
        let mut fault = |at, what: &str| faults.push(format!("{}: {what}", source.place(at)));
        if source.path != "src/sync.rs" {
            for root in ["std", "core"] {
                for at in words(code, root) {
                    let rest = code[at + root.len()..].strip_prefix("::sync::").unwrap_or("");
                    let in_braces = rest.starts_with('{')
                        && !words(&rest[..rest.find(';').unwrap_or(rest.len())], "atomic")
                            .is_empty();
                    if ident(rest) == "atomic" || in_braces {
                        fault(at, "atomics are named by src/sync.rs alone");
                    }
                }
            }
            for at in words(code, "loom") {
                if code[at + 4..].starts_with("::") {
                    fault(at, "loom is named by src/sync.rs alone");
                }
            }
        }
        for at in words(code, "SeqCst") {
            let before = code[..at].trim_end_matches("Ordering::").trim_end();
            if !before.ends_with("fence(") {
                fault(at, "SeqCst is for fences; loom cannot check it on an access");
            }
        }
        for at in words(code, "Ordering") {
            if code[at + 8..].starts_with("::*") || code[at + 8..].starts_with("::{") {
                fault(at, "orderings are spelled out at the operation, never imported");
            }
        }
    }
    faults
}

/// A full barrier that is not spelled with an ordering.
const BARRIER: &str = "fence_after_rmw";

/// How many lines above an ordering the comment that names its edge may stand: a comment of two
/// lines over a compare-exchange of six.
const EDGE_REACH: usize = 6;

/// Code and ledger agree: each strong ordering names an edge in the comment that is its own (and the
/// comment names the ordering), each cited edge stands in the
/// ledger, and each edge of the ledger is cited and has a model and a mutant.
///
/// `exists(file, text)` says whether a file of `loom-tests` is there and contains the text.
pub(crate) fn check_edges(
    sources: &[Source],
    ledger: &str,
    exists: &dyn Fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    let rows: Vec<Vec<&str>> =
        ledger.lines().map(cells).filter(|row| is_edge(row[..].first())).collect();
    let known = |edge: &str| rows.iter().any(|row| row[0] == edge);
    let mut all_cited = Vec::new();
    for source in sources {
        for (line, edge) in cited(&source.comments) {
            if !known(&edge) {
                faults.push(format!("{}:{line}: {edge} is not in the ledger", source.path));
            }
            all_cited.push(edge);
        }
        for at in strong_orderings(&source.code) {
            let near = comment_at(source, at);
            // `AcqRel and Acquire [E1]`; a barrier is full, whatever it is called.
            let word = ident(&source.code[at..]);
            let is_barrier = word == "SeqCst" || word == BARRIER;
            if cited(&near).is_empty() {
                faults.push(format!("{}: no edge is named at this ordering", source.place(at)));
            } else if !is_barrier && !near.contains(word) {
                let place = source.place(at);
                faults.push(format!("{place}: the comment with its edge speaks of no {word}"));
            }
        }
    }
    for row in &rows {
        if !all_cited.iter().any(|edge| edge == row[0]) {
            faults.push(format!("{} of the ledger is cited nowhere", row[0]));
        }
        let [edge, _, _, _, models, mutants] = row[..] else {
            faults.push(format!("{} wants: from, to, what it orders, models, mutants", row[0]));
            continue;
        };
        faults.extend(check_models(edge, models, exists));
        faults.extend(check_mutants(edge, mutants, exists));
    }
    faults
}

/// `` `bitmap::a_test` `` stands for a function of `tests/bitmap.rs`.
fn check_models(edge: &str, cell: &str, exists: &dyn Fn(&str, &str) -> bool) -> Vec<String> {
    let names = quoted(cell);
    let is_there = |name: &&&str| match name.split_once("::") {
        Some((file, test)) => exists(&format!("tests/{file}.rs"), &format!("fn {test}(")),
        None => false,
    };
    let missing = names.iter().filter(|name| !is_there(name));
    let mut faults: Vec<String> =
        missing.map(|name| format!("{edge}: there is no model {name}")).collect();
    if names.is_empty() {
        faults.push(format!("{edge} names no model"));
    }
    faults
}

/// `` `a-name` `` stands for `mutants/a-name.patch`, which must name the edge.
fn check_mutants(edge: &str, cell: &str, exists: &dyn Fn(&str, &str) -> bool) -> Vec<String> {
    let names = quoted(cell);
    let is_there = |name: &&&str| exists(&format!("mutants/{name}.patch"), edge);
    let missing = names.iter().filter(|name| !is_there(name));
    let mut faults: Vec<String> =
        missing.map(|name| format!("{edge}: there is no mutant {name} of this edge")).collect();
    if names.is_empty() && !cell.starts_with("none: ") {
        faults.push(format!("{edge} names no mutant, and not why (none: ..)"));
    }
    faults
}

/// What stands between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn is_edge(cell: Option<&&str>) -> bool {
    let number = cell.and_then(|cell| cell.strip_prefix('E')).unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The edges that a text cites as `[E1]` or `[E1, E2]`, with their lines from 1.
fn cited(text: &str) -> Vec<(usize, String)> {
    let mut edges = Vec::new();
    for (line, text) in text.lines().enumerate() {
        for bracket in text.split('[').skip(1) {
            let inner = bracket.split(']').next().unwrap_or("");
            for edge in inner.split(',').map(str::trim).filter(|edge| is_edge(Some(edge))) {
                edges.push((line + 1, edge.to_string()));
            }
        }
    }
    edges
}

fn strong_orderings(code: &str) -> Vec<usize> {
    let spelled = ["Acquire", "Release", "AcqRel", "SeqCst"]
        .iter()
        .flat_map(|name| words(code, name))
        .filter(|&at| code[..at].ends_with("Ordering::"));
    let called = words(code, BARRIER)
        .into_iter()
        .filter(|&at| code[at + BARRIER.len()..].starts_with('(') && !code[..at].ends_with("fn "));
    spelled.chain(called).collect()
}

/// The comment that belongs to the operation at `at`: the nearest one above it, or on its line, unless
/// another operation lies between.
fn comment_at(source: &Source, at: usize) -> String {
    let (code, comments): (Vec<&str>, Vec<&str>) =
        (source.code.lines().collect(), source.comments.lines().collect());
    let line = source.line_of(at) - 1;
    let is_comment = |line: usize| comments.get(line).is_some_and(|text| !text.trim().is_empty());
    for above in (line.saturating_sub(EDGE_REACH)..=line).rev() {
        if is_comment(above) {
            let first = (0..above).rev().take_while(|&line| {
                is_comment(line) && code.get(line).is_none_or(|text| text.trim().is_empty())
            });
            return comments[first.last().unwrap_or(above)..=above].join("\n");
        }
        let text = code.get(above).map_or("", |text| text.trim());
        if above < line && text.contains("Ordering::") && text.ends_with(';') {
            break;
        }
    }
    String::new()
}

/// `unsafe` only in the rooms whose row allows it.
pub(crate) fn check_unsafe(rooms: &[Room], sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources {
        let may = match rooms.iter().find(|room| room.name == source.room()) {
            Some(room) if !is_outside(source) => room.may,
            _ => Unsafe::No,
        };
        for at in
            words(&source.code, "unsafe").into_iter().chain(words(&source.code, "unsafe_code"))
        {
            let what = &source.code[at..];
            let is_fn = ident(what) == "unsafe_code" || ident(what[6..].trim_start()) == "fn";
            if may == Unsafe::No || (may == Unsafe::FnOnly && !is_fn && !in_macro(source, at)) {
                faults.push(format!(
                    "{}: the floor table allows no such unsafe here",
                    source.place(at)
                ));
            }
        }
    }
    faults
}

/// Blocks, functions, and impls or traits that are unsafe, by room.
pub(crate) fn count_unsafe(sources: &[Source]) -> BTreeMap<String, [usize; 3]> {
    let mut counts = BTreeMap::<_, [usize; 3]>::new();
    for source in sources {
        for at in words(&source.code, "unsafe") {
            let what = source.code[at + "unsafe".len()..].trim_start();
            let kind = match ident(what) {
                "fn" => 1,
                "impl" | "trait" => 2,
                _ if what.starts_with('{') => 0,
                _ => continue,
            };
            counts.entry(source.room().to_owned()).or_default()[kind] += 1;
        }
    }
    counts
}

/// The rows of `page` must hold the counts, and no others.
pub(crate) fn check_unsafe_count(sources: &[Source], page: &str) -> Vec<String> {
    let rows: BTreeMap<_, _> = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| room"))
        .map(cells)
        .filter(|cells| cells.len() == 5)
        .map(|cells| (cells[0].to_owned(), [1, 2, 3].map(|at: usize| cells[at].to_owned())))
        .collect();
    let counts: BTreeMap<_, _> = count_unsafe(sources)
        .into_iter()
        .map(|(room, counts)| (room, counts.map(|count| count.to_string())))
        .collect();
    let wrong = counts.iter().filter(|(room, counts)| rows.get(*room) != Some(*counts));
    let gone = rows.keys().filter(|room| !counts.contains_key(*room));
    wrong
        .map(|(room, counts)| format!("UNSAFE.md: | {room} | {} | ...", counts.join(" | ")))
        .chain(gone.map(|room| format!("UNSAFE.md: {room} has no unsafe code")))
        .collect()
}

/// Whether the code at `at` lies in a `macro_rules!`.
fn in_macro(source: &Source, at: usize) -> bool {
    words(&source.code, "macro_rules")
        .into_iter()
        .any(|start| start < at && start + item_length(&source.code[start..]) > at)
}

/// A file of this many lines or more is to be split along an idea.
pub(crate) const MAX_LINES: usize = 400;

pub(crate) fn check_length(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .filter(|source| source.lines >= MAX_LINES)
        .map(|source| format!("{}: {} lines, {MAX_LINES} are too many", source.path, source.lines))
        .collect()
}

/// `if let .. && ..` needs Rust 1.88.
pub(crate) fn check_let_chains(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources {
        let code = &source.code;
        for at in words(code, "let") {
            let before = code[..at].trim_end();
            let in_condition = before.ends_with("if") || before.ends_with("while");
            if before.ends_with("&&") || (in_condition && condition(&code[at..]).contains("&&")) {
                faults.push(format!("{}: let chains are newer than our Rust", source.place(at)));
            }
        }
    }
    faults
}

/// What stands between `let` and the body's brace, without what stands in parentheses, braces of
/// a pattern and brackets.
fn condition(text: &str) -> String {
    let mut outer = String::new();
    let mut depth = 0;
    let mut seen_equals = false;
    for byte in text.bytes() {
        match byte {
            b'{' if depth == 0 && seen_equals => break,
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ if depth == 0 => {
                seen_equals |= byte == b'=';
                outer.push(char::from(byte));
            }
            _ => {}
        }
    }
    outer
}

/// Any ignored test or doc block.
pub(crate) fn check_ignored(sources: &[Source]) -> Vec<String> {
    let mut faults = Vec::new();
    for source in sources {
        for at in words(&source.code, "ignore") {
            if source.code[..at].ends_with("#[") {
                faults.push(format!("{}: an ignored test", source.place(at)));
            }
        }
        for (line, comment) in source.comments.lines().enumerate() {
            let fence = comment.trim_start_matches(['/', '!', ' ', '*']);
            let info = fence.strip_prefix("```").unwrap_or("");
            if info.split(',').any(|word| word.trim() == "ignore") {
                faults.push(format!("{}:{}: an ignored doc block", source.path, line + 1));
            }
        }
    }
    faults
}

/// Packages of `cargo tree --prefix none` that a user must not be made to pull.
pub(crate) fn check_tree(tree: &str) -> Vec<String> {
    let allowed = ["corelocal", "bytemuck", "libc"];
    tree.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.split(' ').next().unwrap_or(line))
        .filter(|name| !allowed.contains(name))
        .map(|name| format!("{name} is in the default dependency tree"))
        .collect()
}

/// The commands that a newcomer types.
pub(crate) fn check_readme(readme: &str) -> Vec<String> {
    let report = "cargo run --release -p benches --bin bench -- report";
    ["cargo run --release -p sched -- tree", "cargo test --workspace", report]
        .into_iter()
        .filter(|command| !readme.contains(command))
        .map(|command| format!("README.md lacks the command `{command}`"))
        .collect()
}

/// The first `key = "value"` of a manifest.
pub(crate) fn manifest_value<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let rest = manifest.lines().find_map(|line| line.strip_prefix(key))?;
    let value = rest.trim_start().strip_prefix('=')?.trim();
    debug_assert!(!value.bytes().all(is_word));
    Some(value.trim_matches('"'))
}
