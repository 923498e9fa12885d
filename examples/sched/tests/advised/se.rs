cacheline_struct! {
    pub struct SchedEntity {
        /// Used by one CPU.
        group hot(lines <= 1) {
            pub load: LoadWeight,
            pub sum_exec_runtime: U64,
            pub parent: Link<SchedEntity>,
            pub cfs_rq: Link<CfsRq>,
            pub my_q: Link<CfsRq>,
            pub runnable_weight: U64,
            pub depth: I32,
            pub on_rq: U8,
            pub sched_delayed: U8,
            pub rel_deadline: U8,
            pub custom_slice: U8,
        }
        /// Used by one CPU.
        group hot2(lines <= 1) {
            pub avg: SchedAvg,
        }
        /// Used by one CPU.
        group hot3(lines <= 1) {
            pub run_node: RbNode,
            pub deadline: U64,
            pub exec_start: U64,
            pub prev_sum_exec_runtime: U64,
            pub vruntime: U64,
            pub slice: U64,
        }
        /// Used by one CPU.
        group hot4(lines <= 1) {
            pub min_vruntime: U64,
            pub min_slice: U64,
            pub group_node: ListHead,
            pub vlag: I64,
            pub nr_migrations: U64,
        }
    }
    touches pelt_se {
        load, on_rq, cfs_rq, my_q, runnable_weight, mut avg
    } in <= 2 lines;
    touches blocked_own {
        load, on_rq, cfs_rq, my_q, runnable_weight, mut avg
    } in <= 2 lines;
    touches h_load {
        parent, cfs_rq, my_q, avg
    } in <= 2 lines;
    touches enqueue {
        slice, parent, cfs_rq, my_q, mut load, mut run_node, mut deadline,
        mut min_vruntime, mut min_slice, mut on_rq, mut exec_start, mut vruntime,
        mut vlag, mut runnable_weight, mut avg
    } in <= 4 lines;
    touches tick {
        on_rq, slice, cfs_rq, my_q, mut load, mut deadline, mut exec_start,
        mut sum_exec_runtime, mut vruntime, mut runnable_weight, mut avg
    } in <= 3 lines;
    touches set_next_put_prev {
        load, deadline, on_rq, cfs_rq, my_q, mut exec_start,
        mut prev_sum_exec_runtime, mut vruntime, mut avg
    } in <= 3 lines;
    touches pick {
        run_node, deadline, on_rq, vruntime, my_q
    } in <= 2 lines;
    touches flat_weight {
        load, cfs_rq, parent
    } in <= 1 lines;
}
