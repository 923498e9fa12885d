//! Linux 6.14: separate objects, a co-located state of 1024 bytes (16 lines, an even number).

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
        32 (0) avg_vruntime: I64,
        40 (0) avg_load: U64,
        48 (0) min_vruntime: U64,
        56 (0) forceidle_seq: U32,
        64 (1) min_vruntime_fi: U64,
        72 (1) tasks_timeline: RbRoot,
        88 (1) curr: U64,
        96 (1) next: U64,
        128 (2) avg: SchedAvg,
        192 (3) removed: Removed,
        256 (4) last_update_tg_load_avg: U64,
        264 (4) tg_load_avg_contrib: U64,
        272 (4) propagate: I64,
        280 (4) prop_runnable_sum: I64,
        288 (4) h_load: U64,
        296 (4) last_h_load_update: U64,
        304 (4) h_load_next: U64,
        312 (4) rq: U64,
        320 (5) on_list: I32,
        328 (5) leaf_cfs_rq_list: LeafLinks<CfsRq>,
        344 (5) tg: U64,
        352 (5) idle: I32,
        356 (5) runtime_enabled: I32,
        360 (5) runtime_remaining: I64,
        368 (5) throttled_pelt_idle: U64,
        376 (5) throttled_clock: U64,
        384 (6) throttled_clock_pelt: U64,
        392 (6) throttled_clock_pelt_time: U64,
        400 (6) throttled_clock_self: U64,
        408 (6) throttled_clock_self_time: U64,
        416 (6) throttled: I32,
        420 (6) throttle_count: I32,
        424 (6) throttled_list: ListHead,
        440 (6) throttled_csd_list: ListHead,
    }
}

table! {
    /// A group's entity on one CPU: 4 lines.
    pub struct SchedEntity, 256 bytes {
        0 (0) load: LoadWeight,
        16 (0) run_node: RbNode,
        40 (0) deadline: U64,
        48 (0) min_vruntime: U64,
        56 (0) min_slice: U64,
        64 (1) group_node: ListHead,
        80 (1) on_rq: U8,
        81 (1) sched_delayed: U8,
        82 (1) rel_deadline: U8,
        83 (1) custom_slice: U8,
        88 (1) exec_start: U64,
        96 (1) sum_exec_runtime: U64,
        104 (1) prev_sum_exec_runtime: U64,
        112 (1) vruntime: U64,
        120 (1) vlag: I64,
        128 (2) slice: U64,
        136 (2) nr_migrations: U64,
        144 (2) depth: I32,
        152 (2) parent: Link<SchedEntity>,
        160 (2) cfs_rq: Link<CfsRq>,
        168 (2) my_q: Link<CfsRq>,
        176 (2) runnable_weight: U64,
        192 (3) avg: SchedAvg,
    }
}

colocated! {
    /// The co-located three: 16 lines.
    #[derive(Debug)]
    pub struct CfsTgState {
        /// The queue, at offset 0.
        pub cfs_rq: CfsRq,
        /// The entity, at offset 512.
        pub se: SchedEntity,
        /// The statistics, at offset 768.
        pub stats: SchedStatistics,
    }
}

const _: () = {
    assert!(size_of::<CfsTgState>() == 1024);
    assert!(offset_of!(CfsTgState, cfs_rq) == 0);
    assert!(offset_of!(CfsTgState, se) == 512);
    assert!(offset_of!(CfsTgState, stats) == 768);
};

/// The structures of Linux 6.14.
#[derive(Debug)]
pub enum V6_14 {}

impl Kernel for V6_14 {
    const NAME: &'static str = "6.14";
    type CfsRq = CfsRq;
    type Se = SchedEntity;
    type State = CfsTgState;
}
