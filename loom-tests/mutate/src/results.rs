//! The last results, mutant by mutant, as a page that is kept in the repository.

use crate::equivalent::Equivalents;
use crate::find::Mutant;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The page, from the root of the repository.
const PAGE: &str = "loom-tests/mutate/results.md";

/// What became of a mutant, in words.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Result {
    /// `killed`, `equal` (survived, as somebody proved it must), `survived` or `not built`.
    pub(crate) fate: String,
    /// `BINARY: TEST`.
    pub(crate) killer: String,
    /// Seconds of a processor, of all the test binaries that were run.
    pub(crate) seconds: f64,
    /// The day.
    pub(crate) date: String,
}

/// Results, by mutant.
#[derive(Debug, Default)]
pub(crate) struct Results(BTreeMap<String, Result>);

impl Results {
    /// Reads the page; nothing if there is none.
    pub(crate) fn read(root: &Path) -> Self {
        Self::parse(&fs::read_to_string(place(root)).unwrap_or_default())
    }

    fn parse(page: &str) -> Self {
        let rows = page.lines().filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [name, fate, killer, seconds, date] = cells[..] else { return None };
            // A bar in a name is not the table's.
            let name = name.strip_prefix('`')?.strip_suffix('`')?.replace("\\|", "|");
            let (fate, date) = (fate.to_owned(), date.to_owned());
            let result = Result {
                fate,
                killer: killer.trim_matches('`').to_owned(),
                seconds: seconds.parse().ok()?,
                date,
            };
            Some((name, result))
        });
        Self(rows.collect())
    }

    pub(crate) fn of(&self, mutant: &str) -> Option<&Result> {
        self.0.get(mutant)
    }

    /// Takes a result in, instead of an older one.
    pub(crate) fn insert(&mut self, mutant: &str, result: Result) {
        self.0.insert(mutant.to_owned(), result);
    }

    /// Writes the page, without what is no mutant of `all` any more.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn write(&mut self, root: &Path, all: &[Mutant]) -> std::io::Result<()> {
        let names: BTreeSet<&str> = all.iter().map(|mutant| &*mutant.name).collect();
        self.0.retain(|name, _| names.contains(&**name));
        fs::write(place(root), self.page(all))
    }

    fn page(&self, all: &[Mutant]) -> String {
        let known: Vec<_> =
            all.iter().filter_map(|mutant| Some((mutant, self.of(&mutant.name)?))).collect();
        let (mut operators, mut rooms) =
            (BTreeMap::<_, BTreeMap<_, u32>>::new(), BTreeMap::<_, BTreeMap<_, u32>>::new());
        for (mutant, result) in &known {
            let room = mutant.file.trim_start_matches("src/").split(['/', '.']).next();
            let fate = result.fate.as_str();
            *operators.entry(mutant.operator.word()).or_default().entry(fate).or_default() += 1;
            *rooms.entry(room.unwrap_or_default()).or_default().entry(fate).or_default() += 1;
        }
        let days: BTreeSet<&str> = known.iter().map(|(_, result)| &*result.date).collect();
        let seconds: f64 = known.iter().map(|(_, result)| result.seconds).sum();
        let mut page = format!(
            "# Generated mutants: the last results\n\n\
            Written by `cargo run --release -p mutate -- run --write`; a run with a filter replaces its part.\n\
            {} mutants of {}, tried on {}, in {seconds:.0} s of a processor without what builds take.\n\
            Seconds are those of a processor, of all test binaries that a mutant was shown to. `equal`: it \
            survived, and\n`equivalent.txt` proves that it must. `not built`: the compiler refuses it, so it \
            is none.\n",
            known.len(),
            all.len(),
            days.into_iter().collect::<Vec<_>>().join(", "),
        );
        for (head, counts) in [("operator", &operators), ("room", &rooms)] {
            let _ = write!(page, "\n| {head} | {} |\n|---|", FATES.join(" | "));
            page.push_str(&"--:|".repeat(FATES.len()));
            page.push('\n');
            for (word, counts) in counts {
                let counts = FATES.map(|fate| counts.get(fate).unwrap_or(&0).to_string());
                let _ = writeln!(page, "| {word} | {} |", counts.join(" | "));
            }
        }
        page.push_str("\n| mutant | fate | killer | s | day |\n|---|---|---|--:|---|\n");
        for (mutant, Result { fate, killer, seconds, date }) in known {
            let name = mutant.name.replace('|', "\\|");
            let killer = if killer.is_empty() { "-".to_owned() } else { format!("`{killer}`") };
            let _ = writeln!(page, "| `{name}` | {fate} | {killer} | {seconds:.1} | {date} |");
        }
        page
    }

    /// What is wrong with the results: mutants that live and need not, that were never tried (a few
    /// may be new), and proofs of what dies, or is gone.
    pub(crate) fn faults(&self, all: &[Mutant], equivalents: &Equivalents) -> Vec<String> {
        let mut faults = Vec::new();
        let mut missing = Vec::new();
        for Mutant { name, .. } in all {
            let is_equal = equivalents.reason(name).is_some();
            match self.of(name).map(|result| &*result.fate) {
                None => missing.push(name),
                Some("survived") if !is_equal => faults.push(format!("it survives: {name}")),
                Some("killed") if is_equal => faults.push(format!("it dies, and is equal: {name}")),
                Some(_) => {}
            }
        }
        if missing.len() > NEW {
            faults.push(format!("{} were never tried, {} among them", missing.len(), missing[0]));
        }
        let is_gone = |name: &&str| !all.iter().any(|mutant| mutant.name == *name);
        let gone = equivalents.names().filter(is_gone);
        faults.extend(gone.map(|name| format!("equivalent.txt: there is no mutant {name}")));
        faults
    }
}

