//! Linux 6.14 with the fields of `cfs_rq` and `sched_entity` in the order of the RFC of 2025: those
//! of a walk together, in groups. One line less: a co-located state of 960 bytes, 15 lines.

use super::common::*;
use super::{Kernel, offsets};
use crate::link::{LeafLinks, Link};
use crate::word::{I32, I64, U8, U32, U64};
use core::mem::offset_of;
use corelocal::{CACHE_LINE, cacheline_group, cacheline_struct, colocated};

/// Where lines have 64 bytes, the group begins on one. Elsewhere it may begin in the middle: with
/// bandwidth control left out, what lies before it is not a multiple of 64 bytes.
const THROTTLE_LINES: usize = if CACHE_LINE == 64 { 1 } else { 2 };

/// Defines both structures, with bandwidth control, group scheduling and core scheduling built in
/// (`all`) or not (`any`: a `cfg` of nothing).
macro_rules! reordered {
    ($cfs_rq:ident, $se:ident, bandwidth $bandwidth:ident, group $group:ident, core $core:ident) => {
        cacheline_struct! {
            /// The run queue of one group on one CPU: 7 lines.
            #[allow(missing_docs, reason = "the names are the kernel's")]
            pub struct $cfs_rq {
                /// What each walk reads: two lines, filled exactly.
                group hot(
                    bytes <= 128,
                    lines <= 2,
                    holds(
                        load, nr_queued, h_nr_queued, h_nr_runnable, h_nr_idle, curr, rq, tg,
                        throttle_count, runtime_enabled, idle, propagate, avg_vruntime, avg_load,
                        min_vruntime, tasks_timeline, next
                    )
                ) {
                    pub load: LoadWeight,
                    pub nr_queued: U32,
                    pub h_nr_queued: U32,
                    pub h_nr_runnable: U32,
                    pub h_nr_idle: U32,
                    pub curr: U64,
                    #[cfg($group())]
                    pub rq: U64,
                    #[cfg($group())]
                    pub tg: U64,
                    #[cfg($bandwidth())]
                    pub throttle_count: I32,
                    #[cfg($bandwidth())]
                    pub runtime_enabled: I32,
                    #[cfg($group())]
                    pub idle: I32,
                    #[cfg($group())]
                    pub propagate: I64,
                    pub avg_vruntime: I64,
                    pub avg_load: U64,
                    pub min_vruntime: U64,
                    pub tasks_timeline: RbRoot,
                    pub next: U64,
                }
                pub avg: SchedAvg,
                pub removed: Removed,
                #[cfg($group())]
                pub last_update_tg_load_avg: U64,
                #[cfg($group())]
                pub tg_load_avg_contrib: U64,
                #[cfg($group())]
                pub prop_runnable_sum: I64,
                #[cfg($group())]
                pub h_load: U64,
                #[cfg($group())]
                pub last_h_load_update: U64,
                #[cfg($group())]
                pub h_load_next: U64,
                #[cfg($bandwidth())]
                pub runtime_remaining: I64,
                #[cfg($bandwidth())]
                pub throttled_pelt_idle: U64,
                /// What throttling writes: one line, filled exactly; aligned only where lines have
                /// 64 bytes, because half of a longer one would be wasted.
                group throttle(
                    bytes <= 64,
                    lines <= THROTTLE_LINES,
                    aligned_if(64),
                    holds(
                        throttled, on_list, leaf_cfs_rq_list, throttled_clock,
                        throttled_clock_pelt, throttled_clock_pelt_time, throttled_clock_self,
                        throttled_clock_self_time
                    )
                ) {
                    #[cfg($bandwidth())]
                    pub throttled: I32,
                    #[cfg($group())]
                    pub on_list: I32,
                    #[cfg($group())]
                    pub leaf_cfs_rq_list: LeafLinks<$cfs_rq>,
                    #[cfg($bandwidth())]
                    pub throttled_clock: U64,
                    #[cfg($bandwidth())]
                    pub throttled_clock_pelt: U64,
                    #[cfg($bandwidth())]
                    pub throttled_clock_pelt_time: U64,
                    #[cfg($bandwidth())]
                    pub throttled_clock_self: U64,
                    #[cfg($bandwidth())]
                    pub throttled_clock_self_time: U64,
                }
                #[cfg($bandwidth())]
                pub throttled_list: ListHead,
                #[cfg($bandwidth())]
                pub throttled_csd_list: ListHead,
                #[cfg($core())]
                pub forceidle_seq: U32,
                #[cfg($core())]
                pub min_vruntime_fi: U64,
            }
        }

        cacheline_struct! {
            /// A group's entity on one CPU: 4 lines.
            #[allow(missing_docs, reason = "the names are the kernel's")]
            pub struct $se {
                /// What a walk up the tree reads: one line, filled exactly.
                group hot(
                    bytes <= 64,
                    lines <= 1,
                    holds(parent, cfs_rq, my_q, runnable_weight, on_rq, load, vruntime)
                ) {
                    #[cfg($group())]
                    pub parent: Link<$se>,
                    #[cfg($group())]
                    pub cfs_rq: Link<$cfs_rq>,
                    #[cfg($group())]
                    pub my_q: Link<$cfs_rq>,
                    #[cfg($group())]
                    pub runnable_weight: U64,
                    #[cfg($group())]
                    pub depth: I32,
                    pub on_rq: U8,
                    pub sched_delayed: U8,
                    pub rel_deadline: U8,
                    pub custom_slice: U8,
                    pub load: LoadWeight,
                    pub vruntime: U64,
                }
                pub run_node: RbNode,
                pub deadline: U64,
                pub min_vruntime: U64,
                pub min_slice: U64,
                pub group_node: ListHead,
                pub exec_start: U64,
                pub sum_exec_runtime: U64,
                pub prev_sum_exec_runtime: U64,
                pub vlag: I64,
                pub slice: U64,
                pub nr_migrations: U64,
                pub avg: SchedAvg,
            }
        }
    };
}

