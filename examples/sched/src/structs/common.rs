//! The pieces that both kernels share.

use super::table;
use crate::link::LeafLinks;
use crate::word::{U32, U64};
use bytemuck::Zeroable;

table! {
    /// A weight and its cached inverse.
    pub struct LoadWeight, 16 bytes {
        0 (0) weight: U64,
        8 (0) inv_weight: U32,
    }
}

table! {
    /// The head or a node of a list whose links are indices, or which the model does not walk.
    #[derive(Default)]
    pub struct ListHead, 16 bytes {
        0 (0) next: U64,
        8 (0) prev: U64,
    }
}

table! {
    /// A red-black tree's root and its leftmost node.
    pub struct RbRoot, 16 bytes {
        0 (0) node: U64,
        8 (0) leftmost: U64,
    }
}

table! {
    /// A red-black tree's node.
    pub struct RbNode, 24 bytes {
        0 (0) parent_color: U64,
        8 (0) right: U64,
        16 (0) left: U64,
    }
}

table! {
    /// Load tracking, on a line of its own.
    #[repr(align(64))]
    pub struct SchedAvg, 64 bytes {
        0 (0) last_update_time: U64,
        8 (0) load_sum: U64,
        16 (0) runnable_sum: U64,
        24 (0) util_sum: U32,
        28 (0) period_contrib: U32,
        32 (0) load_avg: U64,
        40 (0) runnable_avg: U64,
        48 (0) util_avg: U64,
        56 (0) util_est: U32,
    }
}

table! {
    /// Load that left the queue on other CPUs, behind a lock on a line of its own.
    #[repr(align(64))]
    pub struct Removed, 64 bytes {
        0 (0) lock: U32,
        4 (0) nr: U32,
        8 (0) load_avg: U64,
        16 (0) util_avg: U64,
        24 (0) runnable_avg: U64,
    }
}

table! {
    /// Statistics of an entity: 29 words on four lines. The model uses the waiting times only.
    #[repr(align(64))]
    pub struct SchedStatistics, 256 bytes {
        0 (0) wait_start: U64,
        8 (0) wait_max: U64,
        16 (0) wait_count: U64,
        24 (0) wait_sum: U64,
        32 (0) others: Words<25>,
    }
}

/// `N` words.
#[derive(Debug)]
#[repr(transparent)]
pub struct Words<const N: usize>([U64; N]);

// SAFETY:
// * an array of `Zeroable` words.
unsafe impl<const N: usize> Zeroable for Words<N> {}

/// One CPU's run queue: the root group's `cfs_rq` lies in it, without an entity.
#[derive(Debug)]
#[repr(C)]
pub struct Rq<C> {
    /// The queue of the root group.
    pub cfs: C,
    /// Nanoseconds of this CPU's clock.
    pub clock: U64,
    /// The clock of load tracking.
    pub clock_pelt: U64,
    /// The first and the last queue of the leaf list: a child always lies before its parent.
    pub leaf: LeafLinks<C>,
    /// Where the branch that is being added ends; `None` outside of such an addition.
    pub tmp_alone_branch: crate::link::Link<C>,
    /// Queues of this CPU that another CPU gave runtime, by their groups' indices plus one: this
    /// CPU is to unthrottle them.
    pub cfsb_csd_list: ListHead,
}

// SAFETY:
// * every field is `Zeroable`; padding may hold anything.
unsafe impl<C: Zeroable> Zeroable for Rq<C> {}
