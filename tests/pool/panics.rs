//! Panics in hooks, constructors and drops: nothing is lost, nothing is dropped twice.

use crate::{Census, Counted, pinned, small};
use corelocal::pool::PerCpuPool;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn panics(body: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
}

#[test]
fn objects_outlive_their_pool_or_die_twice() {
    let (pool, census) = small();
    for cpu in crate::common::allowed() {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                crate::common::pin(cpu).unwrap();
                drop((0..7).map(|_| pool.get()).collect::<Vec<_>>());
            });
        });
    }
    // The other pair of lists, too.
    drop(pool.drain().unwrap());
    drop((0..7).map(|_| pool.get()).collect::<Vec<_>>());
    assert!(census.alive() > 0);
    drop(pool);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_constructor_that_panics_uses_the_capacity_up() {
    let fails = Arc::new(AtomicBool::new(true));
    let asked = Arc::clone(&fails);
    let builder = PerCpuPool::builder(move || assert!(!asked.load(Ordering::Relaxed)));
    let pool = builder.capacity(1).build().unwrap();
    for _ in 0..5 {
        panics(|| drop(pool.get()));
        panics(|| drop(pool.try_get()));
        panics(|| drop(pool.get_or_else(|| panic!("on purpose"))));
    }
    assert_eq!(pool.objects(), 0);
    fails.store(false, Ordering::Relaxed);
    assert!(pool.try_get().is_ok());
}

#[test]
fn a_reset_hook_that_panics_leaves_a_half_reset_object() {
    pinned(|| {
        let census = Census::default();
        let of_pool = census.clone();
        let builder = PerCpuPool::builder(move || of_pool.born());
        let pool = builder
            .reset(|object: &mut Counted| {
                assert_ne!(object.value, 1, "on purpose");
                object.value = 0;
            })
            .keep_if(|object| {
                assert_ne!(object.number, 2, "on purpose");
                object.number != 1
            })
            .build()
            .unwrap();
        panics(|| pool.get().value = 1);
        assert_eq!((pool.objects(), census.dropped()), (0, 1), "dropped, not kept");
        // Number 1 is not to be kept; of number 2 that cannot be said.
        pool.get().value = 5;
        assert_eq!((pool.objects(), census.dropped()), (0, 2));
        panics(|| pool.get().value = 5);
        assert_eq!((pool.objects(), census.dropped()), (0, 3));
        pool.get().value = 5;
        assert_eq!((pool.objects(), pool.get_idle().unwrap().value), (1, 0));
    });
}

#[test]
fn an_object_in_use_during_a_panic_is_lost() {
    pinned(|| {
        let (pool, census) = small();
        panics(|| {
            let _in_use = [pool.get(), pool.get()];
            panic!("on purpose");
        });
        assert_eq!((pool.objects(), census.alive()), (2, 2));
        assert!(pool.get_idle().is_some());
    });
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// Of ten objects, the third one that is dropped panics.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert_ne!(DROPPED.fetch_add(1, Ordering::Relaxed) % 10, 2, "on purpose");
    }
}

#[test]
fn one_drop_that_panics_leaks_the_others() {
    pinned(|| {
        let pool = || {
            let pool = PerCpuPool::builder(|| Bomb).lane_capacity(4).build().unwrap();
            drop((0..10).map(|_| pool.get()).collect::<Vec<_>>());
            assert_eq!(pool.objects(), 10);
            pool
        };
        let ends: [fn(PerCpuPool<Bomb>); 4] = [
            drop,
            |pool| drop(pool.drain().unwrap()),
            |pool| assert_eq!(pool.shrink_to(0).unwrap(), 10),
            // Some one by one, the rest with the iterator.
            |pool| {
                let mut found = pool.drain().unwrap();
                (0..2).for_each(|_| drop(found.next()));
                drop(found);
            },
        ];
        for (times, end) in (1..).zip(ends) {
            panics(|| end(pool()));
            assert_eq!(DROPPED.load(Ordering::Relaxed), 10 * times);
        }
    });
}
