//! Bounds: a lane's, the shared queue's, and that of all objects.

use crate::common::allowed;
use crate::{Census, asked, pinned, small};
use corelocal::pool::{BuildError, Exhausted, GetError, PerCpuPool, PoolBuilder};
use std::hint::black_box;
use std::mem::forget;

#[test]
fn more_is_kept_than_there_is_room_for() {
    pinned(|| {
        let (pool, census) = small();
        assert_eq!((pool.lane_capacity(), pool.shared_capacity()), (4, 4));
        let out: Vec<_> = (0..30).map(|_| pool.get()).collect();
        assert_eq!((pool.objects(), census.alive()), (30, 30));
        drop(out);
        assert_eq!((pool.objects(), census.alive()), (8, 8));
        // Again and again: a full pool stays what it is.
        drop((0..30).map(|_| pool.get()).collect::<Vec<_>>());
        assert_eq!((pool.objects(), census.alive()), (8, 8));
    });
}

/// M7, <https://github.com/ClickHouse/ClickHouse/pull/104046>: a bound for each CPU, not for each
/// thread.
#[test]
fn what_is_kept_grows_with_the_number_of_threads() {
    let (pool, census) = small();
    if !pool.uses_sections() {
        return crate::common::skip("what_is_kept", "without sections each thread has its lane");
    }
    std::thread::scope(|scope| {
        for _ in 0..60 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let out = [pool.get(), pool.get(), pool.get(), pool.get(), pool.get()];
                    drop(black_box(out));
                }
            });
        }
    });
    // Each CPU's lane, and the one for threads that were cut off again and again.
    let most = (allowed().len() + 1) * pool.lane_capacity() + pool.shared_capacity();
    assert!(pool.objects() <= most, "{} of {most}", pool.objects());
    assert_eq!(census.alive(), pool.objects());
}

#[test]
fn a_pool_at_its_capacity_keeps_more() {
    pinned(|| {
        let census = Census::default();
        let of_pool = census.clone();
        let pool = PerCpuPool::builder(move || of_pool.born()).capacity(3).build().unwrap();
        let out = [pool.try_get(), pool.try_get(), pool.try_get()].map(Result::unwrap);
        for _ in 0..10 {
            assert_eq!(pool.try_get().unwrap_err(), Exhausted { capacity: 3 });
            let made = pool.try_get_or_else(|| Err("not to be called"));
            assert!(matches!(made, Err(GetError::Exhausted(_))));
            assert!(pool.put(census.born()).is_err(), "given back");
        }
        assert_eq!((pool.objects(), census.alive()), (3, 3));
        let strays = [pool.get(), pool.get_or_else(|| census.born()), pool.get_or(census.born())];
        assert_eq!((pool.objects(), census.alive()), (3, 6));
        drop(strays);
        assert_eq!((pool.objects(), census.alive()), (3, 3), "not kept");
        drop(out);
        assert_eq!((pool.objects(), census.alive()), (3, 3));
        drop((0..3).map(|_| pool.try_get().unwrap()).collect::<Vec<_>>());
        assert_eq!(pool.drain().unwrap().count(), 3);
        assert!(pool.try_get().is_ok(), "drained objects do not count");
    });
}

#[test]
fn a_failed_constructor_uses_the_capacity_up() {
    let pool = PerCpuPool::builder(|| 0).capacity(1).build().unwrap();
    for _ in 0..10 {
        let made = pool.try_get_or_else(|| Err("no"));
        assert!(matches!(made, Err(GetError::Make("no"))));
    }
    assert_eq!(pool.objects(), 0);
    assert!(pool.try_get().is_ok());
}

#[test]
fn a_forgotten_object_is_given_out_again() {
    pinned(|| {
        let (pool, census) = small();
        forget(pool.get());
        assert!(pool.get_idle().is_none());
        assert_eq!((pool.objects(), census.alive()), (1, 1));
        drop(pool);
        assert_eq!(census.alive(), 1, "leaked, as asked");
    });
}

