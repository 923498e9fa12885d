//! Objects on threads whose CPU id is anything at all: no id costs an update, or safety.
#![cfg(all(feature = "testing", feature = "std", target_os = "linux"))]

mod common;

use corelocal::bitmap::AtomicBitmap;
use corelocal::testing::{Config, with};
use corelocal::{Area, Backend, CpuId, Lane, Moved, PerCpu, PerCpuCell, backend, per_cpu};
use std::collections::BTreeSet;
use std::sync::Barrier;

per_cpu! { static HITS: PerCpuCell<u64>; }

fn machine() -> u32 {
    Area::global().lanes() as u32 - 1
}

/// Objects of the default area, and of one with more lanes than the machine has CPUs.
fn objects() -> [PerCpu<PerCpuCell<u64>>; 2] {
    let area = Area::builder().cpus(machine() + 60).build().unwrap();
    [PerCpu::zeroed(), area.try_alloc_zeroed().unwrap()]
}

/// A5, <https://github.com/google/tcmalloc/issues/267>: ids beyond the lanes that were counted at
/// the start go to the spill lane, and the sum stays exact.
#[test]
fn a_cpu_that_was_added_later_counts_on_the_spill_lane() {
    for object in objects() {
        for (id, times) in [machine(), machine() + 5, 1 << 20, u32::MAX].into_iter().zip(1..) {
            with(Config::new().cpu_id(Some(id)), || {
                object.add(1);
                assert!(object.here().0.is_spill(), "CPU {id}");
                assert_eq!(object.this().load(), times);
                assert_eq!(object.add_on(CpuId::new(id), 1), Err(Moved));
            });
            assert_eq!((object.sum(), object.spill().load()), (times, times));
        }
        let none = CpuId::new(object.cpus() as u32);
        assert!(object.get(none).is_none(), "an object keeps the lanes that it has");
    }
}

/// A9, <https://github.com/ibm-power-utilities/powerpc-utils/pull/104>: whichever ids come, each
/// goes to a lane of its own. (With sections only a thread that really is on a CPU stores to its
/// lane; one that cannot go there adds to the spill lane.)
#[test]
fn every_id_has_a_lane_of_its_own() {
    let check = |object: &PerCpu<PerCpuCell<u64>>| {
        let mut spilled = 0;
        for id in 0..machine() {
            let there = backend() != Backend::Rseq || common::pin(id).is_ok();
            with(Config::new().cpu_id(Some(id)), || {
                object.add(u64::from(id) + 1);
                assert_eq!(object.here().0.cpu(), Some(CpuId::new(id)));
                let moved = object.add_on(CpuId::new(id), 0);
                assert_eq!(moved, if there { Ok(()) } else { Err(Moved) });
            });
            let on = object.get(CpuId::new(id)).map(PerCpuCell::load);
            assert_eq!(on, Some(if there { u64::from(id) + 1 } else { 0 }));
            spilled += if there { 0 } else { u64::from(id) + 1 };
        }
        assert_eq!(object.spill().load(), spilled);
    };
    let body = move || objects().iter().for_each(check);
    std::thread::spawn(body).join().unwrap();
}

/// A12, <https://github.com/dotnet/runtime/issues/31995>: threads whose CPU is not known do not all
/// share a lane. (On a machine with one CPU lane they must.)
#[test]
fn threads_whose_cpu_is_not_known_are_spread() {
    let object = PerCpu::<PerCpuCell<u64>>::zeroed();
    let meet = Barrier::new(64);
    let lanes: BTreeSet<usize> = std::thread::scope(|scope| {
        let work = || {
            meet.wait();
            with(Config::new().cpu_id(None), || {
                let lane = object.here().0;
                (0..100).for_each(|_| object.add(1));
                assert_eq!(object.here().0, lane, "a thread stays where it is");
                assert_eq!(object.add_on(lane.cpu().unwrap(), 1), Err(Moved));
                lane.index()
            })
        };
        let threads: Vec<_> = (0..64).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(object.sum(), 6400);
    assert!(lanes.len() > 1 || machine() == 1, "all on {lanes:?}");
}

/// D10, <https://github.com/compudj/librseq/issues/17>: known and unknown ids in one process, one
/// thread, one object.
#[test]
fn ids_that_come_and_go_lose_no_update() {
    let object = PerCpu::<PerCpuCell<u64>>::zeroed();
    let ids = [Some(0), None, Some(machine()), Some(u32::MAX), Some(0), None, None];
    let before = HITS.sum();
    with(Config::new().cpu_ids(ids), || {
        for _ in 0..1000 {
            object.add(3);
            object.dec();
            HITS.inc();
            let (lane, before) = object.fetch_add(1);
            assert_eq!(object.lane(lane).unwrap().load(), before.wrapping_add(1));
        }
    });
    assert_eq!((object.sum(), HITS.sum() - before), (3000, 1000));
}

/// The thread is moved between the questions that `add_on` asks.
#[test]
fn add_on_changes_nothing_where_the_thread_is_moved_meanwhile() {
    let [object, _] = objects();
    let elsewhere = Some(machine());
    for ids in [[elsewhere, Some(0)], [Some(0), elsewhere], [None, Some(0)], [Some(0), None]] {
        with(Config::new().cpu_ids(ids), || {
            let _ = object.add_on(CpuId::new(0), 1);
        });
        let on = object.get(CpuId::new(0)).unwrap().load();
        assert_eq!(object.sum(), on, "added to another lane: {ids:?}");
    }
}

/// M6, <https://github.com/Amanieu/thread_local-rs/issues/88>: as the documentation of `Iter` says.
#[test]
fn a_walk_over_the_lanes_that_were_used_misses_one() {
    for object in objects() {
        let used = AtomicBitmap::new(object.lanes());
        let ids = [Some(0), None, Some(machine()), Some(u32::MAX), Some(machine() + 7)];
        std::thread::scope(|scope| {
            for first in 0..4 {
                let (object, used) = (&object, &used);
                scope.spawn(move || {
                    let ids = ids.into_iter().cycle().skip(first).take(5);
                    with(Config::new().cpu_ids(ids), || {
                        for _ in 0..1000 {
                            let (lane, before) = object.fetch_add(1);
                            if before == 0 {
                                used.set(lane.index());
                            }
                        }
                    });
                });
            }
        });
        let walked: Vec<Lane> =
            used.iter().filter_map(|index| Lane::of_index(index, object.cpus() as u32)).collect();
        let nonzero = object.iter().filter(|(_, copy)| copy.load() > 0).map(|(lane, _)| lane);
        assert_eq!(walked, nonzero.collect::<Vec<_>>());
        let sum: u64 = walked.iter().map(|lane| object.lane(*lane).unwrap().load()).sum();
        assert_eq!((sum, used.count()), (4000, walked.len()));
    }
}
