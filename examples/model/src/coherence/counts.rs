//! [`Counts`]: what a set of accesses met.

use super::{Event, Kind, Outcome};
use std::ops::AddAssign;

/// What accesses met, of a line, of a tag, or of all.
///
/// An access that reaches over several lines counts once for each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Accesses of [`Kind::Load`].
    pub loads: u64,
    /// Accesses of [`Kind::Store`].
    pub stores: u64,
    /// Accesses of [`Kind::Rmw`].
    pub rmws: u64,
    /// [`Event::FirstTouch`]: not counted as misses.
    pub first_touches: u64,
    /// [`Event::Silent`]: not counted as misses.
    pub silent: u64,
    /// [`Event::ReadModified`] (HITM).
    pub read_modified: u64,
    /// [`Event::ReadClean`].
    pub read_clean: u64,
    /// [`Event::WriteMiss`] (read for ownership).
    pub write_misses: u64,
    /// [`Event::Upgrade`].
    pub upgrades: u64,
    /// Copies in other cores' caches that writes took away.
    pub invalidations: u64,
    /// Misses that had to wait for another socket (see [`Outcome::across`]).
    pub cross_socket: u64,
}

impl Counts {
    /// Coherence misses of all four kinds.
    pub fn misses(&self) -> u64 {
        self.read_modified + self.read_clean + self.write_misses + self.upgrades
    }

    /// Misses that another core's cache served with the line's bytes: all but the upgrades.
    pub fn transfers(&self) -> u64 {
        self.read_modified + self.read_clean + self.write_misses
    }

    /// Accesses of all kinds.
    pub fn accesses(&self) -> u64 {
        self.loads + self.stores + self.rmws
    }

    /// Accesses that nobody else learned of.
    pub fn hits(&self) -> u64 {
        self.accesses() - self.misses() - self.first_touches
    }

    pub(super) fn count(&mut self, kind: Kind, outcome: Outcome) {
        match kind {
            Kind::Load => self.loads += 1,
            Kind::Store => self.stores += 1,
            Kind::Rmw => self.rmws += 1,
        }
        match outcome.event {
            // Most accesses, and nothing else to count.
            Event::Hit => return,
            Event::Silent => self.silent += 1,
            Event::FirstTouch => self.first_touches += 1,
            Event::ReadModified => self.read_modified += 1,
            Event::ReadClean => self.read_clean += 1,
            Event::WriteMiss => self.write_misses += 1,
            Event::Upgrade => self.upgrades += 1,
        }
        self.invalidations += outcome.invalidated as u64;
        self.cross_socket += u64::from(outcome.across);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        // Taken apart, so that a new count cannot be forgotten here.
        let Self {
            loads,
            stores,
            rmws,
            first_touches,
            silent,
            read_modified,
            read_clean,
            write_misses,
            upgrades,
            invalidations,
            cross_socket,
        } = other;
        self.loads += loads;
        self.stores += stores;
        self.rmws += rmws;
        self.first_touches += first_touches;
        self.silent += silent;
        self.read_modified += read_modified;
        self.read_clean += read_clean;
        self.write_misses += write_misses;
        self.upgrades += upgrades;
        self.invalidations += invalidations;
        self.cross_socket += cross_socket;
    }
}

/// What was done to one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineReport {
    /// The address of its first byte.
    pub address: u64,
    /// What its accesses met.
    pub counts: Counts,
}

/// What was done under one tag.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TagReport {
    /// The tag.
    pub tag: u32,
    /// Operations that began.
    pub operations: u64,
    /// Different lines that each operation loaded from, summed over the operations.
    pub lines_read: u64,
    /// Different lines that each operation wrote to (store or rmw), summed over the operations.
    pub lines_written: u64,
    /// What its accesses met.
    pub counts: Counts,
}

impl TagReport {
    /// A count of this report for each operation; not a number if none began.
    pub fn per_operation(&self, count: u64) -> f64 {
        count as f64 / self.operations as f64
    }
}

impl AddAssign for TagReport {
    /// Adds what was done under another tag; the tag stays.
    fn add_assign(&mut self, other: Self) {
        let Self { tag: _, operations, lines_read, lines_written, counts } = other;
        self.operations += operations;
        self.lines_read += lines_read;
        self.lines_written += lines_written;
        self.counts += counts;
    }
}
