//! What tasks got and how long they waited for it.
//!
//! The same bookkeeping serves the simulator and a recorded trace, so that both can stand beside
//! each other.

use crate::pick::world::{ROOT, World};

/// One task's account, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Service that it got.
    pub service: u64,
    /// Service that was due to it; see [`Due`](super::due::Due). 0 where nobody reckons it.
    pub due: f64,
    /// Time that it waited for a CPU.
    pub waiting: u64,
    /// How long it waited after each time that it woke.
    pub latencies: Vec<u64>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Asleep,
    Waiting {
        since: u64,
        /// When it woke, if it has not run since.
        woke: Option<u64>,
    },
    Running {
        since: u64,
    },
}

/// All accounts.
#[derive(Clone, Debug, Default)]
pub struct Record {
    accounts: Vec<Account>,
    running: Vec<Option<u32>>,
}

impl Record {
    /// Accounts for so many tasks and CPUs.
    pub fn new(tasks: usize, cpus: usize) -> Self {
        Self { accounts: vec![Account::default(); tasks], running: vec![None; cpus] }
    }

    /// A task's account.
    ///
    /// # Panics
    ///
    /// If there is none of this number.
    pub fn of(&self, task: u32) -> &Account {
        &self.accounts[task as usize]
    }

    pub(super) fn of_mut(&mut self, task: u32) -> &mut Account {
        &mut self.accounts[task as usize]
    }

    /// Who runs on a CPU.
    pub fn running(&self, cpu: usize) -> Option<u32> {
        self.running[cpu]
    }

    /// Whether a task waits for a CPU.
    pub fn waits(&self, task: u32) -> bool {
        matches!(self.of(task).state, State::Waiting { .. })
    }

    /// Whether a task sleeps.
    pub fn sleeps(&self, task: u32) -> bool {
        self.of(task).state == State::Asleep
    }

    /// `task` wakes.
    pub fn wake(&mut self, now: u64, task: u32) {
        let account = self.of_mut(task);
        if account.state == State::Asleep {
            account.state = State::Waiting { since: now, woke: Some(now) };
        }
    }

    /// `task` sleeps, wherever it was.
    pub fn sleep(&mut self, now: u64, task: u32) {
        self.settle(now, task);
        self.of_mut(task).state = State::Asleep;
        for running in &mut self.running {
            if *running == Some(task) {
                *running = None;
            }
        }
    }

    /// From now on `task` runs on `cpu`; who ran there waits, unless it fell asleep before.
    pub fn switch(&mut self, now: u64, cpu: usize, task: Option<u32>) {
        if self.running[cpu] == task {
            return;
        }
        if let Some(before) = core::mem::replace(&mut self.running[cpu], task) {
            self.settle(now, before);
            self.of_mut(before).state = State::Waiting { since: now, woke: None };
        }
        if let Some(task) = task {
            self.settle(now, task);
            let account = self.of_mut(task);
            if let State::Waiting { woke: Some(woke), .. } = account.state {
                account.latencies.push(now - woke);
            }
            account.state = State::Running { since: now };
        }
    }

    /// Brings the accounts of `task` up to date.
    pub fn settle(&mut self, now: u64, task: u32) {
        let account = self.of_mut(task);
        match &mut account.state {
            State::Asleep => {}
            State::Waiting { since, .. } => {
                account.waiting += now - *since;
                *since = now;
            }
            State::Running { since } => {
                account.service += now - *since;
                *since = now;
            }
        }
    }

    /// The accounts of a group and all below it, added up.
    pub fn of_group(&self, group: u32, world: &World) -> Account {
        let mut sum = Account::default();
        for (task, account) in self.accounts.iter().enumerate() {
            let of = world.task(task as u32).group;
            if group == ROOT || world.groups.upward(of).any(|above| above == group) {
                sum.service += account.service;
                sum.due += account.due;
                sum.waiting += account.waiting;
                sum.latencies.extend_from_slice(&account.latencies);
            }
        }
        sum
    }
}
