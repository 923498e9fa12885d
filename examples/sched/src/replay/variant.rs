//! [`Variant`]: the layouts that are replayed, and with which step from one object to the next.

use super::modelled::{Met, Setup, replay};
use crate::layout::{L0, L1, L1b, L2};
use crate::structs::recorded::{Line, Recording};
use crate::structs::{exchanged::Exchanged, reorder::Reorder, v6_14::V6_14, v7_2::V7_2};

/// A layout of the modelled replay.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variant {
    /// Two pointer arrays, two objects.
    L0,
    /// Two pointer arrays, one object.
    L1,
    /// One pointer array, one object.
    L1b,
    /// Per-CPU memory, 16 lines from one object to the next, as the kernel's allocator has it.
    L2,
    /// The same, a line farther apart, as this crate's has it.
    L2Odd,
    /// The RFC's order of fields, 15 lines.
    L3,
    /// The same, a line farther apart.
    L3Even,
    /// The RFC's order with one exchange (`structs::exchanged`), 15 lines.
    L3Exchanged,
    /// Linux 7.2's structures in per-CPU memory, 17 lines.
    L2Later,
}

impl Variant {
    /// All of them, what the others are compared with first.
    pub const ALL: [Self; 9] = [
        Self::L0,
        Self::L1,
        Self::L1b,
        Self::L2,
        Self::L2Odd,
        Self::L3,
        Self::L3Even,
        Self::L3Exchanged,
        Self::L2Later,
    ];

    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L1b => "L1b",
            Self::L2 => "L2",
            Self::L2Odd => "L2/17",
            Self::L3 => "L3",
            Self::L3Even => "L3/16",
            Self::L3Exchanged => "L3x",
            Self::L2Later => "L2'",
        }
    }

    pub(super) const fn is_odd(self) -> bool {
        matches!(self, Self::L2Odd | Self::L3 | Self::L3Exchanged | Self::L2Later)
    }

    /// Replays in this layout.
    ///
    /// # Errors
    ///
    /// As [`replay`].
    pub(super) fn replay(self, setup: &Setup<'_>) -> Result<Vec<Met>, String> {
        let replay = match self {
            Self::L0 => replay::<L0<Recording<V6_14>>>,
            Self::L1 => replay::<L1<Recording<V6_14>>>,
            Self::L1b => replay::<L1b<Recording<V6_14>>>,
            Self::L2 | Self::L2Odd => replay::<L2<Recording<V6_14>>>,
            Self::L3 => replay::<L2<Recording<Reorder>>>,
            Self::L3Even => replay::<L2<Recording<Reorder, Line>>>,
            Self::L3Exchanged => replay::<L2<Recording<Exchanged>>>,
            Self::L2Later => replay::<L2<Recording<V7_2>>>,
        };
        replay(setup, self)
    }
}
