//! `pool`: getting an object of 64 bytes out of a pool, writing a word of it, and giving it back.
//!
//! The floor is a list of one thread, which is **wrong** as a pool: nobody else gets at the
//! objects. In `get + put` one object goes round; in `8 out` eight are taken before the first one
//! comes back, and in `100 out` a hundred, so that batches go to the shared queue and come back. The
//! time is always that of one get and one put. In the cold scene nothing of the pool and its objects is in the
//! near caches when the hundred are taken.

use super::Goal;
use super::pools::{
    Array, ArrayByCpu, Heap, Linear, Locked, LockedByCpu, LockedShort, Object, ObjectPool,
    OfThread, Opool, Ours, Pool, Resetting, Segments, Slab, Threads,
};
use crate::machine::forget;
use crate::sample::PIECE;
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
use std::hint::black_box;
use std::sync::Arc;

pub(super) const BASELINE: &str = "private list (wrong)";
const OURS: &str = "PerCpuPool";

/// How many objects are out at a time.
const OUT: [usize; 3] = [1, 8, 100];

/// The floor's node: a link before the object.
struct Node {
    next: Option<Box<Node>>,
    object: Object,
}

fn scene(out: usize, threads: usize) -> String {
    let out = if out == 1 { "get + put".to_owned() } else { format!("{out} out") };
    format!("{out}, {}", threads::label(threads))
}

/// A case of an operation that is made when it is first measured.
fn of(out: usize, threads: usize, peer: &'static str, make: impl Fn() -> Op + 'static) -> Case {
    // A whole number of rounds.
    let whole = move |ops: u64| ops.next_multiple_of(out as u64);
    Case::new(scene(out, threads), peer, move || {
        let op = make();
        Box::new(move |ops| on_many(threads, &op, whole(ops)))
    })
}

fn case<P: Pool>(out: usize, threads: usize, peer: &'static str) -> Case {
    let case = of(out, threads, peer, move || {
        let pool = P::new();
        let run = match out {
            1 => P::one,
            8 => P::several::<8>,
            _ => P::several::<100>,
        };
        Arc::new(move |ops| run(&pool, ops))
    });
    // Batches that are swapped between CPUs, or are not, by how the threads fall into step: a sample
    // is of several pieces, which begin anew.
    if threads > 1 && out > 1 { case.in_parts(4, PIECE) } else { case }
}

/// The floor: each thread has a list of its own on its stack.
fn floor(out: usize, threads: usize) -> Case {
    let run = match out {
        1 => private::<1>,
        8 => private::<8>,
        _ => private::<100>,
    };
    of(out, threads, BASELINE, move || Arc::new(run))
}

/// A hundred at once out of a pool that was not used for a while.
fn swept<P: Pool>(peer: &'static str) -> Case {
    Case::new(swept_scene(), peer, || {
        let pool = P::new();
        cold::swept(100, move || pool.several::<100>(100))
    })
}

fn swept_floor() -> Case {
    Case::new(swept_scene(), BASELINE, || {
        let mut list = list::<100>();
        cold::swept(100, move || turns::<100>(&mut list, 100))
    })
}

fn swept_scene() -> String {
    format!("100 out, {}", cold::NAME)
}

fn private<const N: usize>(ops: u64) {
    turns::<N>(&mut list::<N>(), ops);
}

fn list<const N: usize>() -> Option<Box<Node>> {
    (0..N).fold(None, |next, _| Some(Box::new(Node { next, object: [0; 8] })))
}

fn turns<const N: usize>(list: &mut Option<Box<Node>>, ops: u64) {
    // Somebody might look: without this the compiler may keep the list in registers.
    let list = black_box(list);
    let get = |list: &mut Option<Box<Node>>| {
        forget();
        let mut node = list.take().unwrap_or_else(|| unreachable!("as many back as out"));
        *list = node.next.take();
        node.object[0] += 1;
        node
    };
    let put = |list: &mut Option<Box<Node>>, mut node: Box<Node>| {
        forget();
        node.next = list.take();
        *list = Some(node);
    };
    if N == 1 {
        for _ in 0..ops {
            let node = get(list);
            put(list, node);
        }
        return;
    }
    for _ in 0..ops / N as u64 {
        let got: [_; N] = std::array::from_fn(|_| get(list));
        got.into_iter().for_each(|node| put(list, node));
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in threads::counts() {
        for out in OUT {
            cases.extend([
                floor(out, threads),
                case::<Ours>(out, threads, OURS),
                case::<Ours>(out, threads, "PerCpuPool again"),
                case::<Resetting>(out, threads, "PerCpuPool, reset hook"),
                case::<OfThread>(out, threads, "thread_local RefCell<Vec>"),
                case::<Heap>(out, threads, "Box"),
                case::<Locked>(out, threads, "Mutex<Vec>"),
                case::<Array>(out, threads, "ArrayQueue"),
                case::<Segments>(out, threads, "SegQueue"),
                case::<LockedShort>(out, threads, "parking_lot Mutex<Vec>"),
                case::<LockedByCpu>(out, threads, "Mutex<Vec>[sched_getcpu]"),
                case::<ArrayByCpu>(out, threads, "ArrayQueue[sched_getcpu]"),
                case::<Threads>(out, threads, "ThreadLocal<RefCell<Vec>>"),
                case::<Opool>(out, threads, "opool"),
                case::<ObjectPool>(out, threads, "object-pool"),
                case::<Slab>(out, threads, "sharded-slab"),
                case::<Linear>(out, threads, "lockfree-object-pool"),
            ]);
        }
    }
    cases.extend([
        swept_floor(),
        swept::<Ours>(OURS),
        swept::<Ours>("PerCpuPool again"),
        swept::<OfThread>("thread_local RefCell<Vec>"),
        swept::<Heap>("Box"),
        swept::<Locked>("Mutex<Vec>"),
        swept::<Array>("ArrayQueue"),
        swept::<Segments>("SegQueue"),
        swept::<LockedByCpu>("Mutex<Vec>[sched_getcpu]"),
        swept::<Threads>("ThreadLocal<RefCell<Vec>>"),
        swept::<Opool>("opool"),
        swept::<ObjectPool>("object-pool"),
        swept::<Slab>("sharded-slab"),
        swept::<Linear>("lockfree-object-pool"),
    ]);
    cases
}

/// What the pool was built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let goal = |out, threads, than: &'static str, most| {
        let scene = scene(out, threads);
        Goal { own: (scene.clone(), OURS), than: (scene, than), most }
    };
    let mut goals =
        vec![goal(1, 1, BASELINE, 3.0), goal(8, 1, BASELINE, 3.0), goal(1, 1, "ArrayQueue", 0.5)];
    if threads::two_cpus() {
        goals.push(Goal { own: (scene(1, 2), OURS), than: (scene(1, 1), OURS), most: 1.05 });
    }
    goals
}
