//! A whole run: layer by layer, first the models, then the crate's own tests for what they left.

use crate::ask::{End, ask};
use crate::equivalent::Equivalents;
use crate::find::{Mutant, Operator};
use crate::killers::{self, Build, Killer};
use crate::results::{self, Results};
use crate::run::{Bench, Binaries, Fate};
use crate::switch;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What becomes of each result.
pub(crate) type Keep<'k> = &'k (dyn Fn(&str, results::Result) -> io::Result<()> + Sync);

/// Tries all, and prints a table. Says whether none survived that need not, and none died that cannot.
///
/// # Errors
///
/// What does not build or pass unbroken, and what the system says.
pub(crate) fn try_all(
    root: &Path,
    mutants: &[Mutant],
    jobs: usize,
    known: &Results,
    equivalents: &Equivalents,
    models_only: bool,
    keep: Keep<'_>,
) -> Result<bool, Box<dyn Error>> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let folder = fs::canonicalize(&target).unwrap_or(target).join("mutate");
    let run = Run {
        bench: Bench::new(root, &folder, mutants)?,
        root,
        mutants,
        jobs,
        known,
        equivalents,
        models_only,
        keep,
        date: date()?,
        table: Mutex::default(),
    };
    println!("{:>7} {:9}  mutant: fate", "CPU s", "");
    let mut alone: Vec<_> = run.numbered().filter(|(_, mutant)| mutant.switch.is_none()).collect();
    for layer in switch::layers(mutants) {
        let mut layer: Vec<_> = layer.into_iter().map(|at| (at + 1, &mutants[at])).collect();
        alone.extend(run.bench.put_to_sleep(&mut layer)?);
        run.layer(&layer)?;
        let broken: Vec<_> = layer.iter().map(|(_, mutant)| *mutant).collect();
        run.bench.mend(&broken)?;
    }
    for (number, mutant) in alone {
        run.alone(number, mutant)?;
    }
    let table = run.table.into_inner().unwrap_or_else(|poison| poison.into_inner());
    println!();
    for ((operator, word), count) in &table.counts {
        println!("{count:5} {} {word}", operator.word());
    }
    Ok(table.is_good)
}

/// What all steps of a run share.
struct Run<'r> {
    bench: Bench,
    root: &'r Path,
    mutants: &'r [Mutant],
    jobs: usize,
    known: &'r Results,
    equivalents: &'r Equivalents,
    models_only: bool,
    keep: Keep<'r>,
    date: String,
    table: Mutex<Table>,
}

