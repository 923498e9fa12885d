//! `pool`: getting an object of 64 bytes out of a pool, writing a word of it, and giving it back.
//!
//! The floor is a list of one thread, which is **wrong** as a pool: nobody else gets at the
//! objects. In `get + put` one object goes round; in `8 out` eight are taken before the first one
//! comes back, and in `100 out` a hundred, so that batches go to the shared queue and come back. The
//! time is always that of one get and one put.

use super::Goal;
use crate::machine::forget;
use crate::threads::{self, Op, on_two};
use crate::{Case, Sample};
use corelocal::pool::{PerCpuPool, Pooled};
use crossbeam_queue::{ArrayQueue, SegQueue};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) const BASELINE: &str = "private list (wrong)";
const OURS: &str = "PerCpuPool";

/// What is kept.
type Object = [u64; 8];

/// How many the peers with a bound hold: as many as there are in the largest scene, by two threads.
const ROOM: usize = 256;

/// How the peers keep it.
type Boxed = Box<Object>;

/// How many objects are out at a time.
const OUT: [usize; 3] = [1, 8, 100];

/// A pool that is there before it is used, with objects in it.
trait Pool: Send + Sync + Sized + 'static {
    /// An object in use.
    type Got<'a>;

    fn new() -> Self;
    fn get(&self) -> Self::Got<'_>;
    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object;
    fn put(&self, got: Self::Got<'_>);

    /// `ops` times: one out, and back.
    fn one(&self, ops: u64) {
        for _ in 0..ops {
            forget();
            let mut got = self.get();
            Self::object(&mut got)[0] += 1;
            forget();
            self.put(got);
        }
    }

    /// The same, `N` at a time.
    fn several<const N: usize>(&self, ops: u64) {
        for _ in 0..ops / N as u64 {
            let mut got: [_; N] = std::array::from_fn(|_| {
                forget();
                let mut got = self.get();
                Self::object(&mut got)[0] += 1;
                got
            });
            forget();
            black_box(&mut got);
            for got in got {
                forget();
                self.put(got);
            }
        }
    }
}

struct Ours(PerCpuPool<Object>);

impl Pool for Ours {
    type Got<'a> = Pooled<'a, Object>;

    fn new() -> Self {
        Self(PerCpuPool::new(|| [0; 8]))
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.get()
    }

    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Self::Got<'_>) {
        drop(got);
    }
}

/// The same with a hook for what comes back.
struct Resetting(PerCpuPool<Object>);

impl Pool for Resetting {
    type Got<'a> = Pooled<'a, Object>;

    fn new() -> Self {
        let builder = PerCpuPool::builder(|| [0; 8]).reset(|object: &mut Object| object[0] = 0);
        Self(builder.build().expect("memory for the lanes"))
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.get()
    }

    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Self::Got<'_>) {
        drop(got);
    }
}

/// The floor's node: a link before the object.
struct Node {
    next: Option<Box<Node>>,
    object: Object,
}

thread_local! {
    static LIST: RefCell<Vec<Boxed>> = const { RefCell::new(Vec::new()) };
}

/// A stack of this thread, through a thread-local.
struct OfThread;

impl Pool for OfThread {
    type Got<'a> = Boxed;

    fn new() -> Self {
        Self
    }

    #[inline]
    fn get(&self) -> Boxed {
        LIST.with(|list| list.borrow_mut().pop()).unwrap_or_default()
    }

    fn object(got: &mut Boxed) -> &mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Boxed) {
        LIST.with(|list| list.borrow_mut().push(got));
    }
}

/// The heap itself.
struct Heap;

impl Pool for Heap {
    type Got<'a> = Boxed;

    fn new() -> Self {
        Self
    }

    #[inline]
    fn get(&self) -> Boxed {
        black_box(Box::default())
    }

    fn object(got: &mut Boxed) -> &mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Boxed) {
        drop(black_box(got));
    }
}

