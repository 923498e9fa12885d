//! What an operation reads and writes, told by the accesses that it makes.

use crate::{claimed, each_layout, level, mask};
use corelocal::priority::observed::{Access, AccessKind, Observed, observe};
use corelocal::priority::{Layout, Part};
use corelocal::{ByCpu, CpuId, CpuMask, Packed, Padded, PriorityVec, Split};
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static SEEN: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
}

/// The accesses that `operation` makes.
fn accesses(operation: impl FnOnce()) -> Vec<Access> {
    let before = observe(Some(|access| SEEN.with_borrow_mut(|seen| seen.push(access))));
    operation();
    observe(before);
    SEEN.take()
}

fn of_kind(accesses: &[Access], kind: AccessKind) -> usize {
    accesses.iter().filter(|access| access.kind == kind).count()
}

/// K6: nobody's line moves for a change that is none.
#[test]
fn a_level_that_is_set_again_writes_nothing() {
    each_layout!(L => {
        let (_vector, mut slots) = claimed::<L, 101, Observed>(&[0, 1]);
        for to in [level(0), level(100), corelocal::Priority::INVALID] {
            slots[0].set(to).unwrap();
            let seen = accesses(|| slots[0].set(to).unwrap());
            assert_eq!(of_kind(&seen, AccessKind::Load), seen.len(), "{seen:?}");
            // At most a pointer, and the CPU's own level behind it.
            assert!(seen.len() <= if L::NAME == "ByCpu" { 0 } else { 2 }, "{seen:?}");
        }
    });
}

#[test]
fn a_change_is_one_update_or_four() {
    each_layout!(L => {
        let (_vector, mut slots) = claimed::<L, 101, Observed>(&[0, 1]);
        let is_by_cpu = L::NAME == "ByCpu";
        let mut change = |to| {
            let seen = accesses(|| slots[0].set(to).unwrap());
            (of_kind(&seen, AccessKind::Update), of_kind(&seen, AccessKind::Store))
        };
        let stores = usize::from(!is_by_cpu);
        let (half, whole) = if is_by_cpu { (1, 1) } else { (2, 4) };
        assert_eq!(change(level(3)), (half, stores), "out of nothing");
        assert_eq!(change(level(99)), (whole, stores));
        assert_eq!(change(level(0)), (whole, stores));
        assert_eq!(change(corelocal::Priority::INVALID), (half, stores), "into nothing");
    });
}

/// Counts that a search with priority 100 reads when the lowest CPU is at `at`.
fn counts_read<L: Layout>(at: u8) -> usize {
    let (vector, mut slots) = claimed::<L, 101, Observed>(&[0, 1, 2]);
    slots[0].set(level(at)).unwrap();
    slots[1].set(level(100)).unwrap();
    let mut found = CpuMask::new();
    let seen = accesses(|| {
        vector.find(level(100), &mask("0-2"), &mut found);
    });
    let counts: Vec<usize> = vector
        .fields()
        .iter()
        .filter(|field| field.name.starts_with("count["))
        .map(|field| field.address)
        .collect();
    seen.iter().filter(|access| counts.contains(&access.address)).count()
}

#[test]
fn a_search_by_level_reads_a_count_for_each_level_up_to_the_answer() {
    for at in [0, 1, 50, 99] {
        let expected = usize::from(at) + 1;
        assert_eq!(counts_read::<Packed>(at), expected);
        assert_eq!(counts_read::<Padded>(at), expected);
        assert_eq!(counts_read::<Split>(at), expected);
    }
    assert_eq!(counts_read::<Packed>(100), 100, "nobody is below: each level once");
}

/// Shards that an operation reads.
fn shards_read(vector: &PriorityVec<ByCpu, 101, Observed>, operation: impl FnOnce()) -> usize {
    let seen = accesses(operation);
    let shards = vector.fields().into_iter().filter(|field| field.part == Part::Masks);
    let shards: Vec<_> = shards.map(|f| f.address..f.address + f.bytes).collect();
    let at = |access: &Access| shards.iter().position(|shard| shard.contains(&access.address));
    let lanes: Vec<_> = seen.iter().filter(|access| at(access).is_some()).collect();
    let once: BTreeSet<_> = lanes.iter().map(|access| access.address).collect();
    assert_eq!(once.len(), lanes.len(), "each word is read once: {lanes:?}");
    seen.iter().filter_map(at).collect::<BTreeSet<_>>().len()
}

#[test]
fn a_search_by_cpu_reads_the_shards_of_the_allowed_cpus() {
    let ids: Vec<u32> = (0..480).collect();
    let (vector, mut slots) = claimed::<ByCpu, 101, Observed>(&ids);
    for slot in &mut slots {
        slot.set(level(99)).unwrap();
    }
    let mut found = CpuMask::with_bound(480);
    for (allowed, shards) in [("0-479", 8), ("64-71", 1), ("60-67", 2), ("479", 1), ("600", 0)] {
        for asked in [level(1), level(99), level(100)] {
            let read = shards_read(&vector, || {
                vector.find(asked, &mask(allowed), &mut found);
            });
            assert_eq!(read, shards, "{allowed}, however low or high the answer");
        }
    }
}

#[test]
fn a_search_for_one_ends_where_somebody_near_is_idle() {
    let ids: Vec<u32> = (0..480).collect();
    let (vector, mut slots) = claimed::<ByCpu, 101, Observed>(&ids);
    for slot in &mut slots {
        slot.set(level(99)).unwrap();
    }
    slots[300].set(level(0)).unwrap();
    slots[10].set(level(0)).unwrap();
    let all = CpuMask::first_cpus(480);
    let read = |near| {
        shards_read(&vector, || {
            vector.find_any(level(100), &all, CpuId::new(near));
        })
    };
    assert_eq!(read(310), 1, "its own shard");
    assert_eq!(read(200), 2, "3, then 4");
    assert_eq!(read(330), 4, "5, 6, 7, then 0");
    slots[300].set(level(1)).unwrap();
    slots[10].set(level(1)).unwrap();
    let read = shards_read(&vector, || {
        vector.find_any(level(100), &all, CpuId::new(310));
    });
    assert_eq!(read, 8, "nobody is idle: everybody may be lower");
}
