//! An area with a capacity: what is free is found before an object is refused.
#![cfg(all(feature = "std", unix))]

use corelocal::{AllocError, Area};

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
