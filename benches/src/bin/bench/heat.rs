//! Which CPU misses on which line: the priority vector's layouts under one load, in the model of
//! coherent caches. Counted anew for every page; the same numbers on every machine.

use benches::paired::Random;
use corelocal::priority::observed::{self, AccessKind, Observed};
use corelocal::priority::{Layout, PriorityVec};
use corelocal::{ByCpu, CpuId, CpuMask, CpuSlot, Packed, Padded, Priority, Split};
use maud::{Markup, html};
use model::coherence::{Directory, Kind, Machine, Numbering};
use std::cell::RefCell;

/// Two sockets of sixteen cores: as many columns as fit a page.
const SOCKETS: usize = 2;
const CORES: usize = 16;
const CPUS: usize = SOCKETS * CORES;
const WARM_UP: usize = 2_000;
const OPERATIONS: usize = 16_000;
const SEED: u64 = 1;
/// Lines that are shown, the hottest first.
const ROWS: usize = 10;

/// A line, and how often each CPU had to get it from another core's cache.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    name: String,
    by_cpu: [u64; CPUS],
}

/// A layout's lines, the hottest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Map {
    layout: &'static str,
    rows: Vec<Row>,
    /// Lines that moved, and are not shown.
    others: usize,
    /// Transfers of all lines.
    total: u64,
}

type Vector<L> = PriorityVec<L, 101, Observed>;

/// The vector begins 0x38 bytes into a line, as in the kernel, unless its layout is aligned to lines.
#[repr(C, align(64))]
struct Placed<L: Layout> {
    before: [u64; 7],
    vector: Vector<L>,
}

thread_local! {
    static RECORD: RefCell<Vec<observed::Access>> = const { RefCell::new(Vec::new()) };
}

fn record(access: observed::Access) {
    RECORD.with_borrow_mut(|all| all.push(access));
}

/// The accesses of `act`.
fn recorded(act: impl FnOnce()) -> Vec<observed::Access> {
    let before = observed::observe(Some(record));
    act();
    observed::observe(before);
    RECORD.take()
}

/// Of the maps in one order: one scale for all, so that they can be compared.
pub(crate) fn all() -> [Map; 5] {
    [
        map::<Packed>("Packed"),
        map::<Padded>("Padded"),
        map::<Split>("Split"),
        map::<ByCpu>("ByCpu, 64 CPUs a shard"),
        map::<ByCpu<16>>("ByCpu<16>, a shard a socket"),
    ]
}

/// Random CPUs go to random real-time priorities, or look for a CPU of their socket below 99.
fn map<L: Layout>(layout: &'static str) -> Map {
    let machine = Machine::new(SOCKETS, CORES, 1, Numbering::Linux).expect("a machine");
    let cpu = |cpu: usize| CpuId::new(cpu as u32);
    let order = machine.topology_order().into_iter().map(cpu);
    let vector = Vector::<L>::try_new(order).expect("memory for a vector");
    let placed = Box::new(Placed { before: [0; 7], vector });
    let mut slots: Vec<CpuSlot<&Vector<L>>> = (0..CPUS)
        .map(|at| Vector::<L>::claim(&placed.vector, cpu(at)).expect("nobody has it"))
        .collect();
    slots.iter_mut().for_each(|slot| slot.set(Priority::NORMAL).expect("a level"));
    let sockets: Vec<CpuMask> = (0..SOCKETS)
        .map(|socket| (0..CPUS).filter(|cpu| machine.socket_of(*cpu) == socket).map(cpu).collect())
        .collect();
    let (mut random, mut found) = (Random::new(SEED), CpuMask::with_bound(CPUS));
    let mut directory = Directory::new(machine);
    let mut lines: Vec<(u64, [u64; CPUS])> = Vec::new();
    for turn in 0..WARM_UP + OPERATIONS {
        let at = (random.next() >> 32) as usize % CPUS;
        let accesses = recorded(|| {
            if random.next() >> 63 == 0 {
                let to = Priority::rt(1 + (random.next() % 99) as u8);
                slots[at].set(to).expect("a level");
            } else {
                let allowed = &sockets[machine.socket_of(at)];
                let _ = placed.vector.find(Priority::rt(99), allowed, &mut found);
            }
        });
        for access in accesses {
            let kind = match access.kind {
                AccessKind::Load => Kind::Load,
                AccessKind::Store => Kind::Store,
                AccessKind::Update => Kind::Rmw,
            };
            let (first, last) = (access.address / 64, (access.address + access.bytes - 1) / 64);
            for line in (first..=last).map(|line| line as u64 * 64) {
                let event = directory.touch(at, line, kind, 0).event;
                if turn >= WARM_UP && event.is_transfer() {
                    count(&mut lines, line, at);
                }
            }
        }
    }
    let rows = named(lines, &placed);
    let total = rows.iter().flat_map(|row| row.by_cpu).sum();
    let others = rows.len().saturating_sub(ROWS);
    Map { layout, rows: rows.into_iter().take(ROWS).collect(), others, total }
}

