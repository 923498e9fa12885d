//! [`counters!`](crate::counters!): a struct of cells with names, tokens and snapshots.

use super::PerCpu;
use super::handle::PerCpuRef;
use super::statics::PerCpuStatic;

/// A struct of cells that [`counters!`](crate::counters!) defined.
pub trait Counters: Sized {
    /// The sums of all cells, a plain field for each.
    type Snapshot;
    /// The cells' names, in the order of their definition.
    const NAMES: &'static [&'static str];

    /// The wrapping sum of every cell over all lanes. Live sums are not of one moment.
    fn snapshot<O>(of: PerCpuRef<'_, Self, O>) -> Self::Snapshot;
}

impl<T: Counters, O> PerCpuRef<'_, T, O> {
    /// The wrapping sum of every cell over all lanes. Live sums are not of one moment.
    pub fn snapshot(self) -> T::Snapshot {
        T::snapshot(self)
    }
}

impl<T: Counters> PerCpu<T> {
    /// See [`PerCpuRef::snapshot`].
    pub fn snapshot(&self) -> T::Snapshot {
        self.as_ref().snapshot()
    }
}

#[cfg(not(corelocal_loom))]
impl<T: Counters> PerCpuStatic<T> {
    /// See [`PerCpuRef::snapshot`].
    pub fn snapshot(&self) -> T::Snapshot {
        self.as_ref().snapshot()
    }
}
