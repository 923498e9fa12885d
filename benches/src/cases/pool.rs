//! `pool`: getting an object of 64 bytes out of a pool, writing a word of it, and giving it back.
//!
//! The floor is a list of one thread, which is **wrong** as a pool: nobody else gets at the
//! objects. In `get + put` one object goes round; in `8 out` eight are taken before the first one
//! comes back, and in `100 out` a hundred, so that batches go to the shared queue and come back. The
//! time is always that of one get and one put. In the cold scene nothing of the pool and its objects is in the
//! near caches when the hundred are taken.

use super::Goal;
use crate::machine::{forget, sched_getcpu};
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
use corelocal::PerCpu;
use corelocal::pool::{PerCpuPool, Pooled};
use crossbeam_queue::{ArrayQueue, SegQueue};
use crossbeam_utils::CachePadded;
use lockfree_object_pool::{LinearObjectPool, LinearReusable};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use thread_local::ThreadLocal;

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
of_boxes!(
    LockedShort,
    parking_lot::Mutex<Vec<Boxed>>,
    parking_lot::Mutex::default(),
    |pool| pool.lock().pop(),
    |pool, got| pool.lock().push(got)
);
// What people write by hand: a stack for each CPU.
of_boxes!(
    LockedByCpu,
    Vec<CachePadded<Mutex<Vec<Boxed>>>>,
    (0..PerCpu::<u8>::zeroed().cpus()).map(|_| CachePadded::default()).collect(),
    |pool| pool[sched_getcpu()].lock().unwrap_or_else(PoisonError::into_inner).pop(),
    |pool, got| pool[sched_getcpu()].lock().unwrap_or_else(PoisonError::into_inner).push(got)
);
of_boxes!(
    ArrayByCpu,
    Vec<ArrayQueue<Boxed>>,
    (0..PerCpu::<u8>::zeroed().cpus()).map(|_| ArrayQueue::new(ROOM)).collect(),
    |pool| pool[sched_getcpu()].pop(),
    |pool, got| {
        let _ = pool[sched_getcpu()].push(got);
    }
);
// A stack for each thread, in one pool; other threads cannot have what is in it.
of_boxes!(
    Threads,
    ThreadLocal<RefCell<Vec<Boxed>>>,
    ThreadLocal::new(),
    |pool| pool.get_or_default().borrow_mut().pop(),
    |pool, got| pool.get_or_default().borrow_mut().push(got)
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

/// The object lies in the pool itself.
#[derive(Default)]
struct InSlab(Object);

impl sharded_slab::Clear for InSlab {
    fn clear(&mut self) {}
}

struct Slab(sharded_slab::Pool<InSlab>);

impl Pool for Slab {
    type Got<'a> = sharded_slab::pool::RefMut<'a, InSlab>;

    fn new() -> Self {
        Self(sharded_slab::Pool::new())
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.create().expect("room for some hundreds")
    }

    fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
        &mut got.0
    }

    #[inline]
    fn put(&self, got: Self::Got<'_>) {
        let key = got.key();
        drop(got);
        self.0.clear(key);
    }
}

struct Linear(LinearObjectPool<Boxed>);

impl Pool for Linear {
    type Got<'a> = LinearReusable<'a, Boxed>;

    fn new() -> Self {
        Self(LinearObjectPool::new(Box::default, |_| ()))
    }

    #[inline]
    fn get(&self) -> Self::Got<'_> {
        self.0.pull()
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
