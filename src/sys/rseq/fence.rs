//! Waiting until no section that began earlier is running.
//!
//! A plain fence cannot stop a section between its load and its commit on another CPU.
//! The kernel can: this barrier makes every running section of the process end or abort.
#![allow(unsafe_code, reason = "makes system calls")]

use crate::cpu::CpuId;
use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
use core::fmt;

/// The kernel has no barrier against sections (before Linux 5.10, or a sandbox).
///
/// A structure that needs one uses atomics from its first object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoFence;

impl fmt::Display for NoFence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the system has no barrier against restartable sequences \
             (membarrier, Linux 5.10 or newer, allowed by the sandbox)",
        )
    }
}

impl core::error::Error for NoFence {}

/// Whether the barrier was registered; one word, so that a forked child, which keeps
/// the registration, and two threads that ask at once find it whole.
static STATE: AtomicU32 = AtomicU32::new(UNASKED);
const UNASKED: u32 = 0;
const PRESENT: u32 = 1;
const ABSENT: u32 = 2;

/// Whether [`fence_cpu`] and [`fence_all`] work here. Asked of the kernel once.
pub fn can_fence() -> bool {
    // Relaxed: the word is the whole message.
    match STATE.load(Ordering::Relaxed) {
        PRESENT => true,
        ABSENT => false,
        _ => register(),
    }
}

#[cold]
fn register() -> bool {
    let state = if membarrier(REGISTER, 0, 0) { PRESENT } else { ABSENT };
    // Relaxed: as above; whoever asked at the same time had the same answer.
    STATE.store(state, Ordering::Relaxed);
    state == PRESENT
}

/// Returns when no section is running on `cpu` that began before the call, and is a full
/// barrier. Sections that begin later see what was stored before.
///
/// # Errors
///
/// [`NoFence`]; nothing was waited for.
pub fn fence_cpu(cpu: CpuId) -> Result<(), NoFence> {
    if !can_fence() {
        return Err(NoFence);
    }
    let index = i32::try_from(cpu.get()).map_err(|_| NoFence)?;
    barrier(FLAG_CPU, index)
}

/// [`fence_cpu`] for every CPU: about 17 us where it was measured, with a busy neighbour.
///
/// # Errors
///
/// [`NoFence`]; nothing was waited for.
pub fn fence_all() -> Result<(), NoFence> {
    if !can_fence() {
        return Err(NoFence);
    }
    barrier(0, 0)
}

fn barrier(flags: u32, cpu: i32) -> Result<(), NoFence> {
    #[cfg(corelocal_tsan)]
    super::annotate::before_fence();
    let done = membarrier(FENCE, flags, cpu);
    #[cfg(corelocal_tsan)]
    super::annotate::after_fence();
    if done { Ok(()) } else { Err(NoFence) }
}

// The kernel's numbers (linux/membarrier.h): libc lacks the flag.
const FENCE: i32 = 1 << 7;
const REGISTER: i32 = 1 << 8;
const FLAG_CPU: u32 = 1;

#[cfg(all(target_os = "linux", not(miri)))]
fn membarrier(command: i32, flags: u32, cpu: i32) -> bool {
    // SAFETY:
    // - the call takes three numbers and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, flags, cpu) == 0 }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn membarrier(_command: i32, _flags: u32, _cpu: i32) -> bool {
    false
}
