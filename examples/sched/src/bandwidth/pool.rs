//! The pool of a group: `cfs_bandwidth`.

use super::control::{At, Pool, is_limited, period};
use super::list;
use super::planted;
use crate::layout::{Cfs, Layout};
use crate::structs::{Bandwidth, CfsRqFields};

/// A word of microseconds in nanoseconds; what is too much for the pool is the most it can hold.
pub(super) fn nanoseconds(microseconds: u64) -> i64 {
    i64::try_from(microseconds.saturating_mul(1000)).unwrap_or(i64::MAX)
}

/// The most that the pool may hold after a refill.
pub(super) fn most(pool: &Bandwidth) -> i64 {
    nanoseconds(pool.quota.get()).saturating_add(nanoseconds(pool.burst.get()))
}

impl Pool<'_> {
    /// Adds a quota, to at most quota and burst (`__refill_cfs_bandwidth_runtime`).
    pub(super) fn refill<L: Layout>(&mut self, at: At<'_, L>) {
        if !is_limited(self) {
            return;
        }
        let before = self.runtime.get();
        let filled = before.saturating_add(nanoseconds(self.quota.get()));
        // What was used beyond the quota since the last refill.
        let beyond = self.runtime_snap.get() - filled;
        if beyond > 0 {
            self.burst_time.add(beyond as u64);
            self.nr_burst.add(1);
        }
        let filled = if planted!(at, RefillsWithoutEnd) { filled } else { filled.min(most(self)) };
        self.runtime.set(filled);
        self.runtime_snap.set(filled);
        self.ledger.minted += filled - before;
        self.ledger.granted = 0;
    }

    /// Starts the period's timer if it stands (`start_cfs_bandwidth`): it keeps its phase.
    pub(super) fn start<L: Layout>(&self, at: At<'_, L>) {
        if self.period_active.get() == 0 {
            self.period_active.set(1);
            self.forward(at.now());
        }
    }

    /// Moves the timer's expiry past `now`; returns by how many periods (`hrtimer_forward_now`).
    pub(super) fn forward(&self, now: u64) -> u64 {
        let expired = self.period_expires.get();
        if expired > now {
            return 0;
        }
        let periods = (now - expired) / period(self) + 1;
        self.period_expires.set(expired + periods * period(self));
        periods
    }

    /// Whether the next refill is nearer than `within` nanoseconds (`runtime_refresh_within`).
    pub(super) fn refills_within(&self, now: u64, within: u64) -> bool {
        self.period_expires.get().saturating_sub(now) < within
    }

    /// Fills a queue up to `target`, as far as the pool reaches (`__assign_cfs_rq_runtime`). Returns
    /// whether the queue may run.
    pub(super) fn assign<L: Layout>(&mut self, at: At<'_, L>, cfs: &Cfs<L>, target: i64) -> bool {
        let wanted = target - cfs.runtime_remaining().get();
        let mut amount = 0;
        if !is_limited(self) {
            amount = wanted;
            self.ledger.given += amount;
        } else {
            self.start(at);
            let there = self.runtime.get();
            if there > 0 {
                amount = there.min(wanted);
                self.runtime.set(there - amount);
                self.idle.set(0);
                self.ledger.granted += amount;
            }
        }
        cfs.runtime_remaining().add(amount);
        cfs.runtime_remaining().get() > 0
    }

    /// Starts the slack timer, unless the refill comes first (`start_cfs_slack_bandwidth`).
    fn start_slack<L: Layout>(&self, at: At<'_, L>) {
        let settings = &at.control.settings;
        let soon = self.refills_within(at.now(), settings.slack + settings.worthwhile);
        if !soon && self.slack_started.get() == 0 {
            self.slack_started.set(1);
            self.slack_expires.set(at.now() + settings.slack);
        }
    }
}

/// Gives back what an empty queue has beyond a reserve (`return_cfs_rq_runtime`).
pub(super) fn return_runtime<L: Layout>(at: At<'_, L>, group: usize) {
    let cfs = at.cfs(group);
    if group == 0 || cfs.runtime_enabled().get() == 0 || cfs.nr_queued().get() != 0 {
        return;
    }
    let settings = &at.control.settings;
    let slack = cfs.runtime_remaining().get() - settings.keep as i64;
    if slack <= 0 {
        return;
    }
    let mut pool = at.pool(group);
    if is_limited(&pool) {
        if !planted!(at, LosesReturns) {
            pool.runtime.add(slack);
        }
        pool.ledger.granted -= slack;
        let is_enough = pool.runtime.get() > settings.slice as i64;
        if is_enough && list::first(&pool.throttled).is_some() {
            pool.start_slack(at);
        }
    } else {
        pool.ledger.given -= slack;
    }
    cfs.runtime_remaining().add(-slack);
}
