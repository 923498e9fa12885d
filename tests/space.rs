//! Memory: what objects cost, what untouched lanes do not cost, and what the system is asked for.
//!
//! Each measurement is a process of its own, so that no other test's memory is in its figures.
#![cfg(all(feature = "std", target_os = "linux"))]

mod common;

use common::{allowed, alone, pin, resident, skip, smap};
use corelocal::bytemuck::Zeroable;
use corelocal::{AllocError, Area, PerCpu, PerCpuCell};

fn area(cpus: u32) -> Area {
    Area::builder().cpus(cpus).build().expect("as many as this machine has, or more")
}

/// A vector whose memory is resident before anything is measured.
fn room<T>(len: usize, filler: impl Fn() -> T) -> Vec<T> {
    let mut room: Vec<T> = (0..len).map(|_| filler()).collect();
    room.clear();
    room
}

/// Bytes that became resident while `body` ran; what it returns is dropped after the measurement.
fn growth<R>(body: impl FnOnce() -> R) -> (usize, R) {
    resident(); // the buffers of the measurement itself
    let before = resident();
    let made = body();
    (resident().saturating_sub(before), made)
}

fn address<T>(object: &PerCpu<T>) -> usize {
    std::ptr::from_ref(object.spill()).addr()
}

/// E2, <https://github.com/cilium/tetragon/issues/4394>: 10 000 counters, touched in every lane, at
/// 10 bytes a lane each with everything that the allocator keeps about them.
#[test]
fn many_small_objects_do_not_take_a_line_each() {
    const OBJECTS: usize = 10_000;
    alone("many_small_objects_do_not_take_a_line_each", || {
        for cpus in [0, 64] {
            let area = area(cpus);
            let most = 10 * OBJECTS * area.lanes();
            let mut kept: Vec<PerCpu<PerCpuCell<u64>>> = room(OBJECTS, PerCpu::zeroed);
            let (grown, ()) = growth(|| {
                kept.extend((0..OBJECTS).map(|i| {
                    area.try_alloc(|lane| PerCpuCell::new((i + lane.index()) as u64)).unwrap()
                }));
            });
            let stats = area.stats();
            let by_stats = stats.live + stats.bookkeeping;
            let each = |bytes: usize| bytes as f64 / (OBJECTS * area.lanes()) as f64;
            println!(
                "{} lanes: {:.2} bytes a lane each by AreaStats, {:.2} resident, {:.2} reserved",
                area.lanes(),
                each(by_stats),
                each(grown),
                each(stats.reserved)
            );
            assert!(by_stats <= most && grown <= most, "{by_stats} and {grown} of {most}");
            assert!(stats.live == 8 * OBJECTS * area.lanes());
        }
    });
}

/// J5, <https://github.com/official-stockfish/Stockfish/pull/466>.
#[test]
fn zeroed_memory_is_not_touched() {
    const LANE: usize = 1 << 20;
    alone("zeroed_memory_is_not_touched", || {
        let area = area(64);
        let (grown, object) = growth(|| area.try_alloc_zeroed::<[u8; LANE]>().unwrap());
        println!("1 MiB over {} lanes: {} KiB resident", object.lanes(), grown >> 10);
        assert!(grown < LANE, "{grown} bytes");
        let (grown, uninit) = growth(|| area.try_alloc_uninit::<[u8; LANE]>().unwrap());
        assert!(grown < LANE, "{grown} bytes");
        drop(uninit);
        assert!(object.iter().all(|(_, bytes)| bytes[LANE - 1] == 0));
    });
}

type Block = [PerCpuCell<u64>; 512];

/// Objects until there are `len`; each is zero, and then written on each of `cpus`.
fn fill(objects: &mut Vec<PerCpu<Block>>, area: &Area, len: usize, cpus: &[u32]) {
    let before = objects.len();
    objects.extend((before..len).map(|_| area.try_alloc_zeroed::<Block>().unwrap()));
    for (object, at) in objects[before..].iter().zip(0..) {
        let dirty = object.iter().find(|(_, block)| block[at % 512].load() != 0);
        assert!(dirty.is_none(), "object {at} of {before}.., {:?}", dirty.map(|(lane, _)| lane));
    }
    for &cpu in cpus {
        pin(cpu).expect("an allowed CPU");
        for object in &objects[before..] {
            (0..512).for_each(|i| object.index(i).unwrap().inc());
        }
    }
}

