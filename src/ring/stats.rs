//! What a ring counts.

/// What happened in one lane; see [`PerCpuRing::stats`](super::PerCpuRing::stats).
///
/// ```
/// use corelocal::{PerCpuRing, ring::LaneStats};
///
/// let ring = PerCpuRing::new(4096);
/// ring.write(b"event").unwrap();
/// let waiting: u64 =
///     ring.stats().map(|(_, LaneStats { written, read, .. })| written - read).sum();
/// assert_eq!(waiting, 1);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LaneStats {
    /// Records written.
    pub written: u64,
    /// Of these, records that were read, and whose space was given back.
    pub read: u64,
    /// Records that were dropped by threads of this CPU.
    pub dropped: u64,
}
