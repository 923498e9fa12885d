//! Breaks the crate's protocols one place at a time, and demands that somebody notices.
//!
//! Mutants are made from the sources: every ordering a step weaker, every barrier left out,
//! every condition in a function of a protocol turned round, every two neighbouring steps in the
//! other order. `loom-tests/README.md` says more.

mod ask;
mod equivalent;
mod find;
mod killers;
mod results;
mod run;
mod switch;
mod tokens;
mod trial;

use clap::{Parser, Subcommand};
use equivalent::Equivalents;
use find::Mutant;
use results::Results;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

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
        /// Only names that hold one of these texts; `+` between two: both of them.
        filter: Vec<String>,
    },
    /// Print mutants as patches.
    Patch {
        /// As of `list`.
        filter: Vec<String>,
    },
    /// Try the mutants. Fails if one survives that is not known to be equivalent.
    Run {
        /// As of `list`.
        filter: Vec<String>,
        /// Mutants that are tried at once. A test binary has threads of its own.
        #[arg(long, default_value_t = 1)]
        jobs: usize,
        /// Put the results into results.md.
        #[arg(long)]
        write: bool,
        /// Ask the models alone; what they leave keeps the result that it had.
        #[arg(long)]
        models: bool,
        /// Ask everybody, and not first the test that is known to notice.
        #[arg(long)]
        anew: bool,
    },
    /// Hold results.md against the sources: nothing survives, little is untried. Runs nothing.
    Check,
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
        What::Run { filter, jobs, write, models, anew } => {
            let all = mutants(&root, &[])?;
            let chosen: Vec<_> =
                all.iter().filter(|mutant| is_chosen(mutant, &filter)).cloned().collect();
            let equivalents = equivalents(&root)?;
            let known = if anew { Results::default() } else { Results::read(&root) };
            // Each at once: a run that is ended early has not been for nothing.
            let results = Mutex::new(Results::read(&root));
            let keep = |name: &str, result: results::Result| {
                let mut results = results.lock().unwrap_or_else(|poison| poison.into_inner());
                results.insert(name, result);
                if write { results.write(&root, &all) } else { Ok(()) }
            };
            trial::try_all(&root, &chosen, jobs.max(1), &known, &equivalents, models, &keep)
        }
        What::Check => {
            let all = mutants(&root, &[])?;
            let faults = Results::read(&root).faults(&all, &equivalents(&root)?);
            faults.iter().for_each(|fault| println!("{fault}"));
            println!("{} mutants, {} faults", all.len(), faults.len());
            Ok(faults.is_empty())
        }
    }
}

fn equivalents(root: &Path) -> Result<Equivalents, String> {
    Equivalents::read(&root.join("loom-tests/mutate/equivalent.txt"))
}

fn is_chosen(mutant: &Mutant, filter: &[String]) -> bool {
    let holds = |texts: &String| texts.split('+').all(|text| mutant.name.contains(text));
    filter.is_empty() || filter.iter().any(holds)
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
    all.retain(|mutant| is_chosen(mutant, filter));
    Ok(all)
}

/// What no model runs: the sections themselves (a machine under a debugger and a stress run check
/// those), what asks the system, and what tests pretend.
const LEFT_OUT: [&str; 15] = [
    "src/testing",
    "src/docs",
    "src/lib.rs",
    "src/sys/backend",
    "src/sys/current.rs",
    "src/sys/machine.rs",
    "src/sys/placement.rs",
    "src/sys/rseq/x86_64",
    "src/sys/rseq/aarch64",
    "src/sys/rseq/fence.rs",
    "src/sys/seam.rs",
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
