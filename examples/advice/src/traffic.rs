//! How many transfers between CPUs coherence costs an operation on a line.
//!
//! The caches have no bounds, and each CPU runs its operations at random moments, independently of
//! the others (Poisson processes). Then, of two kinds of events, which one came last is a matter of
//! their rates alone. Of a CPU that touches the line at a rate `t`, of it writing at a rate `w`, while
//! the others touch it at a rate `T`, of it writing at a rate `W`:
//!
//! * it *reads* and has to fetch the line if somebody wrote since it touched it: `W / (W + t)`;
//! * it *writes* and has to fetch or to own the line if somebody touched it since it wrote:
//!   `T / (T + w)`;
//! * an operation that reads one field of the line and then writes another does both: two transfers
//!   where two lines would have cost one. That is what a count beside a pointer costs. In the other
//!   order the read is free.

use crate::By;

/// What an operation does to a line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Use {
    /// How often the operation runs.
    pub(crate) weight: f64,
    pub(crate) by: By,
    /// It reads before it writes.
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

impl Use {
    /// The operation goes on with a field on this line. What it reads of a line that it owns is free.
    pub(crate) fn touch(&mut self, written: bool) {
        self.reads |= !written && !self.writes;
        self.writes |= written;
    }
}

/// How often something happens, by who does it.
#[derive(Clone, Copy, Default, Debug)]
struct Rates {
    owner: f64,
    others: f64,
    all: f64,
}

impl Rates {
    fn add(&mut self, by: By, weight: f64) {
        match by {
            By::Owner => self.owner += weight,
            By::Others => self.others += weight,
            By::All => self.all += weight,
        }
    }

    fn sum(&self) -> f64 {
        self.owner + self.others + self.all
    }

    /// Of the owner alone, and of one of the others.
    fn of_one(&self, cpus: f64) -> (f64, f64) {
        let each = self.all / cpus;
        (self.owner + each, self.others / (cpus - 1.0) + each)
    }
}

/// A line, as the CPUs see it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Line {
    touches: Rates,
    writes: Rates,
}

impl Line {
    pub(crate) fn add(&mut self, used: &Use) {
        self.touches.add(used.by, used.weight);
        if used.writes {
            self.writes.add(used.by, used.weight);
        }
    }

    /// Transfers that one run of an operation waits for on this line, of which it is one user.
    pub(crate) fn transfers(&self, used: &Use, cpus: u32) -> f64 {
        if cpus < 2 || self.writes.sum() == 0.0 {
            return 0.0;
        }
        let cpus = f64::from(cpus);
        let (touches, writes) = (self.touches.of_one(cpus), self.writes.of_one(cpus));
        let owner = self.one(used, touches.0, writes.0);
        let other = self.one(used, touches.1, writes.1);
        match used.by {
            By::Owner => owner,
            By::Others => other,
            By::All => (owner + (cpus - 1.0) * other) / cpus,
        }
    }

    /// The same for a CPU with these rates of its own.
    fn one(&self, used: &Use, touches: f64, writes: f64) -> f64 {
        let share = |others: f64, own: f64| {
            // A difference of equal sums may be a hair above 0.
            if others > 1e-9 * (others + own) { others / (others + own) } else { 0.0 }
        };
        let mut transfers = 0.0;
        if used.reads {
            transfers += share(self.writes.sum() - writes, touches);
        }
        if used.writes {
            transfers += share(self.touches.sum() - touches, writes);
        }
        transfers
    }
}