/// E1, <https://github.com/trailofbits/ebpfpub/issues/42>: 240 possible CPUs, 2 in use, also where
/// the memory was used before (read-first clearing).
#[test]
fn lanes_of_cpus_that_are_not_there_cost_no_memory() {
    const OBJECTS: usize = 1000;
    /// Fewer than lie in one chunk: of these one stays, so that the chunk does.
    const STAYS: usize = 12;
    alone("lanes_of_cpus_that_are_not_there_cost_no_memory", || {
        let area = area(240);
        let cpus = &allowed()[..allowed().len().min(2)];
        let most = 3 * cpus.len() * OBJECTS * size_of::<Block>();
        let mut kept: Vec<PerCpu<Block>> = room(OBJECTS, || area.try_alloc_zeroed().unwrap());
        assert!(area.stats().chunks <= 1, "nothing is in force before, but the spare chunk");
        let (grown, ()) = growth(|| fill(&mut kept, &area, OBJECTS, cpus));
        println!("new: {} KiB of at most {} KiB", grown >> 10, most >> 10);
        assert!(grown < most, "{grown} bytes, {} CPUs in use", cpus.len());
        let (chunks, mut index) = (area.stats().chunks, 0);
        let (more, ()) = growth(|| {
            kept.retain(|_| {
                index += 1;
                index % STAYS == 0
            });
            assert_eq!(area.stats().chunks, chunks, "the same memory is used again");
            fill(&mut kept, &area, OBJECTS, cpus);
        });
        println!("reused: {} KiB more", more >> 10);
        assert!(grown + more < most, "{grown} bytes and {more}");
        assert_eq!(area.stats().chunks, chunks, "the same memory was used again");
        kept.clear();
        let (more, ()) = growth(|| fill(&mut kept, &area, OBJECTS, cpus));
        println!("given back, and new again: {} KiB", more >> 10);
        assert!(more < most, "{more} bytes");
    });
}

#[test]
fn reused_memory_keeps_untouched_lanes_uncommitted() {
    alone("reused_memory_keeps_untouched_lanes_uncommitted", || {
        let area = area(240);
        // The first object keeps the chunk, so that its neighbour's memory is used again.
        let first = area.try_alloc_zeroed::<Block>().unwrap();
        let second = area.try_alloc_zeroed::<Block>().unwrap();
        let at = address(&second);
        second.index(0).unwrap().add(1);
        drop(second);
        let (grown, again) = growth(|| area.try_alloc_zeroed::<Block>().unwrap());
        assert_eq!(address(&again), at, "the same memory");
        assert!(again.iter().all(|(_, block)| block.iter().all(|word| word.load() == 0)));
        println!("an object of 4 KiB made of used memory over 241 lanes: {} KiB", grown >> 10);
        assert!(grown <= 512 << 10, "{grown} bytes, where one page a lane is 964 KiB");
        drop((first, again));
    });
}

/// E4, <https://github.com/symmetryinvestments/symgc/issues/37>, and E5,
/// <https://github.com/openjdk/jdk/pull/14919>: reserved without charge, and no huge pages.
#[test]
fn mappings_are_not_charged_and_take_no_huge_pages() {
    alone("mappings_are_not_charged_and_take_no_huge_pages", || {
        let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory");
        let strict = overcommit.is_ok_and(|mode| mode.trim() == "2");
        let has = |flags: &[String], flag: &str| flags.iter().any(|one| one == flag);
        let area = area(64);
        let small = area.try_alloc(|_| PerCpuCell::new(1_u64)).unwrap();
        let second = area.try_alloc(|_| [1_u64; 4096]).unwrap();
        let own = area.try_alloc_zeroed::<[PerCpuCell<u64>; 1 << 20]>().unwrap();
        (0..1 << 20).step_by(512).for_each(|i| own.index(i).unwrap().inc());
        // What the system does for every mapping of this process tells nothing about ours.
        let heap = vec![1_u8; 8 << 20];
        let others = smap(heap.as_ptr().addr() + (4 << 20));
        for at in [address(&small), address(&second), address(&own)] {
            let ours = smap(at);
            if strict {
                skip("mappings_are_not_charged", "strict overcommit charges every mapping");
            } else {
                assert!(has(&ours.flags, "nr"), "charged: {:?}", ours.flags);
                assert!(!has(&others.flags, "nr"), "the test proves nothing");
            }
            if cfg!(not(miri))
                && std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists()
            {
                assert!(has(&ours.flags, "nh"), "not opted out: {:?}", ours.flags);
                assert_eq!(ours.anon_huge_kib, 0);
            }
        }
        let huge = Area::builder().huge_pages(true).build().unwrap();
        let asked = smap(address(&huge.try_alloc_zeroed::<u64>().unwrap()));
        assert!(!has(&asked.flags, "nh"), "asked for, and opted out: {:?}", asked.flags);
    });
}

