//! The checks of the table, and each of them failing on a planted fault.

use std::path::PathBuf;

/// Ids of the reports; each must have its title and a public address.
pub(crate) fn report_ids(reports: &str) -> Vec<&str> {
    let rows = reports.lines().filter(|line| !line.is_empty());
    rows.map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [id, title, urls] = cells[..] else { panic!("id | title | addresses: {line}") };
        assert!(
            !title.is_empty() && urls.split(' ').all(|url| url.starts_with("https://")),
            "{id}"
        );
        id
    })
    .collect()
}

pub(crate) fn check_ids(ids: &[&str], table: &[&str]) -> Vec<String> {
    let times = |id: &str, list: &[&str]| list.iter().filter(|other| **other == id).count();
    let mut faults = Vec::new();
    for id in ids {
        match (times(id, ids), times(id, table)) {
            (1, 1) => {}
            (1, 0) => faults.push(format!("{id} has no line")),
            _ => faults.push(format!("{id} stands more than once")),
        }
    }
    for id in table.iter().filter(|id| times(id, ids) == 0) {
        faults.push(format!("{id} is no report"));
    }
    faults
}

/// Whether `text` has the test: the function, with a test attribute among those above it.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    (0..lines.len()).filter(|&at| lines[at].starts_with(&head)).any(|at| {
        let above = lines[..at].iter().rev();
        above
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|line| *line == "#[test]")
    })
}

pub(crate) fn check_test(place: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    if place.starts_with("tests/compile_fail/") {
        return read(place).is_none().then(|| format!("{place}: there is no such file"));
    }
    let Some((file, name)) = place.split_once("::") else {
        return Some(format!("{place}: want file::test"));
    };
    match read(file) {
        None => Some(format!("{place}: there is no such file")),
        Some(text) if has_test(&text, name) => None,
        Some(_) => Some(format!("{place}: there is no such test")),
    }
}

pub(crate) fn read_file(file: &str) -> Option<String> {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).ok()
}

#[test]
fn planted_gaps_and_doubles_are_seen() {
    let table = ["A1", "A2", "B1"];
    assert_eq!(check_ids(&["A1", "A2", "B1"], &table), [""; 0]);
    assert_eq!(check_ids(&["A1", "A2", "B1", "C1"], &table), ["C1 has no line"]);
    assert_eq!(check_ids(&["A1", "A2"], &table), ["B1 is no report"]);
    assert_eq!(check_ids(&["A1"], &["A1", "A1"]), ["A1 stands more than once"]);
    assert_eq!(report_ids("A1 | a title | https://one https://two\n"), ["A1"]);
    assert!(std::panic::catch_unwind(|| report_ids("A1 | a title | nowhere")).is_err());
}

#[test]
fn planted_names_of_no_test_are_seen() {
    let text = "#[test]\nfn real() {}\nfn helper() {}\n    #[test]\n    // why\n    fn nested() {}";
    let read = |file: &str| (file == "tests/a.rs").then(|| text.to_string());
    for place in ["tests/a.rs::real", "tests/a.rs::nested"] {
        assert_eq!(check_test(place, read), None);
    }
    for place in [
        "tests/compile_fail/b.rs",
        "tests/a.rs::rea",
        "tests/a.rs::helper",
        "tests/b.rs::real",
        "tests/a.rs",
    ] {
        assert!(check_test(place, read).is_some(), "{place}");
    }
}
