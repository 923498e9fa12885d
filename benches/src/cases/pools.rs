//! The pools that `pool` measures, ours and the others, behind one trait.

use crate::machine::{forget, sched_getcpu};
use corelocal::PerCpu;
use corelocal::pool::{PerCpuPool, Pooled};
use crossbeam_queue::{ArrayQueue, SegQueue};
use crossbeam_utils::CachePadded;
use lockfree_object_pool::{LinearObjectPool, LinearReusable};
use std::cell::RefCell;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use thread_local::ThreadLocal;

/// What is kept.
pub(super) type Object = [u64; 8];

/// How many the peers with a bound hold: more than there are in the largest scene, a hundred a thread.
fn room() -> usize {
    128 * crate::machine::cpus().len().max(2)
}

/// How the peers keep it.
type Boxed = Box<Object>;

/// A pool that is there before it is used, with objects in it.
pub(super) trait Pool: Send + Sync + Sized + 'static {
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

pub(super) struct Fresh;

impl opool::PoolAllocator<Boxed> for Fresh {
    fn allocate(&self) -> Boxed {
        Box::default()
    }
}

/// Pools whose objects come in a guard, which gives them back.
macro_rules! of_guards {
    ($(#[$attr:meta])* $Name:ident, $Of:ty, $Got:ty, $new:expr, |$pool:ident| $get:expr) => {
        $(#[$attr])*
        pub(super) struct $Name($Of);

        impl Pool for $Name {
            type Got<'a> = $Got;

            fn new() -> Self {
                Self($new)
            }

            #[inline]
            fn get(&self) -> Self::Got<'_> {
                let $pool = &self.0;
                $get
            }

            fn object<'g>(got: &'g mut Self::Got<'_>) -> &'g mut Object {
                got
            }

            #[inline]
            fn put(&self, got: Self::Got<'_>) {
                drop(got);
            }
        }
    };
}

of_guards!(Ours, PerCpuPool<Object>, Pooled<'a, Object>, PerCpuPool::new(|| [0; 8]), |pool| pool
    .get());
of_guards!(
    /// The same with a hook for what comes back.
    Resetting,
    PerCpuPool<Object>,
    Pooled<'a, Object>,
    {
        let builder = PerCpuPool::builder(|| [0; 8]).reset(|object: &mut Object| object[0] = 0);
        builder.build().expect("memory for the lanes")
    },
    |pool| pool.get()
);
of_guards!(
    Opool,
    opool::Pool<Fresh, Boxed>,
    opool::RefGuard<'a, Fresh, Boxed>,
    opool::Pool::new(room(), Fresh),
    |pool| pool.get()
);
of_guards!(
    ObjectPool,
    object_pool::Pool<Boxed>,
    object_pool::Reusable<'a, Boxed>,
    object_pool::Pool::new(room(), Box::default),
    |pool| pool.pull(Box::default)
);
of_guards!(
    Linear,
    LinearObjectPool<Boxed>,
    LinearReusable<'a, Boxed>,
    LinearObjectPool::new(Box::default, |_| ()),
    |pool| pool.pull()
);

thread_local! {
    static LIST: RefCell<Vec<Boxed>> = const { RefCell::new(Vec::new()) };
}

/// A stack of this thread, through a thread-local.
pub(super) struct OfThread;

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
pub(super) struct Heap;

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
        pub(super) struct $Name($Of);

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
    (0..PerCpu::<u8>::zeroed().cpus()).map(|_| ArrayQueue::new(room())).collect(),
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
of_boxes!(Array, ArrayQueue<Boxed>, ArrayQueue::new(room()), |pool| pool.pop(), |pool, got| {
    let _ = pool.push(got);
});
of_boxes!(Segments, SegQueue<Boxed>, SegQueue::new(), |pool| pool.pop(), |pool, got| {
    pool.push(got);
});

/// The object lies in the pool itself.
#[derive(Default)]
pub(super) struct InSlab(Object);

impl sharded_slab::Clear for InSlab {
    fn clear(&mut self) {}
}

pub(super) struct Slab(sharded_slab::Pool<InSlab>);

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
