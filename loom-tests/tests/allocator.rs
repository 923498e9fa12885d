//! Models of the allocator behind `corelocal::Area`: who owns which bytes, and for how long.

use corelocal::Area;
use loom_tests::owned::{BIGS, Big, Owned, Page, Word};
use loom_tests::{Arc, finish, model, part, together, touch};

fn area() -> Arc<Area> {
    Arc::new(Area::builder().odd_lines(false).build().expect("as many lanes as CPUs"))
}

/// An area that may have one chunk, and not two.
fn one_chunk() -> Area {
    let probe = area();
    let word = Owned::<Word>::new(&probe, 0);
    let bytes = probe.stats().reserved;
    drop(word);
    let builder = Area::builder().odd_lines(false).capacity(bytes + bytes / 2);
    builder.build().expect("as many lanes as CPUs")
}

/// The end of a run: at most one chunk is kept, and nothing is mapped without the area.
#[track_caller]
fn end(area: Arc<Area>) {
    let stats = area.stats();
    assert_eq!(stats.live, 0, "bits of freed objects are still set");
    assert!(stats.chunks <= 1, "{} empty chunks are kept", stats.chunks);
    drop(area);
    finish();
}

/// Allocates an object of zeros and looks whether it is one.
#[track_caller]
fn zeroed(area: &Area) {
    let mut object = area.try_alloc_zeroed::<Word>().expect("memory for a model");
    for (_, word) in &mut object {
        touch(word);
        assert_eq!(std::mem::replace(word, 7), 0, "memory of somebody else's was not cleared");
    }
}

#[test]
fn two_objects_overlap() {
    model("two_objects_overlap", 3, || {
        let area = area();
        let first = Owned::<Word>::new(&area, 1);
        together([2, 3].map(|id| part(&area, move |area| drop(Owned::<Word>::new(area, id)))));
        drop(first);
        end(area);
    });
}

/// E1, through the allocator: also the mark of what was ever handed out.
#[test]
fn next_object_misses_what_the_last_owner_did() {
    model("next_object_misses_what_the_last_owner_did", 3, || {
        let area = area();
        let (freed, kept) = (Owned::<Word>::new(&area, 1), Owned::<Word>::new(&area, 2));
        together([part(&area, |_| drop(freed)), part(&area, zeroed)]);
        drop(kept);
        end(area);
    });
}

/// The mark of what was ever handed out is read once the bits are ours.
#[test]
fn used_memory_counts_as_fresh() {
    model("used_memory_counts_as_fresh", 3, || {
        let area = area();
        let kept = Owned::<Word>::new(&area, 1);
        together([part(&area, zeroed), part(&area, zeroed)]);
        drop(kept);
        end(area);
    });
}

/// The chunk is empty, and a second chunk takes its place as the spare one.
#[test]
fn chunk_goes_away_under_an_allocation() {
    model("chunk_goes_away_under_an_allocation", 2, || {
        let area = area();
        let (word, page) = (Owned::<Word>::new(&area, 1), Owned::<Page>::new(&area, 2));
        together([
            part(&area, |_| {
                drop(word);
                drop(page);
            }),
            part(&area, |area| drop(Owned::<Word>::new(area, 3))),
        ]);
        zeroed(&area);
        zeroed(&area);
        end(area);
    });
}

/// E3: the thread that gives the chunk back is not the one that used it last.
#[test]
fn chunk_goes_away_under_an_earlier_owner() {
    model("chunk_goes_away_under_an_earlier_owner", 3, || {
        let area = area();
        let (one, two) = (Owned::<Word>::new(&area, 1), Owned::<Word>::new(&area, 2));
        let page = Owned::<Page>::new(&area, 3);
        together([
            part(&area, |_| drop(one)),
            part(&area, |_| {
                drop(two);
                drop(page);
            }),
        ]);
        end(area);
    });
}

#[test]
fn two_growers_of_an_unused_area_leak_a_chunk() {
    model("two_growers_of_an_unused_area_leak_a_chunk", 1, || {
        let area = area();
        together([1, 2].map(|id| part(&area, move |area| drop(Owned::<Word>::new(area, id)))));
        end(area);
    });
}

/// The records are there, and vacant.
#[test]
fn two_growers_leak_a_chunk() {
    model("two_growers_leak_a_chunk", 1, || {
        let area = area();
        drop(Owned::<Word>::new(&area, 1));
        drop(Owned::<Page>::new(&area, 2)); // takes its place as the spare one
        together([1, 2].map(|id| part(&area, move |area| drop(Owned::<Word>::new(area, id)))));
        end(area);
    });
}

/// The record's region is given back, and the record serves the next one.
#[test]
fn record_is_reused_too_early() {
    model("record_is_reused_too_early", 3, || {
        let area = area();
        let (word, page) = (Owned::<Word>::new(&area, 1), Owned::<Page>::new(&area, 2));
        drop(word); // its chunk is the spare one
        together([part(&area, |_| drop(page)), part(&area, zeroed)]);
        zeroed(&area);
        end(area);
    });
}

/// E5: a search that fails because of what it did not see yet must not hide it for ever.
#[test]
fn freed_memory_is_never_found() {
    model("freed_memory_is_never_found", 3, || {
        let area = Arc::new(one_chunk());
        let mut all: Vec<_> = (0..BIGS).map(|id| Owned::<Big>::new(&area, id)).collect();
        Owned::<Big>::try_new(&area, 10).expect_err("the area is full, and knows it");
        let freed = all.pop();
        together([
            part(&area, |_| drop(freed)),
            part(&area, |area| drop(Owned::<Big>::try_new(area, 11))),
        ]);
        drop(Owned::<Big>::new(&area, 12));
        drop(all);
        end(area);
    });
}

/// E8: the spare record lies in a group that who takes it out has never seen.
#[test]
fn spare_chunk_lies_in_an_unseen_group() {
    model("spare_chunk_lies_in_an_unseen_group", 3, || {
        let area = area();
        together([
            part(&area, |area| drop(Owned::<Word>::new(area, 1))),
            part(&area, |area| drop(Owned::<Page>::new(area, 2))),
        ]);
        end(area);
    });
}

#[test]
fn two_emptied_chunks_are_both_kept() {
    model("two_emptied_chunks_are_both_kept", 3, || {
        let area = area();
        let (word, page) = (Owned::<Word>::new(&area, 1), Owned::<Page>::new(&area, 2));
        together([part(&area, |_| drop(word)), part(&area, |_| drop(page))]);
        end(area);
    });
}

/// A search that finds nothing holds the chunk while its last object goes.
#[test]
fn failed_search_leaves_an_empty_chunk() {
    model("failed_search_leaves_an_empty_chunk", 2, || {
        let area = area();
        let all: Vec<_> = (0..BIGS).map(|id| Owned::<Big>::new(&area, id)).collect();
        together([
            part(&area, |_| drop(all)),
            part(&area, |area| drop(Owned::<Big>::new(area, 10))),
        ]);
        end(area);
    });
}

#[test]
fn spare_chunk_is_given_back_by_its_next_user() {
    model("spare_chunk_is_given_back_by_its_next_user", 3, || {
        let area = area();
        let address = Owned::<Word>::new(&area, 1).address();
        together([2, 3].map(|id| part(&area, move |area| drop(Owned::<Word>::new(area, id)))));
        let again = Owned::<Word>::new(&area, 4);
        assert_eq!(again.address(), address, "the spare chunk was unmapped and mapped again");
        drop(again);
        end(area);
    });
}
