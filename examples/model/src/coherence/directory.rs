//! [`Directory`]: all lines, all cores, and what was counted.

use super::protocol::{Event, Line, State};
use super::{CoreSet, Counts, Kind, LINE, LineReport, Machine, TagReport};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What one access to one line met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// What it was.
    pub event: Event,
    /// Copies in other cores' caches that it took away.
    pub invalidated: usize,
    /// Whether it had to wait for another socket: a read of which no cache of its own socket holds
    /// the line, or a write that takes a copy away from a cache of another socket.
    pub across: bool,
}

/// One line and its counts.
#[derive(Clone, Debug)]
struct Tracked {
    number: u64,
    line: Line,
    counts: Counts,
}

/// The different lines of a CPU's operation so far: a bit for each place in `lines`.
#[derive(Clone, Default, Debug)]
struct Seen(Vec<u64>);

impl Seen {
    /// Puts a line in; whether it is new.
    fn insert(&mut self, at: usize) -> bool {
        let (word, bit) = (at / 64, 1 << (at % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }
}

/// Places found before, so that the sorted index is rarely asked: one for each remainder of a
/// line's number.
#[derive(Clone, Debug)]
struct Found(Vec<(u64, usize)>);

impl Found {
    const PLACES: usize = 1024;

    fn new() -> Self {
        // No line has this number.
        Self(vec![(u64::MAX, 0); Self::PLACES])
    }

    fn of(&mut self, number: u64) -> &mut (u64, usize) {
        &mut self.0[number as usize % Self::PLACES]
    }
}

/// A MESI directory over lines of 64 bytes: who holds what, and what every access met.
///
/// Each core has one cache without bounds, which its CPUs share. See the [module](super) for what
/// is and what is not modelled.
///
/// An access takes time logarithmic in the number of lines, or constant if its line was used
/// recently. Beginning an operation takes time linear in the number of lines.
///
/// ```
/// use model::coherence::{Directory, Event, Kind, Machine, Numbering};
///
/// // One socket, two cores, one CPU each: the CPUs write the two halves of a line in turn.
/// let mut directory = Directory::new(Machine::new(1, 2, 1, Numbering::Linux)?);
/// for round in 0..10 {
///     directory.access(0, 0x1000, 8, Kind::Rmw, 0);
///     directory.access(1, 0x1020, 8, Kind::Rmw, 0);
/// }
/// let total = directory.total();
/// assert_eq!((total.first_touches, total.write_misses, total.misses()), (1, 19, 19));
/// # Ok::<(), model::coherence::MachineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Directory {
    machine: Machine,
    /// Core and socket of each CPU.
    places: Vec<(usize, usize)>,
    /// The cores of each socket.
    sockets: Vec<CoreSet>,
    /// Where a line stands in `lines`, by its number. Sorted, so that reports are in address order.
    index: BTreeMap<u64, usize>,
    found: Found,
    /// In the order of their first touch.
    lines: Vec<Tracked>,
    /// Where a tag stands in `tags`.
    tag_index: BTreeMap<u32, usize>,
    tags: Vec<TagReport>,
    /// The tag of the last access, and its place.
    last_tag: Option<(u32, usize)>,
    /// Of each CPU, the lines read and the lines written.
    seen: Vec<[Seen; 2]>,
}

impl Directory {
    /// A machine with empty caches.
    pub fn new(machine: Machine) -> Self {
        let place = |cpu| (machine.core_of(cpu), machine.socket_of(cpu));
        Self {
            machine,
            places: (0..machine.cpus()).map(place).collect(),
            sockets: (0..machine.sockets()).map(|s| machine.cores_of_socket(s)).collect(),
            index: BTreeMap::new(),
            found: Found::new(),
            lines: Vec::new(),
            tag_index: BTreeMap::new(),
            tags: Vec::new(),
            last_tag: None,
            seen: vec![<[Seen; 2]>::default(); machine.cpus()],
        }
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// An operation of `cpu` under `tag` begins: it counts as one, and the lines that are
    /// different from each other are counted anew.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn begin(&mut self, cpu: usize, tag: u32) {
        let at = self.tag(tag);
        self.tags[at].operations += 1;
        self.seen[cpu].iter_mut().for_each(Seen::clear);
    }

    /// An access of `cpu` to `size` bytes from `address` on: one to each line that they lie in.
    ///
    /// # Panics
    ///
    /// If there is no such CPU, or the bytes reach beyond the last address.
    pub fn access(&mut self, cpu: usize, address: u64, size: u32, kind: Kind, tag: u32) {
        for number in lines_of(address, size) {
            self.touch(cpu, number * LINE, kind, tag);
        }
    }

    /// An access of `cpu` to the line that `address` lies in, and what it met.
    ///
    /// # Panics
    ///
    /// If there is no such CPU.
    pub fn touch(&mut self, cpu: usize, address: u64, kind: Kind, tag: u32) -> Outcome {
        let at = self.line(address / LINE);
        self.touch_at(cpu, at, kind, tag)
    }

