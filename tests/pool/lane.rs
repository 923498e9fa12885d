//! What is kept where: last in, first out, on the CPU that gave it back.

use crate::common::{allowed, pin};
use crate::{pinned, small};
use corelocal::pool::{PerCpuPool, Pooled};

#[test]
fn the_last_one_back_is_not_the_first_one_out() {
    pinned(|| {
        let (pool, _) = small();
        let out = [pool.get(), pool.get(), pool.get()];
        let numbers = out.each_ref().map(|object| object.number);
        out.into_iter().for_each(drop);
        let again = [pool.get(), pool.get(), pool.get()].map(|object| object.number);
        assert_eq!(again, [numbers[2], numbers[1], numbers[0]]);
    });
}

#[test]
fn what_was_written_is_not_there_when_it_is_got_again() {
    pinned(|| {
        let pool = PerCpuPool::new(|| 0);
        *pool.get() = 7;
        assert_eq!(*pool.get_idle().unwrap(), 7);
        let pool = PerCpuPool::builder(Vec::<u8>::new).reset(Vec::clear).build().unwrap();
        pool.get().push(1);
        assert!(pool.get_idle().unwrap().is_empty());
    });
}

#[test]
fn an_idle_object_is_passed_over() {
    pinned(|| {
        let (pool, census) = small();
        // More than a lane holds: some come back out of the shared queue.
        let out: Vec<_> = (0..8).map(|_| pool.get()).collect();
        drop(out);
        let again: Vec<_> = (0..8).map(|_| pool.get_idle().unwrap()).collect();
        assert!(pool.get_idle().is_none());
        assert_eq!((census.made(), pool.objects()), (8, 8));
        drop(again);
        assert_eq!(census.made(), 8);
        // `get_or` and `get_or_else` look for idle ones, too.
        let mut calls = 0;
        let make = || {
            calls += 1;
            census.born()
        };
        drop([pool.get_or_else(make), pool.get_or(census.born())]);
        assert_eq!((calls, census.dropped()), (0, 1), "the other value is not needed");
    });
}

/// The lane of a CPU that nobody is on any more, nor will be.
#[test]
fn objects_of_a_cpu_that_never_comes_back_are_lost() {
    let cpus = allowed();
    let (pool, census) = small();
    for cpu in &cpus {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                pin(*cpu).unwrap();
                drop([pool.get(), pool.get(), pool.get()]);
            });
        });
    }
    pinned(|| {
        let made = census.made();
        if pool.uses_sections() {
            assert_eq!(made, 3 * cpus.len(), "each lane has its own");
        }
        assert_eq!(pool.drain().unwrap().count(), made);
        assert_eq!((pool.objects(), census.alive()), (0, 0));
        // What comes now is kept and found as before, and so a second time.
        for _ in 0..3 {
            drop([pool.get(), pool.get(), pool.get()]);
            assert_eq!(pool.drain().unwrap().count(), 3);
        }
    });
}

#[test]
fn an_object_in_use_is_drained() {
    pinned(|| {
        let (pool, census) = small();
        let mut out = pool.get();
        drop(pool.get());
        assert_eq!(pool.drain().unwrap().count(), 1);
        out.value = 5;
        assert_eq!((pool.objects(), census.alive()), (1, 1));
        drop(out);
        assert_eq!(pool.get_idle().unwrap().value, 5);
    });
}

#[test]
fn a_detached_object_comes_back() {
    pinned(|| {
        let (pool, census) = small();
        let object = Pooled::detach(pool.get());
        assert_eq!((pool.objects(), census.alive()), (0, 1));
        assert!(pool.get_idle().is_none());
        let number = object.number;
        pool.put(object).unwrap();
        assert_eq!((pool.objects(), pool.get_idle().unwrap().number), (1, number));
    });
}
