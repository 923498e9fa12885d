//! Linux: libc's restartable-sequences area, the vDSO, and two system calls.
#![allow(unsafe_code, reason = "foreign calls and the thread pointer")]

use core::ffi::c_int;
use core::mem::size_of_val;

/// libc's registration of the restartable-sequences area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ThreadArea {
    /// Distance of the area from the thread pointer, in bytes; negative on some machines.
    pub(super) offset: isize,
    /// Bytes of the area that the kernel keeps current; never 0 here.
    pub(super) size: u32,
}

/// The value of a constant that the C library may export.
macro_rules! symbol {
    ($name:literal, $type:ty) => {{
        let address: *const $type = lookup::address!($name).cast();
        // SAFETY:
        // - null, or the address of a name that begins with two underscores and so
        //   belongs to the C library, which documents it as a constant of this type;
        // - it is set before the first instruction of the program and never again.
        unsafe { address.as_ref() }.copied()
    }};
}

#[cfg(not(all(target_env = "gnu", target_feature = "crt-static", target_arch = "x86_64")))]
mod lookup {
    macro_rules! address {
        ($name:literal) => {{
            let name = concat!($name, "\0").as_ptr().cast();
            // SAFETY:
            // - `name` ends with a zero; RTLD_DEFAULT is a valid handle.
            unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) }
        }};
    }
    pub(super) use address;
}

/// A static program has nothing to look up in at run time. There, and only there, a
/// weak reference is right: what is linked is the libc of the build.
#[cfg(all(target_env = "gnu", target_feature = "crt-static", target_arch = "x86_64"))]
mod lookup {
    macro_rules! address {
        ($name:literal) => {{
            let address: *mut u8;
            // SAFETY:
            // - loads a word of the offset table: the symbol's address, or null.
            unsafe {
                core::arch::asm!(
                    concat!(".weak ", $name),
                    concat!("mov {address}, qword ptr [rip + ", $name, "@GOTPCREL]"),
                    address = out(reg) address,
                    options(nostack, preserves_flags, readonly),
                );
            }
            address
        }};
    }
    pub(super) use address;
}

/// Where libc registered an area for each thread, if it did.
///
/// The symbols are looked up at run time: a link-time reference, weak or not,
/// would tie a dynamic binary to glibc 2.35.
pub(super) fn thread_area() -> Option<ThreadArea> {
    if !tp::SUPPORTED {
        return None;
    }
    let size = symbol!("__rseq_size", u32)?;
    let offset = symbol!("__rseq_offset", isize)?;
    accepted(size, offset)
}

/// Size 0 is libc's word for "not registered". An area is aligned to 32 bytes and a
/// thread pointer to 8 at least, so any other offset is not one.
fn accepted(size: u32, offset: isize) -> Option<ThreadArea> {
    let plausible = size > 0 && offset != 0 && offset % 8 == 0;
    plausible.then_some(ThreadArea { offset, size })
}

