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

pub use count::{Question, Row, heat_map, row};
pub use domain::{InDomain, RootDomain, Vector};
pub use params::{FIXED, Params};
pub use report::{Report, Table, print};
pub use threads::{Timed, time};
pub use workload::{Mix, Search};

use corelocal::{ByCpu, Packed, Padded, Split};

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
        let (name, question) = (self.name(), self.asked(question));
        match self {
            Self::Packed => row::<Packed>(&name, question),
            Self::Padded => row::<Padded>(&name, question),
            Self::Split => row::<Split>(&name, question),
            Self::ByCpu(64) | Self::Near => row::<ByCpu<64>>(&name, question),
            Self::ByCpu(32) => row::<ByCpu<32>>(&name, question),
            Self::ByCpu(16) => row::<ByCpu<16>>(&name, question),
            Self::ByCpu(_) => row::<ByCpu<8>>(&name, question),
        }
    }

    /// Its picture.
    pub fn heat_map(self, question: Question<'_>) -> String {
        let (name, question) = (self.name(), self.asked(question));
        match self {
            Self::Packed => heat_map::<Packed>(&name, question),
            Self::Padded => heat_map::<Padded>(&name, question),
            Self::Split => heat_map::<Split>(&name, question),
            Self::ByCpu(64) | Self::Near => heat_map::<ByCpu<64>>(&name, question),
            Self::ByCpu(32) => heat_map::<ByCpu<32>>(&name, question),
            Self::ByCpu(16) => heat_map::<ByCpu<16>>(&name, question),
            Self::ByCpu(_) => heat_map::<ByCpu<8>>(&name, question),
        }
    }
}
