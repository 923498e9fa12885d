//! What the models of `corelocal::ring` share: a machine of one CPU, its ring and the spill lane's.
#![allow(unsafe_code, reason = "raw lanes")]

use crate::Arc;
use crate::pool::Settled;
use corelocal::Area;
use corelocal::model::{RingLane, RingLanes};
use corelocal::sys::rseq::{Atomic, Machine, Outcome, Stride};

/// Lanes side by side.
#[derive(Debug)]
pub struct Side;

impl Stride for Side {
    const BYTES: usize = size_of::<RingLane>();
}

/// Units of a record of the models: what their memory watches as one, header included.
pub const RECORD: usize = 8;

/// Rings of two lanes.
#[derive(Debug)]
pub struct Shared {
    machine: Machine,
    rings: RingLanes<Side>,
    lanes: Vec<RingLane>,
}

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// A thread on the CPU, by a section.
    OnCpu,
    /// A thread whose CPU is not known, by atomics.
    Spilling,
}

impl Shared {
    /// Rings for so many records.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    pub fn new(records: usize) -> Arc<Self> {
        let area = Area::builder().build().expect("an area");
        Arc::new(Self {
            machine: Machine::new(1),
            rings: RingLanes::new(&area, records * RECORD),
            lanes: vec![RingLane::default(), RingLane::default()],
        })
    }

    /// Writes a record full of `byte`; says whether there was room, or `None` if the lane was busy.
    #[track_caller]
    pub fn write(&self, who: Who, byte: u8) -> Option<bool> {
        let (bytes, lane0) = ([byte; 48], self.lanes.as_ptr());
        let outcome = match who {
            // SAFETY:
            // - the lanes are the model's.
            Who::OnCpu => unsafe { self.rings.write(Settled::on(&self.machine, 0), lane0, &bytes) },
            // SAFETY:
            // - as above.
            Who::Spilling => unsafe { self.rings.write(Atomic::on_lane(1), lane0, &bytes) },
        };
        match outcome {
            Outcome::Committed { .. } => Some(true),
            Outcome::Differs { .. } => Some(false),
            _ => None,
        }
    }

    /// Reads a lane and gives its space back. Returns what the records are full of.
    ///
    /// # Panics
    ///
    /// If a record is not whole.
    #[track_caller]
    pub fn read(&self, who: Who) -> Vec<u8> {
        let at = usize::from(who == Who::Spilling);
        // SAFETY:
        // - the lane is the model's.
        let found = unsafe { self.rings.read(at, &self.lanes[at]) };
        let whole = |record: Vec<u8>| {
            assert_eq!(record, [record[0]; 48], "a record of two writers");
            record[0]
        };
        found.into_iter().map(whole).collect()
    }
}
