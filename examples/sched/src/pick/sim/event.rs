//! What the simulator is fed with.

/// Something that happens to a task or a group from outside.
///
/// Who runs is not among it: that the simulator decides. [`recorded`](super::recorded) makes such a
/// list of what a recorded trace shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A task wakes and wants so many nanoseconds of service, then sleeps; without end for `None`.
    /// If it is awake, it wants so much more.
    Wake {
        /// The task.
        task: u32,
        /// Where; `None` lets the simulator look for an idle CPU.
        cpu: Option<usize>,
        /// Nanoseconds of service.
        work: Option<u64>,
    },
    /// A task sleeps, whatever is left of its work.
    Sleep {
        /// The task.
        task: u32,
    },
    /// A task moves, awake or not.
    Migrate {
        /// The task.
        task: u32,
        /// Where to.
        cpu: usize,
    },
    /// A task's nice value changes.
    SetWeight {
        /// The task.
        task: u32,
        /// Its new weight.
        weight: u64,
    },
    /// A group's weight changes.
    SetShares {
        /// The group.
        group: u32,
        /// Its new weight.
        shares: u64,
    },
}

/// An [`Event`] and when it happens, in nanoseconds.
pub type Timed = (u64, Event);

/// Answers of the world outside to what tasks have done: what makes a workload a loop.
pub trait Reacts {
    /// `task` has done the work that it woke for. What that brings about, from `now` on, goes into
    /// `later`.
    fn finished(&mut self, now: u64, task: u32, later: &mut Vec<Timed>);
}

/// Nobody reacts: everything that happens is in the list.
impl Reacts for () {
    fn finished(&mut self, _: u64, _: u32, _: &mut Vec<Timed>) {}
}
