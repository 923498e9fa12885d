//! Models of the allocator behind `corelocal::Area`: who owns which bytes, and for how long.

use corelocal::Area;
use loom_tests::owned::{BIGS, Big, Half, Owned, Page, Word};
use loom_tests::{Arc, finish, large_model, model, part, together, touch};
use std::sync::Mutex;

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
    large_model("two_objects_overlap", [3, 4], || {
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
    large_model("used_memory_counts_as_fresh", [3, 4], || {
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
    large_model("chunk_goes_away_under_an_allocation", [2, 3], || {
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
fn two_growers_leak_a_chunk() {
    large_model("two_growers_leak_a_chunk", [1, 2], || {
        let area = area();
        together([1, 2].map(|id| part(&area, move |area| drop(Owned::<Word>::new(area, id)))));
        end(area);
    });
}

/// The record's region is given back, and the record serves the next one.
#[test]
fn record_is_reused_too_early() {
    large_model("record_is_reused_too_early", [2, 3], || {
        let area = area();
        let (word, page) = (Owned::<Word>::new(&area, 1), Owned::<Page>::new(&area, 2));
        drop(word); // its chunk is the spare one
        together([part(&area, |_| drop(page)), part(&area, zeroed)]);
        zeroed(&area);
        end(area);
    });
}

/// What its last owner says of a record's bounds is not true of the chunk that takes it next.
#[test]
fn chunk_behind_a_used_record_counts_as_full() {
    large_model("chunk_behind_a_used_record_counts_as_full", [2, 3], || {
        let area = area();
        let (word, page) = (Owned::<Word>::new(&area, 1), Owned::<Page>::new(&area, 2));
        drop(word); // its chunk is the spare one
        let got = Arc::new(Mutex::new(None));
        let grown = area.clone();
        together([
            part(&got, move |got| {
                let word = Owned::<Word>::new(&grown, 3);
                *got.lock().expect("nobody else") = Some(word);
            }),
            part(&area, |_| drop(page)),
        ]);
        let chunks = area.stats().chunks;
        let next = Owned::<Word>::new(&area, 4);
        assert_eq!(area.stats().chunks, chunks, "it had room for two");
        let got = got.lock().expect("nobody else").take();
        drop((got, next));
        end(area);
    });
}

/// A search that fails because of what it did not see yet must not hide it for ever: the area is
/// at its capacity, so who does not find what was freed before is refused.
fn freed_memory_is_hidden(name: &str, a_search_failed_before: bool) {
    large_model(name, [2, 3], move || {
        let area = Arc::new(one_chunk());
        let full: Vec<_> = (1..BIGS).map(|id| Owned::<Big>::new(&area, id)).collect();
        let [freed, kept] = [10, 11].map(|id| Owned::<Half>::new(&area, id));
        if a_search_failed_before {
            Owned::<Half>::try_new(&area, 12).expect_err("two chunks of a capacity of one");
        }
        let got = Arc::new(Mutex::new(None));
        let searched = area.clone();
        together([
            part(&got, move |got| {
                let half = Owned::<Half>::try_new(&searched, 20).ok();
                *got.lock().expect("nobody else") = half;
            }),
            // The last one begins: so the model wants fewer preemptions.
            part(&area, |_| drop(freed)),
        ]);
        let got = got.lock().expect("nobody else").take();
        drop((got.unwrap_or_else(|| Owned::new(&area, 30)), kept, full));
        end(area);
    });
}

/// E5: there are bounds, which every free raises.
#[test]
fn freed_memory_is_hidden_by_a_search() {
    freed_memory_is_hidden("freed_memory_is_hidden_by_a_search", true);
}

/// E6: there are no bounds yet, so a free does not raise them.
#[test]
fn freed_memory_is_hidden_by_the_first_search() {
    freed_memory_is_hidden("freed_memory_is_hidden_by_the_first_search", false);
}

/// Each of two frees sees its own half of a free run, and none the whole.
#[test]
fn run_is_hidden_by_two_frees_side_by_side() {
    model("run_is_hidden_by_two_frees_side_by_side", 3, || {
        let area = Arc::new(one_chunk());
        let full: Vec<_> = (1..BIGS).map(|id| Owned::<Big>::new(&area, id)).collect();
        let halves = [10, 11].map(|id| Owned::<Half>::new(&area, id));
        Owned::<Big>::try_new(&area, 12).expect_err("two chunks of a capacity of one");
        together(halves.map(|half| part(&area, |_| drop(half))));
        drop((Owned::<Big>::new(&area, 13), full));
        end(area);
    });
}

/// One thread asks for more than the area may have, and the other for what it has room for.
#[test]
fn refused_growth_refuses_another() {
    model("refused_growth_refuses_another", 2, || {
        let area = Arc::new(one_chunk());
        together([
            part(&area, |area| {
                Owned::<Page>::try_new(area, 1).expect_err("more than the capacity");
            }),
            part(&area, |area| drop(Owned::<Word>::new(area, 2))),
        ]);
        end(area);
    });
}

/// Nothing is alive, and still there is no room: a chunk is kept for nobody.
#[test]
fn spare_chunk_stands_in_the_way() {
    model("spare_chunk_stands_in_the_way", 2, || {
        let probe = area();
        let page = Owned::<Page>::new(&probe, 0);
        let area = Area::builder().capacity(probe.stats().reserved).build();
        let area = Arc::new(area.expect("as many lanes as CPUs"));
        drop((page, probe));
        drop(Owned::<Word>::new(&area, 1));
        drop(Owned::<Page>::new(&area, 2));
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
    large_model("failed_search_leaves_an_empty_chunk", [2, 3], || {
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
