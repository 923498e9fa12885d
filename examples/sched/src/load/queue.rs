//! A task enters and leaves the queues above it: counts, weights and averages. Which of them runs
//! is not decided here.

use super::average::{Attach, update_load_avg};
use super::group::update_cfs_group;
use crate::layout::{Cfs, Layout, Se};
use crate::model::{Locked, THROTTLED, Task, Throttle, leaf};
use crate::structs::{CfsRqFields, SeFields};

/// Why a task leaves its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaving {
    /// It sleeps: its load stays with the queue and decays.
    Sleep,
    /// It goes to another CPU or group and takes its load along.
    Migrate,
}

/// A group's entity is as runnable as the queue it owns (`se_update_runnable`).
pub fn update_runnable<L: Layout>(se: &Se<L>) {
    if let Some(owned) = se.my_q().get() {
        se.runnable_weight().set(owned.h_nr_runnable().get().into());
    }
}

/// Puts one entity into the queue it waits in: averages, the weight of a group's entity, the
/// queue's weight and count; the queue comes onto the leaf list with its first entity
/// (`enqueue_entity`, `account_entity_enqueue`).
pub fn enqueue_entity<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>, se: &Se<L>) {
    update_load_avg(locked, cfs, se, true, Attach::Attach);
    update_runnable::<L>(se);
    update_cfs_group(locked, se);
    cfs.load().weight.add(se.load().weight.get());
    cfs.nr_queued().add(1);
    se.on_rq().set(1);
    if cfs.nr_queued().get() == 1 {
        first_entity(locked, cfs);
    }
}

/// A queue got its first entity: it comes onto the leaf list. Where a throttle removes entities,
/// one that is throttled stays away; where it defers, its clock, which stood while it was empty,
/// goes on.
fn first_entity<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) {
    let throttled = cfs.throttle_count().get() != 0;
    if throttled && locked.model.throttle() == Throttle::Removes {
        return;
    }
    leaf::add(locked.model, locked.guard, locked.rq, locked.tg_of(cfs), cfs, locked.cpu);
    locked.start_clock(cfs);
}

/// Takes one entity out of the queue it waits in (`dequeue_entity`, `account_entity_dequeue`).
pub fn dequeue_entity<L: Layout>(
    locked: &Locked<'_, L>,
    cfs: &Cfs<L>,
    se: &Se<L>,
    leaving: Leaving,
) {
    let detach = leaving == Leaving::Migrate && se.my_q().is(None);
    let attach = if detach { Attach::Detach } else { Attach::Stay };
    update_load_avg(locked, cfs, se, true, attach);
    update_runnable::<L>(se);
    se.on_rq().set(0);
    cfs.load().weight.add(se.load().weight.get().wrapping_neg());
    cfs.nr_queued().add(1_u32.wrapping_neg());
    update_cfs_group(locked, se);
    // Where a throttle defers, a throttled queue leaves the list with its last entity.
    let throttled = cfs.throttle_count().get() != 0;
    if cfs.nr_queued().get() == 0 && throttled && locked.model.throttle() == Throttle::Defers {
        leaf::remove(locked.rq, cfs);
        locked.stop_clock(cfs);
    }
}

/// What entering or leaving changes in the four counts of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Tasks that compete.
    pub queued: u32,
    /// Of them, those that can run at once.
    pub runnable: u32,
    /// Of them, those that are idle as seen from here.
    pub idle: u32,
}

impl Counts {
    /// One task.
    pub fn of_task<L: Layout>(task: &Task<'_, L>) -> Self {
        Self { queued: 1, runnable: 1, idle: task.is_idle().into() }
    }

    /// All tasks of a group's queue, as they count above it.
    pub fn of_queue<C: CfsRqFields>(cfs: &C) -> Self {
        let queued = cfs.h_nr_queued().get();
        let idle = if cfs.idle().get() != 0 { queued } else { cfs.h_nr_idle().get() };
        Self { queued, runnable: cfs.h_nr_runnable().get(), idle }
    }

