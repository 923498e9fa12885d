//! Averages of entities and queues: brought up to date, moved between queues, handed upwards.
//!
//! A queue's averages are the sums of its entities'. When a task comes, goes or is reweighted, its
//! queue changes at once, the queues above only when the change is *propagated*: each queue keeps
//! what is still to be handed on in `propagate` and `prop_runnable_sum`.

use super::pelt::{Activity, CAPACITY_SHIFT, MIN_DIVIDER, divider, update_avg, update_sum};
use super::{group, scale_load_down};
use crate::layout::{Cfs, Layout, Se};
use crate::model::{Locked, entity_is_task};
use crate::structs::{CfsRqFields, LaterFields, SchedAvg, SeFields};
use core::ptr;

/// What [`update_load_avg`] does beside the update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Attach {
    /// Nothing.
    Stay,
    /// An entity that no queue's averages have yet is added (`DO_ATTACH`).
    Attach,
    /// The entity is taken out: it leaves for another queue (`DO_DETACH`).
    Detach,
}

/// An entity's weight in the units of load tracking (`se_weight`).
pub fn se_weight<L: Layout>(se: &Se<L>) -> u64 {
    scale_load_down(se.load().weight.get())
}

/// The entity that runs in a queue, as its address; 0 if none does. Since the flat pick that is
/// another field than the one that picks.
pub fn running<C: CfsRqFields + LaterFields>(cfs: &C) -> u64 {
    cfs.h_curr().unwrap_or_else(|| cfs.curr()).get()
}

/// Brings an entity of this CPU up to date (`__update_load_avg_se`).
pub(super) fn update_se<L: Layout>(now: u64, cfs: &Cfs<L>, se: &Se<L>) -> bool {
    let queued = se.on_rq().get() != 0;
    let runnable = match entity_is_task::<L>(se) {
        true => u64::from(queued),
        false => se.runnable_weight().get(),
    };
    let running = running(cfs) == ptr::from_ref(se).addr() as u64;
    let ended = update_sum(now, se.avg(), Activity { load: queued.into(), runnable, running });
    if ended {
        update_avg(se.avg(), se_weight::<L>(se));
    }
    ended
}

/// Brings a queue up to date, what left it from elsewhere included. Whether its averages changed
/// (`update_cfs_rq_load_avg`).
pub fn update_cfs_rq<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) -> bool {
    let removed = take_removed::<L>(cfs);
    let activity = Activity {
        load: scale_load_down(cfs.load().weight.get()),
        runnable: cfs.h_nr_runnable().get().into(),
        running: running(cfs) != 0,
    };
    let ended = update_sum(locked.clock_pelt(cfs), cfs.avg(), activity);
    if ended {
        update_avg(cfs.avg(), 1);
    }
    removed | ended
}

/// Brings an entity and its queue up to date, and hands on what the entity's own queue has for
/// it. `report` also reports a changed queue to its group (`update_load_avg`, `UPDATE_TG`).
pub fn update_load_avg<L: Layout>(
    locked: &Locked<'_, L>,
    cfs: &Cfs<L>,
    se: &Se<L>,
    report: bool,
    attach: Attach,
) {
    if se.avg().last_update_time.get() != 0 {
        update_se::<L>(locked.clock_pelt(cfs), cfs, se);
    }
    let changed = update_cfs_rq(locked, cfs) | propagate_entity::<L>(cfs, se);
    let is_new = se.avg().last_update_time.get() == 0;
    match attach {
        Attach::Attach if is_new => {
            attach_entity::<L>(cfs, se);
            group::update_tg_load_avg(locked, cfs);
        }
        Attach::Detach if !is_new => {
            detach_entity::<L>(cfs, se);
            group::update_tg_load_avg(locked, cfs);
        }
        _ if changed && report => group::update_tg_load_avg(locked, cfs),
        _ => {}
    }
}

/// `sum` and `avg` less `less`, not below 0; and the sum not below what the average needs: a sum
/// that was rounded down must not leave an average without it.
fn take_off(avg: &crate::word::U64, sum: u64, less_avg: u64, less_sum: u64) -> u64 {
    avg.set(avg.get().saturating_sub(less_avg));
    sum.saturating_sub(less_sum).max(avg.get() * MIN_DIVIDER)
}

