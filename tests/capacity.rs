//! An area with a capacity: what is free is found before an object is refused.
#![cfg(all(feature = "std", unix))]

use corelocal::{AllocError, Area};
use std::sync::atomic::{AtomicUsize, Ordering};

/// An object of a class of its own: none of its chunks serves small objects.
type Page = [u64; 8192];

/// Address space that one chunk takes.
fn chunk<T: corelocal::bytemuck::Zeroable>() -> usize {
    let area = Area::builder().build().unwrap();
    let _object = area.try_alloc_zeroed::<T>().unwrap();
    area.stats().reserved
}

#[test]
fn an_empty_chunk_makes_room_for_objects_of_another_class() {
    let (small, second) = (chunk::<u64>(), chunk::<Page>());
    let area = Area::builder().capacity(small.max(second)).build().unwrap();
    for _ in 0..3 {
        // Each leaves an empty chunk behind, which must not be in the way of the next.
        drop(area.try_alloc_zeroed::<u64>().expect("nothing lives"));
        drop(area.try_alloc_zeroed::<Page>().expect("nothing lives"));
    }
    let _kept = area.try_alloc_zeroed::<u64>().unwrap();
    let full = area.try_alloc_zeroed::<Page>().map(drop);
    assert!(matches!(full, Err(AllocError::AreaFull { .. })), "{full:?}");
    assert!(area.stats().reserved <= small.max(second));
}

/// A request that is too large is refused; one that fits must not be refused because of it.
#[test]
fn a_refused_request_takes_nothing_from_others_meanwhile() {
    type Fits = [u64; 9000];
    let area = Area::builder().capacity(chunk::<Fits>()).build().unwrap();
    let modest = || {
        for round in 0..20_000 {
            let object = area.try_alloc_zeroed::<Fits>();
            drop(object.unwrap_or_else(|error| panic!("round {round}: {error}")));
        }
    };
    let greedy = || {
        for _ in 0..20_000 {
            assert!(area.try_alloc_zeroed::<[Page; 2]>().is_err());
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(greedy);
        modest();
    });
}

/// The first search of a chunk that fails, while somebody frees: if it records what it saw, the
/// hole is lost, for as long as its neighbours live.
#[test]
fn a_hole_that_opens_during_a_failed_search_is_found() {
    type Eighth = [u64; 1024];
    const FIT: usize = 7; // with an odd number of lines each
    let turn = AtomicUsize::new(0);
    // Both threads come out of it as nearly at once as can be.
    let meet = |upto: usize| {
        turn.fetch_add(1, Ordering::SeqCst);
        for look in 1.. {
            if turn.load(Ordering::SeqCst) >= upto {
                break;
            }
            if look % 10_000 == 0 {
                std::thread::yield_now();
            }
        }
    };
    for round in 0..600 {
        let area = Area::builder().build().unwrap();
        let make = || area.try_alloc_zeroed::<Eighth>().unwrap();
        let mut objects: Vec<_> = (0..FIT).map(|_| make()).collect();
        let leaves = objects.remove(round % (FIT - 2) + 1);
        let upto = 2 * (round + 1);
        let beyond = std::thread::scope(|scope| {
            let frees = || {
                meet(upto);
                (0..round % 32 * 8).for_each(|_| std::hint::spin_loop());
                drop(leaves);
            };
            scope.spawn(frees);
            meet(upto);
            make()
        });
        objects.push(beyond);
        objects.extend((objects.len()..2 * FIT).map(|_| make()));
        assert_eq!(area.stats().chunks, 2, "round {round}");
    }
}