    /// Adds these to a queue's. Above an idle group, all of them are idle.
    pub fn add<C: CfsRqFields>(&mut self, cfs: &C) {
        cfs.h_nr_queued().add(self.queued);
        cfs.h_nr_runnable().add(self.runnable);
        cfs.h_nr_idle().add(self.idle);
        self.pass(cfs);
    }

    /// Takes these off a queue's.
    pub fn take<C: CfsRqFields>(&mut self, cfs: &C) {
        cfs.h_nr_queued().add(self.queued.wrapping_neg());
        cfs.h_nr_runnable().add(self.runnable.wrapping_neg());
        cfs.h_nr_idle().add(self.idle.wrapping_neg());
        self.pass(cfs);
    }

    fn pass<C: CfsRqFields>(&mut self, cfs: &C) {
        if cfs.idle().get() != 0 {
            self.idle = self.queued;
        }
    }
}

/// Whether `cfs` keeps what happens in it to itself: a throttle took the group's entity out.
fn is_cut_off<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>) -> bool {
    locked.model.throttle() == Throttle::Removes && cfs.throttled().get() & THROTTLED != 0
}

/// Puts a task into its group's queue, and the groups' entities above into theirs as far as they
/// were not there (`enqueue_task_fair`).
///
/// # Panics
///
/// If the task is queued, or placed on another CPU.
pub fn enqueue_task<L: Layout>(locked: &Locked<'_, L>, task: &Task<'_, L>) {
    assert_eq!((task.cpu(), task.se().on_rq().get()), (locked.cpu, 0), "{task:?} is queued");
    enqueue_chain(locked, task.se(), Counts::of_task(task));
}

/// The same from any entity that is not queued, with what it brings.
pub fn enqueue_chain<L: Layout>(locked: &Locked<'_, L>, from: &Se<L>, mut counts: Counts) {
    for se in locked.chain(from) {
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        if se.on_rq().get() == 0 {
            enqueue_entity(locked, cfs, se);
        } else {
            update_level(locked, cfs, se);
        }
        counts.add(cfs);
        if is_cut_off(locked, cfs) {
            break;
        }
    }
    close_branch(locked, from);
}

/// Takes a task out of its group's queue, and the groups' entities above out of theirs as far as
/// nothing is left in them (`dequeue_entities`).
///
/// # Panics
///
/// If the task is not queued on this CPU.
pub fn dequeue_task<L: Layout>(locked: &Locked<'_, L>, task: &Task<'_, L>, leaving: Leaving) {
    assert_eq!((task.cpu(), task.se().on_rq().get()), (locked.cpu, 1), "{task:?} is not queued");
    dequeue_chain(locked, task.se(), Counts::of_task(task), leaving);
    if leaving == Leaving::Migrate {
        task.se().avg().last_update_time.set(0);
    }
}

/// The same from any queued entity, with what it takes along.
pub fn dequeue_chain<L: Layout>(
    locked: &Locked<'_, L>,
    from: &Se<L>,
    mut counts: Counts,
    leaving: Leaving,
) {
    let mut leaves = true;
    for se in locked.chain(from) {
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        if leaves {
            dequeue_entity(locked, cfs, se, leaving);
            leaves = cfs.load().weight.get() == 0;
        } else {
            update_level(locked, cfs, se);
        }
        counts.take(cfs);
        if is_cut_off(locked, cfs) {
            break;
        }
    }
}

/// A level at which nothing enters or leaves.
pub fn update_level<L: Layout>(locked: &Locked<'_, L>, cfs: &Cfs<L>, se: &Se<L>) {
    update_load_avg(locked, cfs, se, true, Attach::Stay);
    update_runnable::<L>(se);
    update_cfs_group(locked, se);
}

/// Completes the branch that was begun on the leaf list: every queue from here to the first that
/// is on it is added. Afterwards no branch is open.
pub fn close_branch<L: Layout>(locked: &Locked<'_, L>, from: &Se<L>) {
    for se in locked.chain(from) {
        if locked.rq.tmp_alone_branch.is(None) {
            return;
        }
        let cfs = se.cfs_rq().get().expect("an entity waits in a queue");
        leaf::add(locked.model, locked.guard, locked.rq, locked.tg_of(cfs), cfs, locked.cpu);
    }
}
