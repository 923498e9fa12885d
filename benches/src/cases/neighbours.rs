//! Two threads whose CPUs, or whose levels, are neighbours: what a line costs that both use.
//!
//! *Levels*: one thread searches an empty level, which reads its count, or changes one; the other
//! changes the level beside it. Neither uses what the other uses, so all that there is between
//! them is the line, and `Packed` has both on one.
//!
//! *Vectors*: each thread moves a CPU between `NORMAL` and 99. All layouts by level then write two
//! counts and two masks in common, padded or not; `ByCpu` a line if the CPUs are of one shard, and
//! nothing else.

use super::Goal;
use super::priority::BASELINE;
use super::vectors::{Ours, Vector};
use crate::Case;
use crate::machine::forget;
use crate::threads::{self, Op, beside};
use corelocal::priority::{Layout, Padding};
use corelocal::{ByCpu, CpuId, CpuMask, Level, Packed, Padded, Priority, Split};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Two levels, as they lie in an array; `Packed` ones in one line.
#[repr(align(64))]
struct Two<P: Padding>([Level<[AtomicU64; 1], P>; 2]);

impl<P: Padding> Two<P> {
    /// Searches the level, which is empty.
    fn pass(&self, which: usize, ops: u64) {
        let (all, mut found) = (CpuMask::first_cpus(64), CpuMask::with_bound(64));
        for _ in 0..ops {
            forget();
            black_box(self.0[which].find(&all, &mut found));
        }
    }

    /// A CPU comes, or goes.
    fn change(&self, which: usize, ops: u64) {
        let (level, cpu) = (&self.0[which], CpuId::new(which as u32));
        for op in 0..ops {
            forget();
            let changed = if op % 2 == 0 { level.enter(cpu) } else { level.leave(cpu) };
            black_box(changed).expect("one of 64");
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Passes an empty level while the other one changes the next.
    Passes,
    /// Changes a level while the other one passes the next.
    Changes,
    /// Changes a level while the other one changes the next.
    BothChange,
}

impl Side {
    const ALL: [Self; 3] = [Self::Passes, Self::Changes, Self::BothChange];

    fn scene(self) -> &'static str {
        match self {
            Self::Passes => "2 threads, level: pass beside a change",
            Self::Changes => "2 threads, level: change beside a pass",
            Self::BothChange => "2 threads, level: change beside a change",
        }
    }

    fn case<P: Padding + 'static>(self, peer: &'static str) -> Case
    where
        Level<[AtomicU64; 1], P>: Send + Sync,
    {
        Case::new(self.scene(), peer, move || {
            let two = Arc::new(Two::<P>(Default::default()));
            let theirs = Arc::clone(&two);
            let other: Op = Arc::new(move |ops| match self {
                Self::Changes => theirs.pass(1, ops),
                Self::Passes | Self::BothChange => theirs.change(1, ops),
            });
            let ours = move |ops| match self {
                Self::Passes => two.pass(0, ops),
                Self::Changes | Self::BothChange => two.change(0, ops),
            };
            Box::new(move |ops| beside(&ours, &other, ops))
        })
    }
}

/// Each thread moves one of two CPUs up and down.
fn vector<L: Layout>(scene: &'static str, peer: &'static str, apart: usize) -> Case
where
    Ours<L>: Send,
{
    Case::new(scene, peer, move || {
        let order: Vec<_> = (0..480).map(CpuId::new).collect();
        let Ours { slots, .. } = Ours::<L>::new(&order);
        let mut slots: Vec<_> = slots.into_iter().map(|slot| Arc::new(Mutex::new(slot))).collect();
        let (second, first) = (slots.swap_remove(apart), slots.swap_remove(0));
        let up_and_down = move |slot: &Mutex<_>, ops: u64| {
            let slot: &mut corelocal::CpuSlot<Arc<corelocal::PriorityVec<L>>> =
                &mut slot.lock().expect("no panics");
            for op in 0..ops {
                forget();
                let to = if op % 2 == 0 { Priority::rt(99) } else { Priority::NORMAL };
                slot.set(to).expect("a level");
            }
        };
        let other: Op = Arc::new(move |ops| up_and_down(&second, ops));
        Box::new(move |ops| beside(|ops| up_and_down(&first, ops), &other, ops))
    })
}

/// Two threads, and two words apart from each other.
fn locked_adds(scene: &'static str) -> Case {
    #[repr(align(256))]
    #[derive(Default)]
    struct Apart(AtomicU64);
    Case::new(scene, BASELINE, || {
        let words = Arc::new([Apart::default(), Apart::default()]);
        let add = |word: &Apart, ops| {
            for _ in 0..ops {
                forget();
                // Relaxed: a count orders nothing.
                word.0.fetch_add(1, Ordering::Relaxed);
            }
        };
        let theirs = Arc::clone(&words);
        let other: Op = Arc::new(move |ops| add(&theirs[1], ops));
        Box::new(move |ops| beside(|ops| add(&words[0], ops), &other, ops))
    })
}

/// Scenes, and the distance of the two CPUs in the order.
const VECTORS: [(&str, usize); 2] =
    [("2 threads, set, CPUs of one shard", 1), ("2 threads, set, CPUs of two shards", 128)];

pub(super) fn cases() -> Vec<Case> {
    if !threads::two_cpus() {
        return Vec::new();
    }
    let levels = Side::ALL.into_iter().flat_map(|side| {
        [locked_adds(side.scene()), side.case::<Packed>("Packed"), side.case::<Padded>("Padded")]
    });
    let vectors = VECTORS.into_iter().flat_map(|(scene, apart)| {
        [
            locked_adds(scene),
            vector::<ByCpu>(scene, "ByCpu", apart),
            vector::<ByCpu<16>>(scene, "ByCpu<16>", apart),
            vector::<Packed>(scene, "Packed", apart),
            vector::<Padded>(scene, "Padded", apart),
            vector::<Split>(scene, "Split", apart),
        ]
    });
    levels.chain(vectors).collect()
}

/// `Padded` takes a third of the time that `Packed` takes.
pub(super) fn goals() -> Vec<Goal> {
    if !threads::two_cpus() {
        return Vec::new();
    }
    let goal = |side: Side| {
        let scene = || side.scene().to_owned();
        Goal { own: (scene(), "Padded"), than: (scene(), "Packed"), most: 1.0 / 3.0 }
    };
    Side::ALL.map(goal).into()
}
