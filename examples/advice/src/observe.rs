//! Operations from samples of addresses.

use crate::place::{Placed, Plan};
use crate::reports::{Cpus, Place};
use crate::{By, Operation, Problem, Sample, Samples, Touched};
use core::cmp::Reverse;
use core::fmt;
use std::collections::{BTreeMap, BTreeSet};

/// More operations than this are left out, the rarest first.
const MOST: usize = 64;

/// What became of the samples.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Observed {
    /// Accesses to fields of the struct.
    pub inside: u64,
    /// Accesses to its holes and its padding: the struct may not be what it is taken for.
    pub in_gaps: u64,
    /// Accesses to something else.
    pub outside: u64,
    /// Operations that were left out, because there were more than 64.
    pub left_out: usize,
}

/// Why samples make no operations.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObserveError {
    /// None of so many accesses is to a field of the struct.
    Nothing(u64),
}

impl fmt::Display for ObserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing(seen) => {
                write!(f, "none of {seen} accesses is to a field; is the struct's address right?")
            }
        }
    }
}

impl core::error::Error for ObserveError {}

/// What was seen of one operation.
#[derive(Default)]
struct Seen {
    /// Of each field: whether it is written, and how often it was touched.
    fields: BTreeMap<usize, (bool, u64)>,
    cpus: BTreeSet<u32>,
    most_cpus: u32,
    is_unknown: bool,
}

impl Problem {
    /// Takes the operations from samples of `elements` structs in a row, of which the first lies at
    /// `base` (its address, or the name of the symbol). What was there before is forgotten.
    ///
    /// What has one tag is one operation. It runs as often as the field that it touches most often
    /// was touched, and is said to touch every field that it ever touched. Where samples name CPUs,
    /// the one with most of them is the owner. Where they tell only how many there were, more than one
    /// is all of them, and of the operations that one CPU runs the most frequent is the owner's, the
    /// others are not. Where they tell nothing, it is all of them.
    ///
    /// # Errors
    ///
    /// If no sample is inside a field; the problem is as it was then.
    pub fn observe(
        &mut self,
        samples: &Samples,
        base: &Place,
        elements: u64,
    ) -> Result<Observed, ObserveError> {
        let placed = Plan::given(self).place(self);
        let mut tally = Tally::default();
        for sample in samples.iter() {
            tally.add(self, &placed, elements, sample, base);
        }
        if tally.seen.is_empty() {
            let missed = tally.found.outside.saturating_add(tally.found.in_gaps);
            return Err(ObserveError::Nothing(missed));
        }
        self.cpus = tally.cpus().unwrap_or(self.cpus);
        self.operations = tally.operations();
        tally.found.left_out = self.operations.len().saturating_sub(MOST);
        self.operations.truncate(MOST);
        Ok(tally.found)
    }
}

/// All that was seen.
#[derive(Default)]
struct Tally {
    found: Observed,
    seen: BTreeMap<String, Seen>,
    /// How often each CPU was named.
    busy: BTreeMap<u32, u64>,
}

impl Tally {
    fn add(
        &mut self,
        problem: &Problem,
        placed: &Placed,
        elements: u64,
        sample: Sample,
        base: &Place,
    ) {
        let room = (placed.size as u64).saturating_mul(elements);
        let Some(offset) = sample.place.since(base).filter(|&offset| offset < room) else {
            self.found.outside = self.found.outside.saturating_add(sample.runs);
            return;
        };
        // The rest of a division by the struct's size.
        let first = (offset % placed.size as u64) as usize;
        let end = first.saturating_add(sample.size.max(1) as usize);
        let is_hit = |at: &usize| {
            let (own, size) = (placed.offsets[*at], problem.fields[*at].size);
            size > 0 && own < end && first < own + size
        };
        let hit: Vec<usize> = (0..problem.fields.len()).filter(is_hit).collect();
        if hit.is_empty() {
            self.found.in_gaps = self.found.in_gaps.saturating_add(sample.runs);
            return;
        }
        self.found.inside = self.found.inside.saturating_add(sample.runs);
        let own = self.seen.entry(sample.tag).or_default();
        for field in hit {
            let (written, runs) = own.fields.entry(field).or_default();
            *written |= sample.writes;
            *runs = runs.saturating_add(sample.runs);
        }
        match sample.cpus {
            Cpus::One(cpu) => {
                own.cpus.insert(cpu);
                let busy = self.busy.entry(cpu).or_default();
                *busy = busy.saturating_add(sample.runs);
            }
            Cpus::Count(count) => own.most_cpus = own.most_cpus.max(count),
            Cpus::Unknown => own.is_unknown = true,
        }
    }

    /// How many CPUs there were, as far as that is known.
    fn cpus(&self) -> Option<u32> {
        let counted = self.seen.values().map(|seen| seen.most_cpus).max().unwrap_or(0);
        let named = u32::try_from(self.busy.len()).unwrap_or(u32::MAX);
        Some(named.max(counted)).filter(|&cpus| cpus > 0)
    }

    /// The operations, the most frequent first.
    fn operations(&self) -> Vec<Operation> {
        let owner = self.busy.iter().max_by_key(|&(&cpu, &runs)| (runs, Reverse(cpu)));
        let owner = owner.map(|(&cpu, _)| cpu);
        let mut operations: Vec<Operation> =
            self.seen.iter().map(|(tag, seen)| seen.operation(tag, owner)).collect();
        // Stable: those that run as often stay in the order of their names.
        operations.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        if owner.is_none() {
            // Nobody knows whether it is the same CPU: two of them may share falsely.
            let mut alone = operations.iter_mut().filter(|o| o.by == By::Owner);
            alone.next();
            alone.for_each(|operation| operation.by = By::Others);
        }
        operations
    }
}

impl Seen {
    fn operation(&self, tag: &str, owner: Option<u32>) -> Operation {
        let by = match (self.cpus.len(), self.most_cpus) {
            _ if self.is_unknown => By::All,
            (0, 0 | 1) => By::Owner,
            (1, 0 | 1) if self.cpus.first().copied() == owner => By::Owner,
            (1, 0 | 1) => By::Others,
            _ => By::All,
        };
        let touches = self.fields.iter();
        let mut touches: Vec<Touched> =
            touches.map(|(&field, &(written, _))| Touched { field, written }).collect();
        // Nobody knows the order.
        touches.sort_by_key(|touch| touch.written);
        let runs = self.fields.values().map(|&(_, runs)| runs).max().unwrap_or(0).max(1);
        Operation { name: tag.to_owned(), weight: runs as f64, by, touches }
    }
}
