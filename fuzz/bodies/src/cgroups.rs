//! A hierarchy of groups with anything in its files, as `sched tree --cgroup` reads it.

use crate::files;
use crate::memory::within;
use sched::real;
use sched::tree::cgroup::read;
use sched::tree::listing::{parse, write};

/// Each piece of the input is one of these files, in this order. An empty one is not there.
const FILES: [&str; 12] = [
    "cgroup.controllers",
    "a/cpu.weight",
    "a/cpu.max",
    "a/b c/cpu.weight",
    "a/b c/cpu.max",
    "cpu.shares",
    "a/cpu.shares",
    "a/cpu.cfs_quota_us",
    "a/cpu.cfs_period_us",
    "a/b c/cpu.shares",
    "cpu.stat",
    "a/b c/cpu.cfs_period_us",
];

/// Writes the pieces of `input` to a directory that stands for a hierarchy, and reads it.
///
/// # Panics
///
/// If more than 64 times the input and 64 KiB are taken from the heap, if an error has more than one
/// line, or if the tree is not saved and read back.
pub fn cgroups(input: &[u8]) {
    let root = tempfile::tempdir().expect("a directory for a hierarchy");
    for (file, text) in files::pieces(&FILES, input) {
        if !text.is_empty() {
            files::write(&root.path().join(file), text);
        }
    }
    match within(input.len(), 64, 64 << 10, || read(root.path())) {
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        Ok(tree) => {
            let mut saved = Vec::new();
            write(&tree, &mut saved).expect("a vector takes everything");
            assert_eq!(parse(&saved).as_ref(), Ok(&tree), "saved and read back");
        }
    }
    for version in [real::place::Version::V1, real::place::Version::V2] {
        let stat = within(input.len(), 64, 64 << 10, || real::stat::read(version, root.path()));
        assert!(stat.map_err(|error| error.contains('\n')) != Err(true));
    }
}
