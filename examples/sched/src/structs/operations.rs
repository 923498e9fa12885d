//! Which fields the scheduler's operations touch, and so how many lines.
//!
//! The sets are those of the functions of Linux 6.14; where a later kernel names a field otherwise,
//! both names stand in the set, and a field that a kernel does not have counts nothing.

use super::{reorder, v6_14, v7_2, v7_3};
use corelocal::cacheline::{Access, Layout, Touch};

/// A step of the scheduler: what it touches of one group's queue and entity on one CPU.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// Fields of the `cfs_rq`.
    pub cfs_rq: Access<'static>,
    /// Fields of the group's entity.
    pub se: Access<'static>,
}

impl Operation {
    /// How many lines it touches: of the queue and of the entity.
    pub fn lines(&self, maps: &Maps) -> (usize, usize) {
        let queue = maps.cfs_rq.lines_of_access(&self.cfs_rq).count();
        (queue, maps.se.lines_of_access(&self.se).count())
    }
}

/// The maps of one kernel's structures, on lines of 64 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Maps {
    /// The kernel, as [`Kernel::NAME`](super::Kernel::NAME).
    pub name: &'static str,
    /// The queue's map.
    pub cfs_rq: Layout<'static>,
    /// The entity's map.
    pub se: Layout<'static>,
}

/// All kernels, in their order in time.
pub static KERNELS: [Maps; 4] = [
    Maps::of("6.14", v6_14::CfsRq::LAYOUT, v6_14::SchedEntity::LAYOUT),
    Maps::of("reorder", reorder::CfsRq::LAYOUT, reorder::SchedEntity::LAYOUT),
    Maps::of("7.2", v7_2::CfsRq::LAYOUT, v7_2::SchedEntity::LAYOUT),
    Maps::of("7.3", v7_3::CfsRq::LAYOUT, v7_3::SchedEntity::LAYOUT),
];

impl Maps {
    const fn of(name: &'static str, cfs_rq: Layout<'static>, se: Layout<'static>) -> Self {
        Self { name, cfs_rq: cfs_rq.with_line(64), se: se.with_line(64) }
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident { $($queue:tt)* } { $($entity:tt)* })*) => {
        /// The operations.
        pub const OPERATIONS: &[Operation] = &[$(Operation {
            name: stringify!($name),
            cfs_rq: Access::new(stringify!($name), touches!([] $($queue)*)),
            se: Access::new(stringify!($name), touches!([] $($entity)*)),
        }),*];
    };
}

/// `a, mut b` as touches that read and write.
macro_rules! touches {
    ([$($done:expr,)*]) => { const { &[$($done),*] } };
    ([$($done:expr,)*] mut $field:ident $(, $($rest:tt)*)?) => {
        touches!([$($done,)* Touch::write(stringify!($field)),] $($($rest)*)?)
    };
    ([$($done:expr,)*] $field:ident $(, $($rest:tt)*)?) => {
        touches!([$($done,)* Touch::read(stringify!($field)),] $($($rest)*)?)
    };
}

