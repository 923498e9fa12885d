//! Capacities, the largest record, what happens when a ring is full, and counts.

#![cfg_attr(miri, allow(unused_imports, reason = "tests of threads that stay are left out"))]

use crate::{asked, pinned};
use corelocal::ring::{LaneStats, PerCpuRing, RingError, WriteError};
use corelocal::{AllocError, Area};

#[test]
fn a_capacity_that_cannot_be_is_rounded_silently() {
    let (least, most) = (PerCpuRing::LEAST_CAPACITY, PerCpuRing::MOST_CAPACITY);
    for (asked, right) in [
        (0, least),
        (255, least),
        (257, 512),
        (1000, 1024),
        (65_537, 131_072),
        (most + 1, most),
        (usize::MAX, most),
    ] {
        let error = PerCpuRing::try_new(asked).unwrap_err();
        assert_eq!(error, RingError::Capacity { asked, right });
        assert!(error.to_string().contains(&format!("ask for {right} ")), "{error}");
    }
    for capacity in [least, 512, 4096, 8192, 1 << 16, 1 << 20] {
        assert_eq!(PerCpuRing::new(capacity).capacity(), capacity);
    }
}

#[test]
fn no_memory_is_a_panic() {
    let area = Area::builder().capacity(1 << 20).build().unwrap();
    let error = PerCpuRing::in_area(&area, 1 << 24).unwrap_err();
    assert_eq!(error, RingError::Alloc(AllocError::AreaFull { capacity: 1 << 20 }));
    // What was allocated before is given back.
    assert_eq!(area.stats().live, 0);
}

#[test]
fn a_record_that_is_too_large_is_cut_or_counted() {
    for (capacity, most) in [(256, 112), (4096, 2032), (8192, 4080), (1 << 20, 4080)] {
        let ring = PerCpuRing::new(capacity);
        assert_eq!(ring.largest_record(), most);
        let bytes = vec![7; most + 1];
        let error = ring.write(&bytes).unwrap_err();
        assert_eq!(error, WriteError::TooLarge { len: most + 1, most });
        assert!(error.to_string().contains(&format!("{most} is the most")), "{error}");
        assert_eq!(ring.dropped(), 0);
        ring.write(&bytes[1..]).unwrap();
        let mut reader = ring.reader().unwrap();
        let records: Vec<_> = reader.drain().collect();
        assert_eq!((records.len(), records[0].bytes()), (1, &bytes[1..]));
    }
}

#[cfg(not(miri))] // There no thread stays on a CPU.
#[test]
fn a_full_ring_overwrites_what_was_not_read() {
    pinned(|| {
        let ring = PerCpuRing::new(1024);
        let mut reader = ring.reader().unwrap();
        for lap in 0..50_u8 {
            // 32 bytes each.
            for number in 0..40_u8 {
                let written = ring.write_at(lap.into(), &[number; 13]);
                assert_eq!(written.is_ok(), number < 32, "{lap}: {number}");
                assert!(written.is_ok() || written == Err(WriteError::Full));
            }
            let numbers = reader.drain().map(|record| {
                assert_eq!((record.time(), record.bytes().len()), (Some(lap.into()), 13));
                record.bytes()[0]
            });
            assert!(numbers.eq(0..32));
            assert_eq!(ring.dropped(), 9 * u64::from(lap) + 8);
            // The space is not free before it is given back.
            assert_eq!(ring.write(&[]), Err(WriteError::Full));
            reader.give_back();
            ring.write(&[]).unwrap();
            assert_eq!(reader.drain().map(|record| record.time()).collect::<Vec<_>>(), [None]);
            reader.give_back();
        }
    });
}

/// As many bytes as fit, whatever the records' sizes: one that begins at the end runs on behind it.
#[cfg(not(miri))] // There no thread stays on a CPU.
#[test]
fn room_is_lost_at_the_end_of_a_ring() {
    pinned(|| {
        let ring = PerCpuRing::new(256);
        let mut reader = ring.reader().unwrap();
        for len in (0..=112).cycle().take(1000) {
            let units = (16_usize + len).div_ceil(8);
            let fit = 32 / units;
            let bytes: Vec<u8> = (0..len as u8).collect();
            (0..fit).for_each(|_| _ = ring.write(&bytes).unwrap());
            assert_eq!(ring.write(&bytes), Err(WriteError::Full), "{len}");
            let mut count = 0;
            for record in reader.drain() {
                assert_eq!(record.bytes(), bytes);
                assert_eq!(record.bytes().as_ptr().addr() % 8, 0);
                count += 1;
            }
            assert_eq!(count, fit, "{len}");
            reader.give_back();
        }
    });
}

#[test]
fn a_write_allocates() {
    let ring = PerCpuRing::new(4096);
    let before = asked();
    for number in 0..1000 {
        let _ = ring.write_at(number, &[1; 50]);
        let _ = ring.write(&[1; 5000]);
    }
    assert_eq!(asked(), before);
    assert!(ring.dropped() > 0);
}

#[cfg(not(miri))] // There no thread stays on a CPU.
#[test]
fn counts_and_their_lanes_disagree() {
    pinned(|| {
        let ring = PerCpuRing::new(1024);
        let lane = ring.write(&[0; 48]).unwrap();
        (0..20).for_each(|_| _ = ring.write(&[0; 48]));
        let of = |ring: &PerCpuRing| ring.stats().find(|(at, _)| *at == lane).unwrap().1;
        let is = |stats: LaneStats, all| {
            assert_eq!((stats.written, stats.read, stats.dropped), all);
        };
        is(of(&ring), (16, 0, 5));
        let mut reader = ring.reader().unwrap();
        assert_eq!(reader.drain().take(3).count(), 3);
        is(of(&ring), (16, 0, 5));
        reader.give_back();
        is(of(&ring), (16, 3, 5));
        assert_eq!((reader.skip(), reader.drain().count()), (13, 0));
        drop(reader);
        is(of(&ring), (16, 16, 5));
        ring.write(&[]).unwrap();
        is(of(&ring), (17, 16, 5));
        let others = ring.stats().filter(|(at, _)| *at != lane);
        assert!(others.map(|(_, stats)| stats).all(|stats| stats == LaneStats::default()));
        assert_eq!(ring.stats().count(), Area::global().lanes());
    });
}

#[test]
fn what_others_wrote_is_printed() {
    let ring = PerCpuRing::new(4096);
    ring.write(b"a secret").unwrap();
    let mut reader = ring.reader().unwrap();
    let record = reader.drain().next().unwrap();
    let text = format!("{ring:?} {record:?}");
    assert!(text.contains("len: 8") && text.contains("capacity: 4096"), "{text}");
    assert!(!text.contains("secret") && !text.contains("97"), "{text}");
}
