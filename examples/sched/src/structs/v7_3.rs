//! Linux 7.3, with the flat pick: 7.2's sizes, and three fields that moved half of the others.

use super::common::*;
use super::{Kernel, table};
use crate::link::{LeafLinks, Link};
use crate::word::{I32, I64, U8, U32, U64};
use core::mem::offset_of;
use corelocal::colocated;

table! {
    /// The run queue of one group on one CPU: 8 lines.
    pub struct CfsRq, 512 bytes {
        0 (0) load: LoadWeight,
        16 (0) nr_queued: U32,
        20 (0) h_nr_queued: U32,
        24 (0) h_nr_runnable: U32,
        28 (0) h_nr_idle: U32,
        32 (0) sum_w_vruntime: I64,
        40 (0) sum_weight: U64,
        48 (0) zero_vruntime: U64,
        56 (0) sum_shift: U32,
        60 (0) forceidle_seq: U32,
        64 (1) min_vruntime_fi: U64,
        72 (1) tasks_timeline: RbRoot,
        88 (1) curr: U64,
        96 (1) next: U64,
        104 (1) h_curr: U64,
        128 (2) avg: SchedAvg,
        192 (3) removed: Removed,
        256 (4) last_update_tg_load_avg: U64,
        264 (4) tg_load_avg_contrib: U64,
        272 (4) tg_runnable_avg_contrib: U64,
        280 (4) propagate: I64,
        288 (4) prop_runnable_sum: I64,
        296 (4) h_load: U64,
        304 (4) last_h_load_update: U64,
        312 (4) h_load_next: U64,
        320 (5) rq: U64,
        328 (5) on_list: I32,
        336 (5) leaf_cfs_rq_list: LeafLinks<CfsRq>,
        352 (5) tg: U64,
        360 (5) idle: I32,
        364 (5) runtime_enabled: I32,
        368 (5) runtime_remaining: I64,
        376 (5) throttled_pelt_idle: U64,
        384 (6) throttled_clock: U64,
        392 (6) throttled_clock_pelt: U64,
        400 (6) throttled_clock_pelt_time: U64,
        408 (6) throttled_clock_self: U64,
        416 (6) throttled_clock_self_time: U64,
        424 (6) throttled: I32,
        428 (6) throttle_count: I32,
        432 (6) throttled_list: ListHead,
        448 (7) throttled_csd_list: ListHead,
        464 (7) throttled_limbo_list: ListHead,
    }
}

table! {
    /// A group's entity on one CPU: 5 lines; its weight in the flat queue is new.
    pub struct SchedEntity, 320 bytes {
        0 (0) load: LoadWeight,
        16 (0) h_load: LoadWeight,
        32 (0) run_node: RbNode,
        56 (0) deadline: U64,
        64 (1) min_vruntime: U64,
        72 (1) min_slice: U64,
        80 (1) max_slice: U64,
        88 (1) group_node: ListHead,
        104 (1) on_rq: U8,
        105 (1) sched_delayed: U8,
        106 (1) rel_deadline: U8,
        107 (1) custom_slice: U8,
        112 (1) exec_start: U64,
        120 (1) sum_exec_runtime: U64,
        128 (2) prev_sum_exec_runtime: U64,
        136 (2) vruntime: U64,
        144 (2) vlag: I64,
        152 (2) vprot: U64,
        160 (2) slice: U64,
        168 (2) nr_migrations: U64,
        176 (2) depth: I32,
        184 (2) parent: Link<SchedEntity>,
        192 (3) cfs_rq: Link<CfsRq>,
        200 (3) my_q: Link<CfsRq>,
        208 (3) runnable_weight: U64,
        256 (4) avg: SchedAvg,
    }
}

colocated! {
    /// The co-located three: 17 lines.
    #[derive(Debug)]
    pub struct CfsTgState {
        /// The queue, at offset 0.
        pub cfs_rq: CfsRq,
        /// The entity, at offset 512.
        pub se: SchedEntity,
        /// The statistics, at offset 832.
        pub stats: SchedStatistics,
    }
}

const _: () = {
    assert!(size_of::<CfsTgState>() == 1088);
    assert!(offset_of!(CfsTgState, cfs_rq) == 0);
    assert!(offset_of!(CfsTgState, se) == 512);
    assert!(offset_of!(CfsTgState, stats) == 832);
};

/// The structures of Linux 7.3.
#[derive(Debug)]
pub enum V7_3 {}

impl Kernel for V7_3 {
    const NAME: &'static str = "7.3";
    type CfsRq = CfsRq;
    type Se = SchedEntity;
    type State = CfsTgState;
}
