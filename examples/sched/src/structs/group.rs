//! The task group: one for the whole machine, about 1 KiB, the same in every layout but for the
//! references that lead to its per-CPU state.

use super::common::ListHead;
use crate::word::{I32, I64, U32, U64};
use core::mem::offset_of;

/// Quota of processor time in each period.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Bandwidth {
    /// Microseconds; `u64::MAX` without a limit.
    pub quota: U64,
    /// Microseconds.
    pub period: U64,
    /// Microseconds that may be saved up beyond the quota.
    pub burst: U64,
    /// The pool: nanoseconds that no CPU has taken yet.
    pub runtime: I64,
    /// What the pool held after the last refill.
    pub runtime_snap: I64,
    /// Whether nothing was taken from the pool since the period began.
    pub idle: I32,
    /// Whether the period's timer runs.
    pub period_active: I32,
    /// Whether the slack timer runs.
    pub slack_started: I32,
    /// When the period's timer expires, or expired last; nanoseconds.
    pub period_expires: U64,
    /// When the slack timer expires.
    pub slack_expires: U64,
    /// Throttled queues, by their CPUs plus one.
    pub throttled: ListHead,
    /// Periods that ended while the group was active.
    pub nr_periods: U64,
    /// Periods in which a queue was throttled.
    pub nr_throttled: U64,
    /// Periods that used what was saved up.
    pub nr_burst: U64,
    /// Nanoseconds that queues were throttled, all CPUs together.
    pub throttled_time: U64,
    /// Nanoseconds used beyond the quota.
    pub burst_time: U64,
    /// The timers' own fields.
    pub rest: [U64; 13],
}

const _: () = assert!(size_of::<Bandwidth>() == 29 * 8, "as large as the kernel's");

/// A task group whose per-CPU state is reached through `R`.
///
/// The field order is the kernel's; `R` shares a line with the shares, the summed load has a line
/// of its own, and so have the links of the tree.
#[derive(Debug)]
#[repr(C)]
pub struct TaskGroup<R> {
    /// The cgroup's own part.
    css: [U64; 24],
    /// Whether the group is idle.
    pub idle: I32,
    /// References to the per-CPU state.
    pub refs: R,
    /// The weight, scaled by 1024.
    pub shares: U64,
    /// The load that the CPUs have reported, on a line of its own.
    pub load_avg: LoadAvg,
    /// The real-time and extensible schedulers' parts.
    others: [U64; 32],
    /// The links of the tree.
    pub links: TreeLinks,
    /// Quota and period.
    pub bandwidth: Bandwidth,
}

/// The sum of the CPUs' loads, and of their runnable averages, which Linux 7.3 put beside it.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct LoadAvg(pub U64, pub U64);

/// Indices of the neighbours in the tree, [`TreeLinks::NONE`] where there is none; and what the
/// group's release asks.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct TreeLinks {
    /// The parent.
    pub parent: U32,
    /// The next child of the same parent.
    pub sibling: U32,
    /// The first child.
    pub child: U32,
    /// Not 0 from the moment when the group's queues left the leaf lists for good.
    pub dead: U32,
    /// Tasks in the group, queued or not, and new children: it is not released before they are
    /// gone. [`TreeLinks::CLOSED`] when it is being released.
    pub tasks: U32,
}

impl TreeLinks {
    /// No neighbour.
    pub const NONE: u32 = u32::MAX;
    /// In `tasks`: nobody can join any more.
    pub const CLOSED: u32 = u32::MAX;
}

impl<R> TaskGroup<R> {
    /// A group without neighbours, shares or quota.
    pub fn new(refs: R) -> Self {
        const { assert!(offset_of!(Self, refs) / 64 == offset_of!(Self, shares) / 64) };
        let group = Self {
            css: Default::default(),
            idle: I32::default(),
            refs,
            shares: U64::default(),
            load_avg: LoadAvg::default(),
            others: Default::default(),
            links: TreeLinks::default(),
            bandwidth: Bandwidth::default(),
        };
        for link in [&group.links.parent, &group.links.sibling, &group.links.child] {
            link.set(TreeLinks::NONE);
        }
        group.bandwidth.quota.set(u64::MAX);
        group
    }
}
