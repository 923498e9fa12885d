//! Operations from samples of addresses.

use crate::reports::{Cpus, Place};
use crate::{By, Operation, Problem, Samples, Touched};
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
        let placed = crate::place::Plan::given(self).place(self);
        let mut found = Observed::default();
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        let mut busy: BTreeMap<u32, u64> = BTreeMap::new();
        for sample in samples.iter() {
            let room = (placed.size as u64).saturating_mul(elements);
            let offset = sample.place.since(base).filter(|&offset| offset < room);
            let Some(offset) = offset else {
                found.outside = found.outside.saturating_add(sample.runs);
                continue;
            };
            // The rest of a division by the struct's size.
            let first = (offset % placed.size as u64) as usize;
            let end = first.saturating_add(sample.size.max(1) as usize);
            let is_hit = |at: &usize| {
                let (own, size) = (placed.offsets[*at], self.fields[*at].size);
                size > 0 && own < end && first < own + size
            };
            let hit: Vec<usize> = (0..self.fields.len()).filter(is_hit).collect();
            if hit.is_empty() {
                found.in_gaps = found.in_gaps.saturating_add(sample.runs);
                continue;
            }
            found.inside = found.inside.saturating_add(sample.runs);
            let own = seen.entry(sample.tag).or_default();
            for field in hit {
                let (written, runs) = own.fields.entry(field).or_default();
                *written |= sample.writes;
                *runs = runs.saturating_add(sample.runs);
            }
            match sample.cpus {
                Cpus::One(cpu) => {
                    own.cpus.insert(cpu);
                    let busy = busy.entry(cpu).or_default();
                    *busy = busy.saturating_add(sample.runs);
                }
                Cpus::Count(count) => own.most_cpus = own.most_cpus.max(count),
                Cpus::Unknown => own.is_unknown = true,
            }
        }
        if seen.is_empty() {
            return Err(ObserveError::Nothing(found.outside.saturating_add(found.in_gaps)));
        }
        let most_cpus = seen.values().map(|seen| seen.most_cpus).max().unwrap_or(0);
        let known = u32::try_from(busy.len()).unwrap_or(u32::MAX).max(most_cpus);
        if known > 0 {
            self.cpus = known;
        }
        let owner = busy.iter().max_by_key(|&(&cpu, &runs)| (runs, core::cmp::Reverse(cpu)));
        let owner = owner.map(|(&cpu, _)| cpu);
        self.operations = seen.iter().map(|(tag, seen)| seen.operation(tag, owner)).collect();
        // Stable: those that run as often stay in the order of their names.
        self.operations.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        if owner.is_none() {
            // Nobody knows whether it is the same CPU: two of them may share falsely.
            let mut alone = self.operations.iter_mut().filter(|o| o.by == By::Owner);
            alone.next();
            alone.for_each(|operation| operation.by = By::Others);
        }
        found.left_out = self.operations.len().saturating_sub(MOST);
        self.operations.truncate(MOST);
        Ok(found)
    }
}

impl Seen {
    fn operation(&self, tag: &str, owner: Option<u32>) -> Operation {
        let by = match (self.cpus.len(), self.most_cpus) {
            _ if self.is_unknown => By::All,
            (0, count) => {
                if count > 1 {
                    By::All
                } else {
                    By::Owner
                }
            }
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