/// The id word of the area `offset` bytes from this thread's thread pointer.
/// Negative: this thread is not registered.
///
/// # Safety
///
/// `offset` came from [`thread_area`], or four readable bytes lie at the thread
/// pointer + `offset` + 4 for every thread that calls.
#[inline]
pub(super) unsafe fn id_word(offset: isize) -> i32 {
    // SAFETY:
    // - the caller's obligation is the same.
    unsafe { tp::load_id(offset) }
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
mod tp {
    pub(super) const SUPPORTED: bool = true;

    /// # Safety
    ///
    /// Four bytes at the thread pointer + `offset` + 4 are readable.
    #[inline]
    pub(super) unsafe fn load_id(offset: isize) -> i32 {
        let id: i32;
        // SAFETY:
        // - the load stays inside the area (caller); it writes nothing.
        // Neither `pure` nor `nomem`: the word changes by itself, so every call loads.
        unsafe {
            core::arch::asm!(
                "mov {id:e}, dword ptr fs:[{offset} + 4]",
                offset = in(reg) offset,
                id = lateout(reg) id,
                options(nostack, preserves_flags, readonly),
            );
        }
        id
    }
}

#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
mod tp {
    pub(super) const SUPPORTED: bool = true;

    /// # Safety
    ///
    /// Four bytes at the thread pointer + `offset` + 4 are readable.
    #[inline]
    pub(super) unsafe fn load_id(offset: isize) -> i32 {
        let id: i32;
        // SAFETY:
        // - the load stays inside the area (caller); it writes nothing.
        // Neither `pure` nor `nomem`: the word changes by itself, so every call loads.
        unsafe {
            core::arch::asm!(
                "mrs {base}, tpidr_el0",
                "add {base}, {base}, {offset}",
                "ldr {id:w}, [{base}, #4]",
                offset = in(reg) offset,
                base = out(reg) _,
                id = lateout(reg) id,
                options(nostack, preserves_flags, readonly),
            );
        }
        id
    }
}

#[cfg(not(all(
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
mod tp {
    pub(super) const SUPPORTED: bool = false;

    /// # Safety
    ///
    /// None; never called, since no area is accepted here.
    pub(super) unsafe fn load_id(_offset: isize) -> i32 {
        -1
    }
}

/// This thread's CPU from the vDSO; `None` if the system does not say.
pub(super) fn getcpu() -> Option<u32> {
    // SAFETY:
    // - the call takes nothing and writes nothing but errno.
    let id: c_int = unsafe { libc::sched_getcpu() };
    u32::try_from(id).ok()
}

/// Fills `words` with the mask of CPUs that this thread may run on.
///
/// # Errors
///
/// The error number; `EINVAL` means that `words` is shorter than the kernel's mask.
pub(super) fn affinity(words: &mut [usize]) -> Result<(), i32> {
    // SAFETY:
    // - `words` is writable for exactly the length that is passed.
    let result =
        unsafe { libc::sched_getaffinity(0, size_of_val(words), words.as_mut_ptr().cast()) };
    if result == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
}

/// Keeps this thread on `cpu`. Says whether the system let it.
pub(super) fn pin(cpu: u32) -> bool {
    let mut words = [0usize; super::MAX_CPUS as usize / usize::BITS as usize];
    let Some(word) = words.get_mut((cpu / usize::BITS) as usize) else { return false };
    *word = 1 << (cpu % usize::BITS);
    // SAFETY:
    // - `words` is readable for exactly the length that is passed.
    unsafe { libc::sched_setaffinity(0, size_of_val(&words), words.as_ptr().cast()) == 0 }
}

/// What `affinity` answers when the buffer is too short.
pub(super) const TOO_SHORT: i32 = libc::EINVAL;

/// How many CPUs the C library thinks there are; it reads other files than we do.
pub(super) fn configured() -> Option<u32> {
    // SAFETY:
    // - the call takes a number and touches no memory of ours.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    u32::try_from(count).ok().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The thread pointer itself: the first word of the block holds its own address.
    #[cfg(target_arch = "x86_64")]
    fn thread_pointer() -> usize {
        let base: usize;
        // SAFETY:
        // - the x86-64 thread ABI puts the block's address into its first word.
        unsafe {
            core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) base,
                options(nostack, preserves_flags, readonly));
        }
        base
    }

    /// D5, <https://github.com/DynamoRIO/dynamorio/issues/5955>: thread-local data
    /// lies *below* the thread pointer here, so its offset is negative.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn an_area_below_the_thread_pointer_is_read_in_the_right_place() {
        thread_local! {
            static FAKE: Cell<[i32; 8]> = const { Cell::new([0; 8]) };
        }
        FAKE.with(|fake| {
            let offset = (fake.as_ptr().addr()).wrapping_sub(thread_pointer()) as isize;
            assert!(offset < 0, "the test needs an offset below the thread pointer: {offset}");
            for word in [0, 7, 4095, -1, -2] {
                fake.set([11, word, 13, 17, 19, 23, 29, 31]);
                // SAFETY:
                // - `offset` leads to `fake`, which holds eight words, on this thread.
                assert_eq!(unsafe { id_word(offset) }, word);
            }
        });
    }

    #[test]
    fn the_areas_id_agrees_with_the_system_while_the_thread_stays() {
        let Some(area) = thread_area() else {
            eprintln!("skipped: this C library registers no area");
            return;
        };
        // The thread may move between two of the three reads: one calm triple is enough.
        let calm = (0..10_000).any(|_| {
            let before = getcpu();
            // SAFETY:
            // - the offset came from `thread_area`.
            let word = unsafe { id_word(area.offset) };
            before == getcpu() && before == u32::try_from(word).ok()
        });
        assert!(calm, "{area:?}");
    }

    /// M1, <https://github.com/docker-library/mongo/issues/724>: exported is not registered.
    #[test]
    fn an_area_of_no_bytes_is_no_area() {
        assert_eq!(accepted(0, -160), None);
        assert_eq!(accepted(20, 0), None);
        assert_eq!(accepted(20, 13), None);
        for (size, offset) in [(20, 2464), (28, -160), (33, -64)] {
            assert_eq!(accepted(size, offset), Some(ThreadArea { offset, size }));
        }
    }

    #[test]
    fn a_symbol_that_no_library_has_is_absent() {
        assert_eq!(symbol!("__corelocal_no_such_symbol", u32), None);
    }
}
