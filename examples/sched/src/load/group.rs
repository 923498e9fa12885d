//! What a group's queues report to the group, and what weight its entities get back.

use super::average::{Attach, add_load, se_weight, take_load, update_load_avg};
use super::pelt::divider;
use super::shares::{CgroupMode, GroupLoad};
use crate::layout::{Cfs, Held, Layout, Se};
use crate::model::{Locked, Model, NICE_0_LOAD, Tg, is_root};
use crate::structs::{CfsRqFields, LaterFields, SeFields};
use crate::tree::SHARES;
use core::fmt;
use corelocal::CpuId;
use crossbeam_epoch::{self as epoch, Guard};

/// A queue reports to its group at most this often, in nanoseconds.
pub const REPORT_INTERVAL: u64 = 1_000_000;

/// The weight of a group that is idle, scaled (`WEIGHT_IDLEPRIO`).
pub const IDLE_WEIGHT: u64 = 3 << 10;

/// The policy in force: the kernel's own if none was chosen.
pub fn cgroup_mode<L: Layout>(model: &Model<L>) -> CgroupMode {
    match model.cgroup_mode.get().checked_sub(1) {
        Some(chosen) => CgroupMode::ALL[usize::from(chosen)],
        None if counts_runnable(model) => CgroupMode::Concur,
        None => CgroupMode::Smp,
    }
}

/// Whether this kernel's queues report their runnable averages.
fn counts_runnable<L: Layout>(model: &Model<L>) -> bool {
    let root = L::tg_cfs_rq(model.root(), CpuId::new(0)).plain();
    root.tg_runnable_avg_contrib().is_some()
}

/// Chooses the policy. Weights follow when their entities are next updated.
///
/// # Errors
///
/// [`SetError::NotInKernel`]: this kernel's queues do not report what the policy asks for.
pub fn set_cgroup_mode<L: Layout>(model: &Model<L>, mode: CgroupMode) -> Result<(), SetError> {
    let counts = matches!(mode, CgroupMode::Concur | CgroupMode::Tasks);
    if counts && !counts_runnable(model) {
        return Err(SetError::NotInKernel(mode));
    }
    let at = CgroupMode::ALL.iter().position(|&known| known == mode);
    model.cgroup_mode.set(at.expect("it is one of all") as u8 + 1);
    Ok(())
}

/// Whether `new` differs from `old` by more than 1/64 of it.
fn differs(new: u64, old: u64) -> bool {
    new.abs_diff(old) > old / 64
}

/// Reports a queue's load to its group, unless that was done less than 1 ms ago or it has hardly
/// changed (`update_tg_load_avg`). The runnable average goes with it where the kernel has one.
pub fn update_tg_load_avg<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) {
    let tg = locked.tg_of(cfs);
    let now = locked.rq.clock.get();
    if is_root(locked.model, tg)
        || now.wrapping_sub(cfs.last_update_tg_load_avg().get()) < REPORT_INTERVAL
    {
        return;
    }
    let runnable = cfs.tg_runnable_avg_contrib();
    let load_changed = differs(cfs.avg().load_avg.get(), cfs.tg_load_avg_contrib().get());
    let runnable_changed =
        runnable.is_some_and(|contrib| differs(cfs.avg().runnable_avg.get(), contrib.get()));
    if load_changed || runnable_changed {
        report(&tg.load_avg.0, cfs.tg_load_avg_contrib(), cfs.avg().load_avg.get());
        if let Some(contrib) = runnable {
            report(&tg.load_avg.1, contrib, cfs.avg().runnable_avg.get());
        }
        cfs.last_update_tg_load_avg().set(now);
    }
}

/// Other CPUs add to the same sum.
fn report(sum: &crate::word::U64, contrib: &crate::word::U64, new: u64) {
    sum.fetch_add(new.wrapping_sub(contrib.get()));
    contrib.set(new);
}

/// Takes back what a queue reported: its CPU goes offline, or the group goes
/// (`clear_tg_load_avg`).
pub fn clear_tg_load_avg<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) {
    let tg = locked.tg_of(cfs);
    report(&tg.load_avg.0, cfs.tg_load_avg_contrib(), 0);
    if let Some(contrib) = cfs.tg_runnable_avg_contrib() {
        report(&tg.load_avg.1, contrib, 0);
    }
    cfs.last_update_tg_load_avg().set(locked.rq.clock.get());
}

/// What the policies are told of a group's queue.
pub fn group_load<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) -> GroupLoad {
    let tg = locked.tg_of(cfs);
    GroupLoad {
        shares: tg.shares.get(),
        queue_weight: cfs.load().weight.get(),
        queue_load: cfs.avg().load_avg.get(),
        contrib: cfs.tg_load_avg_contrib().get(),
        group_load: tg.load_avg.0.get(),
        group_runnable: tg.load_avg.1.get(),
        cpus: locked.model.online_cpus().count() as u64,
    }
}