fn count(lines: &mut Vec<(u64, [u64; CPUS])>, line: u64, cpu: usize) {
    match lines.iter_mut().find(|(at, _)| *at == line) {
        Some((_, by_cpu)) => by_cpu[cpu] += 1,
        None => {
            let mut by_cpu = [0; CPUS];
            by_cpu[cpu] = 1;
            lines.push((line, by_cpu));
        }
    }
}

/// The hottest first; of equal ones by name. Addresses differ from run to run, and are not in it.
fn named<L: Layout>(lines: Vec<(u64, [u64; CPUS])>, placed: &Placed<L>) -> Vec<Row> {
    debug_assert!(placed.before.iter().all(|word| *word == 0));
    let fields = placed.vector.fields();
    let name = |line: u64| {
        let (line, next) = (line as usize, line as usize + 64);
        let mut here = fields
            .iter()
            .filter(|field| field.address < next && field.address + field.bytes > line)
            .map(|field| field.name.as_str());
        let first = here.next().unwrap_or("something else");
        here.next_back().map_or_else(|| first.to_owned(), |last| format!("{first} to {last}"))
    };
    let mut rows: Vec<Row> =
        lines.into_iter().map(|(line, by_cpu)| Row { name: name(line), by_cpu }).collect();
    rows.sort_by(|one, other| {
        let heat = |row: &Row| std::cmp::Reverse(row.by_cpu.iter().sum::<u64>());
        (heat(one), &one.name).cmp(&(heat(other), &other.name))
    });
    rows
}

/// What the maps are of.
pub(crate) fn note() -> String {
    format!(
        "The model of examples/model, {SOCKETS} sockets of {CORES} cores; {OPERATIONS} operations of \
         random CPUs, half of them a change to a random real-time priority, half a search for a CPU below 99 in \
         the own socket. A cell says how often a CPU had to fetch the line from \
         another core's cache. Lines by the fields in them, the hottest {ROWS}."
    )
}

/// From rare to hot: each is for twice as much as the one before.
const HEAT: [&str; 7] =
    ["#ffe8ae", "#fed584", "#fdbb63", "#fa9c4b", "#f1753a", "#df4e2d", "#8e1322"];

/// The colour for so many of at most `most`; `None` for nothing.
fn colour(count: u64, most: u64) -> Option<usize> {
    let halvings = (most.max(1) / count.checked_sub(1)?.saturating_add(1)).ilog2() as usize;
    Some((HEAT.len() - 1).saturating_sub(halvings))
}

// Pixels.
const NAMES: usize = 250;
const CELL: usize = 18;
const HEIGHT: usize = 20;
const TOP: usize = 36;
const SUMS: usize = 90;
const WIDTH: usize = NAMES + CPUS * CELL + SUMS;

impl Map {
    /// Transfers of an operation.
    pub(crate) fn per_operation(&self) -> f64 {
        self.total as f64 / OPERATIONS as f64
    }

