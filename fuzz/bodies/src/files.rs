//! Several files in one input.

use std::fs;
use std::path::Path;

/// What stands between two files' texts.
pub const SEPARATOR: u8 = 0xff;

/// The pieces of `input`, each with the file that it is.
pub(crate) fn pieces<'a>(
    files: &'a [&'a str],
    input: &'a [u8],
) -> impl Iterator<Item = (&'a str, &'a [u8])> {
    files.iter().copied().zip(input.split(|byte| *byte == SEPARATOR))
}

/// A file and the directories that it lies in.
pub(crate) fn write(file: &Path, text: &[u8]) {
    fs::create_dir_all(file.parent().expect("a file lies in a directory")).expect("a directory");
    fs::write(file, text).expect("a file");
}