/// In the order of the table's columns.
const FATES: [&str; 4] = ["killed", "equal", "survived", "not built"];

/// So many mutants may have come since the last run.
const NEW: usize = 5;

fn place(root: &Path) -> PathBuf {
    root.join(PAGE)
}

/// The words of what became of a mutant.
pub(crate) const fn fate(killed: bool, is_equal: bool) -> &'static str {
    match (killed, is_equal) {
        (true, _) => FATES[0],
        (false, true) => FATES[1],
        (false, false) => FATES[2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::find;

    fn result(fate: &str) -> Result {
        let killer = if fate == "killed" { "loom x: a_test" } else { "" };
        Result {
            fate: fate.to_owned(),
            killer: killer.to_owned(),
            seconds: 0.5,
            date: "2026-01-02".to_owned(),
        }
    }

    fn mutants() -> Vec<Mutant> {
        let text = "fn f(a: &A) { a.x.load(Ordering::Acquire); if a || b { fence(S); } }";
        find("src/x.rs", text).unwrap()
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let (all, mut results) = (mutants(), Results::default());
        for (mutant, fate) in all.iter().zip(["killed", "survived", "not built"]) {
            results.insert(&mutant.name, result(fate));
        }
        let page = results.page(&all);
        let read = Results::parse(&page);
        assert_eq!(read.0.len(), all.len(), "{page}");
        for mutant in &all {
            let fate = read.of(&mutant.name).map(|result| &result.fate);
            assert_eq!(fate, results.of(&mutant.name).map(|result| &result.fate));
        }
        assert!(page.contains("| weaken | 1 | 0 | 0 | 0 |"), "{page}");
    }

    #[test]
    fn what_lives_or_was_never_tried_is_a_fault() {
        let (all, mut results) = (mutants(), Results::default());
        let none = Equivalents::parse("").unwrap();
        assert!(results.faults(&all, &none).is_empty(), "three are few");
        let many: Vec<_> = all.iter().cycle().take(NEW + 1).cloned().collect();
        assert_eq!(results.faults(&many, &none).len(), 1);
        let name = &all[0].name;
        results.insert(name, result("survived"));
        assert_eq!(results.faults(&all, &none), [format!("it survives: {name}")]);
        let equal = Equivalents::parse(&format!("{name}\n since\n")).unwrap();
        assert!(results.faults(&all, &equal).is_empty());
        results.insert(name, result("killed"));
        assert_eq!(results.faults(&all, &equal).len(), 1);
        let gone = Equivalents::parse("nobody\n since\n").unwrap();
        assert_eq!(results.faults(&all, &gone).len(), 1);
    }
}
