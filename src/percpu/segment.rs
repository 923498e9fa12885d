//! Where the groups of a pool lie: segments of doubling size, made on demand, never moved.

use super::pool::Group;
use crate::error::AllocError;
use crate::once::OncePtr;
use crate::sync::{AtomicU32, Ordering};

/// Segment `s` holds `1 << s` groups: more than any address space has room for.
const SEGMENTS: usize = if cfg!(corelocal_loom) { 2 } else { 24 };

/// A growing sequence of groups.
#[derive(Debug)]
pub(super) struct Segments {
    first: [OncePtr<Group>; SEGMENTS],
    /// Groups that somebody has asked for: no group at or above this number exists.
    used: AtomicU32,
}

impl Segments {
    #[cfg(not(corelocal_loom))]
    pub(super) const fn new() -> Self {
        Self { first: [const { OncePtr::new() }; SEGMENTS], used: AtomicU32::new(0) }
    }

    #[cfg(corelocal_loom)]
    pub(super) fn new() -> Self {
        Self { first: core::array::from_fn(|_| OncePtr::new()), used: AtomicU32::new(0) }
    }

    /// The groups that exist. One that another thread makes meanwhile may be missing.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        // Relaxed: only says how far to look. A group whose segment is not visible yet is passed
        // by, as if it were made a moment later; `get` orders what is read of the others.
        let used = self.used.load(Ordering::Relaxed) as usize;
        (0..used).filter_map(|at| self.get(at))
    }

    fn get(&self, at: usize) -> Option<&Group> {
        let (segment, offset) = place(at);
        let first = self.first.get(segment)?.get()?;
        // SAFETY: the segment holds `1 << segment` groups, and `offset` is less.
        let group = unsafe { first.add(offset) };
        // SAFETY: the groups are initialised, shared only, and live as long as `self`.
        Some(unsafe { group.as_ref() })
    }

    /// Group `at`, made if need be.
    ///
    /// # Errors
    ///
    /// [`AllocError::OutOfMemory`] when there is no memory for its segment.
    pub(super) fn group(&self, at: usize) -> Result<&Group, AllocError> {
        let (segment, _) = place(at);
        let none = AllocError::OutOfMemory { bytes: size_of::<Group>() << segment };
        let slot = self.first.get(segment).ok_or(none)?;
        if slot.get().is_none() {
            let made = store::make(1 << segment)?;
            if slot.publish(made).is_err() {
                // SAFETY: made above with this length, and nobody else knows of it.
                unsafe { store::free(made, 1 << segment) };
            }
        }
        // Relaxed: as in `iter`.
        self.used.fetch_max(at as u32 + 1, Ordering::Relaxed);
        self.get(at).ok_or(none)
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        for (segment, slot) in self.first.iter().enumerate() {
            if let Some(first) = slot.get() {
                // SAFETY: made by `group` with this length, and nobody else is left.
                unsafe { store::free(first, 1 << segment) };
            }
        }
    }
}

/// The segment of group `at`, and its place there.
const fn place(at: usize) -> (usize, usize) {
    let segment = (at + 1).ilog2() as usize;
    (segment, at + 1 - (1 << segment))
}

/// Pages of the system's, not the heap: the program's allocator may itself be built on this crate.
#[cfg(not(corelocal_loom))]
mod store {
    use super::{AllocError, Group};
    use crate::sys::memory;
    use core::ptr::NonNull;

    pub(super) fn make(len: usize) -> Result<NonNull<Group>, AllocError> {
        // Zeroed pages are groups of vacant records; they are committed as they are used. On the
        // heap fallback the mapping's start may differ from its base: see `memory::map`.
        let mapping = memory::map(0, len * size_of::<Group>(), align_of::<Group>(), false)?;
        debug_assert_eq!(mapping.start, mapping.base, "no head and no slack were asked for");
        Ok(mapping.base.cast())
    }

    /// # Safety
    ///
    /// `first` is what `make(len)` gave, and nobody uses it any more.
    pub(super) unsafe fn free(first: NonNull<Group>, len: usize) {
        let page = memory::page_size();
        // SAFETY: passed on to the caller; `make` mapped this many bytes, up to a page's end.
        unsafe {
            memory::unmap(first.cast(), (len * size_of::<Group>()).next_multiple_of(page));
        }
    }
}

/// Loom's atomics must be made one by one.
#[cfg(corelocal_loom)]
mod store {
    use super::{AllocError, Group};
    use alloc::boxed::Box;
    use core::ptr::{self, NonNull};

    pub(super) fn make(len: usize) -> Result<NonNull<Group>, AllocError> {
        let groups: Box<[Group]> = (0..len).map(|_| Group::vacant()).collect();
        Ok(NonNull::from(Box::leak(groups)).cast())
    }

    /// # Safety
    ///
    /// `first` is what `make(len)` gave, and nobody uses it any more.
    pub(super) unsafe fn free(first: NonNull<Group>, len: usize) {
        let groups = ptr::slice_from_raw_parts_mut(first.as_ptr(), len);
        // SAFETY: passed on to the caller.
        drop(unsafe { Box::from_raw(groups) });
    }
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn groups_fill_segments_of_doubling_size() {
        let all: Vec<_> = (0..7).map(place).collect();
        assert_eq!(all, [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]);
    }
}
