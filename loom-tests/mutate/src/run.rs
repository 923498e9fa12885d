//! Breaking a copy of the workspace, and asking the killers.

use crate::find::Mutant;
use crate::killers::{self, Build, Killer};
use crate::switch;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// A test noticed, and said this.
    Killed { by: Killer, test: String, how: String },
    /// The compiler refuses it: no mutant.
    NotBuilt,
    /// Nobody noticed.
    Survived,
}

/// Test binaries, by the killer that they are.
pub(crate) type Binaries = BTreeMap<Killer, PathBuf>;

/// A build that takes longer has no end.
const BUILD_LIMIT: Duration = Duration::from_secs(3600);

/// A copy of the workspace, which is broken in one way or in many that sleep.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The files that are broken, as they were at first: nobody is disturbed who works on them.
    sources: BTreeMap<String, String>,
    tree: PathBuf,
    target: PathBuf,
    log: PathBuf,
}

impl Bench {
    /// Copies the workspace at `root` into `folder`, where these mutants will be tried.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn new(root: &Path, folder: &Path, mutants: &[Mutant]) -> io::Result<Self> {
        let tree = folder.join("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        copy(root, &tree)?;
        let (target, log) = (folder.join("build"), folder.join("log"));
        let files: BTreeSet<&str> = mutants.iter().map(|mutant| &*mutant.file).collect();
        let read = |file: &str| Ok((file.to_owned(), fs::read_to_string(tree.join(file))?));
        let sources: io::Result<_> = files.into_iter().chain(["src/lib.rs"]).map(read).collect();
        Ok(Self { sources: sources?, tree, target, log })
    }

    /// Puts mutants into the tree, asleep, each with the number that wakes it. Those that do not
    /// compile so are taken out of `layer` again, and returned.
    ///
    /// # Errors
    ///
    /// A text that does not compile without any of them, or what the system says.
    pub(crate) fn put_to_sleep<'m>(
        &self,
        layer: &mut Vec<(usize, &'m Mutant)>,
    ) -> io::Result<Vec<(usize, &'m Mutant)>> {
        let files: BTreeSet<&str> = layer.iter().map(|(_, mutant)| &*mutant.file).collect();
        let mut refused = Vec::new();
        loop {
            let mut lines = Vec::new();
            for file in &files {
                let of_file: Vec<_> =
                    layer.iter().copied().filter(|(_, mutant)| mutant.file == *file).collect();
                let (text, of_text) = switch::asleep(self.source(file), &of_file);
                self.write(file, &text)?;
                lines.extend(of_text.into_iter().map(|(number, range)| (*file, number, range)));
            }
            self.write("src/lib.rs", &[self.source("src/lib.rs"), switch::MODULE].concat())?;
            // The crate alone, as the models see it: what is wrong with it is told in seconds.
            let mut check = killers::command(Build::Loom, &[], &self.tree, &self.target);
            check.arg("--lib");
            let Err(said) = self.cargo(check)? else { return Ok(refused) };
            let faults: BTreeSet<usize> = places(&said)
                .filter_map(|(file, line)| {
                    let here =
                        lines.iter().filter(|(of, _, range)| *of == file && range.contains(&line));
                    here.min_by_key(|(.., range)| range.end() - range.start()).map(|found| found.1)
                })
                .collect();
            if faults.is_empty() {
                return Err(io::Error::other(format!("it does not build:\n{said}")));
            }
            refused.extend(layer.extract(|(number, _)| faults.contains(number)));
        }
    }

    /// Breaks the tree in one way for good, until [`mend`](Self::mend).
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn break_by(&self, mutant: &Mutant) -> io::Result<()> {
        self.write(&mutant.file, &mutant.apply(self.source(&mutant.file)))
    }

