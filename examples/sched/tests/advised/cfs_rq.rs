cacheline_struct! {
    pub struct CfsRq {
        /// Used by one CPU.
        group hot(lines <= 1) {
            pub load: LoadWeight,
            pub curr: U64,
            pub rq: U64,
            pub runtime_remaining: I64,
            pub throttled_clock_pelt_time: U64,
            pub nr_queued: U32,
            pub h_nr_runnable: U32,
            pub runtime_enabled: I32,
            pub throttle_count: I32,
        }
        /// Used by one CPU.
        group hot2(lines <= 1) {
            pub tg_load_avg_contrib: U64,
            pub leaf_cfs_rq_list: LeafLinks<CfsRq>,
            pub tg: U64,
            pub throttled_clock_pelt: U64,
            pub throttled_clock_self: U64,
            pub throttled_clock_self_time: U64,
            pub forceidle_seq: U32,
            pub on_list: I32,
        }
        /// Used by one CPU.
        group hot3(lines <= 1) {
            pub avg: SchedAvg,
        }
        /// Used by one CPU.
        group hot4(lines <= 1) {
            pub removed: Removed,
        }
        /// Used by one CPU.
        group hot5(lines <= 1) {
            pub avg_vruntime: I64,
            pub avg_load: U64,
            pub min_vruntime: U64,
            pub tasks_timeline: RbRoot,
            pub next: U64,
            pub last_update_tg_load_avg: U64,
            pub h_nr_queued: U32,
            pub h_nr_idle: U32,
        }
        /// Used by one CPU.
        group hot6(lines <= 1) {
            pub h_load: U64,
            pub last_h_load_update: U64,
            pub h_load_next: U64,
            pub throttled_list: ListHead,
            pub throttled_csd_list: ListHead,
            pub idle: I32,
            pub throttled: I32,
        }
        /// Used by one CPU.
        group hot7(lines <= 1) {
            pub min_vruntime_fi: U64,
            pub propagate: I64,
            pub prop_runnable_sum: I64,
            pub throttled_pelt_idle: U64,
            pub throttled_clock: U64,
        }
    }
    touches throttle_down_first {
        nr_queued, throttled_clock_self, mut throttle_count, mut on_list,
        mut leaf_cfs_rq_list, mut throttled_clock_pelt
    } in <= 2 lines;
    touches throttle_down_nested {
        mut throttle_count
    } in <= 1 lines;
    touches unthrottle_up_last {
        load, avg, rq, tg, tg_load_avg_contrib, mut throttle_count,
        mut throttled_clock_pelt, mut throttled_clock_pelt_time,
        mut throttled_clock_self, mut throttled_clock_self_time, mut on_list,
        mut leaf_cfs_rq_list
    } in <= 3 lines;
    touches unthrottle_up_nested {
        mut throttle_count
    } in <= 1 lines;
    touches list_add_leaf_parent {
        on_list, mut leaf_cfs_rq_list
    } in <= 1 lines;
    touches pelt_cfs_rq {
        load, h_nr_runnable, curr, rq, throttle_count, throttled_clock_pelt_time,
        mut avg, mut removed
    } in <= 3 lines;
    touches blocked_own {
        load, h_nr_runnable, curr, rq, throttle_count, throttled_clock_pelt_time,
        on_list, leaf_cfs_rq_list, tg, nr_queued, mut avg, mut removed,
        mut tg_load_avg_contrib, mut last_update_tg_load_avg, mut propagate
    } in <= 6 lines;
    touches blocked_parent {
        load, h_nr_runnable, curr, rq, throttle_count, throttled_clock_pelt_time,
        mut avg, mut removed
    } in <= 3 lines;
    touches h_load {
        avg, mut h_load, mut h_load_next, mut last_h_load_update
    } in <= 2 lines;
    touches enqueue {
        curr, rq, tg, runtime_enabled, throttle_count, throttled_clock_pelt_time,
        mut load, mut nr_queued, mut h_nr_queued, mut h_nr_runnable,
        mut h_nr_idle, mut avg_vruntime, mut avg_load, mut min_vruntime,
        mut tasks_timeline, mut avg, mut removed, mut tg_load_avg_contrib,
        mut last_update_tg_load_avg, mut on_list, mut leaf_cfs_rq_list,
        mut runtime_remaining
    } in <= 5 lines;
    touches tick {
        load, h_nr_runnable, tasks_timeline, curr, rq, tg, runtime_enabled,
        throttle_count, throttled_clock_pelt_time, mut avg_vruntime, mut avg_load,
        mut min_vruntime, mut avg, mut removed, mut tg_load_avg_contrib,
        mut last_update_tg_load_avg, mut runtime_remaining
    } in <= 5 lines;
    touches set_next_put_prev {
        load, h_nr_runnable, rq, throttle_count, throttled_clock_pelt_time,
        runtime_enabled, mut curr, mut avg, mut removed
    } in <= 3 lines;
    touches pick {
        load, nr_queued, avg_vruntime, avg_load, tasks_timeline, curr, next
    } in <= 2 lines;
    touches flat_weight {
        load
    } in <= 1 lines;
    touches distribute {
        curr, rq, throttled, throttled_list, mut runtime_remaining,
        mut throttled_csd_list
    } in <= 2 lines;
}
