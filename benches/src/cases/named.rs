//! The crates and habits that people would pick instead, and where each is measured.
//!
//! The list is what the report promises: a test fails if a group lacks a peer that is promised here, or
//! if one is in no group without a reason.

/// What a user would pick instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    /// Crate, or habit.
    pub name: &'static str,
    /// Groups, and how it is called there.
    pub measured: &'static [(&'static str, &'static str)],
    /// Why it is in no group, or not in one where one may look for it. Empty where that is plain.
    pub reason: &'static str,
}

const fn named(
    name: &'static str,
    measured: &'static [(&'static str, &'static str)],
    reason: &'static str,
) -> Named {
    Named { name, measured, reason }
}

/// All of them.
pub const NAMED: [Named; 26] = [
    named(
        "one shared AtomicU64",
        &[
            ("add", "shared AtomicU64"),
            ("counter", "shared AtomicU64"),
            ("histogram", "shared AtomicU64 array"),
        ],
        "",
    ),
    named(
        "Vec<CachePadded<_>> + sched_getcpu",
        &[
            ("add", "CachePadded[sched_getcpu]"),
            ("sections", "CachePadded[sched_getcpu]"),
            ("counter", "CachePadded[sched_getcpu]"),
            ("allocate", "Box<[CachePadded<T>]>"),
            ("sum", "CachePadded array"),
            ("walk", "CachePadded blocks"),
            ("histogram", "AtomicU64 array[sched_getcpu]"),
            ("pool", "Mutex<Vec>[sched_getcpu]"),
            ("ring", "Mutex<VecDeque>[sched_getcpu]"),
            ("reclaim", "epoch::Atomic<[CachePadded]>"),
            ("rwlock", "RwLock[sched_getcpu]"),
        ],
        "A count of references by CPU has no simple shape: whoever takes the last one must know it.",
    ),
    named(
        "cache-padded",
        &[("add", "cache-padded[sched_getcpu]")],
        "Its layout is that of CachePadded.",
    ),
    named("libc sched_getcpu", &[("current_cpu", "libc sched_getcpu")], ""),
    named(
        "thread_local::ThreadLocal",
        &[
            ("current_cpu", "ThreadLocal::get_or_default"),
            ("add", "ThreadLocal"),
            ("counter", "ThreadLocal"),
            ("histogram", "ThreadLocal<Mutex<hdrhistogram>>"),
            ("pool", "ThreadLocal<RefCell<Vec>>"),
            ("ring", "ThreadLocal<Mutex<VecDeque>>"),
        ],
        "Not in sum and walk: it has a value a thread, and not one a CPU.",
    ),
    named(
        "std::thread_local!",
        &[
            ("current_cpu", "std thread_local"),
            ("add", "std thread_local Cell"),
            ("counter", "std thread_local Cell"),
            ("histogram", "std thread_local hdrhistogram"),
            ("pool", "thread_local RefCell<Vec>"),
            ("ring", "thread_local private copy (wrong)"),
        ],
        "Nobody else can read it, so it is in no scene in which somebody does.",
    ),
    named("contatori", &[("add", "contatori"), ("counter", "contatori")], "Counters only."),
    named(
        "fast-counter",
        &[("add", "fast-counter"), ("counter", "fast-counter")],
        "Counters only.",
    ),
    named(
        "crossbeam_utils::sync::ShardedLock",
        &[("rwlock", "ShardedLock"), ("reclaim", "ShardedLock<Arc<[CachePadded]>>")],
        "",
    ),
    named(
        "std RwLock, Mutex",
        &[
            ("rwlock", "std RwLock"),
            ("rwlock", "std Mutex"),
            ("reclaim", "RwLock<Arc<[CachePadded]>>"),
            ("pool", "Mutex<Vec>"),
            ("ring", "Mutex<VecDeque>"),
        ],
        "",
    ),
    named(
        "parking_lot",
        &[("rwlock", "parking_lot RwLock"), ("pool", "parking_lot Mutex<Vec>")],
        "",
    ),
    named(
        "region_local",
        &[],
        "A value for each NUMA node, which all its threads share: with one node that is the shared \
         AtomicU64 of these groups. Its 1.0 wants a newer Rust than this workspace (1.86), and the last \
         version that does not brings a parser of Rust along.",
    ),
    named("sharded-slab", &[("pool", "sharded-slab")], ""),
    named("opool", &[("pool", "opool")], ""),
    named("object-pool", &[("pool", "object-pool")], ""),
    named("lockfree-object-pool", &[("pool", "lockfree-object-pool")], ""),
    named(
        "crossbeam_queue::ArrayQueue",
        &[("pool", "ArrayQueue"), ("pool", "ArrayQueue[sched_getcpu]"), ("ring", "ArrayQueue")],
        "",
    ),
    named(
        "crossbeam_queue::SegQueue",
        &[("pool", "SegQueue")],
        "Not in ring: it has no bound, and a trace must.",
    ),
    named("rtrb", &[("ring", "rtrb (one of its own a thread)")], ""),
    named("ringbuf", &[("ring", "ringbuf (one of its own a thread)")], ""),
    named("thingbuf", &[("ring", "thingbuf")], ""),
    named("Arc, triomphe::Arc", &[("refcount", "Arc"), ("refcount", "triomphe::Arc")], ""),
    named("arc-swap", &[("reclaim", "ArcSwap<[CachePadded]>")], ""),
    named("crossbeam-epoch", &[("reclaim", "epoch::Atomic<[CachePadded]>")], ""),
    named(
        "hdrhistogram, histogram, prometheus-client",
        &[
            ("histogram", "Mutex<hdrhistogram>"),
            ("histogram", "histogram::AtomicHistogram"),
            ("histogram", "prometheus-client"),
        ],
        "",
    ),
    named(
        "percpu, percore, cpu-local",
        &[],
        "For kernels and firmware: they need to know the CPU by a register that user space does not \
         have, or interrupts that can be switched off.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;

    #[test]
    fn every_promised_peer_is_in_its_group_and_the_others_have_a_reason() {
        for Named { name, measured, reason } in NAMED {
            assert!(!measured.is_empty() || !reason.is_empty(), "{name}: why not?");
            for (group, peer) in measured {
                let list = cases::group(group).expect("a group").list;
                let there = list.iter().any(|case| case.peer() == *peer);
                assert!(there, "{name}: no {peer:?} in {group}");
            }
        }
    }

    #[test]
    fn nobody_is_named_twice() {
        let mut names = NAMED.map(|named| named.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }
}
