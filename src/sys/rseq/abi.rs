//! What the kernel and libc lay down, and the two words of the hot path.
#![allow(unsafe_code, reason = "asks the auxiliary vector")]

use super::super::thread_area as process_area;
use crate::sync::{AtomicIsize, AtomicU32, Ordering};
use core::mem::{align_of, offset_of, size_of};

/// The area that libc registers for each thread (`struct rseq`).
///
/// Only `section` is ever written, and only by a section's frame. The rest is the
/// kernel's: newer ones kill a process that writes there.
#[repr(C, align(32))]
#[derive(Debug)]
pub(super) struct ThreadArea {
    /// A valid index even while the thread is not registered.
    cpu_id_start: u32,
    /// The CPU; negative while the thread is not registered.
    cpu_id: u32,
    /// The descriptor of the section that the thread may be in, or null.
    section: u64,
    flags: u32,
    /// Linux 6.3 and newer.
    node_id: u32,
    /// Linux 6.3 and newer: a small id, unique among the process's running threads.
    mm_cid: u32,
}

/// What a section tells the kernel about itself (`struct rseq_cs`).
#[repr(C, align(32))]
#[derive(Debug)]
pub(super) struct Descriptor {
    version: u32,
    flags: u32,
    start: u64,
    /// Bytes from `start` to the end of the committing store.
    length: u64,
    /// Where the kernel sends a thread that it cut off.
    abort: u64,
}

/// Where the id word lies in the area; the sections' assembly writes it as a number.
pub(super) const CPU_ID: usize = 4;
/// Where the descriptor's address lies in the area.
pub(super) const SECTION: usize = 8;

const _: () = {
    assert!(offset_of!(ThreadArea, cpu_id_start) == 0);
    assert!(offset_of!(ThreadArea, cpu_id) == CPU_ID);
    assert!(offset_of!(ThreadArea, section) == SECTION);
    assert!(offset_of!(ThreadArea, flags) == 16);
    assert!(offset_of!(ThreadArea, node_id) == 20);
    assert!(offset_of!(ThreadArea, mm_cid) == 24);
    assert!(size_of::<ThreadArea>() == 32 && align_of::<ThreadArea>() == 32);
    assert!(offset_of!(Descriptor, version) == 0);
    assert!(offset_of!(Descriptor, flags) == 4);
    assert!(offset_of!(Descriptor, start) == 8);
    assert!(offset_of!(Descriptor, length) == 16);
    assert!(offset_of!(Descriptor, abort) == 24);
    assert!(size_of::<Descriptor>() == 32 && align_of::<Descriptor>() == 32);
};

/// The words that every operation loads, on a line of their own.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct HotWords {
    /// `cpus()` in a process that runs sections, else 0.
    limit: AtomicU32,
    /// Distance of a thread's area from its thread pointer, in bytes.
    offset: AtomicIsize,
}

/// The process's; in a model a process has no sections.
#[cfg(not(all(corelocal_loom, feature = "loom")))]
static HOT: HotWords = HotWords::new();

impl HotWords {
    crate::sync::const_unless_loom! {
        /// Words that say that there are no sections.
        pub const fn new() -> Self {
            Self { limit: AtomicU32::new(0), offset: AtomicIsize::new(0) }
        }
    }

    /// The words, if there are sections.
    #[inline(always)]
    pub fn load(&self) -> Option<Hot> {
        // Acquire [E20]: pairs with the Release in `publish`. No descriptor may be stored
        // through an offset that is not there yet (0 is another field of the thread block).
        let limit = self.limit.load(Ordering::Acquire);
        if limit == 0 {
            return None;
        }
        // Relaxed: the limit was there, so the offset is.
        Some(Hot { limit, offset: self.offset.load(Ordering::Relaxed) })
    }

    /// From here on there are sections.
    pub fn publish(&self, hot: Hot) {
        // Relaxed: the store of the limit is the message.
        self.offset.store(hot.offset, Ordering::Relaxed);
        // Release [E20]: pairs with the Acquire in `load`.
        self.limit.store(hot.limit, Ordering::Release);
    }
}

impl Default for HotWords {
    fn default() -> Self {
        Self::new()
    }
}

/// The two words: sections can run, in lanes `0..limit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hot {
    /// The number of CPU lanes; also the spill lane's number. Never 0.
    pub limit: u32,
    /// Distance of the area from the thread pointer.
    pub offset: isize,
}

