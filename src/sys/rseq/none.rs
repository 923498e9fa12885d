//! Targets without sections: `Hot::load` finds nothing, so no entry point comes here.
//!
//! What does come by its own way acts on the spill lane, with atomics: right, if slow.

use super::{Hot, Points};

pub use super::atomic::Atomic as Sections;

impl Sections {
    /// The spill lane of `hot`.
    #[inline(always)]
    pub const fn new(hot: Hot) -> Self {
        Self::on_lane(hot.limit)
    }

    /// The same: there is nothing to hold up.
    pub const fn held(self, _points: &Points) -> Self {
        self
    }
}

/// Never called: there is no area.
pub(super) fn thread_pointer() -> *mut u8 {
    core::ptr::null_mut()
}
