//! Address space: mapped without charge where the system allows it, paged in by use, given back whole.
#![allow(unsafe_code, reason = "maps and unmaps")]

use crate::error::AllocError;
use core::ptr::NonNull;

/// Mapped address space: readable, writable, zero where it was never written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    /// The first byte.
    pub(crate) start: NonNull<u8>,
    /// Bytes.
    pub(crate) len: usize,
    /// The aligned address asked for, `head` bytes or more behind `start`.
    pub(crate) base: NonNull<u8>,
}

/// Maps `len` bytes that begin at a multiple of `align`, and at least `head` bytes before them.
///
/// `align` is a power of two. Pages are committed when they are first written, and huge pages are
/// refused unless `huge` (one huge page would commit 2 MiB for each lane that is touched).
///
/// # Errors
///
/// [`AllocError::OutOfMemory`] where the system refuses.
pub(crate) fn map(
    head: usize,
    len: usize,
    align: usize,
    huge: bool,
) -> Result<Mapping, AllocError> {
    let page = os::page_size();
    let head = head.next_multiple_of(page);
    let total = len.checked_next_multiple_of(page).and_then(|len| len.checked_add(head));
    // Mappings begin on a page: only a larger alignment needs slack, which is given back below.
    let slack = if align <= page { 0 } else { align };
    let Some(padded) = total.and_then(|total| total.checked_add(slack)) else {
        return Err(AllocError::OutOfMemory { bytes: usize::MAX });
    };
    let total = padded - slack;
    let first = os::map(padded).ok_or(AllocError::OutOfMemory { bytes: padded })?;
    let shift = (first.addr().get() + head).next_multiple_of(align) - head - first.addr().get();
    // SAFETY: `shift <= slack`, so the pointer stays in the mapping just made.
    let lead = unsafe { first.add(shift) };
    // SAFETY: `lead` is followed by `total` bytes of the mapping, and `head <= total`.
    let base = unsafe { lead.add(head) };
    os::advise_huge(lead, total, huge);
    // SAFETY: the mapping was just made and nobody uses it; `shift + total <= padded`.
    let (start, len) = unsafe { os::trim(first, padded, shift, total) };
    #[cfg(corelocal_asan)]
    roots::add(start, len);
    Ok(Mapping { start, len, base })
}

/// Bytes of a page.
#[cfg_attr(corelocal_loom, allow(dead_code, reason = "models keep records on the heap"))]
pub(crate) fn page_size() -> usize {
    os::page_size()
}

/// Gives a mapping back to the system.
///
/// # Safety
///
/// * `start` and `len` are those of a [`Mapping`] that was not given back yet.
/// * Nobody uses its bytes any more.
pub(crate) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    #[cfg(corelocal_asan)]
    roots::remove(start, len);
    // SAFETY: passed on to the caller.
    unsafe { os::unmap(start, len) }
}

/// The leak sanitizer looks for pointers in the heap, stacks and statics, and not in mappings unless it
/// is told: what lies in lanes alone would be called a leak. With `-Zsanitizer=address`, whose run
/// time has these functions.
#[cfg(corelocal_asan)]
mod roots {
    use core::ptr::NonNull;

    unsafe extern "C" {
        /// Notes the range; reads nothing now.
        safe fn __lsan_register_root_region(start: *const u8, len: usize);
        /// Forgets the same range; ends the process if it was not noted.
        safe fn __lsan_unregister_root_region(start: *const u8, len: usize);
    }

    pub(super) fn add(start: NonNull<u8>, len: usize) {
        __lsan_register_root_region(start.as_ptr(), len);
    }

    pub(super) fn remove(start: NonNull<u8>, len: usize) {
        __lsan_unregister_root_region(start.as_ptr(), len);
    }
}

/// Gives the uninitialised bytes of a mapping some value, so that all may be read as integers.
///
/// A value leaves uninitialised bytes behind: its padding, and the places of a `MaybeUninit`. They
/// are in the language only, where reading them is undefined; in memory there is what there is. An
/// empty piece of assembly that may have written to them makes the language agree; it emits nothing.
#[cfg(not(miri))]
#[inline(always)]
pub(crate) fn settle(at: NonNull<u8>) {
    #[cfg(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "arm",
        target_arch = "aarch64",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "s390x"
    ))]
    // SAFETY: no instruction; what it stands for is a write of what is there already.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) at.as_ptr(), options(nostack, preserves_flags));
    }
    #[cfg(not(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "arm",
        target_arch = "aarch64",
        target_arch = "riscv32",
        target_arch = "riscv64",
        target_arch = "loongarch64",
        target_arch = "s390x"
    )))]
    core::hint::black_box(at);
}

