//! The fields that the walks touch, by name, so that one walk serves both kernels.

use super::common::{ListHead, LoadWeight, RbNode, RbRoot, Removed, SchedAvg};
use super::recorded::Recorded;
use super::{exchanged, reorder, v6_14, v7_2, v7_3};
use crate::link::{LeafLinks, Link};
use crate::word::{I32, I64, U8, U32, U64};

/// Where a recorder looks on: a walk says what it uses beside the fields below. Structures that
/// are timed are not watched, and then saying so is nothing at all.
pub trait Watched: Sized {
    /// `what` is used now.
    #[inline(always)]
    fn touched<T>(what: &T) -> &T {
        what
    }

    /// The visit of a group ends here.
    #[inline(always)]
    fn visited() {}
}

/// Which type of queue an entity waits in and owns.
pub trait InQueue: Sized {
    /// The queue type.
    type CfsRq;
}

macro_rules! in_queue {
    ($($kernel:ident)*) => {$(
        impl InQueue for $kernel::SchedEntity {
            type CfsRq = $kernel::CfsRq;
        }

        impl InQueue for Recorded<$kernel::SchedEntity> {
            type CfsRq = Recorded<$kernel::CfsRq>;
        }

        impl Watched for $kernel::CfsRq {}
    )*};
}
in_queue! { v6_14 reorder exchanged v7_2 v7_3 }

