//! Reads a live hierarchy: cgroup v1 with the `cpu` controller, or v2.
//!
//! Which of the two it is shows in the files: `cpu.shares` is v1, `cgroup.controllers` without it
//! is v2. In v2 a cgroup is a task group of its own only where `cpu.weight` is there; elsewhere
//! its tasks belong to the group above. A cgroup that goes away while it is read is skipped.

use super::listing::{positive, within};
use super::{DEFAULT_PERIOD, Limits, MAX_GROUPS, SHARES, Tree, TreeError};
use core::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a directory is no hierarchy of task groups.
#[derive(Debug)]
pub enum CgroupError {
    /// The directory cannot be read.
    Io(PathBuf, io::Error),
    /// Neither version's files are there.
    NotACgroup(PathBuf),
    /// A hierarchy of version 2 whose groups do not have the cpu controller.
    NoController(PathBuf),
    /// A file says something else than the kernel would.
    Malformed(PathBuf, String),
    /// More groups than the limit.
    Tree(TreeError),
}

impl fmt::Display for CgroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotACgroup(path) => write!(
                f,
                "{}: not a cgroup: neither cpu.shares (v1) nor cgroup.controllers (v2) is there",
                path.display()
            ),
            Self::NoController(path) => write!(
                f,
                "{}: the cpu controller is not on below it: no directory there has cpu.weight",
                path.display()
            ),
            Self::Malformed(path, what) => write!(f, "{}: {what}", path.display()),
            Self::Tree(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CgroupError {}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    V1,
    V2,
}

/// Reads the groups below `root`; `root` itself is taken for the root group.
///
/// # Errors
///
/// [`CgroupError`], with the path of the file.
pub fn read(root: &Path) -> Result<Tree, CgroupError> {
    fs::read_dir(root).map_err(|error| CgroupError::Io(root.to_owned(), error))?;
    let version = if root.join("cpu.shares").exists() {
        Version::V1
    } else if root.join("cgroup.controllers").exists() {
        Version::V2
    } else {
        return Err(CgroupError::NotACgroup(root.to_owned()));
    };
    let mut groups = Vec::new();
    let mut open = vec![(root.to_owned(), Vec::new())];
    let mut skipped = false;
    while let Some((dir, path)) = open.pop() {
        for name in names_below(&dir)? {
            let child = dir.join(&name);
            let Some(limits) = read_limits(version, &child)? else {
                skipped = true;
                continue;
            };
            if groups.len() as u64 == MAX_GROUPS {
                let more = u128::from(MAX_GROUPS) + 1;
                return Err(CgroupError::Tree(TreeError::TooMany(Some(more))));
            }
            let mut path: Vec<u8> = path.clone();
            path.push(b'/');
            path.extend_from_slice(name.as_bytes());
            groups.push((path.clone(), limits));
            open.push((child, path));
        }
    }
    if groups.is_empty() && skipped && version == Version::V2 {
        return Err(CgroupError::NoController(root.to_owned()));
    }
    Tree::from_paths(groups).map_err(CgroupError::Tree)
}

/// The directories in `dir`, links not followed; none if it went away.
fn names_below(dir: &Path) -> Result<Vec<std::ffi::OsString>, CgroupError> {
    let error = |error| CgroupError::Io(dir.to_owned(), error);
    let entries = match fs::read_dir(dir) {
        Err(gone) if went_away(&gone) => return Ok(Vec::new()),
        entries => entries.map_err(error)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(error)?;
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            names.push(entry.file_name());
        }
    }
    Ok(names)
}

/// The group's limits, or `None` if the directory is no task group (any more).
fn read_limits(version: Version, dir: &Path) -> Result<Option<Limits>, CgroupError> {
    match version {
        Version::V1 => read_v1(dir),
        Version::V2 => read_v2(dir),
    }
}

fn read_v1(dir: &Path) -> Result<Option<Limits>, CgroupError> {
    let Some(shares) = read_file(dir, "cpu.shares", |text| within("shares", text, SHARES))? else {
        return Ok(None);
    };
    let quota = |text: &[u8]| match text {
        b"-1" => Ok(None),
        _ => positive("quota", text).map(Some),
    };
    let quota = read_file(dir, "cpu.cfs_quota_us", quota)?.flatten();
    let period = read_file(dir, "cpu.cfs_period_us", |text| positive("period", text))?;
    Ok(Some(Limits { shares, quota, period: period.unwrap_or(DEFAULT_PERIOD) }))
}

fn read_v2(dir: &Path) -> Result<Option<Limits>, CgroupError> {
    let weight = |text: &[u8]| within("weight", text, 0..=10_000);
    let Some(weight) = read_file(dir, "cpu.weight", weight)? else {
        return Ok(None);
    };
    let max = |text: &[u8]| {
        let mut fields = text.split(|&c| c == b' ');
        let (Some(quota), Some(period), None) = (fields.next(), fields.next(), fields.next())
        else {
            return Err("not two fields: quota period".to_owned());
        };
        let quota = if quota == b"max" { None } else { Some(positive("quota", quota)?) };
        Ok((quota, positive("period", period)?))
    };
    let (quota, period) = read_file(dir, "cpu.max", max)?.unwrap_or((None, DEFAULT_PERIOD));
    Ok(Some(Limits { shares: shares_of_weight(weight), quota, period }))
}

