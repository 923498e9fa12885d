//! What a run of [`Timing`](super::Timing) reports.

use std::ops::AddAssign;

/// Picoseconds of a nanosecond: the clock counts picoseconds, in integers.
pub(super) const PS: u64 = 1000;

/// How long the operations of one tag took.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TagLatency {
    /// The tag.
    pub tag: u32,
    /// Operations that were finished.
    pub operations: u64,
    sum_ps: u128,
    max_ps: u64,
}

impl TagLatency {
    pub(super) fn of(tag: u32) -> Self {
        Self { tag, ..Self::default() }
    }

    pub(super) fn count(&mut self, took_ps: u64) {
        self.operations += 1;
        self.sum_ps += u128::from(took_ps);
        self.max_ps = self.max_ps.max(took_ps);
    }

    /// The mean, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ps as f64 / self.operations as f64 / PS as f64
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> f64 {
        self.max_ps as f64 / PS as f64
    }
}

impl AddAssign for TagLatency {
    /// Adds the operations of another tag; the tag stays.
    fn add_assign(&mut self, other: Self) {
        let Self { tag: _, operations, sum_ps, max_ps } = other;
        self.operations += operations;
        self.sum_ps += sum_ps;
        self.max_ps = self.max_ps.max(max_ps);
    }
}

/// The line that limits the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BusyLine {
    /// The address of its first byte.
    pub address: u64,
    /// The part of the time in which it was being moved: at 1, its queue never emptied.
    pub share: f64,
}

/// What one [`Timing::run`](super::Timing::run) saw.
#[derive(Clone, PartialEq, Debug)]
pub struct TimingReport {
    /// Operations that were finished.
    pub operations: u64,
    /// The time in which they were.
    pub picoseconds: u64,
    /// Every tag of which an operation was finished, ascending.
    pub tags: Vec<TagLatency>,
    /// The line that was in transfer for the longest part of the time.
    pub busiest: Option<BusyLine>,
}

impl TimingReport {
    /// Operations a microsecond, of the whole machine.
    ///
    /// At a think time of 0 this is the ceiling: no CPU ever does anything else.
    pub fn throughput(&self) -> f64 {
        self.operations as f64 * (1000 * PS) as f64 / self.picoseconds as f64
    }
}
