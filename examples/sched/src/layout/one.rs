//! What it takes to allocate one group more: [`Gate`], which can refuse, and [`Unfinished`].

use corelocal::AllocError;

/// Asked before each allocation that the kernel would make; it can be set to refuse one, so that
/// every way to fail can be taken.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    left: u32,
}

impl Gate {
    /// Refuses nothing.
    pub const OPEN: Self = Self { left: u32::MAX };

    /// Lets `allocations` pass and refuses the next.
    pub const fn after(allocations: u32) -> Self {
        Self { left: allocations }
    }

    /// Whether this allocation may be made.
    pub fn pass(&mut self) -> bool {
        if self.left == 0 {
            return false;
        }
        // An open gate stays open.
        self.left -= u32::from(self.left != u32::MAX);
        true
    }
}

/// An allocation that failed, and what there is of the group. The caller frees that, by dropping
/// it, in whatever state it is.
#[derive(Debug)]
pub struct Unfinished<R> {
    /// The group's references with some of its objects missing; none if there is nothing.
    pub refs: Option<R>,
    /// What the area said; none if the gate refused.
    pub error: Option<AllocError>,
}
