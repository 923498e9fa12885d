//! What models reach of rings: the lanes, without the areas' objects and the users' types.

use super::lanes::{self, Lanes, Place};
use crate::percpu::{Area, PerCpuBytes};
use crate::sys::rseq::{Anchor, Anchored, Outcome, Pushed, Stride, UNIT};

/// What a lane holds.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct RingLane(lanes::Lane);

/// Rings in lanes of the model's.
#[derive(Debug)]
pub struct RingLanes<S> {
    lanes: Lanes<S>,
    _bytes: PerCpuBytes,
}

impl<S: Stride> RingLanes<S> {
    /// Empty rings of `units` units, in two lanes, whose bytes come from the area.
    ///
    /// # Panics
    ///
    /// If the area has no memory.
    pub fn new(area: &Area, units: usize) -> Self {
        let bytes = PerCpuBytes::try_new(area, 2 * units * UNIT).expect("memory for a model");
        let lanes = Lanes::new(bytes.lane0().as_ptr(), bytes.stride(), units, 2);
        Self { lanes, _bytes: bytes }
    }

    /// Writes a record.
    ///
    /// # Safety
    ///
    /// The lanes at `lane0` are this object's, `S::BYTES` apart, as many as `on` acts on.
    pub unsafe fn write<C: Anchored>(
        &self,
        on: C,
        lane0: *const RingLane,
        bytes: &[u8],
    ) -> Outcome<usize> {
        let anchor: *mut Anchor = lane0.cast_mut().cast();
        let record = Pushed::new(bytes.as_ptr(), bytes.len() as u32, [0, 0]);
        // SAFETY:
        // - passed on to the caller.
        unsafe { self.lanes.push(on, anchor, record) }
    }

    /// Reads what was written to lane number `at` and not given back, and gives it back. Nothing if
    /// there is another reader.
    ///
    /// # Safety
    ///
    /// The lane is this object's.
    pub unsafe fn read(&self, at: usize, lane: &RingLane) -> Vec<Vec<u8>> {
        if !self.lanes.begin_reading() {
            return Vec::new();
        }
        let mut place = Place::at(self.lanes.given_back(at));
        let mut found = Vec::new();
        // SAFETY:
        // - this is the reader, and nothing is given back before the bytes were copied.
        while let Some((_, bytes)) = unsafe { self.lanes.next(&lane.0.anchor, at, &mut place) } {
            found.push(bytes.to_vec());
        }
        self.lanes.give_back(at, place.index);
        self.lanes.end_reading();
        found
    }
}
