//! Writes that are cut off at every point.

use crate::pinned;
use corelocal::testing::{self, Config, Disturbance};
use corelocal::{Backend, PerCpuRing, backend};

/// Each way to be cut off, at each point of the section: the record is there once, and whole.
#[test]
fn a_write_that_is_cut_off_is_torn_or_done_twice() {
    for point in 0..=8 {
        for what in [Disturbance::Signal, Disturbance::Yield, Disturbance::Migrate] {
            let ring = PerCpuRing::new(1 << 14);
            let write = || {
                for len in 0..40_u8 {
                    ring.write_at(len.into(), &vec![len; 3 * usize::from(len)]).unwrap();
                }
            };
            testing::with(Config::new().at(point, what), write);
            let mut reader = ring.reader().unwrap();
            let mut records: Vec<_> = reader.drain().collect();
            records.sort_by_key(|record| record.time());
            assert_eq!(records.len(), 40, "{what:?} at {point}");
            for (record, len) in records.iter().zip(0_u8..) {
                let bytes = vec![len; 3 * usize::from(len)];
                assert_eq!((record.time(), record.bytes()), (Some(len.into()), &bytes[..]));
            }
        }
    }
}

/// Cut off again and again, as under a debugger: the record goes to the spill lane, and is read.
#[test]
fn a_write_that_never_gets_through_is_lost() {
    pinned(|| {
        let ring = PerCpuRing::new(1 << 12);
        let config = Config::new().at(7, Disturbance::Signal).first_attempts(64);
        let lane = testing::with(config, || ring.write(b"debugged").unwrap());
        assert_eq!(lane.is_spill(), backend() == Backend::Rseq);
        let mut reader = ring.reader().unwrap();
        let record = reader.drain().next().unwrap();
        assert_eq!((record.bytes(), record.lane()), (&b"debugged"[..], lane));
    });
}

/// A full CPU does not fill the spill lane, or other CPUs: the newest is dropped where it belongs.
#[test]
fn a_thread_without_a_cpu_has_no_ring() {
    pinned(|| {
        let ring = PerCpuRing::new(256);
        let nowhere = || Config::new().cpu_id(None);
        let lane = testing::with(nowhere(), || {
            let lane = ring.write(b"nowhere").unwrap();
            while ring.write(&[0; 48]).is_ok() {}
            lane
        });
        assert_eq!(ring.dropped(), 1);
        assert_eq!(lane.is_spill(), backend() == Backend::Rseq);
        let mut reader = ring.reader().unwrap();
        let first = reader.drain().next().unwrap();
        assert_eq!((first.bytes(), first.lane()), (&b"nowhere"[..], lane));
    });
}