/// A v2 weight (100 is ordinary) as v1 shares (1024 is ordinary), rounded as the kernel does.
/// An idle group reads as weight 0 and has the weight of an idle task, 3.
fn shares_of_weight(weight: u64) -> u64 {
    if weight == 0 { 3 } else { (weight * 1024 + 50) / 100 }
}

/// The parsed first line of `dir/name`; `None` if the file is not there.
fn read_file<T>(
    dir: &Path,
    name: &str,
    parse: impl FnOnce(&[u8]) -> Result<T, String>,
) -> Result<Option<T>, CgroupError> {
    let path = dir.join(name);
    let text = match read_short(&path) {
        Err(gone) if went_away(&gone) => return Ok(None),
        text => text.map_err(|error| CgroupError::Io(path.clone(), error))?,
    };
    let value = parse(text.trim_ascii()).map_err(|what| CgroupError::Malformed(path, what))?;
    Ok(Some(value))
}

/// The begin of a file: the directory may be anybody's, and the file without an end.
pub(crate) fn read_short(path: &Path) -> io::Result<Vec<u8>> {
    /// More than the kernel says in any of these files.
    const LONGEST: u64 = 1 << 12;
    let mut text = Vec::new();
    fs::File::open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// A cgroup that is removed answers so: not found before it is opened, no device afterwards.
fn went_away(error: &io::Error) -> bool {
    const ENODEV: i32 = 19;
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::listing::escape;

    fn fixture(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn seen(tree: &Tree) -> Vec<(String, u64, Option<u64>, u64)> {
        let limits = |l: Limits| (l.shares, l.quota, l.period);
        tree.groups
            .iter()
            .map(|g| (escape(&g.path), limits(g.limits)))
            .map(|(path, (shares, quota, period))| (path, shares, quota, period))
            .collect()
    }

    #[test]
    fn a_v1_hierarchy_is_read_with_shares_quota_and_period() {
        let root = fixture(&[
            ("cpu.shares", "1024\n"),
            ("a/cpu.shares", "512\n"),
            ("a/cpu.cfs_quota_us", "-1\n"),
            ("a/cpu.cfs_period_us", "100000\n"),
            ("a/b c/cpu.shares", "2\n"),
            ("a/b c/cpu.cfs_quota_us", "20000\n"),
            ("a/b c/cpu.cfs_period_us", "50000\n"),
            ("no-bandwidth/cpu.shares", "1024\n"),
            ("not-a-cgroup/readme", ""),
        ]);
        let tree = read(root.path()).unwrap();
        assert_eq!(
            seen(&tree),
            [
                ("/a".into(), 512, None, 100_000),
                ("/a/b\\040c".into(), 2, Some(20_000), 50_000),
                ("/no-bandwidth".into(), 1024, None, 100_000),
            ]
        );
    }

    #[test]
    fn a_v2_hierarchy_is_read_as_far_as_the_controller_is_on() {
        let root = fixture(&[
            ("cgroup.controllers", "cpu memory\n"),
            ("a/cgroup.controllers", "cpu\n"),
            ("a/cpu.weight", "100\n"),
            ("a/cpu.max", "max 100000\n"),
            ("a/b/cpu.weight", "10000\n"),
            ("a/b/cpu.max", "15000 30000\n"),
            ("idle/cpu.weight", "0\n"),
            ("without-cpu/cgroup.controllers", "\n"),
            ("without-cpu/x/cgroup.controllers", "\n"),
        ]);
        let tree = read(root.path()).unwrap();
        assert_eq!(
            seen(&tree),
            [
                ("/a".into(), 1024, None, 100_000),
                ("/a/b".into(), 102_400, Some(15_000), 30_000),
                ("/idle".into(), 3, None, 100_000),
            ]
        );
    }

    #[test]
    fn a_file_without_an_end_is_read_to_its_end() {
        let root = fixture(&[("cpu.shares", "1024\n"), ("a/readme", "")]);
        std::os::unix::fs::symlink("/dev/zero", root.path().join("a/cpu.shares")).unwrap();
        assert!(matches!(read(root.path()), Err(CgroupError::Malformed(..))));
    }

    #[test]
    fn what_is_no_cgroup_is_said_with_its_path() {
        let root = fixture(&[("readme", "")]);
        assert!(read(root.path()).unwrap_err().to_string().contains("not a cgroup"));
        let off = fixture(&[("cgroup.controllers", "memory"), ("a/memory.max", "max")]);
        assert!(read(off.path()).unwrap_err().to_string().contains("controller is not on"));
        let missing = root.path().join("missing");
        assert!(read(&missing).unwrap_err().to_string().contains("missing: No such file"));
        let odd = fixture(&[("cpu.shares", "1024"), ("a/cpu.shares", "12x")]);
        let said = read(odd.path()).unwrap_err().to_string();
        assert!(said.ends_with("a/cpu.shares: shares '12x' is not a number"), "{said}");
        let odd =
            fixture(&[("cgroup.controllers", "cpu"), ("a/cpu.weight", "1"), ("a/cpu.max", "5")]);
        assert!(read(odd.path()).unwrap_err().to_string().contains("not two fields"));
    }
}