    /// What a core holds of the line that `address` lies in.
    pub fn state(&self, core: usize, address: u64) -> State {
        let at = self.index.get(&(address / LINE));
        at.map_or(State::Invalid, |&at| self.lines[at].line.state_in(core))
    }

    /// What was counted since the last reset, all in all.
    pub fn total(&self) -> Counts {
        let mut total = Counts::default();
        self.lines.iter().for_each(|line| total += line.counts);
        total
    }

    /// Every line that was ever touched, in address order, with what was counted since the last
    /// reset. Their number is the memory that the accesses need.
    pub fn lines(&self) -> Vec<LineReport> {
        self.index.values().map(|&at| self.report(at)).collect()
    }

    /// The line with the most transfers since the last reset; of equal ones, the first in memory.
    /// `None` if nothing was ever touched.
    pub fn hottest(&self) -> Option<LineReport> {
        let lines = self.index.values().map(|&at| self.report(at));
        lines.max_by_key(|line| (line.counts.transfers(), Reverse(line.address)))
    }

    /// Every tag that was ever used, ascending, with what was counted since the last reset.
    pub fn tags(&self) -> Vec<TagReport> {
        self.tag_index.values().map(|&at| self.tags[at]).collect()
    }

    /// Forgets the counts and keeps the caches: what was done so far was warming up. An operation
    /// that is under way goes on; the lines it has used are not counted again.
    pub fn reset_counts(&mut self) {
        for line in &mut self.lines {
            line.counts = Counts::default();
        }
        for report in &mut self.tags {
            *report = TagReport { tag: report.tag, ..TagReport::default() };
        }
    }

    fn report(&self, at: usize) -> LineReport {
        let Tracked { number, counts, .. } = self.lines[at];
        LineReport { address: number * LINE, counts }
    }

    /// Where a line stands in `lines`, put there if it is new.
    pub(super) fn line(&mut self, number: u64) -> usize {
        let found = self.found.of(number);
        if found.0 != number {
            let lines = &mut self.lines;
            let place = self.index.entry(number).or_insert_with(|| {
                lines.push(Tracked { number, line: Line::UNTOUCHED, counts: Counts::default() });
                lines.len() - 1
            });
            *found = (number, *place);
        }
        found.1
    }

    /// The address of a line's first byte.
    pub(super) fn address_at(&self, at: usize) -> u64 {
        self.lines[at].number * LINE
    }

    /// What an access would meet now.
    pub(super) fn foresee(&self, cpu: usize, at: usize, kind: Kind) -> Outcome {
        let Some(&(core, socket)) = self.places.get(cpu) else {
            panic!("CPU {cpu} of {}", self.places.len());
        };
        let line = &self.lines[at].line;
        let event = line.event(core, kind.writes());
        if !event.is_miss() {
            return Outcome { event, invalidated: 0, across: false };
        }
        let others = line.holders().without(core);
        let near = others.and(&self.sockets[socket]);
        if event.takes_away() {
            // A write waits for the last copy to be given up, wherever it is.
            Outcome { event, invalidated: others.len(), across: near != others }
        } else {
            // A read takes the nearest copy.
            Outcome { event, invalidated: 0, across: near.is_empty() }
        }
    }

    /// As [`Directory::touch`], for a line by its place.
    pub(super) fn touch_at(&mut self, cpu: usize, at: usize, kind: Kind, tag: u32) -> Outcome {
        let outcome = self.foresee(cpu, at, kind);
        let tracked = &mut self.lines[at];
        tracked.line.apply(self.places[cpu].0, kind.writes(), outcome.event);
        tracked.counts.count(kind, outcome);
        let is_new = self.seen[cpu][usize::from(kind.writes())].insert(at);
        let place = self.tag(tag);
        let report = &mut self.tags[place];
        report.counts.count(kind, outcome);
        if is_new && kind.writes() {
            report.lines_written += 1;
        } else if is_new {
            report.lines_read += 1;
        }
        outcome
    }

    /// Where a tag stands in `tags`, put there if it is new.
    fn tag(&mut self, tag: u32) -> usize {
        match self.last_tag {
            Some((last, place)) if last == tag => place,
            _ => {
                let tags = &mut self.tags;
                let place = *self.tag_index.entry(tag).or_insert_with(|| {
                    tags.push(TagReport { tag, ..TagReport::default() });
                    tags.len() - 1
                });
                self.last_tag = Some((tag, place));
                place
            }
        }
    }
}

/// The numbers of the lines that `size` bytes from `address` on lie in.
pub(super) fn lines_of(address: u64, size: u32) -> std::ops::Range<u64> {
    let first = address / LINE;
    let Some(past) = u64::from(size).checked_sub(1) else {
        return first..first;
    };
    let Some(last) = address.checked_add(past) else {
        panic!("{size} bytes at {address:#x} reach beyond the last address");
    };
    first..last / LINE + 1
}
