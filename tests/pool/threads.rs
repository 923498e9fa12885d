//! Threads that come and go, ends of threads, guards that travel, statics.

use crate::common::{Probe, alone, resident};
use crate::{Census, Counted, small};
use corelocal::pool::{Drain, OwnedPooled, PerCpuPool, Pooled, StaticPool};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

static BUFFERS: StaticPool<Vec<u8>> = StaticPool::new(|| {
    PerCpuPool::builder(Vec::new).reset(Vec::clear).build().expect("memory for the lanes")
});

/// Its thread's end gives an object back, and gets others.
struct Last(RefCell<Option<Pooled<'static, Vec<u8>>>>);

impl Drop for Last {
    fn drop(&mut self) {
        let kept = self.0.take();
        let mut other = BUFFERS.get();
        other.push(1);
        assert_eq!(other.len(), 1);
        drop(kept);
        drop(other);
        drop((0..200).map(|_| BUFFERS.get()).collect::<Vec<_>>());
        LASTS.fetch_add(1, Ordering::Relaxed);
    }
}

static LASTS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn the_end_of_a_thread_cannot_use_a_pool() {
    thread_local! { static LAST: Last = const { Last(RefCell::new(None)) }; }
    // Before and after the pool makes thread-locals of its own, where it does.
    for first in [true, false] {
        let body = move || {
            if first {
                LAST.with(|last| *last.0.borrow_mut() = Some(BUFFERS.get()));
            } else {
                let object = BUFFERS.get();
                LAST.with(|last| *last.0.borrow_mut() = Some(object));
            }
        };
        (0..20).for_each(|_| std::thread::spawn(body).join().unwrap());
        // A thread whose first use is at its end.
        (0..20).for_each(|_| std::thread::spawn(|| LAST.with(|_| ())).join().unwrap());
    }
    assert_eq!(LASTS.load(Ordering::Relaxed), 80);
}

/// H1, <https://github.com/hawkw/sharded-slab/issues/62>: nothing is kept for a thread, or it is used
/// by the next one.
#[test]
fn ten_thousand_threads_leave_something_behind() {
    const LIVE: usize = 300;
    alone("threads::ten_thousand_threads_leave_something_behind", || {
        let census = Census::default();
        let of_pool = census.clone();
        let pool = Arc::new(PerCpuPool::builder(move || of_pool.born()).build().unwrap());
        let wave = || {
            let meet = Arc::new(Barrier::new(LIVE));
            let spawn = |_| {
                let (meet, pool) = (Arc::clone(&meet), Arc::clone(&pool));
                let work = move || {
                    let mut object = pool.get();
                    meet.wait();
                    object.value += 1;
                    drop(object);
                    drop(pool.get_owned());
                };
                std::thread::Builder::new().stack_size(32 << 10).spawn(work).expect("room")
            };
            let threads: Vec<_> = (0..LIVE).map(spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        (0..2).for_each(|_| wave());
        let before = resident();
        (2..34).for_each(|_| wave());
        let grown = resident().saturating_sub(before);
        println!("{} KiB more; {} objects made", grown >> 10, census.made());
        assert!(grown < 2 << 20, "{grown} bytes");
        let alive = census.alive();
        assert_eq!(pool.drain().unwrap().count(), alive);
        assert_eq!((pool.objects(), census.alive()), (0, 0));
    });
}

#[test]
fn a_guard_that_travels_gives_its_object_to_the_wrong_pool() {
    let (pool, census) = small();
    let pool = Arc::new(pool);
    let (mut owned, mut borrowed) = (pool.get_owned(), pool.get());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            owned.value = 3;
            drop(owned);
        });
        scope.spawn(move || {
            borrowed.value = 4;
            drop(borrowed);
        });
    });
    assert_eq!((pool.objects(), Arc::strong_count(&pool)), (2, 1));
    let mut found: Vec<usize> = pool.drain().unwrap().map(|object| object.value).collect();
    found.sort_unstable();
    assert_eq!(found, [3, 4]);
    // The last guard takes the pool with it.
    let last = pool.get_owned();
    drop(pool);
    assert_eq!(census.alive(), 1);
    drop(last);
    assert_eq!(census.alive(), 0);
    let value = OwnedPooled::detach(Arc::new(PerCpuPool::new(|| 5)).get_owned());
    assert_eq!(value, 5);
}

static MADE: AtomicUsize = AtomicUsize::new(0);
static RACED: StaticPool<usize> = StaticPool::new(|| {
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    PerCpuPool::new(move || number)
});

#[test]
fn threads_that_come_first_use_different_pools() {
    let meet = Barrier::new(8);
    let numbers: Vec<usize> = std::thread::scope(|scope| {
        let first = || {
            meet.wait();
            *RACED.get()
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(first)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
    // One that is not static is dropped.
    let census = Census::default();
    let local: StaticPool<Counted> = StaticPool::new(|| PerCpuPool::new(|| unreachable!()));
    drop(local.get_or(census.born()));
    assert_eq!(census.alive(), 1);
    drop(local);
    assert_eq!(census.alive(), 0);
    let unused: StaticPool<u8> = StaticPool::new(|| unreachable!());
    drop(unused);
}

#[test]
fn what_may_go_to_other_threads_may_not_or_the_other_way_round() {
    type NotSync = std::cell::Cell<u8>;
    type Neither = Rc<u8>;
    macro_rules! markers {
        ($t:ty) => {{
            #[allow(unused_imports, reason = "the answer may be the inherent one")]
            use crate::common::MayNot;
            (<Probe<$t>>::SEND, <Probe<$t>>::SYNC)
        }};
    }
    assert_eq!(markers!(PerCpuPool<NotSync>), (true, true), "one user at a time");
    assert_eq!(markers!(PerCpuPool<Neither>), (false, false));
    assert_eq!(markers!(StaticPool<NotSync>), (true, true));
    assert_eq!(markers!(StaticPool<Neither>), (false, false));
    assert_eq!(markers!(Pooled<'_, u8>), (true, true));
    assert_eq!(markers!(Pooled<'_, NotSync>), (true, false), "shared, it shares the object");
    assert_eq!(markers!(Pooled<'_, Neither>), (false, false));
    assert_eq!(markers!(OwnedPooled<NotSync>), (true, false));
    assert_eq!(markers!(OwnedPooled<Neither>), (false, false));
    assert_eq!(markers!(Drain<'_, NotSync>), (true, true));
    assert_eq!(markers!(Drain<'_, Neither>), (false, false));
}

#[test]
fn values_show_in_debug_output() {
    let pool = PerCpuPool::new(|| "a secret".to_string());
    drop(pool.get());
    let text = format!("{pool:?} {:?}", pool.drain().unwrap());
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("objects: 1") && text.contains("left: 1"), "{text}");
}
