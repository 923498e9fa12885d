//! The kernel's groups, which are removed when their value goes, however that comes about.

use super::place::{Missing, Place, Version};
use super::plan::{Plan, Planned, TOP_SHARES};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the name of the topmost group begins; the number of the process follows.
const PREFIX: &str = "sched-model-";

/// Groups that exist.
#[derive(Debug)]
pub struct Groups {
    /// In the order of the plan, the topmost first.
    dirs: Vec<PathBuf>,
    /// The group of the process that watches, and where it came from.
    watch: Option<(PathBuf, PathBuf)>,
}

impl Groups {
    /// Makes the groups of a plan.
    ///
    /// # Errors
    ///
    /// [`Missing::Refused`] with the first directory or file that was refused; what had been made
    /// is gone again.
    pub fn make(place: &Place, plan: &Plan) -> Result<Self, Missing> {
        let mut groups = Self { dirs: Vec::new(), watch: None };
        let name = format!("{PREFIX}{}", std::process::id());
        if place.version == Version::V2 {
            enable(&place.dir)?;
        }
        for (index, group) in plan.groups.iter().enumerate() {
            let dir = match group.parent {
                0 if index == 0 => place.dir.join(&name),
                0 => place.dir.join(format!("{name}-{}", group.name)),
                above => groups.dirs[above - 1].join(group.name),
            };
            fs::create_dir(&dir).map_err(|error| Missing::Refused(dir.clone(), error))?;
            // From here on it is removed.
            groups.dirs.push(dir);
            limit(place.version, &groups.dirs[index], group)?;
            let is_inner = plan.groups.iter().any(|other| other.parent == index + 1);
            if place.version == Version::V2 && is_inner {
                enable(&groups.dirs[index])?;
            }
        }
        if let Some(home) = &place.home {
            let dir = place.dir.join(format!("{name}-watch"));
            fs::create_dir(&dir).map_err(|error| Missing::Refused(dir.clone(), error))?;
            groups.watch = Some((dir.clone(), home.clone()));
            weigh(place.version, &dir, TOP_SHARES)?;
        }
        Ok(groups)
    }

    /// The directory of a group.
    pub fn dir(&self, index: usize) -> &Path {
        &self.dirs[index]
    }

    /// The topmost group's.
    pub fn top(&self) -> &Path {
        &self.dirs[0]
    }

    /// Moves a process into a group.
    ///
    /// # Errors
    ///
    /// One line that names the file.
    pub fn add(&self, index: usize, process: u32) -> Result<(), String> {
        enter(&self.dirs[index], process)
    }

    /// Moves this process into a group of great weight, or it would wait for its turn behind the
    /// loops that it watches. It leaves when the groups go.
    ///
    /// # Errors
    ///
    /// One line that names the file.
    pub fn watch(&self) -> Result<(), String> {
        self.watch.as_ref().map_or(Ok(()), |(dir, _)| enter(dir, std::process::id()))
    }

    /// Removes the groups; says what went wrong, if something did.
    pub fn remove(mut self) -> Option<String> {
        self.remove_all()
    }

    fn remove_all(&mut self) -> Option<String> {
        let mut error = None;
        if let Some((dir, home)) = self.watch.take() {
            error = enter(&home, std::process::id()).and_then(|()| removed(&dir)).err();
        }
        for dir in core::mem::take(&mut self.dirs).into_iter().rev() {
            error = removed(&dir).err().or(error);
        }
        error
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if let Some(error) = self.remove_all() {
            eprintln!("sched: {error}");
        }
    }
}

fn enter(dir: &Path, process: u32) -> Result<(), String> {
    let file = dir.join("cgroup.procs");
    fs::write(&file, process.to_string()).map_err(|error| format!("{}: {error}", file.display()))
}

fn removed(dir: &Path) -> Result<(), String> {
    remove(dir).map_err(|error| format!("{}: {error}: it is left behind", dir.display()))
}

/// Hands the controller down to a group's children.
fn enable(dir: &Path) -> Result<(), Missing> {
    write(dir, "cgroup.subtree_control", "+cpu")
}

fn limit(version: Version, dir: &Path, group: &Planned) -> Result<(), Missing> {
    weigh(version, dir, group.shares)?;
    let Some(quota) = group.quota else { return Ok(()) };
    match version {
        Version::V1 => {
            write(dir, "cpu.cfs_period_us", &group.period.to_string())?;
            write(dir, "cpu.cfs_quota_us", &quota.to_string())
        }
        Version::V2 => write(dir, "cpu.max", &format!("{quota} {}", group.period)),
    }
}

fn weigh(version: Version, dir: &Path, shares: u64) -> Result<(), Missing> {
    match version {
        Version::V1 => write(dir, "cpu.shares", &shares.to_string()),
        // 100 is what 1024 shares are.
        Version::V2 => {
            write(dir, "cpu.weight", &(shares * 100 / 1024).clamp(1, 10_000).to_string())
        }
    }
}

fn write(dir: &Path, name: &str, value: &str) -> Result<(), Missing> {
    let file = dir.join(name);
    fs::write(&file, value).map_err(|error| Missing::Refused(file, error))
}

/// Removes one group. Processes that were just killed may still be in it for a moment.
fn remove(dir: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < 100 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Removes what a process left that was killed without a chance to do so.
pub fn remove_left_over(place: &Place) {
    let Ok(entries) = fs::read_dir(&place.dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let number = number.and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if number.is_some_and(|number| !Path::new(&format!("/proc/{number}")).exists()) {
            remove_below(&entry.path());
        }
    }
}

fn remove_below(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    // In use by somebody, or gone: neither is ours to say.
    let _ = remove(dir);
}