/// M2, <https://github.com/xacrimon/dashmap/issues/158>: the number of lanes and the most address
/// space are the user's to choose.
#[test]
fn an_area_at_its_capacity_refuses_and_works_again_after_a_free() {
    const CAPACITY: usize = 32 << 20;
    let area = Area::builder().cpus(64).capacity(CAPACITY).build().unwrap();
    let full = AllocError::AreaFull { capacity: CAPACITY };
    for _ in 0..3 {
        let mut objects = Vec::new();
        let error = loop {
            match area.try_alloc_zeroed::<[u64; 128]>() {
                Ok(object) => objects.push(object),
                Err(error) => break error,
            }
        };
        assert_eq!(error, full);
        let stats = area.stats();
        assert!(stats.reserved <= CAPACITY && stats.live <= CAPACITY, "{stats:?}");
        assert!(stats.live * 10 > CAPACITY * 7, "refused long before it was full: {stats:?}");
        assert_eq!(area.try_alloc_zeroed::<[u64; 1 << 20]>().unwrap_err(), full);
        // A refused object of a class of its own took nothing.
        assert_eq!(area.stats(), stats);
        objects.swap_remove(objects.len() / 2);
        objects.push(area.try_alloc_zeroed().expect("the place of the one that was freed"));
        drop(objects);
        assert_eq!((area.stats().live, area.stats().chunks), (0, 1));
    }
    let none = Area::builder().capacity(0).build().unwrap();
    let error = none.try_alloc(|_| -> u8 { panic!("called") }).unwrap_err();
    assert_eq!(error, AllocError::AreaFull { capacity: 0 });
    assert_eq!((none.stats().reserved, none.stats().live), (0, 0));
}

/// A5, <https://github.com/google/tcmalloc/issues/267>: what a program that never asks for more
/// lanes gets is one for each CPU that the machine can ever have, and the spill lane.
#[test]
fn the_default_area_has_a_lane_for_every_possible_cpu() {
    let machine = corelocal::Topology::current();
    let lanes = Area::global().lanes();
    assert_eq!(lanes, machine.cpus() as usize + 1);
    let cell = PerCpu::<PerCpuCell<u8>>::zeroed();
    assert!(machine.possible().iter().all(|cpu| cell.get(cpu).is_some()));
}

/// Zeroed objects are zero, also in memory that held something else, in every class of size.
#[test]
fn memory_that_is_used_again_is_zero() {
    fn check<T: Zeroable + 'static>(
        area: &Area,
        is_zero: impl Fn(&T) -> bool,
        dirt: impl Fn() -> T,
    ) {
        let stays = area.try_alloc(|_| dirt()).unwrap();
        let at: Vec<usize> = (0..3)
            .map(|_| area.try_alloc(|_| dirt()).unwrap())
            .map(|object| address(&object))
            .collect();
        let again = area.try_alloc_zeroed::<T>().unwrap();
        assert!(at.contains(&address(&again)) || size_of::<T>() > 1 << 16, "the same memory");
        assert!(again.iter().all(|(_, value)| is_zero(value)));
        assert!(!is_zero(stays.spill()));
    }
    for cpus in [0, 64] {
        let area = area(cpus);
        check::<u8>(&area, |byte| *byte == 0, || 0xff);
        check::<[u8; 13]>(&area, |bytes| *bytes == [0; 13], || [0xff; 13]);
        check::<[u64; 100]>(&area, |words| *words == [0; 100], || [u64::MAX; 100]);
        check::<[u8; 9001]>(&area, |bytes| *bytes == [0; 9001], || [0xff; 9001]);
        check::<[u8; 70_001]>(&area, |bytes| *bytes == [0; 70_001], || [0xff; 70_001]);
    }
}