impl Run<'_> {
    fn numbered(&self) -> impl Iterator<Item = (usize, &Mutant)> {
        self.mutants.iter().enumerate().map(|(at, mutant)| (at + 1, mutant))
    }

    /// Wakes one mutant after the other.
    fn layer(&self, layer: &[(usize, &Mutant)]) -> Result<(), Box<dyn Error>> {
        let mut left = layer.to_vec();
        let mut spent = BTreeMap::new();
        let stages = [&[Build::Loom][..], &[Build::History, Build::Tests]];
        for builds in &stages[..if self.models_only { 1 } else { 2 }] {
            let of = |mutant: &Mutant| {
                let all = killers::of_file(self.root, &mutant.file).into_iter();
                all.filter(|killer| builds.contains(&killer.build))
            };
            // Nothing is built for those who are dead or cannot be noticed.
            let is_last = builds.contains(&Build::Tests);
            let asked =
                |mutant: &Mutant| !is_last || self.equivalents.reason(&mutant.name).is_none();
            let wanted: BTreeSet<Killer> =
                left.iter().filter(|(_, mutant)| asked(mutant)).flat_map(|(_, m)| of(m)).collect();
            let binaries = self.bench.build(&wanted)??;
            self.unbroken(&binaries)?;
            let next = AtomicUsize::new(0);
            let (still, times) = (Mutex::new(Vec::new()), Mutex::new(spent));
            let work = || -> Result<(), String> {
                // Relaxed: numbers that are given out.
                while let Some(&(number, mutant)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let killers: Vec<_> = if asked(mutant) { of(mutant).collect() } else { vec![] };
                    let (fate, seconds) = self.wake(number, mutant, &killers, &binaries)?;
                    let before = lock(&times).remove(&number).unwrap_or(0.0);
                    if fate == Fate::Survived && !is_last {
                        lock(&times).insert(number, before + seconds);
                        lock(&still).push((number, mutant));
                    } else {
                        let told = self.tell(mutant, &fate, before + seconds);
                        told.map_err(|error| error.to_string())?;
                    }
                }
                Ok(())
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..self.jobs).map(|_| scope.spawn(work)).collect();
                workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
            })?;
            left = still.into_inner().unwrap_or_else(|poison| poison.into_inner());
            left.sort_unstable_by_key(|(number, _)| *number);
            spent = times.into_inner().unwrap_or_else(|poison| poison.into_inner());
        }
        // Nobody else is asked: of the others nothing is known.
        for (number, mutant) in left {
            let seconds = spent.remove(&number).unwrap_or(0.0);
            self.leave(mutant, seconds)?;
        }
        Ok(())
    }

    /// A mutant that cannot sleep has builds of its own.
    fn alone(&self, number: usize, mutant: &Mutant) -> Result<(), Box<dyn Error>> {
        self.bench.break_by(mutant)?;
        let (mut fate, mut seconds) = (Fate::Survived, 0.0);
        let asked = |killer: &Killer| !self.models_only || killer.build == Build::Loom;
        for killer in killers::of_file(self.root, &mutant.file).into_iter().filter(asked) {
            let Ok(binaries) = self.bench.build(&BTreeSet::from([killer.clone()]))? else {
                fate = Fate::NotBuilt;
                break;
            };
            let (found, took) = self.wake(number, mutant, &[killer], &binaries)?;
            (fate, seconds) = (found, seconds + took);
            if fate != Fate::Survived {
                break;
            }
        }
        if fate == Fate::Survived && self.models_only {
            self.leave(mutant, seconds)?;
        } else {
            self.tell(mutant, &fate, seconds)?;
        }
        Ok(self.bench.mend(&[mutant])?)
    }

    /// Demands that the binaries pass while all sleep.
    fn unbroken(&self, binaries: &Binaries) -> Result<(), String> {
        for (killer, path) in binaries {
            let folder = self.bench.folder(killer);
            let ended = ask(path, &folder, 0, killer.only.as_deref(), false);
            if let (End::Failed { test, how }, _) = ended.map_err(|error| error.to_string())? {
                return Err(format!("{} fails without a mutant: {test}: {how}", killer.name()));
            }
        }
        Ok(())
    }

    /// Asks `killers` about a mutant: first the test that noticed the last time.
    fn wake(
        &self,
        number: usize,
        mutant: &Mutant,
        killers: &[Killer],
        binaries: &Binaries,
    ) -> Result<(Fate, f64), String> {
        let last = self.known.of(&mutant.name).and_then(|result| result.killer.split_once(": "));
        let first = last.and_then(|(name, test)| {
            let killer = killers.iter().find(|killer| killer.name() == name)?;
            Some((killer, Some(test)))
        });
        let all = killers.iter().map(|killer| (killer, None));
        let mut seconds = 0.0;
        for (killer, test) in first.into_iter().chain(all) {
            let only = test.or(killer.only.as_deref());
            let folder = self.bench.folder(killer);
            let ended = ask(&binaries[killer], &folder, number, only, test.is_some());
            let (end, took) = ended.map_err(|error| error.to_string())?;
            seconds += took;
            if let End::Failed { test, how } = end {
                return Ok((Fate::Killed { by: killer.clone(), test, how }, seconds));
            }
        }
        Ok((Fate::Survived, seconds))
    }

    /// No model noticed a mutant, and nobody else is asked.
    fn leave(&self, mutant: &Mutant, seconds: f64) -> io::Result<()> {
        if self.equivalents.reason(&mutant.name).is_some() {
            return self.tell(mutant, &Fate::Survived, seconds);
        }
        println!("{seconds:7.2} {:9}  {}", "left", mutant.name);
        lock(&self.table).is_good = false;
        Ok(())
    }

    fn tell(&self, mutant: &Mutant, fate: &Fate, seconds: f64) -> io::Result<()> {
        let is_equal = self.equivalents.reason(&mutant.name).is_some();
        let (word, killer, how) = match fate {
            Fate::Killed { by, test, how } => {
                // Somebody wrote that this cannot be noticed.
                let word = if is_equal { "NOT EQUAL" } else { "killed" };
                (word, format!("{}: {test}", by.name()), &**how)
            }
            Fate::NotBuilt => ("not built", String::new(), ""),
            Fate::Survived if is_equal => ("equal", String::new(), ""),
            Fate::Survived => ("SURVIVED", String::new(), ""),
        };
        println!("{seconds:7.2} {word:9}  {}  <- {killer}: {how}", mutant.name);
        let fate = match fate {
            Fate::NotBuilt => word,
            fate => results::fate(matches!(fate, Fate::Killed { .. }), is_equal),
        };
        let result =
            results::Result { fate: fate.to_owned(), killer, seconds, date: self.date.clone() };
        let mut table = lock(&self.table);
        *table.counts.entry((mutant.operator, word)).or_default() += 1;
        table.is_good &= !matches!(word, "SURVIVED" | "NOT EQUAL");
        drop(table);
        (self.keep)(&mutant.name, result)
    }
}

/// How many ended how, by operator.
#[derive(Debug)]
struct Table {
    counts: BTreeMap<(Operator, &'static str), u32>,
    is_good: bool,
}

impl Default for Table {
    fn default() -> Self {
        Self { counts: BTreeMap::new(), is_good: true }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Today, as the system writes it.
fn date() -> io::Result<String> {
    let said = Command::new("date").arg("+%F").output()?;
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}