macro_rules! fields {
    ($(#[$meta:meta])* pub trait $name:ident: $super:ident $list:tt for $($for:ty),*) => {
        fields! { @trait $(#[$meta])* $name: $super $list }
        $(
            fields! { @impl $name, $for, $list }
            fields! { @recorded $name, $for, $list }
        )*
    };
    (@trait $(#[$meta:meta])* $name:ident: $super:ident { $($field:ident: $ty:ty,)* }) => {
        $(#[$meta])*
        pub trait $name: $super {
            $(
                #[doc = concat!("The field `", stringify!($field), "`.")]
                fn $field(&self) -> &$ty;
            )*
        }
    };
    (@impl $name:ident, $for:ty, { $($field:ident: $ty:ty,)* }) => {
        impl $name for $for {
            $(
                #[inline(always)]
                fn $field(&self) -> &$ty {
                    &self.$field
                }
            )*
        }
    };
    (@recorded $name:ident, $for:ty, { $($field:ident: $ty:ty,)* }) => {
        impl $name for Recorded<$for> {
            $(
                fn $field(&self) -> &$ty {
                    self.field(|plain| &plain.$field)
                }
            )*
        }
    };
}

/// The fields of a `cfs_rq` that its virtual time is kept in, which kernels call differently.
pub trait VirtualTime: Watched {
    /// The weighted sum of the entities' virtual times.
    fn weighted_sum(&self) -> &I64;

    /// The sum of their weights.
    fn weights(&self) -> &U64;

    /// The time that both are relative to.
    fn zero(&self) -> &U64;
}

macro_rules! virtual_time {
    ($($kernel:ident: $sum:ident, $weights:ident, $zero:ident;)*) => {$(
        virtual_time! { @impl $kernel::CfsRq,
            |it| &it.$sum, |it| &it.$weights, |it| &it.$zero }
        virtual_time! { @impl Recorded<$kernel::CfsRq>,
            |it| it.field(|it| &it.$sum), |it| it.field(|it| &it.$weights),
            |it| it.field(|it| &it.$zero) }
    )*};
    (@impl $for:ty, |$a:ident| $sum:expr, |$b:ident| $weights:expr, |$c:ident| $zero:expr) => {
        impl VirtualTime for $for {
            #[inline(always)]
            fn weighted_sum(&self) -> &I64 {
                let $a = self;
                $sum
            }

            #[inline(always)]
            fn weights(&self) -> &U64 {
                let $b = self;
                $weights
            }

            #[inline(always)]
            fn zero(&self) -> &U64 {
                let $c = self;
                $zero
            }
        }
    };
}
virtual_time! {
    v6_14: avg_vruntime, avg_load, min_vruntime;
    reorder: avg_vruntime, avg_load, min_vruntime;
    exchanged: avg_vruntime, avg_load, min_vruntime;
    v7_2: sum_w_vruntime, sum_weight, zero_vruntime;
    v7_3: sum_w_vruntime, sum_weight, zero_vruntime;
}

fields! {
    /// Fields of a `cfs_rq`.
    pub trait CfsRqFields: VirtualTime {
        load: LoadWeight,
        nr_queued: U32,
        h_nr_queued: U32,
        h_nr_runnable: U32,
        h_nr_idle: U32,
        tasks_timeline: RbRoot,
        curr: U64,
        avg: SchedAvg,
        removed: Removed,
        last_update_tg_load_avg: U64,
        tg_load_avg_contrib: U64,
        propagate: I64,
        prop_runnable_sum: I64,
        h_load: U64,
        last_h_load_update: U64,
        h_load_next: U64,
        rq: U64,
        on_list: I32,
        leaf_cfs_rq_list: LeafLinks<Self>,
        tg: U64,
        idle: I32,
        runtime_enabled: I32,
        runtime_remaining: I64,
        throttled_pelt_idle: U64,
        throttled_clock: U64,
        throttled_clock_pelt: U64,
        throttled_clock_pelt_time: U64,
        throttled_clock_self: U64,
        throttled_clock_self_time: U64,
        throttled: I32,
        throttle_count: I32,
        throttled_list: ListHead,
        throttled_csd_list: ListHead,
    }
    for v6_14::CfsRq, reorder::CfsRq, exchanged::CfsRq, v7_2::CfsRq, v7_3::CfsRq
}

fields! {
    /// Fields of a group's entity.
    pub trait SeFields: InQueue {
        load: LoadWeight,
        run_node: RbNode,
        deadline: U64,
        min_vruntime: U64,
        min_slice: U64,
        on_rq: U8,
        exec_start: U64,
        sum_exec_runtime: U64,
        vruntime: U64,
        vlag: I64,
        slice: U64,
        depth: I32,
        parent: Link<Self>,
        cfs_rq: Link<Self::CfsRq>,
        my_q: Link<Self::CfsRq>,
        runnable_weight: U64,
        avg: SchedAvg,
    }
    for v6_14::SchedEntity, reorder::SchedEntity, exchanged::SchedEntity, v7_2::SchedEntity,
    v7_3::SchedEntity
}

/// Fields of a `cfs_rq` that not every kernel has.
pub trait LaterFields {
    /// The field `throttled_limbo_list`, since tasks are throttled one by one.
    #[inline(always)]
    fn throttled_limbo_list(&self) -> Option<&ListHead> {
        None
    }

    /// The field `h_curr`, since the pick is flat: the entity on the way to the running task.
    #[inline(always)]
    fn h_curr(&self) -> Option<&U64> {
        None
    }

    /// The field `tg_runnable_avg_contrib`, as old: what this queue has reported to its group.
    #[inline(always)]
    fn tg_runnable_avg_contrib(&self) -> Option<&U64> {
        None
    }
}

macro_rules! later {
    ($($for:ty { $($field:ident: $ty:ty),* })*) => {$(
        impl LaterFields for $for {
            $(#[inline(always)]
            fn $field(&self) -> Option<&$ty> {
                Some(&self.$field)
            })*
        }

        impl LaterFields for Recorded<$for> {
            $(fn $field(&self) -> Option<&$ty> {
                Some(self.field(|plain| &plain.$field))
            })*
        }
    )*};
}
later! {
    v6_14::CfsRq {}
    reorder::CfsRq {}
    exchanged::CfsRq {}
    v7_2::CfsRq { throttled_limbo_list: ListHead }
    v7_3::CfsRq { throttled_limbo_list: ListHead, h_curr: U64, tg_runnable_avg_contrib: U64 }
}
