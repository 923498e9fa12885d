//! Which memory node a page comes from: advice, for pages that are touched for the first time.
//!
//! A policy for the calling thread while it touches a lane's pages, and no policy of a mapping: one
//! a lane would split the mapping into as many, and the system's limit on mappings is the whole
//! process's. The policy is gone before any initialiser runs, so that nothing of the user's (a
//! thread it starts, memory it allocates) is placed by it. Where there is one node, or the system
//! refuses, or the thread has a policy of its own (`numactl`), nothing is done.
#![allow(
    unsafe_code,
    reason = "touches pages, and makes system calls that libc has no function for"
)]

use super::topology::Topology;
use crate::cpu::CpuId;
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use core::iter;
use core::ptr::NonNull;

/// Has the pages of lanes taken from their CPUs' nodes, if that can be had.
#[derive(Debug)]
pub(crate) struct Placement {
    topology: Option<&'static Topology>,
}

impl Placement {
    /// Nothing is touched yet; `wanted` is whether anything ever will be.
    #[inline]
    pub(crate) fn new(wanted: bool) -> Self {
        // Relaxed: the word is the whole message.
        let wanted = wanted && NODES.load(Ordering::Relaxed) != ONE;
        Self { topology: if wanted { machine() } else { None } }
    }

    /// Touches the pages of `len` bytes at `at` for the first time, on the node of `cpu`.
    ///
    /// # Safety
    ///
    /// The bytes are mapped, and the caller's to write: some become zero.
    #[inline]
    pub(crate) unsafe fn touch(&mut self, cpu: CpuId, at: NonNull<u8>, len: usize) {
        if let Some(topology) = self.topology {
            // SAFETY: passed on to the caller.
            unsafe { self.touch_slow(topology, cpu, at, len) };
        }
    }

    /// # Safety
    ///
    /// As [`Placement::touch`].
    #[cold]
    unsafe fn touch_slow(&mut self, topology: &Topology, cpu: CpuId, at: NonNull<u8>, len: usize) {
        let Some(node) = topology.memory_node_of(cpu) else { return };
        if !os::prefer(Some(node)) {
            self.topology = None; // refused: not asked again
            return;
        }
        let page = super::memory::page_size();
        // The first byte, and the first one of every page that begins behind it.
        let to_next_page = page - at.addr().get() % page;
        for offset in
            iter::once(0).chain((to_next_page..len).step_by(page)).take_while(|&o| o < len)
        {
            // SAFETY: `offset < len`, and the bytes are mapped.
            let byte = unsafe { at.add(offset) };
            // SAFETY: the byte is the caller's to write.
            unsafe { byte.write_volatile(0) };
        }
        os::prefer(None);
    }
}

/// Whether there is one node, or several: read once, since it costs files.
static NODES: AtomicU32 = AtomicU32::new(UNASKED);
const UNASKED: u32 = 0;
const ONE: u32 = 1;
const SEVERAL: u32 = 2;
/// Somebody is reading.
#[cfg_attr(corelocal_loom, allow(dead_code, reason = "a model has no placement"))]
const ASKED: u32 = 3;

/// The machine, if it has nodes to choose from and the thread leaves the choice to us.
///
/// Reading it takes from the heap, which may itself be built on this crate: who comes meanwhile, on
/// whichever thread, does without advice (as does a child forked meanwhile, for good).
#[cfg(not(corelocal_loom))]
#[cold]
fn machine() -> Option<&'static Topology> {
    // Relaxed, all: as in `new`.
    if NODES.compare_exchange(UNASKED, ASKED, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let nodes = if Topology::current().has_nodes() { SEVERAL } else { ONE };
        NODES.store(nodes, Ordering::Relaxed);
    }
    (NODES.load(Ordering::Relaxed) == SEVERAL && os::is_default()).then(Topology::current)
}

#[cfg(corelocal_loom)]
fn machine() -> Option<&'static Topology> {
    None
}

#[cfg(all(target_os = "linux", not(miri)))]
mod os {
    use crate::sync::Ordering;
    use crate::sync::plain::AtomicU32;
    use core::ffi::c_long;
    use core::ptr;

    /// Set when a call was refused: a sandbox does not change its mind.
    static REFUSED: AtomicU32 = AtomicU32::new(0);

    /// The highest node that a policy can name here.
    const MOST: usize = 1024;

    fn refused(status: c_long) -> bool {
        if status != 0 {
            // Relaxed: the word is the whole message.
            REFUSED.store(1, Ordering::Relaxed);
        }
        status != 0
    }

    /// Prefers `node` for this thread's first touches, or goes back to the default.
    pub(super) fn prefer(node: Option<u32>) -> bool {
        let mut mask = [0_u64; MOST / 64];
        let policy = match node {
            Some(node) if (node as usize) < MOST => {
                mask[node as usize / 64] = 1 << (node % 64);
                libc::MPOL_PREFERRED
            }
            Some(_) => return false,
            None => libc::MPOL_DEFAULT,
        };
        // One bit more than there are: the kernel takes the number as exclusive.
        let (nodes, bits) = match node {
            Some(_) => (mask.as_ptr(), MOST + 1),
            None => (ptr::null(), 0),
        };
        // SAFETY: reads `MOST` bits at `nodes`, which is what is there (or none).
        !refused(unsafe { libc::syscall(libc::SYS_set_mempolicy, policy, nodes, bits) })
    }

    /// Whether this thread has no policy of its own, and we may set one.
    pub(super) fn is_default() -> bool {
        // Relaxed: as in `refused`.
        if REFUSED.load(Ordering::Relaxed) != 0 {
            return false;
        }
        let mut policy = libc::MPOL_PREFERRED;
        let (none, zero) = (ptr::null_mut::<u64>(), 0_usize);
        // SAFETY: writes an `int` at the pointer, which is a living local, and no mask.
        let status = unsafe {
            libc::syscall(libc::SYS_get_mempolicy, &raw mut policy, none, zero, zero, zero)
        };
        !refused(status) && policy == libc::MPOL_DEFAULT
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod os {
    pub(super) fn prefer(_: Option<u32>) -> bool {
        false
    }

    #[cfg(not(corelocal_loom))]
    pub(super) fn is_default() -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_put_back() {
        if !os::is_default() {
            println!("skipped: memory policies are refused here, or this thread has one");
            return;
        }
        let mut placement = Placement { topology: Some(Topology::current()) };
        let mut bytes = [1_u8; 10_000];
        let at = NonNull::from(&mut bytes).cast();
        // SAFETY: the bytes are the array's, which is not used meanwhile.
        unsafe { placement.touch(CpuId::new(0), at, bytes.len()) };
        assert!(os::is_default(), "the policy outlived the touch");
        if placement.topology.is_some() {
            let touched = bytes.iter().filter(|&&byte| byte == 0).count();
            assert!((3..=4).contains(&touched), "{touched} of three or four pages");
        }
    }

    #[test]
    fn a_machine_with_one_node_is_left_alone() {
        if Topology::current().nodes().len() == 1 {
            assert!(Placement::new(true).topology.is_none());
        }
    }
}
