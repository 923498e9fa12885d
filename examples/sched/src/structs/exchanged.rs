//! The RFC's order of fields with one exchange: `throttled` stands where the RFC has `h_nr_idle`, and
//! the other way round.
//!
//! The RFC has what a CPU that goes offline asks of each group on three lines: `runtime_enabled` on the
//! first, `runtime_remaining` on the fifth, `throttled` on the sixth. With the exchange it is two, as in
//! the order before the RFC; whoever hands out quota finds `throttled` on a line that it reads anyway,
//! one line less; and no operation touches more lines than in the RFC (a test compares all). What
//! changes `h_nr_idle` goes through `on_list`, its new neighbour. Nobody has proposed this order
//! to the kernel: it stands beside the RFC's, not in its place.

use super::common::*;
use super::{Kernel, table};
use crate::link::{LeafLinks, Link};
use crate::word::{I32, I64, U8, U32, U64};
use corelocal::colocated;

table! {
    /// The run queue of one group on one CPU: 7 lines.
    pub struct CfsRq, 448 bytes {
        0 (0) load: LoadWeight,
        16 (0) nr_queued: U32,
        20 (0) h_nr_queued: U32,
        24 (0) h_nr_runnable: U32,
        28 (0) throttled: I32,
        32 (0) curr: U64,
        40 (0) rq: U64,
        48 (0) tg: U64,
        56 (0) throttle_count: I32,
        60 (0) runtime_enabled: I32,
        64 (1) idle: I32,
        72 (1) propagate: I64,
        80 (1) avg_vruntime: I64,
        88 (1) avg_load: U64,
        96 (1) min_vruntime: U64,
        104 (1) tasks_timeline: RbRoot,
        120 (1) next: U64,
        128 (2) avg: SchedAvg,
        192 (3) removed: Removed,
        256 (4) last_update_tg_load_avg: U64,
        264 (4) tg_load_avg_contrib: U64,
        272 (4) prop_runnable_sum: I64,
        280 (4) h_load: U64,
        288 (4) last_h_load_update: U64,
        296 (4) h_load_next: U64,
        304 (4) runtime_remaining: I64,
        312 (4) throttled_pelt_idle: U64,
        320 (5) h_nr_idle: U32,
        324 (5) on_list: I32,
        328 (5) leaf_cfs_rq_list: LeafLinks<CfsRq>,
        344 (5) throttled_clock: U64,
        352 (5) throttled_clock_pelt: U64,
        360 (5) throttled_clock_pelt_time: U64,
        368 (5) throttled_clock_self: U64,
        376 (5) throttled_clock_self_time: U64,
        384 (6) throttled_list: ListHead,
        400 (6) throttled_csd_list: ListHead,
        416 (6) forceidle_seq: U32,
        424 (6) min_vruntime_fi: U64,
    }
}

table! {
    /// A group's entity on one CPU, as the RFC has it: 4 lines.
    pub struct SchedEntity, 256 bytes {
        0 (0) parent: Link<SchedEntity>,
        8 (0) cfs_rq: Link<CfsRq>,
        16 (0) my_q: Link<CfsRq>,
        24 (0) runnable_weight: U64,
        32 (0) depth: I32,
        36 (0) on_rq: U8,
        37 (0) sched_delayed: U8,
        38 (0) rel_deadline: U8,
        39 (0) custom_slice: U8,
        40 (0) load: LoadWeight,
        56 (0) vruntime: U64,
        64 (1) run_node: RbNode,
        88 (1) deadline: U64,
        96 (1) min_vruntime: U64,
        104 (1) min_slice: U64,
        112 (1) group_node: ListHead,
        128 (2) exec_start: U64,
        136 (2) sum_exec_runtime: U64,
        144 (2) prev_sum_exec_runtime: U64,
        152 (2) vlag: I64,
        160 (2) slice: U64,
        168 (2) nr_migrations: U64,
        192 (3) avg: SchedAvg,
    }
}

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

const _: () = assert!(size_of::<CfsTgState>() == 960);

/// The structures of the RFC with one exchange.
#[derive(Debug)]
pub enum Exchanged {}

impl Kernel for Exchanged {
    const NAME: &'static str = "exchanged";
    const PER_CPU: &'static str = "L3x";
    type CfsRq = CfsRq;
    type Se = SchedEntity;
    type State = CfsTgState;
}
