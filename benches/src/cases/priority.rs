//! `priority`: which CPU runs at which priority, set and searched, alone and beside another thread.
//!
//! The baseline, and the unit of the goals, is an uncontended locked add. Machines of three shapes:
//! 8 CPUs; 480 in Linux numbering, where the second threads of the cores are CPUs 240 to 479 and a
//! program is pinned to four cores; 480 where a program is pinned to eight ids in a row. One thread
//! searches for the 64 programs in turn.
//!
//! *Hot* is what a search costs when nobody else wrote; *cold* is with the caches swept before it (L1
//! and L2 of this CPU), each operation waiting for the one before. What real contention costs, these
//! numbers do not show; two threads are in `neighbours`.

use super::Goal;
use super::neighbours;
use super::raw::opaque;
use super::vectors::{AtomicBytes, LockedBytes, Ours, Prepared, Tree, Vector};
use crate::machine::forget;
use crate::paired::Random;
use crate::{Case, Sample};
use corelocal::priority::Layout;
use corelocal::{ByCpu, CpuId, CpuMask, Packed, Padded, Priority, PriorityVec, Split};
use std::hint::black_box;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const BASELINE: &str = "locked add";
/// `ByCpu` with the masks laid out before.
const AMONG: &str = "ByCpu, among";
/// Programs that search in turn.
const PROGRAMS: usize = 64;
/// Who searches.
const TASK: Priority = Priority::rt(99);
/// Vectors that one sweep makes cold.
const COLD: usize = 32;
/// Bytes of a sweep: more than L1 and L2 hold.
const SWEPT: usize = 8 << 20;

/// Whose priorities.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Machine {
    Eight,
    Linux,
    ById,
}

impl Machine {
    fn name(self) -> &'static str {
        match self {
            Self::Eight => "8 CPUs",
            Self::Linux => "480 CPUs",
            Self::ById => "480 CPUs by id",
        }
    }

    /// CPUs that share caches side by side.
    fn order(self) -> Vec<CpuId> {
        match self {
            Self::Eight => (0..8).map(CpuId::new).collect(),
            Self::Linux => (0..240).flat_map(|core| [core, core + 240]).map(CpuId::new).collect(),
            Self::ById => (0..480).map(CpuId::new).collect(),
        }
    }

    /// The CPUs of each program: eight in a row of the order, or all.
    fn masks(self, reach: Reach) -> Vec<CpuMask> {
        let order = self.order();
        let order = if reach == Reach::AllButOne { &order[1..] } else { &order[..] };
        let each = if reach == Reach::Pinned { 8 } else { order.len() };
        order
            .chunks(each)
            .map(|cpus| cpus.iter().copied().collect())
            .cycle()
            .take(PROGRAMS)
            .collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Pinned,
    Wide,
    /// All CPUs but the first: the shortest way for all is not taken.
    AllButOne,
}

/// What the CPUs run at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Levels {
    /// A random half at `NORMAL`, the others at 99: the answer is at the lowest level.
    Normal,
    /// All at 99: there is no answer.
    Busy,
    /// At random real-time priorities.
    Spread,
}

