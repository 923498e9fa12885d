//! Breaks the crate's protocols one place at a time, and demands that somebody notices.
//!
//! Mutants are made from the sources: every ordering a step weaker, every barrier left out,
//! every condition in a function of a protocol turned round, every two neighbouring steps in the
//! other order. `loom-tests/README.md` says more.

mod equivalent;
mod find;
mod killers;
mod run;

use clap::{Parser, Subcommand};
use equivalent::Equivalents;
use find::{Mutant, Operator};
use killers::Killer;
use run::{Bench, Fate};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Breaks the crate's protocols one place at a time, and demands that a model notices.
#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    command: What,
}

#[derive(Subcommand)]
enum What {
    /// Print the mutants' names.
    List {
        /// Only names that hold one of these texts.
        filter: Vec<String>,
    },
    /// Print mutants as patches.
    Patch {
        /// Only names that hold one of these texts.
        filter: Vec<String>,
    },
    /// Try the mutants. Fails if one survives that is not known to be equivalent.
    Run {
        /// Only names that hold one of these texts.
        filter: Vec<String>,
        /// Mutants that are tried at once; each has a copy of the workspace.
        #[arg(long, default_value_t = 2)]
        jobs: usize,
    },
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let root = fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
    match Cli::parse().command {
        What::List { filter } => {
            for mutant in mutants(&root, &filter)? {
                println!("{:5}  {}", mutant.line, mutant.name);
            }
            Ok(true)
        }
        What::Patch { filter } => {
            for mutant in mutants(&root, &filter)? {
                let text = fs::read_to_string(root.join(&mutant.file))?;
                let broken = mutant.apply(&text);
                let diff = similar::TextDiff::from_lines(&text, &broken);
                let (old, new) = (format!("a/{}", mutant.file), format!("b/{}", mutant.file));
                println!(
                    "{}\n\n{}",
                    mutant.name,
                    diff.unified_diff().context_radius(2).header(&old, &new)
                );
            }
            Ok(true)
        }
        What::Run { filter, jobs } => try_all(&root, &mutants(&root, &filter)?, jobs.max(1)),
    }
}

/// The mutants of all files that keep a protocol, whose names hold one of the texts.
fn mutants(root: &Path, filter: &[String]) -> Result<Vec<Mutant>, Box<dyn Error>> {
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files)?;
    files.sort();
    let mut all = Vec::new();
    for path in files {
        let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let is_left_out = LEFT_OUT.iter().any(|left_out| name.starts_with(left_out));
        if !is_left_out && text.contains("sync::") {
            all.extend(find::find(&name, &text).map_err(|error| format!("{name}: {error}"))?);
        }
    }
    all.retain(|mutant| {
        filter.is_empty() || filter.iter().any(|text| mutant.name.contains(text.as_str()))
    });
    Ok(all)
}

/// What no model runs: the sections themselves (a machine under a debugger and a stress run check
/// those), what asks the system, and what tests pretend.
const LEFT_OUT: [&str; 13] = [
    "src/testing",
    "src/docs",
    "src/lib.rs",
    "src/sys/backend",
    "src/sys/current.rs",
    "src/sys/machine.rs",
    "src/sys/placement.rs",
    "src/sys/rseq/x86_64",
    "src/sys/rseq/aarch64",
    "src/sys/rseq/inject.rs",
    "src/sys/rseq/verify.rs",
    "src/sys/rseq/strike.rs",
    "src/sys/rseq/register",
];

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// Tries all, prints a table, and says whether all went as it must.
fn try_all(root: &Path, mutants: &[Mutant], jobs: usize) -> Result<bool, Box<dyn Error>> {
    let equivalents = Equivalents::read(&root.join("loom-tests/mutate/equivalent.txt"))?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = fs::canonicalize(&target).unwrap_or(target).join("mutate");
    let killers: BTreeMap<&str, Vec<Killer>> = mutants
        .iter()
        .map(|mutant| (&*mutant.file, killers::of_file(root, &mutant.file)))
        .collect();
    let everyone: BTreeSet<Killer> = killers.values().flatten().cloned().collect();

    println!("unbroken, everything must pass ...");
    let benches = (0..jobs).map(|job| Bench::new(root, &folder.join(job.to_string())));
    let benches = benches.collect::<Result<Vec<_>, _>>()?;
    benches[0].unbroken(&everyone.into_iter().collect::<Vec<_>>())??;

    println!("{:5} {:9}  mutant: fate", "s", "");
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = |bench: &Bench| -> std::io::Result<()> {
        // Relaxed: numbers that are given out.
        while let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let fate = bench.try_mutant(mutant, &killers[&*mutant.file])?;
            let word = tally.lock().unwrap_or_else(|poison| poison.into_inner()).count(
                mutant,
                &fate,
                &equivalents,
            );
            let how = match fate {
                Fate::Killed { by, how } => format!("{by}: {how}"),
                Fate::NotBuilt | Fate::Survived => String::new(),
            };
            println!("{:5} {word:9}  {}  <- {how}", start.elapsed().as_secs(), mutant.name);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> =
            benches.iter().map(|bench| scope.spawn(move || work(bench))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
    })?;
    let tally = tally.into_inner().unwrap_or_else(|poison| poison.into_inner());
    tally.print();
    // Nothing stands in the file that is no mutant any more; known only when all were made.
    let all = self::mutants(root, &[])?;
    let is_gone = |name: &&str| !all.iter().any(|mutant| mutant.name == *name);
    if let Some(gone) = equivalents.names().find(is_gone) {
        return Err(format!("equivalent.txt: there is no mutant {gone}").into());
    }
    Ok(tally.is_good)
}

/// How many ended how, by operator.
#[derive(Debug)]
struct Tally {
    counts: BTreeMap<(Operator, &'static str), u32>,
    is_good: bool,
}

impl Default for Tally {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), is_good: true }
    }
}

impl Tally {
    fn count(&mut self, mutant: &Mutant, fate: &Fate, equivalents: &Equivalents) -> &'static str {
        let word = match (fate, equivalents.reason(&mutant.name)) {
            (Fate::Killed { .. }, None) => "killed",
            (Fate::NotBuilt, _) => "not built",
            (Fate::Survived, Some(_)) => "equal",
            (Fate::Survived, None) => "SURVIVED",
            // Somebody wrote that this cannot be noticed.
            (Fate::Killed { .. }, Some(_)) => "NOT EQUAL",
        };
        *self.counts.entry((mutant.operator, word)).or_default() += 1;
        self.is_good &= !matches!(word, "SURVIVED" | "NOT EQUAL");
        word
    }

    fn print(&self) {
        println!();
        for ((operator, word), count) in &self.counts {
            println!("{count:5} {} {word}", operator.word());
        }
    }
}
