//! A walk as a list of lines, counted and sent through the caches.

use super::place::{Frames, Places};
use crate::structs::recorded::Log;
use model::{Access, Counts, Hierarchy, Params, Stats};
use serde::Serialize;

/// Different lines that a visit uses.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Lines {
    /// Of a group's queue, entity and statistics on a CPU, its own and its neighbours'.
    pub state: f64,
    /// Of what leads there: the table of groups, the group, pointer arrays, the run queue.
    pub around: f64,
}

/// Misses a visit, level by level. Each level is asked for what missed the one before.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize)]
pub struct Misses {
    /// In the core's first level.
    pub l1: f64,
    /// In the core's second level.
    pub l2: f64,
    /// In the last level, which all cores share.
    pub shared: f64,
}

/// One CPU's walk.
#[derive(Debug)]
pub(super) struct Trace {
    /// The numbers of the lines in the modelled memory, visit by visit in the order of their first
    /// use. What a visit uses again it finds in the first level.
    lines: Vec<u32>,
    /// Where each visit ends in `lines`. What comes after the last visit belongs to it.
    ends: Vec<usize>,
    /// Bytes of a line.
    line: u64,
    /// Different lines of all visits, each visit counted alone: state, and around.
    distinct: [u64; 2],
}

impl Trace {
    /// # Panics
    ///
    /// If `log` has not `visits` visits, or uses memory that has no place.
    pub(super) fn new(log: &Log, visits: u64, places: &Places, line: usize) -> Self {
        assert_eq!(log.ends.len() as u64, visits, "each visit says where it ends");
        let mut trace =
            Self { lines: Vec::new(), ends: Vec::new(), line: line as u64, distinct: [0, 0] };
        let mut from = 0;
        for (at, &end) in log.ends.iter().enumerate() {
            let end = if at + 1 == log.ends.len() { log.touches.len() } else { end };
            trace.visit(&log.touches[from..end], places);
            from = end;
        }
        trace
    }

    /// One more visit, which makes these uses: address and bytes.
    fn visit(&mut self, touches: &[(usize, usize)], places: &Places) {
        let start = self.lines.len();
        for &(address, bytes) in touches {
            let (at, is_state) = places.of(address);
            let last = at + bytes.max(1) as u64 - 1;
            for line in at / self.line..=last / self.line {
                let line = u32::try_from(line).expect("less than 256 GiB of state");
                if !self.lines[start..].contains(&line) {
                    self.lines.push(line);
                    self.distinct[usize::from(!is_state)] += 1;
                }
            }
        }
        self.ends.push(self.lines.len());
    }

    fn visit_lines(&self, visit: usize) -> &[u32] {
        let start = visit.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.lines[start..self.ends[visit]]
    }
}

/// A walk on every CPU, with what prepares or undoes it.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) before: Vec<Trace>,
    pub(super) counted: Vec<Trace>,
    pub(super) after: Vec<Trace>,
}

impl Walk {
    fn visits(&self) -> f64 {
        self.counted.iter().map(|trace| trace.ends.len()).sum::<usize>() as f64
    }

    /// Different lines a visit.
    pub(super) fn lines(&self) -> Lines {
        let sum = |of: usize| self.counted.iter().map(|trace| trace.distinct[of]).sum::<u64>();
        Lines { state: sum(0) as f64 / self.visits(), around: sum(1) as f64 / self.visits() }
    }

    /// Misses after the same walk, and after one that was followed by other data in each core's
    /// own caches.
    pub(super) fn replay(&self, params: &Params, frames: &Frames) -> (Misses, Misses) {
        let mut machine = Hierarchy::new(params);
        self.round(&mut machine, frames, false);
        let warm = self.round(&mut machine, frames, false);
        let swept = self.round(&mut machine, frames, true);
        (self.a_visit(warm), self.a_visit(swept))
    }

    /// What prepares the walk, the walk, what undoes it. What the walk met.
    fn round(&self, machine: &mut Hierarchy, frames: &Frames, sweep: bool) -> Stats {
        send(machine, &self.before, frames);
        if sweep {
            machine.sweep_private();
        }
        machine.reset_stats();
        send(machine, &self.counted, frames);
        let met = machine.total();
        send(machine, &self.after, frames);
        met
    }

    fn a_visit(&self, stats: Stats) -> Misses {
        let of = |counts: Counts| counts.misses() as f64 / self.visits();
        Misses { l1: of(stats.l1), l2: of(stats.l2), shared: of(stats.shared) }
    }
}

/// All cores walk at once: one visit of the first, one of the second, and so on.
fn send(machine: &mut Hierarchy, traces: &[Trace], frames: &Frames) {
    let longest = traces.iter().map(|trace| trace.ends.len()).max().unwrap_or(0);
    for visit in 0..longest {
        for (core, trace) in traces.iter().enumerate().filter(|(_, t)| visit < t.ends.len()) {
            for &line in trace.visit_lines(visit) {
                machine.access(core, frames.of(u64::from(line) * trace.line), Access::Read);
            }
        }
    }
}