impl Levels {
    fn of(self, random: &mut Random) -> Priority {
        let random = random.next();
        match self {
            Self::Normal if random % 2 == 0 => Priority::NORMAL,
            Self::Normal | Self::Busy => TASK,
            Self::Spread => Priority::rt((random % 99 + 1) as u8),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Set,
    Find(Reach, Levels),
    /// Of all CPUs, near the program's.
    Any,
    /// Of the program's CPUs, odd ones preferred.
    Fit,
}

#[derive(Clone, Copy)]
struct Scene {
    machine: Machine,
    what: What,
    cold: bool,
}

impl Scene {
    fn name(self) -> String {
        let what = match self.what {
            What::Set => "set",
            What::Any => "find_any, half at NORMAL",
            What::Fit => "find_fit, pinned, spread",
            What::Find(Reach::Pinned, Levels::Normal) => "find, pinned, half at NORMAL",
            What::Find(Reach::Pinned, Levels::Busy) => "find, pinned, all at 99",
            What::Find(Reach::Pinned, Levels::Spread) => "find, pinned, spread",
            What::Find(Reach::Wide, Levels::Normal) => "find, wide, half at NORMAL",
            What::Find(Reach::Wide, Levels::Busy) => "find, wide, all at 99",
            What::Find(Reach::Wide, Levels::Spread) => "find, wide, spread",
            What::Find(Reach::AllButOne, _) => "find, all but one, half at NORMAL",
        };
        format!("{}, {what}{}", self.machine.name(), if self.cold { ", cold" } else { "" })
    }

    /// A vector with all CPUs set.
    fn filled<V: Vector>(self) -> V {
        let mut vector = V::new(&self.machine.order());
        let levels = match self.what {
            What::Set | What::Any => Levels::Normal,
            What::Fit => Levels::Spread,
            What::Find(_, levels) => levels,
        };
        let mut random = Random::new(3);
        for cpu in self.machine.order() {
            vector.set(cpu, levels.of(&mut random));
        }
        vector
    }

    fn masks(self) -> Vec<CpuMask> {
        self.machine.masks(match self.what {
            What::Find(reach, _) => reach,
            What::Any => Reach::Wide,
            What::Set | What::Fit => Reach::Pinned,
        })
    }

    fn locked_add(self) -> Case {
        Case::new(self.name(), BASELINE, || {
            let word = Box::new(AtomicU64::new(0));
            Box::new(move |ops| {
                Sample::of(ops, || {
                    for _ in 0..ops {
                        forget();
                        // Relaxed: a count orders nothing.
                        word.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
        })
    }

    /// Sets or searches, hot.
    fn case<V: Vector>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            let (mut vector, masks) = (self.filled::<V>(), self.masks());
            if self.what == What::Set {
                return Box::new(move |ops| {
                    Sample::of(ops, || vector.up_and_down(CpuId::new(5), ops))
                });
            }
            let mut found = CpuMask::with_bound(512);
            Box::new(move |ops| {
                repeat(ops, |program| vector.find(TASK, &masks[program], &mut found))
            })
        })
    }

    /// Searches with masks that were laid out before, hot.
    fn among<L: Layout>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            let prepared = Prepared::new(self.filled::<Ours<L>>(), &self.masks());
            let mut found = CpuMask::with_bound(512);
            Box::new(move |ops| repeat(ops, |program| prepared.find(TASK, program, &mut found)))
        })
    }

    /// The searches that only we have.
    fn own<L: Layout>(self, peer: &'static str) -> Case {
        Case::new(self.name(), peer, move || {
            // The slots are kept: one that is dropped takes its CPU out.
            let (Ours { vector, slots }, masks) = (self.filled::<Ours<L>>(), self.masks());
            if self.what == What::Any {
                let near: Vec<_> = self.machine.masks(Reach::Pinned);
                let near: Vec<_> = near.iter().map(|cpus| cpus.first().expect("eight")).collect();
                return Box::new(move |ops| {
                    black_box(&slots);
                    repeat(ops, |program| vector.find_any(TASK, &masks[program], near[program]))
                });
            }
            let odd: CpuMask =
                self.machine.order().into_iter().filter(|cpu| cpu.get() % 2 == 1).collect();
            let mut found = CpuMask::with_bound(512);
            Box::new(move |ops| {
                black_box(&slots);
                repeat(ops, |program| vector.find_fit(TASK, &masks[program], &odd, &mut found))
            })
        })
    }

    /// Sets or searches many vectors, each of them cold; `among`, through a mask that was laid out
    /// for each of them, and is as cold.
    fn cold<L: Layout>(self, peer: &'static str, among: bool) -> Case {
        Case::new(self.name(), peer, move || {
            let mut vectors: Vec<Ours<L>> = (0..COLD).map(|_| self.filled()).collect();
            let (allowed, mut swept) = (self.masks().swap_remove(0), vec![0_u64; SWEPT / 8]);
            let lay_out = |ours: &Ours<L>| PriorityVec::among(Arc::clone(&ours.vector), &allowed);
            let among = among.then_some(&vectors).into_iter().flatten().map(lay_out);
            let among: Vec<_> = among.collect::<Result<_, _>>().expect("memory");
            let mut found = CpuMask::with_bound(512);
            let mut turn = 0;
            Box::new(move |ops| {
                let mut sample = Sample::default();
                for _ in 0..ops.div_ceil(COLD as u64) {
                    turn += 1;
                    swept.iter_mut().step_by(8).for_each(|word| *word = turn);
                    // What the caller has at hand: its slot, and its masks.
                    vectors.iter().for_each(|vector| _ = black_box(vector.slots[5].get()));
                    black_box(vectors[0].vector.find(Priority::NORMAL, &allowed, &mut found));
                    sample += Sample::of(COLD as u64, || {
                        let mut last = 0;
                        for at in 0..COLD {
                            forget();
                            // Which vector is next is known when the last answer is.
                            let at = at + (opaque(last) >> 8);
                            last = match among.get(at) {
                                Some(among) => number(among.find(TASK, &mut found)),
                                None => self.once(&mut vectors[at], turn, &allowed, &mut found),
                            };
                        }
                    });
                }
                sample
            })
        })
    }

    /// A number below 256, once the operation is done.
    fn once<L: Layout>(
        self,
        vector: &mut Ours<L>,
        turn: u64,
        allowed: &CpuMask,
        found: &mut CpuMask,
    ) -> usize {
        if self.what == What::Set {
            vector.set(CpuId::new(5), if turn % 2 == 0 { Priority::NORMAL } else { TASK });
            return 0;
        }
        number(vector.find(TASK, allowed, found))
    }

    fn cases(self) -> Vec<Case> {
        let mut cases = vec![self.locked_add()];
        if self.cold {
            cases.push(self.cold::<ByCpu>("ByCpu", false));
            if self.what != What::Set {
                cases.push(self.cold::<ByCpu>(AMONG, true));
            }
            cases.push(self.cold::<ByCpu<16>>("ByCpu<16>", false));
            cases.push(self.cold::<Packed>("Packed", false));
            cases.push(self.cold::<Padded>("Padded", false));
            cases.push(self.cold::<Split>("Split", false));
        } else if matches!(self.what, What::Any | What::Fit) {
            cases.push(self.own::<ByCpu>("ByCpu"));
            cases.push(self.own::<ByCpu<16>>("ByCpu<16>"));
            cases.push(self.own::<Packed>("Packed"));
            cases.push(self.own::<Padded>("Padded"));
            cases.push(self.own::<Split>("Split"));
        } else {
            cases.push(self.case::<Ours<ByCpu>>("ByCpu"));
            cases.push(self.case::<Ours<ByCpu>>("ByCpu again"));
            if self.what != What::Set {
                cases.push(self.among::<ByCpu>(AMONG));
            }
            cases.push(self.case::<Ours<ByCpu<16>>>("ByCpu<16>"));
            cases.push(self.case::<Ours<Packed>>("Packed"));
            cases.push(self.case::<Ours<Padded>>("Padded"));
            cases.push(self.case::<Ours<Split>>("Split"));
            cases.push(self.case::<AtomicBytes>(AtomicBytes::NAME));
            cases.push(self.case::<LockedBytes>(LockedBytes::NAME));
            cases.push(self.case::<Tree>(Tree::NAME));
        }
        cases
    }
}

/// A number below 256.
fn number(level: Option<Priority>) -> usize {
    level.and_then(Priority::level).unwrap_or(255).into()
}

/// Searches for the programs in turn.
#[inline(always)]
fn repeat<T>(ops: u64, mut search: impl FnMut(usize) -> T) -> Sample {
    Sample::of(ops, || {
        for op in 0..ops {
            forget();
            black_box(search(op as usize % PROGRAMS));
        }
    })
}

const ALL_LEVELS: [Levels; 3] = [Levels::Normal, Levels::Busy, Levels::Spread];

fn finds(machine: Machine) -> impl Iterator<Item = What> {
    // Eight CPUs are a program's and all there are.
    let wide = (machine != Machine::Eight).then_some(Reach::Wide);
    let reaches = iter::once(Reach::Pinned).chain(wide);
    reaches.flat_map(|reach| ALL_LEVELS.map(|levels| What::Find(reach, levels)))
}

fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for machine in [Machine::Eight, Machine::Linux, Machine::ById] {
        let others = [What::Find(Reach::AllButOne, Levels::Normal), What::Any, What::Fit];
        let whats = iter::once(What::Set).chain(finds(machine)).chain(others);
        scenes.extend(whats.map(|what| Scene { machine, what, cold: false }));
    }
    for machine in [Machine::Eight, Machine::Linux] {
        let whats = iter::once(What::Set).chain(finds(machine));
        scenes.extend(whats.map(|what| Scene { machine, what, cold: true }));
    }
    scenes
}

pub(super) fn cases() -> Vec<Case> {
    scenes().into_iter().flat_map(Scene::cases).chain(neighbours::cases()).collect()
}

/// What the layouts were built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let hot = scenes().into_iter().filter(|scene| !scene.cold);
    let goals = hot.flat_map(|scene| {
        let (peers, most): (&[_], _) = match scene.what {
            What::Set => (&["ByCpu"], 1.5),
            What::Find(Reach::Pinned, _) => (&["ByCpu", AMONG], 2.0),
            What::Find(Reach::Wide, _) => (&["ByCpu"], 7.0),
            What::Find(Reach::AllButOne, _) | What::Any | What::Fit => (&[], 1.0),
        };
        let than = (scene.name(), BASELINE);
        peers.iter().map(move |peer| Goal { own: (scene.name(), *peer), than: than.clone(), most })
    });
    goals.chain(neighbours::goals()).collect()
}