/// Takes off what other CPUs left in `removed` (the first half of `update_cfs_rq_load_avg`).
fn take_removed<L: Layout>(cfs: &Cfs<L>) -> bool {
    let removed = cfs.removed();
    if removed.nr.get() == 0 {
        return false;
    }
    removed.nr.set(0);
    let (load, util) = (removed.load_avg.get(), removed.util_avg.get());
    let runnable = removed.runnable_avg.get();
    for word in [&removed.load_avg, &removed.util_avg, &removed.runnable_avg] {
        word.set(0);
    }
    let (avg, divider) = (cfs.avg(), divider(cfs.avg()));
    subtract(avg, (load, load * divider), (util, util * divider), (runnable, runnable * divider));
    let sum = (runnable * divider) >> CAPACITY_SHIFT;
    add_propagate::<L>(cfs, -(sum as i64));
    true
}

/// Takes averages and sums off a queue's.
fn subtract(avg: &SchedAvg, load: (u64, u64), util: (u64, u64), runnable: (u64, u64)) {
    avg.load_sum.set(take_off(&avg.load_avg, avg.load_sum.get(), load.0, load.1));
    let util_sum = take_off(&avg.util_avg, avg.util_sum.get().into(), util.0, util.1);
    avg.util_sum.set(util_sum as u32);
    let sum = take_off(&avg.runnable_avg, avg.runnable_sum.get(), runnable.0, runnable.1);
    avg.runnable_sum.set(sum);
}

/// The queues above shall learn of `load_sum` more (`add_tg_cfs_propagate`).
fn add_propagate<L: Layout>(cfs: &Cfs<L>, load_sum: i64) {
    cfs.propagate().set(1);
    cfs.prop_runnable_sum().add(load_sum);
}

/// Adds an entity's load to its queue's (`enqueue_load_avg`).
pub(super) fn add_load<L: Layout>(cfs: &Cfs<L>, se: &Se<L>) {
    cfs.avg().load_avg.add(se.avg().load_avg.get());
    cfs.avg().load_sum.add(se_weight::<L>(se) * se.avg().load_sum.get());
}

/// Takes an entity's load off its queue's (`dequeue_load_avg`).
pub(super) fn take_load<L: Layout>(cfs: &Cfs<L>, se: &Se<L>) {
    let (avg, sum) = (cfs.avg(), se_weight::<L>(se) * se.avg().load_sum.get());
    let left = take_off(&avg.load_avg, avg.load_sum.get(), se.avg().load_avg.get(), sum);
    avg.load_sum.set(left);
}

/// Adds an entity, its averages as they are, to a queue that does not have it
/// (`attach_entity_load_avg`). Its sums are made anew at the queue's point in the segment.
pub(super) fn attach_entity<L: Layout>(cfs: &Cfs<L>, se: &Se<L>) {
    let (avg, to, divider) = (se.avg(), cfs.avg(), divider(cfs.avg()));
    avg.last_update_time.set(to.last_update_time.get());
    avg.period_contrib.set(to.period_contrib.get());
    avg.util_sum.set((avg.util_avg.get() * divider) as u32);
    avg.runnable_sum.set(avg.runnable_avg.get() * divider);
    // An entity's sum is without its weight; it is never 0.
    avg.load_sum.set((avg.load_avg.get() * divider / se_weight::<L>(se)).max(1));
    add_load::<L>(cfs, se);
    to.util_avg.add(avg.util_avg.get());
    to.util_sum.add(avg.util_sum.get());
    to.runnable_avg.add(avg.runnable_avg.get());
    to.runnable_sum.add(avg.runnable_sum.get());
    add_propagate::<L>(cfs, avg.load_sum.get() as i64);
}

/// Takes an entity out of its queue's averages (`detach_entity_load_avg`).
pub(super) fn detach_entity<L: Layout>(cfs: &Cfs<L>, se: &Se<L>) {
    let avg = se.avg();
    let load = (avg.load_avg.get(), se_weight::<L>(se) * avg.load_sum.get());
    let util = (avg.util_avg.get(), u64::from(avg.util_sum.get()));
    subtract(cfs.avg(), load, util, (avg.runnable_avg.get(), avg.runnable_sum.get()));
    add_propagate::<L>(cfs, -(avg.load_sum.get() as i64));
}

