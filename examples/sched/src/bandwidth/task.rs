//! Tasks: what they do when they are let.

use crate::structs::ListHead;

/// A task's number, unique in one [`Control`](super::Control).
pub type TaskId = u32;

/// The weight of a task with nice 0, scaled as the kernel scales it.
pub const NICE_0_LOAD: u64 = 1 << 20;

/// Runs `on`, sleeps `off`, and so on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Behaviour {
    /// Nanoseconds of running between two sleeps.
    pub on: u64,
    /// Nanoseconds of sleep; 0 for a loop that never sleeps.
    pub off: u64,
    /// How long it stays in the kernel after it was told to go: then it runs on, throttled.
    pub stay: u64,
}

impl Behaviour {
    /// A loop that never sleeps and makes no system call.
    pub const BUSY: Self = Self { on: u64::MAX, off: 0, stay: 0 };
}

/// Where a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Asleep until this time.
    Asleep(u64),
    /// In its queue, or running.
    Queued,
    /// On the limbo list of its queue.
    Limbo,
}

/// A task.
#[derive(Debug)]
pub struct Task {
    /// Its group; 0 is the root.
    pub group: usize,
    /// Whether it never returns to user space.
    pub kernel_thread: bool,
    /// What it does.
    pub behaviour: Behaviour,
    /// Nanoseconds that it ran.
    pub ran: u64,
    /// Where it is.
    pub place: Place,
    /// Running time to the next sleep.
    pub(super) left: u64,
    /// When it returns to user space, if it is to be throttled there.
    pub(super) returns: Option<u64>,
    /// Whether it was throttled and has not been queued since.
    pub(super) throttled: bool,
    /// Running time by weight.
    pub(super) vruntime: u64,
    /// Its node on a limbo list.
    pub(super) node: ListHead,
}

impl Task {
    /// A task of `group` that has not run yet and is asleep until `at`.
    pub fn new(group: usize, behaviour: Behaviour, at: u64) -> Self {
        Self {
            group,
            kernel_thread: false,
            behaviour,
            ran: 0,
            place: Place::Asleep(at),
            left: behaviour.on,
            returns: None,
            throttled: false,
            vruntime: 0,
            node: ListHead::default(),
        }
    }
}
