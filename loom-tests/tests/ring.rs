//! Models of `corelocal::ring`: records written beside each other and beside their reader, space that
//! is given back, and one reader at a time (edges E60 to E62).
//!
//! Only under loom: the lanes are private. On real threads `rseq-tests` has its own.
#![cfg(corelocal_loom)]

use loom_tests::ring::Shared;
use loom_tests::ring::Who::{self, OnCpu, Spilling};
use loom_tests::{Arc, AtomicUsize, finish, large_model, model, part, together};
use std::sync::atomic::Ordering;

/// Adds to what threads saw.
fn count(seen: &AtomicUsize, records: &[u8]) {
    // Relaxed: read when all are done.
    seen.fetch_add(records.iter().map(|byte| *byte as usize).sum(), Ordering::Relaxed);
}

/// E60: bytes that are read were written. The reader is not the model's own thread, or loom has it read
/// before the writer begins.
fn read_beside_a_writer(who: Who) {
    let shared = Shared::new(2);
    let seen = Arc::new(AtomicUsize::new(0));
    let found = seen.clone();
    together([
        part(&shared, move |shared| count(&found, &shared.read(who))),
        part(&shared, move |shared| assert_eq!(shared.write(who, 1), Some(true))),
    ]);
    count(&seen, &shared.read(who));
    assert_eq!(seen.load(Ordering::Relaxed), 1, "read once");
    drop(shared);
    finish();
}

#[test]
fn a_record_is_read_before_it_is_written() {
    model("a_record_is_read_before_it_is_written", 3, || read_beside_a_writer(OnCpu));
}

#[test]
fn a_record_of_the_spill_lane_is_read_before_it_is_written() {
    let name = "a_record_of_the_spill_lane_is_read_before_it_is_written";
    model(name, 3, || read_beside_a_writer(Spilling));
}

/// E61: what is written over was read.
fn write_over_what_is_read(who: Who) {
    let shared = Shared::new(1);
    assert_eq!(shared.write(who, 1), Some(true));
    assert_eq!(shared.write(who, 9), Some(false), "the newest is dropped");
    let (a, b) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (written, found) = (a.clone(), b.clone());
    together([
        part(&shared, move |shared| {
            if shared.write(who, 2) == Some(true) {
                written.fetch_add(2, Ordering::Relaxed);
            }
        }),
        part(&shared, move |shared| count(&found, &shared.read(who))),
    ]);
    count(&b, &shared.read(who));
    assert_eq!(b.load(Ordering::Relaxed), 1 + a.load(Ordering::Relaxed));
    drop(shared);
    finish();
}

#[test]
fn a_record_is_written_over_while_it_is_read() {
    model("a_record_is_written_over_while_it_is_read", 3, || write_over_what_is_read(OnCpu));
}

#[test]
fn a_record_of_the_spill_lane_is_written_over_while_it_is_read() {
    let name = "a_record_of_the_spill_lane_is_written_over_while_it_is_read";
    model(name, 3, || write_over_what_is_read(Spilling));
}

#[test]
fn two_writers_of_a_cpu_lose_a_record() {
    large_model("two_writers_of_a_cpu_lose_a_record", [2, 3], || {
        let shared = Shared::new(2);
        let write = |byte| {
            part(&shared, move |shared: &Shared| assert_eq!(shared.write(OnCpu, byte), Some(true)))
        };
        together([write(1), write(2)]);
        let mut found = shared.read(OnCpu);
        found.sort_unstable();
        assert_eq!(found, [1, 2]);
        drop(shared);
        finish();
    });
}

#[test]
fn a_writer_that_is_turned_away_loses_anothers_record() {
    model("a_writer_that_is_turned_away_loses_anothers_record", 3, || {
        let shared = Shared::new(2);
        let done = Arc::new(AtomicUsize::new(0));
        together([1, 2].map(|byte| {
            let done = done.clone();
            part(&shared, move |shared| {
                if shared.write(Spilling, byte) == Some(true) {
                    done.fetch_add(byte as usize, Ordering::Relaxed);
                }
            })
        }));
        let found: usize = shared.read(Spilling).iter().map(|byte| *byte as usize).sum();
        assert_eq!(found, done.load(Ordering::Relaxed));
        assert!(found > 0, "somebody gets through");
        drop(shared);
        finish();
    });
}

/// E62: what one reader gave back, the next one does not read.
#[test]
fn two_readers_have_one_record() {
    model("two_readers_have_one_record", 3, || {
        let shared = Shared::new(2);
        assert_eq!(shared.write(OnCpu, 1), Some(true));
        let seen = Arc::new(AtomicUsize::new(0));
        together([0, 1].map(|_| {
            let seen = seen.clone();
            part(&shared, move |shared| count(&seen, &shared.read(OnCpu)))
        }));
        count(&seen, &shared.read(OnCpu));
        assert_eq!(seen.load(Ordering::Relaxed), 1);
        drop(shared);
        finish();
    });
}
