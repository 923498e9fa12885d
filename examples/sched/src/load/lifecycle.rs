//! A group comes online with its load tracking, and is released with what is left of it.

use super::average::{Attach, attach_entity, update_cfs_rq, update_load_avg, update_se};
use super::group::{clear_tg_load_avg, update_tg_load_avg};
use crate::layout::{Gate, Held, Layout};
use crate::model::{CreateError, Locked, Model, ReleaseError, Tg, is_root, leaf};
use crate::structs::{CfsRqFields, SeFields};
use crate::tree::Limits;
use corelocal::{Area, CpuId};

/// Creates a group and brings it online: published, its entity attached on each possible CPU
/// (`sched_create_group`, `online_fair_sched_group`). Returns its index.
///
/// # Errors
///
/// [`CreateError`].
pub fn create_group<L: Layout>(
    model: &Model<L>,
    parent: usize,
    limits: Limits,
    area: &Area,
    gate: Gate,
) -> Result<usize, CreateError> {
    Ok(model.create(parent, limits, area, gate)?.publish(attach_group))
}

/// The group's entity, which has no load yet, joins its queue's averages
/// (`attach_entity_cfs_rq`), and the queues above learn of it (`propagate_entity_cfs_rq`).
fn attach_group<L: Layout>(locked: &Locked<'_, L>, tg: &Tg<L>) {
    let se = L::tg_se(tg, locked.cpu).expect("not the root").plain();
    let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
    update_cfs_rq(locked, cfs);
    attach_entity::<L>(cfs, se);
    update_tg_load_avg(locked, cfs);
    for se in locked.chain(se).skip(1) {
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        update_load_avg(locked, cfs, se, true, Attach::Stay);
    }
    relist(locked, se);
}

/// Queues that got load, from `se`'s up to the first that is on the leaf list.
fn relist<L: Layout>(locked: &Locked<'_, L>, se: &crate::layout::Se<L>) {
    for se in locked.chain(se) {
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        leaf::add(locked.model, locked.guard, locked.rq, locked.tg_of(cfs), cfs, locked.cpu);
        if locked.rq.tmp_alone_branch.is(None) {
            break;
        }
    }
}

/// Releases a group: what load its entities still have is removed from their queues, and what its
/// queues reported is gone with it.
///
/// # Errors
///
/// [`ReleaseError`].
pub fn release_group<L: Layout>(model: &Model<L>, index: usize) -> Result<(), ReleaseError> {
    model.release_with(index, |locked, tg| {
        remove_entity::<L>(locked, L::tg_se(tg, locked.cpu).expect("not the root").plain());
        clear_tg_load_avg(locked, L::tg_cfs_rq(tg, locked.cpu).plain());
    })
}

/// Takes a CPU online or offline: an offline one reports no load to its groups
/// (`clear_tg_offline_cfs_rqs`); see [`Model::set_online`] for the rest.
pub fn set_cpu_online<L: Layout>(model: &Model<L>, cpu: CpuId, online: bool) {
    model.set_online(cpu, online, |locked, tg| {
        if !online && !is_root(model, tg) {
            clear_tg_load_avg(locked, L::tg_cfs_rq(tg, cpu).plain());
        }
    });
}

/// Leaves an entity's load in its queue's `removed`, from where the queue's next update takes it
/// off (`remove_entity_load_avg`).
pub fn remove_entity<L: Layout>(locked: &Locked<'_, L>, se: &crate::layout::Se<L>) {
    let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
    debug_assert_eq!(cfs.rq().get(), core::ptr::from_ref(locked.rq).addr() as u64);
    if se.avg().last_update_time.get() == 0 {
        return;
    }
    update_se::<L>(cfs.avg().last_update_time.get(), cfs, se);
    let removed = cfs.removed();
    removed.nr.add(1);
    removed.load_avg.add(se.avg().load_avg.get());
    removed.util_avg.add(se.avg().util_avg.get());
    removed.runnable_avg.add(se.avg().runnable_avg.get());
}
