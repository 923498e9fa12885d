//! What is printed: a table for people, one object for programs, and a sentence that says what
//! the figures are about.

mod caches;
mod json;
mod played;
mod regime;
mod replayed;
mod table;

pub use caches::caches;
pub use json::json;
pub use played::played;
pub use regime::regime;
pub use replayed::replayed;
pub use table::table;

use crate::measure::machine::Machine;
use crate::measure::{Config, Results};
use crate::replay::{Here, Regime};
use crate::trace;
use crate::tree::Tree;

/// Everything that a report is made from.
#[derive(Debug)]
pub struct Report<'a> {
    /// Where it ran.
    pub machine: &'a Machine,
    /// How the crate reaches per-CPU memory here, and why.
    pub backend: String,
    /// The command line.
    pub command: String,
    /// What was walked.
    pub tree: &'a Tree,
    /// What was asked for.
    pub config: &'a Config,
    /// The figures.
    pub results: &'a Results,
    /// The machine whose caches were modelled, if one was.
    pub modelled: Option<&'a trace::Config>,
    /// What the walks met there.
    pub traced: &'a [trace::Row],
    /// What was replayed on this machine.
    pub played: &'a [Here],
    /// What was replayed in modelled caches.
    pub replayed: &'a [Regime],
}

/// Bytes for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..0x2800 => format!("{bytes} B"),
        0x2800..0xa0_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}

/// A cache's size for people.
fn cache(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "unknown".to_owned(), size)
}
