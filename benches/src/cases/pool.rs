//! `pool`: getting an object of 64 bytes out of a pool, writing a word of it, and giving it back.
//!
//! The floor is a list of one thread, which is **wrong** as a pool: nobody else gets at the
//! objects. In `get + put` one object goes round; in `8 out` eight are taken before the first one
//! comes back, and the time is still that of one get and one put.

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

/// How the peers keep it.
type Boxed = Box<Object>;

/// How many objects are out at a time in the second kind of scene.
const OUT: usize = 8;

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

    /// The same, [`OUT`] at a time.
    fn several(&self, ops: u64) {
        for _ in 0..ops / OUT as u64 {
            let mut got: [_; OUT] = std::array::from_fn(|_| {
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
of_boxes!(Array, ArrayQueue<Boxed>, ArrayQueue::new(64), |pool| pool.pop(), |pool, got| {
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
        Self(opool::Pool::new(64, Fresh))
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
        Self(object_pool::Pool::new(64, Box::default))
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

fn scene(several: bool, threads: usize) -> String {
    let out = if several { "8 out" } else { "get + put" };
    format!("{out}, {threads} thread{}", if threads > 1 { "s" } else { "" })
}

fn case<P: Pool>(several: bool, threads: usize, peer: &'static str) -> Case {
    Case::new(scene(several, threads), peer, move || {
        let pool = P::new();
        let run = if several { P::several } else { P::one };
        let op: Op = Arc::new(move |ops| run(&pool, ops));
        if threads == 1 {
            return Box::new(move |ops| Sample::of(whole(ops), || op(whole(ops))));
        }
        Box::new(move |ops| on_two(&op, whole(ops)))
    })
}

/// A number of operations that is a whole number of rounds.
fn whole(ops: u64) -> u64 {
    ops.next_multiple_of(OUT as u64)
}

/// The floor: each thread has a list of its own on its stack.
fn floor(several: bool, threads: usize, peer: &'static str) -> Case {
    Case::new(scene(several, threads), peer, move || {
        let op: Op = Arc::new(move |ops| private(ops, several));
        if threads == 1 {
            return Box::new(move |ops| Sample::of(whole(ops), || op(whole(ops))));
        }
        Box::new(move |ops| on_two(&op, whole(ops)))
    })
}

fn private(ops: u64, several: bool) {
    let mut list: Option<Box<Node>> = None;
    for _ in 0..OUT {
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
    if several {
        for _ in 0..ops / OUT as u64 {
            let got: [_; OUT] = std::array::from_fn(|_| get(list));
            got.into_iter().for_each(|node| put(list, node));
        }
    } else {
        for _ in 0..ops {
            let node = get(list);
            put(list, node);
        }
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in if threads::two_cpus() { 1..=2 } else { 1..=1 } {
        for several in [false, true] {
            cases.extend([
                floor(several, threads, BASELINE),
                case::<Ours>(several, threads, OURS),
                case::<Ours>(several, threads, "PerCpuPool again"),
                case::<OfThread>(several, threads, "thread_local RefCell<Vec>"),
                case::<Heap>(several, threads, "Box"),
                case::<Locked>(several, threads, "Mutex<Vec>"),
                case::<Array>(several, threads, "ArrayQueue"),
                case::<Segments>(several, threads, "SegQueue"),
                case::<Opool>(several, threads, "opool"),
                case::<ObjectPool>(several, threads, "object-pool"),
            ]);
        }
    }
    cases
}

/// What the pool was built to reach.
pub(super) fn goals() -> Vec<Goal> {
    let goal = |several, threads, than: &'static str, most| {
        let scene = scene(several, threads);
        Goal { own: (scene.clone(), OURS), than: (scene, than), most }
    };
    let mut goals = vec![
        goal(false, 1, BASELINE, 3.0),
        goal(true, 1, BASELINE, 3.0),
        goal(false, 1, "ArrayQueue", 0.5),
    ];
    if threads::two_cpus() {
        goals.push(Goal {
            own: (scene(false, 2), OURS),
            than: (scene(false, 1), OURS),
            most: 1.05,
        });
    }
    goals
}
