//! Where groups with the cpu controller can be made.

use core::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The version of the hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// `cpu.shares`, `cpu.cfs_quota_us`.
    V1,
    /// `cpu.weight`, `cpu.max`.
    V2,
}

/// A directory in which groups can be made, as far as can be seen before one is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The directory.
    pub dir: PathBuf,
    /// Its version.
    pub version: Version,
    /// This process's own group in the hierarchy, if it is known.
    pub home: Option<PathBuf>,
}

impl Place {
    /// For the report.
    pub fn describe(&self) -> String {
        let version = match self.version {
            Version::V1 => "v1",
            Version::V2 => "v2",
        };
        format!("cgroup {version} at {}", self.dir.display())
    }
}

/// Why this machine's kernel is not compared.
#[derive(Debug)]
pub enum Missing {
    /// No hierarchy has the controller.
    Controller,
    /// The list of mounts cannot be read.
    Mounts(PathBuf, io::Error),
    /// A directory that is no cgroup with the cpu controller.
    NotACgroup(PathBuf),
    /// A group or its file is refused: most often who asks is not root.
    Refused(PathBuf, io::Error),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Controller => f.write_str("no mounted cgroup hierarchy has the cpu controller"),
            Self::Mounts(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotACgroup(path) => {
                write!(f, "{}: not a cgroup with the cpu controller", path.display())
            }
            Self::Refused(path, error) => {
                write!(f, "{}: {error} (root and a writable cgroup are needed)", path.display())
            }
        }
    }
}

/// Finds the place: the given directory, or the root of the hierarchy that has the controller.
///
/// # Errors
///
/// [`Missing`].
pub fn find(dir: Option<&Path>, mounts: Option<&Path>) -> Result<Place, Missing> {
    let file = mounts.unwrap_or(Path::new("/proc/mounts"));
    let text = fs::read_to_string(file);
    if let Some(dir) = dir {
        let version = version_of(dir).ok_or_else(|| Missing::NotACgroup(dir.to_owned()))?;
        let mounts = cgroups(&text.unwrap_or_default());
        let mount = mounts.into_iter().find(|mount| dir.starts_with(mount));
        let home = mount.and_then(|mount| home(&mount, version));
        return Ok(Place { dir: dir.to_owned(), version, home });
    }
    let text = text.map_err(|error| Missing::Mounts(file.to_owned(), error))?;
    let found = cgroups(&text).into_iter().find_map(|dir| {
        let version = version_of(&dir)?;
        let home = home(&dir, version);
        Some(Place { dir, version, home })
    });
    found.ok_or(Missing::Controller)
}

/// This process's group below a mount.
fn home(mount: &Path, version: Version) -> Option<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").ok()?;
    Some(mount.join(own(&text, version)?))
}

/// The path, from the hierarchy's root, that the text of `/proc/PID/cgroup` has.
pub fn own(text: &str, version: Version) -> Option<&str> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match version {
            Version::V1 => controllers.split(',').any(|name| name == "cpu"),
            Version::V2 => controllers.is_empty(),
        };
        is_it.then(|| path.trim_start_matches('/'))
    })
}

/// The mount points of hierarchies that may have the controller: v1 with the option `cpu`, and v2.
pub fn cgroups(mounts: &str) -> Vec<PathBuf> {
    let of = |line: &str| {
        let mut fields = line.split(' ');
        let (_, point, kind, options) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let has_cpu = options.split(',').any(|option| option == "cpu");
        // The kernel escapes blanks in names.
        let point = point.replace("\\040", " ");
        (kind == "cgroup2" || kind == "cgroup" && has_cpu).then(|| point.into())
    };
    mounts.lines().filter_map(of).collect()
}

fn version_of(dir: &Path) -> Option<Version> {
    if dir.join("cpu.cfs_quota_us").exists() || dir.join("cpu.shares").exists() {
        return Some(Version::V1);
    }
    let controllers = fs::read_to_string(dir.join("cgroup.controllers")).ok()?;
    controllers.split_whitespace().any(|name| name == "cpu").then_some(Version::V2)
}