impl Hot {
    /// The process's words, if it runs sections.
    #[inline(always)]
    pub fn load() -> Option<Self> {
        #[cfg(not(all(corelocal_loom, feature = "loom")))]
        return HOT.load();
        #[cfg(all(corelocal_loom, feature = "loom"))]
        None
    }

    /// What would be published, without publishing it; `None` if no area is registered,
    /// or this target has no sections.
    pub fn find(cpus: u32) -> Option<Self> {
        if !super::HAS_SECTIONS || cpus == 0 {
            return None;
        }
        process_area().map(|area| Self { limit: cpus, offset: area.offset })
    }

    /// From here on this process runs sections: before the first object.
    pub(crate) fn publish(self) {
        #[cfg(not(all(corelocal_loom, feature = "loom")))]
        HOT.publish(self);
    }
}

/// Where this thread's area lies, if there is one: for tests, which take the
/// registration away or read what the kernel wrote.
pub fn thread_area() -> Option<*mut u8> {
    process_area()
        .filter(|_| super::HAS_SECTIONS)
        .map(|area| super::arch::thread_pointer().wrapping_byte_offset(area.offset))
}

/// Which of the younger fields of the area the kernel fills.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fields {
    /// `__rseq_size`: bytes that libc says are in use, or that the crate registers itself
    /// (feature `register`); 0 without a registration.
    pub libc_size: u32,
    /// Bytes that the kernel fills; 0 if it does not say (before Linux 6.3).
    pub kernel_size: u32,
    /// Alignment that the kernel asks for; 0 if it does not say.
    pub align: u32,
    /// `node_id` is filled.
    pub node_id: bool,
    /// `mm_cid` is filled.
    pub mm_cid: bool,
}

/// What the machine says about the area. Each field is judged on its own.
pub fn fields() -> Fields {
    let libc_size = process_area().map_or(0, |area| area.size);
    judge(libc_size, feature_size(), alignment())
}

/// Bytes that the kernel fills; 0 if it does not say.
pub(super) fn feature_size() -> u32 {
    u32::try_from(auxiliary(AT_RSEQ_FEATURE_SIZE)).unwrap_or(0)
}

/// Alignment that the kernel asks for; 0 if it does not say.
pub(super) fn alignment() -> u32 {
    u32::try_from(auxiliary(AT_RSEQ_ALIGN)).unwrap_or(0)
}

/// Where the program's table of segments lies.
#[allow(dead_code, reason = "used with the feature `register`")]
pub(super) fn program_headers() -> usize {
    auxiliary(AT_PHDR) as usize
}

const AT_PHDR: u64 = 3;

const AT_RSEQ_FEATURE_SIZE: u64 = 27;
const AT_RSEQ_ALIGN: u64 = 28;

/// A registration covers at least the first version's 32 bytes, also where libc
/// says 20: what the kernel fills within them is there.
fn judge(libc_size: u32, kernel_size: u32, align: u32) -> Fields {
    let registered = if libc_size == 0 { 0 } else { libc_size.max(32) };
    let filled = |end: usize| kernel_size.min(registered) as usize >= end;
    Fields {
        libc_size,
        kernel_size,
        align,
        node_id: filled(offset_of!(ThreadArea, node_id) + 4),
        mm_cid: filled(offset_of!(ThreadArea, mm_cid) + 4),
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn auxiliary(entry: u64) -> u64 {
    // SAFETY:
    // - the call reads a table that the kernel gave the process; an unknown entry is 0.
    unsafe { libc::getauxval(entry as libc::c_ulong) as u64 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn auxiliary(_entry: u64) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes seen: glibc 2.36 says 20 where the kernel fills 28; 6.1 says nothing.
    #[test]
    fn a_field_is_used_only_where_the_kernel_fills_it() {
        let young = |libc, kernel| {
            let fields = judge(libc, kernel, 32);
            (fields.node_id, fields.mm_cid)
        };
        assert_eq!(young(20, 28), (true, true));
        assert_eq!(young(32, 24), (true, false));
        assert_eq!(young(33, 33), (true, true));
        assert_eq!(young(20, 0), (false, false), "Linux 6.1");
        assert_eq!(young(0, 28), (false, false), "not registered");
    }
}
