//! Breaking a copy of the workspace, and asking the killers.

use crate::find::Mutant;
use crate::killers::Killer;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What became of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    /// Somebody noticed, and said this.
    Killed { by: String, how: String },
    /// The compiler refuses it: no mutant.
    NotBuilt,
    /// Nobody noticed.
    Survived,
}

/// A run that takes longer has no end.
const LIMIT: Duration = Duration::from_secs(180);
/// A build that takes longer has none either; the first one of a killer builds all that it needs.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);

/// A copy of the workspace in which one mutant at a time is tried.
#[derive(Debug)]
pub(crate) struct Bench {
    root: PathBuf,
    tree: PathBuf,
    build: PathBuf,
    log: PathBuf,
}

impl Bench {
    /// Copies the workspace at `root` into `folder`.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn new(root: &Path, folder: &Path) -> io::Result<Self> {
        let tree = folder.join("tree");
        if tree.exists() {
            fs::remove_dir_all(&tree)?;
        }
        copy(root, &tree)?;
        let (build, log) = (folder.join("build"), folder.join("log"));
        Ok(Self { root: root.to_owned(), tree, build, log })
    }

    /// Demands that the killers pass unbroken; the first that does not.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn unbroken(&self, killers: &[Killer]) -> io::Result<Result<(), String>> {
        for killer in killers {
            self.build(killer)?;
            if !self.run(killer, &[], LIMIT)?.is_some_and(|status| status.success()) {
                let log = fs::read_to_string(&self.log)?;
                return Ok(Err(format!("{} fails without a mutant:\n{log}", killer.name())));
            }
        }
        Ok(Ok(()))
    }

    /// Tries `mutant`; the tree is afterwards what it was.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(crate) fn try_mutant(&self, mutant: &Mutant, killers: &[Killer]) -> io::Result<Fate> {
        let text = fs::read_to_string(self.root.join(&mutant.file))?;
        let place = self.tree.join(&mutant.file);
        fs::write(&place, mutant.apply(&text))?;
        let fate = self.ask(killers);
        fs::write(&place, text)?;
        fate
    }

    fn ask(&self, killers: &[Killer]) -> io::Result<Fate> {
        for killer in killers {
            if !self.build(killer)? {
                return Ok(Fate::NotBuilt);
            }
            let how = match self.run(killer, &[], LIMIT)? {
                Some(status) if status.success() => continue,
                Some(_) => said(&fs::read_to_string(&self.log)?),
                None => format!("no end within {} s", LIMIT.as_secs()),
            };
            return Ok(Fate::Killed { by: killer.name(), how });
        }
        Ok(Fate::Survived)
    }

    /// Whether it builds.
    fn build(&self, killer: &Killer) -> io::Result<bool> {
        let status = self.run(killer, &["--no-run"], BUILD_LIMIT)?;
        let status = status.ok_or_else(|| io::Error::other("a build does not end"))?;
        Ok(status.success())
    }

    /// `None` if it does not end.
    fn run(
        &self,
        killer: &Killer,
        more: &[&str],
        limit: Duration,
    ) -> io::Result<Option<ExitStatus>> {
        let log = File::create(&self.log)?;
        let mut command = killer.command(&self.tree, &self.build);
        command.args(more).stdin(std::process::Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        wait(command, limit)
    }
}

/// Waits for a command and all that it started, for `limit`.
fn wait(mut command: Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    // A group of its own: cargo's child has to go as well.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status()?;
    child.wait()?;
    Ok(None)
}

/// The test that failed first and the line that it said, so that a reader sees that the mutant
/// died of the right thing.
fn said(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains("panicked at"));
    let place = lines.next().unwrap_or_default();
    let test = place.split('\'').nth(1).unwrap_or_default();
    format!("{test}: {}", lines.next().unwrap_or_default().trim())
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
    fn the_first_panic_tells_which_test_and_why() {
        let log = "running\nthread 'a_test' (7) panicked at src/x.rs:1:2:\n  left != right\nmore";
        assert_eq!(said(log), "a_test: left != right");
        assert_eq!(said("aborted"), ": ");
    }

    #[test]
    fn a_command_that_fails_is_told_from_one_that_does_not() {
        assert!(wait(Command::new("true"), LIMIT).unwrap().unwrap().success());
        assert!(!wait(Command::new("false"), LIMIT).unwrap().unwrap().success());
    }
}
