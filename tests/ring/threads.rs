//! Many writers, and a reader beside them.

use crate::common::{on_moving_threads, stress};
use corelocal::PerCpuRing;
use corelocal::ring::StaticRing;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reads what there is: each record is whole, and comes once.
fn read(ring: &PerCpuRing, seen: &mut BTreeMap<(u64, u64), ()>) {
    let mut reader = ring.reader().unwrap();
    for record in reader.drain() {
        let word = |at: usize| u64::from_le_bytes(record.bytes()[at..at + 8].try_into().unwrap());
        let (writer, number) = (word(0), word(8));
        assert_eq!(record.time(), Some(number));
        let rest = &record.bytes()[16..];
        assert!(rest.iter().all(|byte| *byte == (writer ^ number) as u8), "torn: {rest:?}");
        assert_eq!(seen.insert((writer, number), ()), None, "twice");
    }
}

#[test]
fn records_of_many_threads_are_torn_or_lost() {
    let ring = PerCpuRing::new(1 << 13);
    let (written, tried, writers) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    let seen = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                read(&ring, &mut seen.lock().unwrap());
                std::thread::yield_now();
            }
        });
        thread_local! { static WRITER: std::cell::Cell<u64> = const { std::cell::Cell::new(0) }; }
        on_moving_threads(2000 * stress(), |rng, step| {
            if WRITER.get() == 0 {
                WRITER.set(1 + writers.fetch_add(1, Ordering::Relaxed));
            }
            let writer = WRITER.get();
            let mut bytes = [(writer ^ step) as u8; 200];
            bytes[..8].copy_from_slice(&writer.to_le_bytes());
            bytes[8..16].copy_from_slice(&step.to_le_bytes());
            let is_written = ring.write_at(step, &bytes[..16 + rng.below(184)]).is_ok();
            written.fetch_add(u64::from(is_written), Ordering::Relaxed);
            tried.fetch_add(1, Ordering::Relaxed);
        });
        over.store(true, Ordering::Relaxed);
    });
    let mut seen = seen.into_inner().unwrap();
    read(&ring, &mut seen);
    let (written, tried) = (written.into_inner(), tried.into_inner());
    assert_eq!((seen.len() as u64, ring.dropped()), (written, tried - written));
    let counted: u64 = ring.stats().map(|(_, lane)| lane.written).sum();
    assert_eq!(counted, written);
}

/// A reader that reads while its records lie in the ring sees no byte change.
#[test]
fn a_record_changes_under_its_reader() {
    let ring = PerCpuRing::new(256);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..3_u8 {
            let (ring, over) = (&ring, &over);
            scope.spawn(move || {
                let mut number = 0_u64;
                while !over.load(Ordering::Relaxed) {
                    number += 1;
                    let _ = ring.write_at(number, &[writer ^ number as u8; 30]);
                }
            });
        }
        let mut reader = ring.reader().unwrap();
        let mut read = 0;
        while read < 3000 {
            let records: Vec<_> = reader.drain().collect();
            let before: Vec<_> = records.iter().map(|record| record.bytes().to_vec()).collect();
            std::thread::yield_now();
            for (record, before) in records.iter().zip(before) {
                assert_eq!(record.bytes(), before);
                assert!(before.iter().all(|byte| *byte == before[0]), "torn");
            }
            read += records.len();
        }
        over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn threads_that_make_a_static_ring_have_different_ones() {
    static RING: StaticRing = StaticRing::new(1 << 12);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || RING.write_at(thread, b"first").unwrap());
        }
    });
    let mut reader = RING.reader().unwrap();
    let mut threads: Vec<_> = reader.drain().filter_map(|record| record.time()).collect();
    threads.sort_unstable();
    assert_eq!(threads, [0, 1, 2, 3]);
    assert!(format!("{RING:?}").contains("true"));
}