operations! {
    throttle_down_first {
        nr_queued, mut throttle_count, mut on_list, mut leaf_cfs_rq_list, mut throttled_clock_pelt,
        throttled_clock_self
    } {}
    throttle_down_nested { mut throttle_count } {}
    unthrottle_up_last {
        load, avg, rq, tg, tg_load_avg_contrib, mut throttle_count, mut throttled_clock_pelt,
        mut throttled_clock_pelt_time, mut throttled_clock_self, mut throttled_clock_self_time,
        mut on_list, mut leaf_cfs_rq_list
    } {}
    unthrottle_up_nested { mut throttle_count } {}
    list_add_leaf_parent { on_list, mut leaf_cfs_rq_list } {}
    pelt_cfs_rq {
        load, h_nr_runnable, curr, mut avg, mut removed, rq, throttle_count,
        throttled_clock_pelt_time
    } {}
    pelt_se {} { load, on_rq, cfs_rq, my_q, runnable_weight, mut avg }
    blocked_own {
        load, h_nr_runnable, curr, mut avg, mut removed, rq, throttle_count,
        throttled_clock_pelt_time, on_list, leaf_cfs_rq_list, tg, mut tg_load_avg_contrib,
        mut last_update_tg_load_avg, nr_queued, mut propagate
    } { load, on_rq, cfs_rq, my_q, runnable_weight, mut avg }
    blocked_parent {
        load, h_nr_runnable, curr, mut avg, mut removed, rq, throttle_count,
        throttled_clock_pelt_time
    } {}
    h_load { avg, mut h_load, mut h_load_next, mut last_h_load_update } {
        parent, cfs_rq, my_q, avg
    }
    enqueue {
        mut load, mut nr_queued, mut h_nr_queued, mut h_nr_runnable, mut h_nr_idle,
        mut avg_vruntime, mut sum_w_vruntime, mut avg_load, mut sum_weight, mut min_vruntime,
        mut zero_vruntime, mut tasks_timeline, curr, mut avg, mut removed,
        mut tg_load_avg_contrib, mut last_update_tg_load_avg, rq, mut on_list,
        mut leaf_cfs_rq_list, tg, runtime_enabled, mut runtime_remaining, throttle_count,
        throttled_clock_pelt_time
    } {
        mut load, mut run_node, mut deadline, mut min_vruntime, mut min_slice, mut on_rq,
        mut exec_start, mut vruntime, mut vlag, slice, parent, cfs_rq, my_q, mut runnable_weight,
        mut avg
    }
    tick {
        load, h_nr_runnable, mut avg_vruntime, mut sum_w_vruntime, mut avg_load, mut sum_weight,
        mut min_vruntime, mut zero_vruntime, tasks_timeline, curr, mut avg, mut removed,
        mut tg_load_avg_contrib, mut last_update_tg_load_avg, rq, tg, runtime_enabled,
        mut runtime_remaining, throttle_count, throttled_clock_pelt_time
    } {
        mut load, mut deadline, on_rq, mut exec_start, mut sum_exec_runtime, mut vruntime, slice,
        cfs_rq, my_q, mut runnable_weight, mut avg
    }
    set_next_put_prev {
        load, h_nr_runnable, mut curr, mut avg, mut removed, rq, throttle_count,
        throttled_clock_pelt_time, runtime_enabled
    } {
        load, deadline, on_rq, mut exec_start, mut prev_sum_exec_runtime, mut vruntime, cfs_rq, my_q,
        mut avg
    }
    pick { load, nr_queued, avg_vruntime, sum_w_vruntime, avg_load, sum_weight, tasks_timeline, curr, next } {
        run_node, deadline, on_rq, vruntime, my_q
    }
    flat_weight { load } { load, cfs_rq, parent }
    distribute {
        curr, rq, mut runtime_remaining, throttled, throttled_list, mut throttled_csd_list
    } {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Lines of the queue and of the entity for 6.14, the RFC's order, 7.2 and 7.3; `None` where
    /// the kernel has no such step.
    type Row = (&'static str, [Option<usize>; 4]);

    const TABLE: &[Row] = &[
        ("throttle_down_first", [Some(3), Some(2), Some(3), Some(3)]),
        ("throttle_down_nested", [Some(1), Some(1), Some(1), Some(1)]),
        ("unthrottle_up_last", [Some(5), Some(4), Some(5), Some(5)]),
        ("unthrottle_up_nested", [Some(1), Some(1), Some(1), Some(1)]),
        ("list_add_leaf_parent", [Some(1), Some(1), Some(1), Some(1)]),
        ("pelt_cfs_rq", [Some(6), Some(4), Some(6), Some(6)]),
        ("pelt_se", [Some(4), Some(2), Some(5), Some(4)]),
        ("blocked_own", [Some(11), Some(8), Some(12), Some(11)]),
        ("blocked_parent", [Some(6), Some(4), Some(6), Some(6)]),
        ("h_load", [Some(4), Some(4), Some(4), Some(5)]),
        ("enqueue", [Some(11), Some(10), Some(12), Some(12)]),
        ("tick", [Some(11), Some(10), Some(12), Some(12)]),
        ("set_next_put_prev", [Some(11), Some(8), Some(11), Some(11)]),
        ("pick", [Some(5), Some(4), Some(5), None]),
        ("flat_weight", [Some(3), Some(2), Some(3), Some(4)]),
        ("distribute", [Some(4), Some(4), Some(4), Some(4)]),
    ];

    /// Lines on which touched fields begin.
    fn beginnings(map: &Layout<'_>, access: &Access<'_>) -> usize {
        let fields = access.touches.iter().filter_map(|touch| map.field(touch.field));
        fields.map(|field| field.offset / map.line()).collect::<BTreeSet<_>>().len()
    }

    /// By hand, a field was taken to lie on the line that it begins on.
    #[test]
    fn each_operation_touches_as_many_lines_as_were_counted_by_hand() {
        let names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
        assert_eq!(names, TABLE.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for (operation, (name, counted)) in OPERATIONS.iter().zip(TABLE) {
            for (maps, counted) in KERNELS.iter().zip(counted) {
                let queue = beginnings(&maps.cfs_rq, &operation.cfs_rq);
                let entity = beginnings(&maps.se, &operation.se);
                let found = counted.map(|_| queue + entity);
                assert_eq!(found, *counted, "{name} of {}: {queue} + {entity}", maps.name);
            }
        }
    }

    /// That is exact but for one list head, of 6.14 and 7.2, whose second link is on the next line.
    #[test]
    fn one_field_lies_on_two_lines_and_costs_one_more() {
        for (operation, (name, counted)) in OPERATIONS.iter().zip(TABLE) {
            for (maps, counted) in KERNELS.iter().zip(counted) {
                let is_cut = *name == "distribute" && ["6.14", "7.2"].contains(&maps.name);
                let (queue, entity) = operation.lines(maps);
                let found = counted.map(|_| queue + entity);
                let expected = counted.map(|lines| lines + usize::from(is_cut));
                assert_eq!(found, expected, "{name} of {}", maps.name);
            }
        }
        let list = KERNELS[0].cfs_rq.lines_of(&["throttled_csd_list"]).expect("a field");
        assert_eq!(list.to_string(), "{6, 7}");
    }

    /// A slip of the pen in a set would count nothing: each name is a field of some kernel.
    #[test]
    fn every_name_is_a_field_somewhere() {
        for operation in OPERATIONS {
            let is_somewhere = |touch: &Touch<'_>, map: fn(&Maps) -> Layout<'static>| {
                KERNELS.iter().any(|maps| map(maps).field(touch.field).is_some())
            };
            for touch in operation.cfs_rq.touches {
                assert!(is_somewhere(touch, |maps| maps.cfs_rq), "{}", touch.field);
            }
            for touch in operation.se.touches {
                assert!(is_somewhere(touch, |maps| maps.se), "{}", touch.field);
            }
        }
    }

    /// The sets of lines where the facts name them, not only their number.
    #[test]
    fn the_lines_are_those_that_were_counted() {
        let lines = |operation: &str, kernel: usize| {
            let operation = OPERATIONS.iter().find(|o| o.name == operation).expect("its name");
            KERNELS[kernel].cfs_rq.lines_of_access(&operation.cfs_rq).to_string()
        };
        assert_eq!(lines("throttle_down_first", 0), "{0, 5, 6}");
        assert_eq!(lines("throttle_down_first", 1), "{0, 5}");
        assert_eq!(lines("unthrottle_up_last", 0), "{0, 2, 4, 5, 6}");
        assert_eq!(lines("unthrottle_up_last", 1), "{0, 2, 4, 5}");
        assert_eq!(lines("pelt_cfs_rq", 0), "{0, 1, 2, 3, 4, 6}");
        assert_eq!(lines("pelt_cfs_rq", 1), "{0, 2, 3, 5}");
        assert_eq!(lines("pelt_cfs_rq", 3), "{0, 1, 2, 3, 5, 6}");
        assert_eq!(lines("distribute", 1), "{0, 4, 5, 6}");
        assert_eq!(lines("distribute", 3), "{1, 5, 6, 7}");
    }
}
