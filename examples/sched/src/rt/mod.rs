//! The kernel's real-time load and its priority vector: in a model of caches, and on this machine.
//!
//! | file | what is in it |
//! |---|---|
//! | `params` | what is modelled, from `rt.params` |
//! | `domain` | the structure around the vector, and what else is done to it |
//! | `workload` | what CPUs do, recorded access by access from the crate's own code |
//! | `names` | which field lies where |
//! | `count` | the recorded accesses in the coherence model |
//! | `threads` | the same operations by this machine's threads, timed |
//! | `independent` | beside the figures of another model |
//! | `report` | tables |

mod count;
mod domain;
mod independent;
mod names;
mod params;
mod report;
#[cfg(test)]
mod tests;
mod threads;
mod workload;

pub use count::{Row, heat_map, row};
pub use domain::{InDomain, RootDomain, Vector};
pub use params::{FIXED, Params};
pub use report::{Report, Table, print};
pub use threads::{Timed, time};
pub use workload::{Mix, Question, Search};

use corelocal::{ByCpu, Packed, Padded, Split};

/// Calls a function of the layout that a design has.
macro_rules! of_layout {
    ($design:expr, $function:ident($($argument:expr),*)) => {
        match $design {
            Design::Packed => $function::<Packed>($($argument),*),
            Design::Padded => $function::<Padded>($($argument),*),
            Design::Split => $function::<Split>($($argument),*),
            Design::ByCpu(64) | Design::Near => $function::<ByCpu<64>>($($argument),*),
            Design::ByCpu(32) => $function::<ByCpu<32>>($($argument),*),
            Design::ByCpu(16) => $function::<ByCpu<16>>($($argument),*),
            Design::ByCpu(_) => $function::<ByCpu<8>>($($argument),*),
        }
    };
}
use of_layout;

/// A layout, and how it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Design {
    /// The kernel's.
    Packed,
    /// Count and mask apart.
    Padded,
    /// All counts, then all masks.
    Split,
    /// A byte a CPU, 64, 32, 16 or 8 in a line.
    ByCpu(u32),
    /// 64 in a line, and searches for one CPU, near first.
    Near,
}

impl Design {
    /// All, in the order of the report.
    pub const ALL: [Self; 8] = [
        Self::Packed,
        Self::Padded,
        Self::Split,
        Self::ByCpu(64),
        Self::ByCpu(32),
        Self::ByCpu(16),
        Self::ByCpu(8),
        Self::Near,
    ];

    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Self::Packed => "Packed".into(),
            Self::Padded => "Padded".into(),
            Self::Split => "Split".into(),
            Self::ByCpu(k) => format!("ByCpu<{k}>"),
            Self::Near => "ByCpu<64>, find_any".into(),
        }
    }

    /// Whether it makes a difference for `mix`.
    pub fn is_for(self, mix: Mix) -> bool {
        self != Self::Near || mix == Mix::Wide50
    }

    fn asked(self, question: Question<'_>) -> Question<'_> {
        let search = if self == Self::Near { Search::Any } else { Search::All };
        Question { search, ..question }
    }

    /// Its row.
    pub fn row(self, question: Question<'_>) -> Row {
        of_layout!(self, row(&self.name(), self.asked(question)))
    }

    /// Its picture.
    pub fn heat_map(self, question: Question<'_>) -> String {
        of_layout!(self, heat_map(&self.name(), self.asked(question)))
    }
}