/// Hands on what a group's queue on this CPU learned: its entity follows it, and the queue in
/// which the entity waits (`propagate_entity_load_avg`). Whether there was something.
fn propagate_entity<L: Layout>(cfs: &Cfs<L>, se: &Se<L>) -> bool {
    let Some(owned) = se.my_q().get() else { return false };
    if owned.propagate().get() == 0 {
        return false;
    }
    owned.propagate().set(0);
    add_propagate::<L>(cfs, owned.prop_runnable_sum().get());
    propagate_util::<L>(cfs, se, owned);
    propagate_runnable::<L>(cfs, se, owned);
    propagate_load::<L>(cfs, se, owned);
    true
}

/// `word` more by the signed `delta`, not below 0.
fn add_positive(word: u64, delta: i64) -> u64 {
    word.saturating_add_signed(delta)
}

fn difference(new: u64, old: u64) -> i64 {
    new.wrapping_sub(old) as i64
}

/// The entity's utilisation is its queue's (`update_tg_cfs_util`).
fn propagate_util<L: Layout>(cfs: &Cfs<L>, se: &Se<L>, owned: &Cfs<L>) {
    let (avg, to) = (se.avg(), cfs.avg());
    let delta = difference(owned.avg().util_avg.get(), avg.util_avg.get());
    if delta == 0 {
        return;
    }
    let sum = owned.avg().util_avg.get() * divider(to);
    let delta_sum = difference(sum, avg.util_sum.get().into());
    avg.util_avg.set(owned.avg().util_avg.get());
    avg.util_sum.set(sum as u32);
    to.util_avg.set(add_positive(to.util_avg.get(), delta));
    let sum = add_positive(to.util_sum.get().into(), delta_sum);
    to.util_sum.set(sum.max(to.util_avg.get() * MIN_DIVIDER) as u32);
}

/// The entity's runnable average is its queue's (`update_tg_cfs_runnable`).
fn propagate_runnable<L: Layout>(cfs: &Cfs<L>, se: &Se<L>, owned: &Cfs<L>) {
    let (avg, to) = (se.avg(), cfs.avg());
    let delta = difference(owned.avg().runnable_avg.get(), avg.runnable_avg.get());
    if delta == 0 {
        return;
    }
    let sum = owned.avg().runnable_avg.get() * divider(to);
    let delta_sum = difference(sum, avg.runnable_sum.get());
    avg.runnable_avg.set(owned.avg().runnable_avg.get());
    avg.runnable_sum.set(sum);
    to.runnable_avg.set(add_positive(to.runnable_avg.get(), delta));
    let sum = add_positive(to.runnable_sum.get(), delta_sum);
    to.runnable_sum.set(sum.max(to.runnable_avg.get() * MIN_DIVIDER));
}

/// The entity's load follows what its queue gained or lost (`update_tg_cfs_load`): what came is
/// added, up to an entity that always runs; what went leaves at most the share of time that the
/// queue's load still stands for; and what ran cannot have been absent.
fn propagate_load<L: Layout>(cfs: &Cfs<L>, se: &Se<L>, owned: &Cfs<L>) {
    let gained = owned.prop_runnable_sum().get();
    if gained == 0 {
        return;
    }
    owned.prop_runnable_sum().set(0);
    let (avg, to, divider) = (se.avg(), cfs.avg(), divider(cfs.avg()));
    let sum = if gained >= 0 {
        (avg.load_sum.get() + gained as u64).min(divider)
    } else {
        let weight = scale_load_down(owned.load().weight.get());
        let left = owned.avg().load_sum.get().checked_div(weight).unwrap_or(0);
        avg.load_sum.get().min(left)
    };
    let sum = sum.max(u64::from(avg.util_sum.get()) >> CAPACITY_SHIFT);
    let weight = se_weight::<L>(se);
    let load_avg = weight * sum / divider;
    let delta = difference(load_avg, avg.load_avg.get());
    if delta == 0 {
        return;
    }
    let delta_sum = difference(weight * sum, weight * avg.load_sum.get());
    avg.load_sum.set(sum);
    avg.load_avg.set(load_avg);
    to.load_avg.set(add_positive(to.load_avg.get(), delta));
    let sum = add_positive(to.load_sum.get(), delta_sum);
    to.load_sum.set(sum.max(to.load_avg.get() * MIN_DIVIDER));
}
