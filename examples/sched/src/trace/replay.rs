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
#[derive(PartialEq, Eq, Debug)]
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

/// A walk on every CPU.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Walk(pub(super) Vec<Trace>);

/// What a walk met.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Met {
    /// After the same round of walks.
    pub(super) warm: Misses,
    /// With each core's own caches full of other data, after the same round.
    pub(super) swept: Misses,
}

/// Sends walks that follow each other again and again through the caches: a round that fills them,
/// one that is counted, one that is swept before each walk.
pub(super) fn replay(walks: &[Walk], params: &Params, frames: &Frames) -> Vec<Met> {
    let mut machine = Hierarchy::new(params);
    let mut round = |sweep: bool| -> Vec<Misses> {
        let of_walk = |walk: &Walk| {
            if sweep {
                machine.sweep_private();
            }
            machine.reset_stats();
            send(&mut machine, &walk.0, frames);
            walk.a_visit(machine.total())
        };
        walks.iter().map(of_walk).collect()
    };
    let (_, warm, swept) = (round(false), round(false), round(true));
    warm.into_iter().zip(swept).map(|(warm, swept)| Met { warm, swept }).collect()
}

impl Walk {
    fn visits(&self) -> f64 {
        self.0.iter().map(|trace| trace.ends.len()).sum::<usize>() as f64
    }

    /// Different lines a visit.
    pub(super) fn lines(&self) -> Lines {
        let sum = |of: usize| self.0.iter().map(|trace| trace.distinct[of]).sum::<u64>();
        Lines { state: sum(0) as f64 / self.visits(), around: sum(1) as f64 / self.visits() }
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
