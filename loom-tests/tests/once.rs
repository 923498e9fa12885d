//! Models of what is published once: `OncePtr`, and on it the segments of a pool's records.
//!
//! Both are inside the crate, so there is nothing here without loom: every other test runs them.
#![cfg(corelocal_loom)]

use corelocal::model::{Groups, Once};
use loom_tests::{Arc, Canary, model, part, together};
use std::ptr::{NonNull, without_provenance_mut};

/// Things to publish: number `i` stands at the address `i + 1`, which nobody follows.
struct Things {
    once: Once<Canary>,
    things: [Canary; 3],
}

impl Things {
    fn new() -> Arc<Self> {
        Arc::new(Self { once: Once::new(), things: Default::default() })
    }

    /// Makes a thing and publishes it; the number of the one that was first.
    fn publish(&self, number: usize) -> usize {
        self.things[number].touch();
        let made = NonNull::new(without_provenance_mut(number + 1)).expect("not null");
        let first = self.once.publish(made).err().unwrap_or(made);
        self.look(first)
    }

    fn get(&self) -> Option<usize> {
        self.once.get().map(|first| self.look(first))
    }

    fn look(&self, published: NonNull<Canary>) -> usize {
        let number = published.addr().get() - 1;
        self.things[number].look();
        number
    }
}

#[test]
fn reader_sees_a_thing_that_is_not_made() {
    model("reader_sees_a_thing_that_is_not_made", 3, || {
        let things = Things::new();
        together([
            part(&things, |things| {
                things.publish(0);
            }),
            part(&things, |things| {
                let first = things.get();
                assert!(first.is_none() || things.get() == first, "the pointer changed");
            }),
        ]);
        assert_eq!(things.get(), Some(0));
    });
}

#[test]
fn makers_use_different_things() {
    model("makers_use_different_things", 3, || {
        let things = Things::new();
        let publish = |number| {
            part(&things, move |things: &Things| {
                let first = things.publish(number);
                assert_eq!(things.get(), Some(first), "the pointer changed");
            })
        };
        together([publish(0), publish(1), publish(2)]);
    });
}

#[test]
fn search_reads_records_that_are_not_made() {
    model("search_reads_records_that_are_not_made", 3, || {
        let groups = Arc::new(Groups::new());
        together([
            part(&groups, |groups| {
                groups.make(0).expect("memory for a model");
                groups.make(1).expect("memory for a model");
            }),
            part(&groups, |groups| assert!(groups.count() <= 2)),
        ]);
        assert_eq!(groups.count(), 2, "a group is lost");
    });
}

#[test]
fn two_growers_use_two_segments() {
    model("two_growers_use_two_segments", 3, || {
        let groups = Arc::new(Groups::new());
        let first = Arc::new(std::sync::Mutex::new(None));
        together([1, 2].map(|_| {
            let first = first.clone();
            part(&groups, move |groups| {
                let made = groups.make(1).expect("memory for a model");
                assert!(groups.count() >= 1, "a thread does not see the group it works in");
                let mut first = first.lock().expect("no thread of the model panicked");
                assert_eq!(*first.get_or_insert(made), made, "a group is there twice");
            })
        }));
    });
}