/// Gives a group's entity the weight that its queue has earned on this CPU (`update_cfs_group`).
/// An empty queue keeps its weight. Whether it changed.
pub fn update_cfs_group<L: Layout>(locked: &Locked<'_, L>, se: &Se<L>) -> bool {
    let Some(owned) = se.my_q().get().filter(|owned| owned.load().weight.get() != 0) else {
        return false;
    };
    let shares = cgroup_mode(locked.model).shares(&group_load(locked, owned));
    let changes = se.load().weight.get() != shares;
    if changes {
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        reweight_entity::<L>(cfs, se, shares);
    }
    changes
}

/// Changes an entity's weight; its share of the time stays what it was, so its load changes with
/// the weight (`reweight_entity`, without what it does to the order of the queue).
pub fn reweight_entity<L: Layout>(cfs: &Cfs<L>, se: &Se<L>, weight: u64) {
    let queued = se.on_rq().get() != 0;
    let old = se.load().weight.get();
    take_load::<L>(cfs, se);
    se.load().weight.set(weight);
    let load = se_weight::<L>(se) * se.avg().load_sum.get() / divider(se.avg());
    se.avg().load_avg.set(load);
    add_load::<L>(cfs, se);
    if queued {
        cfs.load().weight.add(weight.wrapping_sub(old));
    }
}

/// Why a group was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetError {
    /// The root has no entity: it has neither weight nor policy.
    Root,
    /// There is no such group.
    NotThere,
    /// The group is idle: its weight is that of an idle task.
    Idle,
    /// The shares are out of bounds; the kernel would use the nearest bound.
    Shares(u64),
    /// The policy needs what this kernel does not record.
    NotInKernel(CgroupMode),
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("the root group has no weight to set"),
            Self::NotThere => f.write_str("there is no such group"),
            Self::Idle => f.write_str("the group is idle: it has the weight of an idle task"),
            Self::Shares(shares) => {
                write!(f, "{shares} shares are not from {} to {}", SHARES.start(), SHARES.end())
            }
            Self::NotInKernel(mode) => {
                write!(f, "{mode} needs runnable averages of groups: structures of Linux 7.3")
            }
        }
    }
}

impl std::error::Error for SetError {}

/// Sets a group's shares (1024 is an ordinary task) and reweighs its entities, and those above, on
/// every possible CPU (`sched_group_set_shares`).
///
/// # Errors
///
/// [`SetError`].
pub fn set_shares<L: Layout>(model: &Model<L>, index: usize, shares: u64) -> Result<(), SetError> {
    if !SHARES.contains(&shares) {
        return Err(SetError::Shares(shares));
    }
    let _settings = model.lock_settings();
    let guard = &epoch::pin();
    let tg = settable(model, guard, index)?;
    if tg.idle.get() != 0 {
        return Err(SetError::Idle);
    }
    apply_shares(model, guard, tg, shares << 10);
    Ok(())
}

/// The group at `index`, if it has a weight.
fn settable<'m, L: Layout>(
    model: &'m Model<L>,
    guard: &'m Guard,
    index: usize,
) -> Result<&'m Tg<L>, SetError> {
    let tg = model.groups().get(index, guard).ok_or(SetError::NotThere)?;
    if is_root(model, tg) { Err(SetError::Root) } else { Ok(tg) }
}

fn apply_shares<L: Layout>(model: &Model<L>, guard: &Guard, tg: &Tg<L>, shares: u64) {
    if tg.shares.get() == shares {
        return;
    }
    tg.shares.set(shares);
    for cpu in model.cpus() {
        let locked = Locked::new(model, guard, cpu);
        let own = L::tg_se(tg, cpu).expect("not the root").plain();
        for se in locked.chain(own) {
            let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
            update_load_avg(&locked, cfs, se, true, Attach::Stay);
            update_cfs_group(&locked, se);
        }
    }
}

/// Makes a group idle or not (`sched_group_set_idle`): an idle one has the weight of an idle task,
/// and all that it has queued counts as idle above it. One that is idle no longer has ordinary
/// shares again.
///
/// # Errors
///
/// [`SetError`].
pub fn set_idle<L: Layout>(model: &Model<L>, index: usize, idle: bool) -> Result<(), SetError> {
    let _settings = model.lock_settings();
    let guard = &epoch::pin();
    let tg = settable(model, guard, index)?;
    if (tg.idle.get() != 0) == idle {
        return Ok(());
    }
    tg.idle.set(idle.into());
    for cpu in model.cpus() {
        let locked = Locked::new(model, guard, cpu);
        let owned = L::tg_cfs_rq(tg, cpu).plain();
        owned.idle().set(idle.into());
        // What was not idle in this group becomes so above it, or is so no longer.
        let others = owned.h_nr_queued().get().wrapping_sub(owned.h_nr_idle().get());
        let more = if idle { others } else { others.wrapping_neg() };
        for se in locked.chain(L::tg_se(tg, cpu).expect("not the root").plain()) {
            let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
            if se.on_rq().get() == 0 {
                break;
            }
            cfs.h_nr_idle().add(more);
            if cfs.idle().get() != 0 {
                break;
            }
        }
    }
    apply_shares(model, guard, tg, if idle { IDLE_WEIGHT } else { NICE_0_LOAD });
    Ok(())
}
