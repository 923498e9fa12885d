//! What models reach of the allocator that no area shows by itself.

use super::segment::Segments;

/// [`Segments`], which are not public.
#[derive(Debug)]
pub struct Groups(Segments);

impl Groups {
    /// No groups yet.
    #[allow(clippy::new_without_default, reason = "as `Segments`")]
    pub fn new() -> Self {
        Self(Segments::new())
    }

    /// Where group `at` is, which is made if need be; `None` beyond the last segment.
    pub fn make(&self, at: usize) -> Option<usize> {
        self.0.group(at).ok().map(|group| core::ptr::from_ref(group).addr())
    }

    /// How many groups there are. Reads them: loom fails the model if one is not made yet.
    pub fn count(&self) -> usize {
        self.0.iter().filter(|group| group.is_vacant()).count()
    }
}
