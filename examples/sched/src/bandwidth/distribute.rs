//! Runtime for queues that wait: the period's timer, the slack timer, and the hand-over to CPUs.

use super::control::{At, Control, Cpu, State, is_limited, is_throttled};
use super::{list, planted, run, throttle};
use crate::layout::{Held, Layout};
use crate::structs::CfsRqFields;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

impl<L: Layout> Control<'_, L> {
    /// The period's timer of a group has expired on `cpu`, whose clock says when
    /// (`sched_cfs_period_timer`, `do_sched_cfs_period_timer`): refills, hands out, and stops the
    /// timer after a period in which nothing was asked for. Returns whether it still runs.
    ///
    /// # Panics
    ///
    /// If the group was released, or the model has no such CPU.
    pub fn period(&self, group: usize, cpu: CpuId) -> bool {
        let held = self.lock(cpu);
        let at = held.at();
        let mut pool = at.pool(group);
        let periods = pool.forward(at.now());
        let throttled = list::first(&pool.throttled).is_some();
        if !is_limited(&pool) {
            pool.period_active.set(0);
            return false;
        }
        pool.nr_periods.add(periods);
        pool.refill(at);
        if pool.idle.get() != 0 && !throttled {
            pool.period_active.set(0);
            return false;
        }
        // Idle again unless somebody asks until the next time.
        pool.idle.set(i32::from(!throttled));
        if throttled {
            pool.nr_throttled.add(periods);
        }
        drop(pool);
        drop(held);
        while throttled && self.has_runtime(group, cpu) && self.distribute(group, cpu) {}
        true
    }

    /// The slack timer of a group has expired on `cpu` (`do_sched_cfs_slack_timer`).
    ///
    /// # Panics
    ///
    /// If the group was released, or the model has no such CPU.
    pub fn slack(&self, group: usize, cpu: CpuId) {
        {
            let held = self.lock(cpu);
            let (at, settings) = (held.at(), &self.settings);
            let pool = at.pool(group);
            pool.slack_started.set(0);
            let soon = pool.refills_within(at.now(), settings.worthwhile);
            let is_little = pool.runtime.get() <= settings.slice as i64;
            if soon || !is_limited(&pool) || is_little {
                return;
            }
        }
        self.distribute(group, cpu);
    }

    fn has_runtime(&self, group: usize, cpu: CpuId) -> bool {
        self.lock(cpu).at().pool(group).runtime.get() > 0
    }

    /// Gives each throttled queue of a group what it lacks and 1 ns, until the pool is empty
    /// (`distribute_cfs_runtime`). A queue of another CPU goes on that CPU's CSD list, to be
    /// unthrottled there; one of `this` CPU is unthrottled here. Returns whether the pool was not
    /// enough.
    ///
    /// # Panics
    ///
    /// If the group was released, or the model has no such CPU.
    pub fn distribute(&self, group: usize, this: CpuId) -> bool {
        let guard = &epoch::pin();
        let tg = self.model.groups().get(group, guard).expect("a group in use");
        let node =
            |key: u64| L::tg_cfs_rq(tg, CpuId::new((key - 1) as u32)).plain().throttled_list();
        let (mut is_short, mut is_local) = (false, false);
        // Without a lock, as under RCU: a queue may leave the list meanwhile, or come back to it.
        let mut key = list::first(&L::touched(&tg.bandwidth).throttled);
        while let Some(at) = key {
            let cpu = CpuId::new((at - 1) as u32);
            let mut held = self.lock(cpu);
            match give(&mut held, group, cpu == this) {
                Given::PoolEmpty => return finish(self, group, this, is_local, true),
                Given::TooLittle => is_short = true,
                Given::Enough => is_local |= cpu == this,
                Given::Nothing => {}
            }
            drop(held);
            key = list::next(node(at));
        }
        finish(self, group, this, is_local, is_short)
    }
}

/// Unthrottles the queue of the distributing CPU, if it was given something.
fn finish<L: Layout>(
    control: &Control<'_, L>,
    group: usize,
    this: CpuId,
    is_local: bool,
    is_short: bool,
) -> bool {
    if is_local {
        let mut held = control.lock(this);
        let (at, state) = held.parts();
        if list::is_listed(at.cfs(group).throttled_csd_list()) {
            take_from_csd(at, group);
            throttle::unthrottle(at, state, group);
        }
    }
    is_short
}

/// What distribution did to one queue.
enum Given {
    /// Nothing: it is not throttled, or was given to before.
    Nothing,
    /// The pool was empty.
    PoolEmpty,
    /// Less than it lacks.
    TooLittle,
    /// It may run.
    Enough,
}

fn give<L: Layout>(held: &mut Cpu<'_, L>, group: usize, is_local: bool) -> Given {
    let (at, state) = held.parts();
    let cfs = at.cfs(group);
    if at.pool(group).runtime.get() <= 0 {
        return Given::PoolEmpty;
    }
    if !is_throttled(cfs) || list::is_listed(cfs.throttled_csd_list()) {
        return Given::Nothing;
    }
    if at.running(group) != 0 {
        // A task that is still in the kernel has not paid for its last stretch.
        run::update(at, state);
    }
    let mut pool = at.pool(group);
    let lacks = (1 - cfs.runtime_remaining().get()).max(0);
    let mut amount = lacks.min(pool.runtime.get());
    if planted!(at, GivesTooMuch) {
        amount = lacks + at.control.settings.slice as i64;
    } else {
        pool.runtime.add(-amount);
    }
    pool.ledger.granted += amount;
    drop(pool);
    cfs.runtime_remaining().add(amount);
    if cfs.runtime_remaining().get() <= 0 {
        return Given::TooLittle;
    }
    let head = L::touched(&at.rq.cfsb_csd_list);
    // One interrupt for all that is on the list.
    state.interrupted |= !is_local && list::first(head).is_none();
    list::push_back(head, group as u64, |key| at.cfs(key as usize).throttled_csd_list());
    Given::Enough
}

fn take_from_csd<L: Layout>(at: At<'_, L>, group: usize) {
    let head = L::touched(&at.rq.cfsb_csd_list);
    list::remove(head, group as u64, |key| at.cfs(key as usize).throttled_csd_list());
}

/// Unthrottles what other CPUs gave to (`__cfsb_csd_unthrottle`).
pub(super) fn unthrottle_given<L: Layout>(at: At<'_, L>, state: &mut State) {
    state.interrupted = false;
    while let Some(key) = list::first(L::touched(&at.rq.cfsb_csd_list)) {
        take_from_csd(at, key as usize);
        throttle::unthrottle(at, state, key as usize);
    }
}