/// Says that the bytes at `at` are read. Nothing but under loom, which wants an edge from the
/// last write, and the mapping to be there.
#[cfg(not(corelocal_loom))]
#[inline(always)]
pub(crate) fn reads(_at: NonNull<u8>) {}

/// Says that the bytes at `at` are written; see [`reads`].
#[cfg(not(corelocal_loom))]
#[inline(always)]
pub(crate) fn writes(_at: NonNull<u8>) {}

#[cfg(corelocal_loom)]
#[path = "memory_model.rs"]
mod os;
#[cfg(corelocal_loom)]
pub(crate) use os::{PART, finish, reads, touch, writes};

#[cfg(all(unix, not(any(miri, corelocal_loom))))]
mod os {
    use core::ptr::{self, NonNull};

    #[cfg(target_os = "linux")]
    const NO_CHARGE: i32 = libc::MAP_NORESERVE;
    #[cfg(not(target_os = "linux"))]
    const NO_CHARGE: i32 = 0;

    pub(super) fn page_size() -> usize {
        // SAFETY: reads a constant of the system.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(4096)
    }

    pub(super) fn map(len: usize) -> Option<NonNull<u8>> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | NO_CHARGE;
        // SAFETY: a new private mapping at an address of the system's choice touches nobody.
        let at = unsafe { libc::mmap(ptr::null_mut(), len, access, kind, -1, 0) };
        if at == libc::MAP_FAILED { None } else { NonNull::new(at.cast()) }
    }

    /// Gives back the `shift` bytes before the wanted part and what lies behind its `keep` bytes,
    /// and says what is left: where it starts, and how long it is.
    ///
    /// # Safety
    ///
    /// `first` is a mapping of `len` bytes that nobody uses; `shift + keep <= len`.
    pub(super) unsafe fn trim(
        first: NonNull<u8>,
        len: usize,
        shift: usize,
        keep: usize,
    ) -> (NonNull<u8>, usize) {
        // SAFETY: `shift <= len`.
        let start = unsafe { first.add(shift) };
        // SAFETY: `shift + keep <= len`.
        let end = unsafe { start.add(keep) };
        for (at, len) in [(first, shift), (end, len - shift - keep)] {
            if len > 0 {
                // SAFETY: these bytes are outside the wanted part, and nobody uses them.
                unsafe { unmap(at, len) };
            }
        }
        (start, keep)
    }

    /// # Safety
    ///
    /// As [`super::unmap`].
    pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: passed on to the caller.
        let status = unsafe { libc::munmap(start.as_ptr().cast(), len) };
        if status != 0 {
            // The system may have merged the mapping with its neighbours, and have no room for the
            // two that are left of them. The pages go, at least; the addresses are lost.
            // SAFETY: as above.
            let _ = unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) };
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn advise_huge(start: NonNull<u8>, len: usize, huge: bool) {
        let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // Advice: a kernel without huge pages refuses, and that is as good. The result is ignored.
        // SAFETY: the range is a mapping of our own, and the advice changes no contents.
        let _ = unsafe { libc::madvise(start.as_ptr().cast(), len, advice) };
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}
}

/// Where there is no `mmap`: the heap, zeroed. Nothing is lazy there. Miri has one, but none that
/// maps without charge or gives a part back.
#[cfg(all(any(not(unix), miri), not(corelocal_loom)))]
mod os {
    use alloc::alloc::{Layout, alloc_zeroed, dealloc};
    use core::ptr::NonNull;

    const PAGE: usize = 4096;

    pub(super) fn page_size() -> usize {
        PAGE
    }

    pub(super) fn map(len: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(len, PAGE).ok()?;
        // SAFETY: `len` is a page at least.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    /// A block of the heap is given back whole or not at all.
    ///
    /// # Safety
    ///
    /// None: it does nothing.
    pub(super) unsafe fn trim(
        first: NonNull<u8>,
        len: usize,
        _: usize,
        _: usize,
    ) -> (NonNull<u8>, usize) {
        (first, len)
    }

    /// # Safety
    ///
    /// As [`super::unmap`].
    pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
        if let Ok(layout) = Layout::from_size_align(len, PAGE) {
            // SAFETY: passed on to the caller; `map` allocated with this layout.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }

    pub(super) fn advise_huge(_: NonNull<u8>, _: usize, _: bool) {}
}