    /// What the map is called.
    pub(crate) fn title(&self) -> String {
        let (layout, per) = (self.layout, self.per_operation());
        let others = match self.others {
            0 => String::new(),
            others => format!(", {others} more lines"),
        };
        format!("{layout}: {per:.2} transfers an operation{others}")
    }

    /// The hottest cell.
    pub(crate) fn most(&self) -> u64 {
        self.rows.iter().flat_map(|row| row.by_cpu).max().unwrap_or(0)
    }

    /// The picture, with colours for at most so many.
    pub(crate) fn svg(&self, most: u64) -> Markup {
        let height = TOP + self.rows.len() * HEIGHT + 4;
        html! {
            svg class="heat" viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height)
                role="img" aria-label=(self.title()) {
                @for socket in 0..SOCKETS {
                    text x=(NAMES + socket * CORES * CELL + 2) y="12" { "socket " (socket) }
                }
                @for cpu in (0..CPUS).step_by(4) {
                    text class="faint" x=(NAMES + cpu * CELL + 2) y="30" { (cpu) }
                }
                text class="faint" x=(NAMES - 8) y="30" text-anchor="end" { "line, by its fields / CPU" }
                text class="faint" x=(WIDTH - 2) y="30" text-anchor="end" { "all CPUs" }
                @for (at, row) in self.rows.iter().enumerate() { "\n" (self.row(row, TOP + at * HEIGHT, most)) }
                "\n"
                line class="edge" x1=(NAMES + CORES * CELL) x2=(NAMES + CORES * CELL) y1=(TOP - 20) y2=(height) {}
            }
        }
    }

    fn row(&self, row: &Row, y: usize, most: u64) -> Markup {
        let sum: u64 = row.by_cpu.iter().sum();
        html! {
            text x=(NAMES - 8) y=(y + 14) text-anchor="end" { (row.name) }
            @for (cpu, count) in row.by_cpu.iter().enumerate() {
                @let fill = colour(*count, most);
                rect class=(if fill.is_none() { "none" } else { "" }) x=(NAMES + cpu * CELL) y=(y)
                    width=(CELL - 1) height=(HEIGHT - 1) fill=[fill.map(|at| HEAT[at])] {
                    title { (row.name) ", CPU " (cpu) ": " (count) " transfers" }
                }
            }
            text x=(WIDTH - 2) y=(y + 14) text-anchor="end" { (sum) }
        }
    }
}

/// What the colours say.
pub(crate) fn legend(most: u64) -> Markup {
    let up_to = |at: usize| most >> (HEAT.len() - 1 - at);
    html! {
        p class="key" {
            "transfers of a cell, at most: "
            i class="none" {} "0"
            @for (at, colour) in HEAT.iter().enumerate() {
                i style=(format!("background:{colour}")) {} (up_to(at))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_is_the_same_again_and_its_cells_are_its_transfers() {
        let (maps, again) = (all(), all());
        assert_eq!(maps, again);
        for map in &maps {
            let shown: u64 = map.rows.iter().flat_map(|row| row.by_cpu).sum();
            assert!(map.total >= shown && (map.others > 0 || map.total == shown), "{map:?}");
            let unnamed = map.rows.iter().find(|row| row.name == "something else");
            assert_eq!(unnamed, None, "{}", map.layout);
        }
        let [packed, _, _, by_cpu, _] = maps.map(|map| map.per_operation());
        assert!(by_cpu < packed, "{by_cpu} {packed}");
    }

    #[test]
    fn colours_halve() {
        let colours =
            [0, 1, 2, 3, 4, 5, 6, 12, 13, 25, 50, 51, 100].map(|count| colour(count, 100));
        let expected = [
            None,
            Some(0),
            Some(1),
            Some(1),
            Some(2),
            Some(2),
            Some(2),
            Some(3),
            Some(4),
            Some(4),
            Some(5),
            Some(6),
            Some(6),
        ];
        assert_eq!(colours, expected);
    }
}
