//! Saved trees, as `sched tree --from` reads them.

use crate::memory::within;
use sched::tree::listing::{parse, write};

/// Reads `text` as a saved tree.
///
/// # Panics
///
/// If more than 64 times the text and 64 KiB are taken from the heap, if what was read is no tree, or
/// if it is not read back.
pub fn trees(text: &[u8]) {
    // The shortest group has 10 bytes (`/a 2 max 1`) and takes a hundred, twice while a vector grows.
    let tree = match within(text.len(), 64, 64 << 10, || parse(text)) {
        Ok(tree) => tree,
        Err(error) => return assert!(!error.to_string().contains('\n'), "{error}"),
    };
    for (at, group) in tree.groups.iter().enumerate() {
        assert!(group.parent <= at, "group {at} stands before its parent {}", group.parent);
        assert!(group.path.starts_with(b"/"));
    }
    let mut written = Vec::new();
    write(&tree, &mut written).expect("a vector takes everything");
    assert_eq!(parse(&written).as_ref(), Ok(&tree), "written and read back");
}
