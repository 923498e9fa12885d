//! Layout maps: against a map of single bytes, and against files.
#![forbid(unsafe_code)]

mod files;
mod oracle;
