//! The kernel's groups, which are removed when their value goes, however that comes about.

use super::place::{Missing, Place, Version};
use super::plan::{Plan, Planned};
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
    version: Version,
}

impl Groups {
    /// Makes the groups of a plan.
    ///
    /// # Errors
    ///
    /// [`Missing::Refused`] with the first directory or file that was refused; what had been made
    /// is gone again.
    pub fn make(place: &Place, plan: &Plan) -> Result<Self, Missing> {
        let mut groups = Self { dirs: Vec::new(), version: place.version };
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
        let file = self.dirs[index].join("cgroup.procs");
        fs::write(&file, process.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Which version's files they have.
    pub fn version(&self) -> Version {
        self.version
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for dir in self.dirs.iter().rev() {
            if let Err(error) = remove(dir) {
                eprintln!("sched: {}: {error}: it is left behind", dir.display());
            }
        }
    }
}

/// Hands the controller down to a group's children.
fn enable(dir: &Path) -> Result<(), Missing> {
    write(dir, "cgroup.subtree_control", "+cpu")
}

fn limit(version: Version, dir: &Path, group: &Planned) -> Result<(), Missing> {
    match version {
        Version::V1 => {
            write(dir, "cpu.shares", &group.shares.to_string())?;
            if let Some(quota) = group.quota {
                write(dir, "cpu.cfs_period_us", &group.period.to_string())?;
                write(dir, "cpu.cfs_quota_us", &quota.to_string())?;
            }
            Ok(())
        }
        Version::V2 => {
            // 100 is what 1024 shares are.
            let weight = (group.shares * 100 / 1024).clamp(1, 10_000);
            write(dir, "cpu.weight", &weight.to_string())?;
            match group.quota {
                Some(quota) => write(dir, "cpu.max", &format!("{quota} {}", group.period)),
                None => Ok(()),
            }
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