reordered! { CfsRq, SchedEntity, bandwidth all, group all, core all }

offsets! {
    CfsRq, 448 bytes {
        0 (0) load,
        16 (0) nr_queued,
        20 (0) h_nr_queued,
        24 (0) h_nr_runnable,
        28 (0) h_nr_idle,
        32 (0) curr,
        40 (0) rq,
        48 (0) tg,
        56 (0) throttle_count,
        60 (0) runtime_enabled,
        64 (1) idle,
        72 (1) propagate,
        80 (1) avg_vruntime,
        88 (1) avg_load,
        96 (1) min_vruntime,
        104 (1) tasks_timeline,
        120 (1) next,
        128 (2) avg,
        192 (3) removed,
        256 (4) last_update_tg_load_avg,
        264 (4) tg_load_avg_contrib,
        272 (4) prop_runnable_sum,
        280 (4) h_load,
        288 (4) last_h_load_update,
        296 (4) h_load_next,
        304 (4) runtime_remaining,
        312 (4) throttled_pelt_idle,
        320 (5) throttled,
        324 (5) on_list,
        328 (5) leaf_cfs_rq_list,
        344 (5) throttled_clock,
        352 (5) throttled_clock_pelt,
        360 (5) throttled_clock_pelt_time,
        368 (5) throttled_clock_self,
        376 (5) throttled_clock_self_time,
        384 (6) throttled_list,
        400 (6) throttled_csd_list,
        416 (6) forceidle_seq,
        424 (6) min_vruntime_fi,
    }
    SchedEntity, 256 bytes {
        0 (0) parent,
        8 (0) cfs_rq,
        16 (0) my_q,
        24 (0) runnable_weight,
        32 (0) depth,
        36 (0) on_rq,
        37 (0) sched_delayed,
        38 (0) rel_deadline,
        39 (0) custom_slice,
        40 (0) load,
        56 (0) vruntime,
        64 (1) run_node,
        88 (1) deadline,
        96 (1) min_vruntime,
        104 (1) min_slice,
        112 (1) group_node,
        128 (2) exec_start,
        136 (2) sum_exec_runtime,
        144 (2) prev_sum_exec_runtime,
        152 (2) vlag,
        160 (2) slice,
        168 (2) nr_migrations,
        192 (3) avg,
    }
}

// What the RFC says beside the offsets: all three groups are full.
cacheline_group! {
    CfsRq {
        group hot(bytes == 128) { load, next }
        group throttle(bytes == 64) { throttled, throttled_clock_self_time }
    }
}
cacheline_group! { SchedEntity { group hot(bytes == 64) { parent, vruntime } } }

colocated! {
    /// The co-located three: 15 lines.
    #[derive(Debug)]
    pub struct CfsTgState {
        /// The queue, at offset 0.
        pub cfs_rq: CfsRq,
        /// The entity, at offset 448.
        pub se: SchedEntity,
        /// The statistics, at offset 704.
        pub stats: SchedStatistics,
    }
}

const _: () = {
    assert!(size_of::<CfsTgState>() == 960);
    assert!(offset_of!(CfsTgState, se) == 448);
    assert!(offset_of!(CfsTgState, stats) == 704);
};

/// The structures of the RFC.
#[derive(Debug)]
pub enum Reorder {}

impl Kernel for Reorder {
    const NAME: &'static str = "reorder";
    const PER_CPU: &'static str = "L3";
    type CfsRq = CfsRq;
    type Se = SchedEntity;
    type State = CfsTgState;
}

/// The groups' promises hold for each choice of what is built in.
#[cfg(test)]
mod variants {
    use super::*;

    macro_rules! variants {
        ($($name:ident $bandwidth:ident $group:ident $core:ident, $cfs_rq:literal $se:literal;)*) => {
            $(mod $name {
                #![allow(dead_code, reason = "the promises are what matters")]
                use super::*;
                reordered! {
                    CfsRq, SchedEntity, bandwidth $bandwidth, group $group, core $core
                }
            })*

            #[test]
            fn the_groups_hold_with_each_choice_of_options_and_on_any_line() {
                let table = [$((
                    stringify!($name),
                    $name::CfsRq::LAYOUT,
                    $name::SchedEntity::LAYOUT,
                    ($cfs_rq, $se),
                )),*];
                for (name, cfs_rq, se, sizes) in table {
                    // Where lines are larger, the second group is not aligned, and takes less.
                    assert!(CACHE_LINE != 64 || (cfs_rq.size(), se.size()) == sizes, "{name}");
                    // Larger ones than this build's, since bytes were placed for that.
                    for line in [64, 128, 256].into_iter().filter(|line| *line >= CACHE_LINE) {
                        for map in [cfs_rq, se] {
                            let broken = map.with_line(line).broken();
                            assert_eq!(broken.map(|b| b.to_string()), None, "{name} {line}");
                        }
                    }
                }
            }
        };
    }
    // Bandwidth control is a part of group scheduling: without the one there is not the other.
    variants! {
        all_three all all all, 448 256;
        no_core all all any, 448 256;
        no_bandwidth any all all, 448 256;
        group_alone any all any, 384 256;
        core_alone any any all, 320 256;
        none any any any, 256 256;
    }
}