/// Pools of boxes with two methods.
macro_rules! of_boxes {
    ($Name:ident, $Of:ty, $new:expr, |$pool:ident| $get:expr, |$own:ident, $got:ident| $put:expr) => {
        struct $Name($Of);

        impl Pool for $Name {
            type Got<'a> = Boxed;

            fn new() -> Self {
                Self($new)
            }

            #[inline]
            fn get(&self) -> Boxed {
                let $pool = &self.0;
                $get.unwrap_or_default()
            }

            fn object(got: &mut Boxed) -> &mut Object {
                got
            }

            #[inline]
            fn put(&self, $got: Boxed) {
                let $own = &self.0;
                $put;
            }
        }
    };
}

of_boxes!(
    Locked,
    Mutex<Vec<Boxed>>,
    Mutex::default(),
    |pool| pool.lock().unwrap_or_else(PoisonError::into_inner).pop(),
    |pool, got| pool.lock().unwrap_or_else(PoisonError::into_inner).push(got)
);
of_boxes!(Array, ArrayQueue<Boxed>, ArrayQueue::new(ROOM), |pool| pool.pop(), |pool, got| {
    let _ = pool.push(got);
});
of_boxes!(Segments, SegQueue<Boxed>, SegQueue::new(), |pool| pool.pop(), |pool, got| {
    pool.push(got);
});

struct Fresh;

impl opool::PoolAllocator<Boxed> for Fresh {
    fn allocate(&self) -> Boxed {
        Box::default()
    }
}

struct Opool(opool::Pool<Fresh, Boxed>);

impl Pool for Opool {
    type Got<'a> = opool::RefGuard<'a, Fresh, Boxed>;

    fn new() -> Self {
        Self(opool::Pool::new(ROOM, Fresh))
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.get()
    }

    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Self::Got<'_>) {
        drop(got);
    }
}

struct ObjectPool(object_pool::Pool<Boxed>);

impl Pool for ObjectPool {
    type Got<'a> = object_pool::Reusable<'a, Boxed>;

    fn new() -> Self {
        Self(object_pool::Pool::new(ROOM, Box::default))
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.pull(Box::default)
    }

    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
        got
    }

    #[inline]
    fn put(&self, got: Self::Got<'_>) {
        drop(got);
    }
}

fn scene(out: usize, threads: usize) -> String {
    let out = if out == 1 { "get + put".to_owned() } else { format!("{out} out") };
    format!("{out}, {threads} thread{}", if threads > 1 { "s" } else { "" })
}

/// A case of an operation that is made when it is first measured.
fn of(out: usize, threads: usize, peer: &'static str, make: impl Fn() -> Op + 'static) -> Case {
    // A whole number of rounds.
    let whole = move |ops: u64| ops.next_multiple_of(out as u64);
    Case::new(scene(out, threads), peer, move || {
        let op = make();
        if threads == 1 {
            return Box::new(move |ops| Sample::of(whole(ops), || op(whole(ops))));
        }
        Box::new(move |ops| on_two(&op, whole(ops)))
    })
}

fn case<P: Pool>(out: usize, threads: usize, peer: &'static str) -> Case {
    of(out, threads, peer, move || {
        let pool = P::new();
        let run = match out {
            1 => P::one,
            8 => P::several::<8>,
            _ => P::several::<100>,
        };
        Arc::new(move |ops| run(&pool, ops))
    })
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

fn private<const N: usize>(ops: u64) {
    let mut list: Option<Box<Node>> = None;
    for _ in 0..N {
        list = Some(Box::new(Node { next: list, object: [0; 8] }));
    }
    // Somebody might look: without this the compiler may keep the list in registers.
    let list = black_box(&mut list);
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
    for threads in if threads::two_cpus() { 1..=2 } else { 1..=1 } {
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
                case::<Opool>(out, threads, "opool"),
                case::<ObjectPool>(out, threads, "object-pool"),
            ]);
        }
    }
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