    /// Gives files their texts back.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn mend(&self, mutants: &[&Mutant]) -> io::Result<()> {
        let files: BTreeSet<&str> = mutants.iter().map(|mutant| &*mutant.file).collect();
        for file in files.into_iter().chain(["src/lib.rs"]) {
            self.write(file, self.source(file))?;
        }
        Ok(())
    }

    /// Builds the binaries of `killers`; what the compiler says if it refuses.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn build(&self, killers: &BTreeSet<Killer>) -> io::Result<Result<Binaries, String>> {
        let mut binaries = Binaries::new();
        for build in [Build::Loom, Build::History, Build::Tests] {
            let wanted: Vec<_> = killers.iter().filter(|killer| killer.build == build).collect();
            if wanted.is_empty() {
                continue;
            }
            let tests: BTreeSet<&str> = wanted.iter().map(|killer| &*killer.test).collect();
            let tests: Vec<_> = tests.into_iter().collect();
            let command = killers::command(build, &tests, &self.tree, &self.target);
            let said = match self.cargo(command)? {
                Ok(said) => said,
                Err(said) => return Ok(Err(said)),
            };
            for killer in wanted {
                let path = executables(&said).find(|(source, _)| killer.is_built_from(source));
                let (_, path) = path.ok_or_else(|| {
                    io::Error::other(format!("{}: no such binary:\n{said}", killer.name()))
                })?;
                binaries.insert(killer.clone(), self.tree.join(path));
            }
        }
        Ok(Ok(binaries))
    }

    /// The folder that a killer runs in.
    pub(crate) fn folder(&self, killer: &Killer) -> PathBuf {
        self.tree.join(killer.folder())
    }

    /// Runs a build. What it said, as success or not.
    fn cargo(&self, mut command: Command) -> io::Result<Result<String, String>> {
        let log = fs::File::create(&self.log)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let status = crate::ask::wait(command, BUILD_LIMIT)?;
        let status = status.ok_or_else(|| io::Error::other("a build does not end"))?;
        let said = fs::read_to_string(&self.log)?;
        Ok(if status.success() { Ok(said) } else { Err(said) })
    }

    fn source(&self, file: &str) -> &str {
        &self.sources[file]
    }

    /// Only what changes is written, so that only that is built.
    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let place = self.tree.join(file);
        if fs::read_to_string(&place)? == text { Ok(()) } else { fs::write(place, text) }
    }
}

/// Takes those out of a vector that a question is answered yes for.
trait Extract<T> {
    fn extract(&mut self, is_so: impl Fn(&T) -> bool) -> Vec<T>;
}

impl<T> Extract<T> for Vec<T> {
    fn extract(&mut self, is_so: impl Fn(&T) -> bool) -> Vec<T> {
        let (taken, left) = std::mem::take(self).into_iter().partition(is_so);
        *self = left;
        taken
    }
}

/// Files and lines that the compiler points at.
fn places(said: &str) -> impl Iterator<Item = (&str, usize)> {
    said.lines().filter_map(|line| {
        let place = line.trim_start().strip_prefix("--> ")?;
        let mut parts = place.split(':');
        Some((parts.next()?, parts.next()?.parse().ok()?))
    })
}

/// Sources and paths of the binaries that cargo built.
fn executables(said: &str) -> impl Iterator<Item = (&str, &str)> {
    said.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("Executable ")?;
        line.strip_suffix(')')?.split_once(" (")
    })
}

/// Copies `from`, but for what is built and what git keeps.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if name == "target" || name == ".git" {
            continue;
        } else if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else {
            // Written anew, so that it is newer than what the last run left built.
            fs::write(to.join(name), fs::read(&path)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_binaries_are_read_off_what_cargo_says() {
        let said =
            "error[E1]: no\n  --> src/a/b.rs:12:5\n   |\n  Executable tests/x/main.rs (/t/x-1)\n";
        assert_eq!(places(said).collect::<Vec<_>>(), [("src/a/b.rs", 12)]);
        assert_eq!(executables(said).collect::<Vec<_>>(), [("tests/x/main.rs", "/t/x-1")]);
    }
}