/// M4, <https://github.com/golang/go/issues/18802>: a hard bound, and everything allocated when the
/// pool is built.
#[test]
fn a_pool_that_was_filled_takes_from_the_heap() {
    pinned(|| {
        let builder = PerCpuPool::builder(|| [0_u64; 16]).lane_capacity(8).shared_batches(5);
        let pool = builder.capacity(20).prefill(20).build().unwrap();
        assert_eq!(pool.objects(), 20);
        let work = || {
            for count in 1..=5 {
                let mut out = [const { None }; 20];
                for object in &mut out[..4 * count] {
                    *object = Some(pool.try_get().unwrap());
                }
                if count == 5 {
                    assert_eq!(pool.try_get().unwrap_err().capacity, 20);
                }
                drop(black_box(out));
            }
        };
        work();
        let before = asked();
        (0..100).for_each(|_| work());
        assert_eq!(asked() - before, 0, "requests to the heap");
        assert_eq!(pool.objects(), 20);
        drop(black_box(vec![1]));
        assert_eq!(asked() - before, 1, "requests are counted");
    });
}

#[test]
fn shrinking_leaves_more_or_drops_more() {
    pinned(|| {
        for left in 0..10 {
            let (pool, census) = small();
            drop((0..8).map(|_| pool.get()).collect::<Vec<_>>());
            let dropped = pool.shrink_to(left).unwrap();
            // The shared queue has room for 4.
            let stay = left.min(4);
            assert_eq!((dropped, pool.objects(), census.alive()), (8 - stay, stay, stay));
            let found: Vec<_> = std::iter::from_fn(|| pool.get_idle()).collect();
            assert_eq!(found.len(), stay);
        }
    });
}

#[test]
fn bounds_that_cannot_be_are_taken() {
    for asked in [0, 1, 3, 65, PoolBuilder::<u8>::MOST_IN_A_LANE + 2] {
        let refused = PerCpuPool::builder(|| 0).lane_capacity(asked).build().unwrap_err();
        assert_eq!(refused, BuildError::LaneCapacity { asked });
        assert!(refused.to_string().contains("even number from 2 to 1048576"), "{refused}");
    }
    let builder = || PerCpuPool::builder(|| 0).lane_capacity(4).shared_batches(3);
    let refused = builder().prefill(7).build().unwrap_err();
    assert_eq!(refused, BuildError::Prefill { asked: 7, most: 6 });
    let refused = builder().capacity(5).prefill(6).build().unwrap_err();
    assert_eq!(refused, BuildError::Prefill { asked: 6, most: 5 });
    assert_eq!(builder().capacity(5).prefill(5).build().unwrap().objects(), 5);
    // No shared queue at all, and no object.
    pinned(|| {
        let pool = PerCpuPool::builder(|| 0).lane_capacity(2).shared_batches(0).build().unwrap();
        drop((0..9).map(|_| pool.get()).collect::<Vec<_>>());
        assert_eq!((pool.objects(), pool.shared_capacity()), (2, 0));
        let pool = PerCpuPool::builder(|| 0).capacity(0).build().unwrap();
        assert!(pool.try_get().is_err());
        drop(pool.get());
        assert_eq!((pool.objects(), pool.drain().unwrap().count()), (0, 0));
    });
}

#[test]
fn objects_of_any_shape_are_kept() {
    fn shape<T: Send>(value: impl Fn() -> T + Send + Sync + 'static) {
        let pool = PerCpuPool::new(value);
        for _ in 0..3 {
            let out: Vec<_> = (0..100).map(|_| pool.get()).collect();
            assert!(
                out.iter().all(|object| {
                    std::ptr::from_ref::<T>(object).addr() % align_of::<T>() == 0
                })
            );
        }
        assert!(pool.objects() <= pool.lane_capacity() + pool.shared_capacity());
    }
    #[repr(align(4096))]
    struct Page(#[allow(dead_code, reason = "size")] [u8; 4096]);
    shape(|| ());
    shape(|| 1_u8);
    shape(|| Page([0; 4096]));
    shape(|| [0_u8; 100_001]);
    shape(|| "text".to_string());
}
