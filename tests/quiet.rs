//! What the crate does not do behind one's back: take from the heap, print, insist.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "counts what the heap is asked for, and refuses system calls")]

mod common;

use common::{checked, child, is_child};
use corelocal::{Area, CpuId, PerCpu, PerCpuCell, counters, per_cpu};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

/// The system's heap, with a count of what each thread asked of it.
struct Counting;

thread_local! { static ASKED: Cell<u64> = const { Cell::new(0) }; }

// SAFETY: passes everything on to the system's allocator, and counts without allocating.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| asked.set(asked.get() + 1));
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static HEAP: Counting = Counting;

per_cpu! { static SERVED: PerCpuCell<u64>; }
counters! { struct Stats { reads: u64, writes: u64 } }

/// One of every operation that a hot path may contain.
fn everything(hits: &PerCpu<PerCpuCell<u64>>, stats: &PerCpu<Stats>) {
    hits.add(1);
    hits.sub(1);
    let _ = black_box((hits.fetch_add(1), hits.swap(1), hits.compare_exchange(1, 2)));
    black_box(hits.add_on(CpuId::new(0), 1).is_ok());
    black_box((hits.sum(), hits.this().load(), hits.here().0, hits.spill().load()));
    black_box(hits.get(CpuId::new(0)).map(PerCpuCell::load));
    black_box(hits.iter().map(|(_, cell)| cell.load()).sum::<u64>());
    stats.at(Stats::WRITES).inc();
    black_box((stats.at(Stats::WRITES).sum(), stats.this().reads.load()));
    SERVED.add(1);
    black_box(SERVED.sum());
}

/// Also histograms: records, and snapshots in the place of earlier ones.
#[test]
fn histograms_take_nothing_from_the_heap() {
    use corelocal::histogram::{Fixed, LogLinear, WithSum};
    static SIZES: corelocal::StaticHistogram<496> = corelocal::StaticHistogram::new(LogLinear);
    let mut snapshot = SIZES.snapshot();
    let mut work = || {
        SIZES.record(black_box(1500));
        SIZES.snapshot_into(&mut snapshot);
        let own = corelocal::PerCpuHistogram::<3, _>::new(WithSum(Fixed::new(&[10, 20])));
        own.record_n(15, 3);
        assert!(snapshot.quantile(1.0).is_ok_and(|range| range.contains(&1500)));
        black_box((snapshot.cumulative().count(), snapshot.mean(), snapshot.sum_bounds()));
    };
    work(); // what is found out once a process is found out here
    let before = ASKED.with(Cell::get);
    (0..1000).for_each(|_| work());
    assert_eq!(ASKED.with(Cell::get) - before, 0, "requests to the heap");
}

/// M4, <https://github.com/golang/go/issues/18802>: all that is allocated is allocated when an
/// object is made. And that is not taken from the heap, which may itself be built on the crate.
#[test]
fn operations_take_nothing_from_the_heap() {
    let (hits, stats) = (PerCpu::zeroed(), PerCpu::<Stats>::zeroed());
    let work = || {
        everything(&hits, &stats);
        drop(black_box(PerCpu::<[u64; 8]>::new(|lane| [lane.index() as u64; 8])));
        drop(black_box(PerCpu::<[u64; 1000]>::zeroed()));
    };
    work(); // what is found out once a process is found out here
    let before = ASKED.with(Cell::get);
    (0..1000).for_each(|_| work());
    assert_eq!(ASKED.with(Cell::get) - before, 0, "requests to the heap");
    drop(black_box(vec![1]));
    assert_eq!(ASKED.with(Cell::get) - before, 1, "requests are counted");
}

/// Also counters: updates, sums, takes, and additions up to a limit and beyond.
#[test]
fn counters_take_nothing_from_the_heap() {
    let counters = corelocal::CounterSet::try_new(2000).expect("there is memory");
    let batched = corelocal::BatchedCounter::new();
    let work = || {
        let counter = counters.get(1999).expect("there are 2000");
        counter.add(3);
        assert_eq!((counter.sum(), counter.take()), (3, 3));
        batched.add(100);
        assert!(batched.limited_add(1, 200).is_ok() && batched.limited_add(150, 200).is_err());
        assert!(batched.compare(101).is_eq() && batched.read() <= 200);
        batched.sub(101);
        let gauge = corelocal::PerCpuGauge::new();
        gauge.dec();
        assert_eq!(gauge.sum(), -1);
    };
    work(); // what is found out once a process is found out here
    let before = ASKED.with(Cell::get);
    (0..1000).for_each(|_| work());
    assert_eq!(ASKED.with(Cell::get) - before, 0, "requests to the heap");
}

/// Calls about memory policy that were answered with EPERM.
#[cfg(target_arch = "x86_64")]
mod policy {
    use super::checked;
    use std::sync::atomic::{AtomicU32, Ordering};

    static REFUSED: AtomicU32 = AtomicU32::new(0);

    pub(crate) fn refused() -> u32 {
        REFUSED.load(Ordering::Relaxed)
    }

    extern "C" fn refuse(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
        REFUSED.fetch_add(1, Ordering::Relaxed);
        let context: *mut libc::ucontext_t = context.cast();
        // SAFETY: the kernel hands a handler the context that it interrupted.
        let registers = unsafe { &mut (*context).uc_mcontext.gregs };
        registers[libc::REG_RAX as usize] = -i64::from(libc::EPERM);
    }

    /// From here on this thread's calls about memory policy are refused, and counted.
    pub(crate) fn refuse_all() {
        // SAFETY: an action of zeros is a valid one.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = refuse as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler does nothing but atomics, and lives as long as the process.
        checked(unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) })
            .unwrap();
        let statement = |code: u32, k| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
        let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
        let calls = [
            libc::SYS_mbind,
            libc::SYS_set_mempolicy,
            libc::SYS_get_mempolicy,
            libc::SYS_move_pages,
        ];
        for call in calls {
            let equal = statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32);
            program.push(libc::sock_filter { jf: 1, ..equal });
            program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_TRAP));
        }
        program.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW));
        let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: plain numbers.
        checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }).unwrap();
        let mode = libc::SECCOMP_MODE_FILTER;
        // SAFETY: `program` points to `len` instructions, which the kernel copies.
        checked(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) }).unwrap();
    }
}

/// Objects of every class, with and without values, by node where there are nodes.
#[cfg(target_arch = "x86_64")]
fn objects_of_every_kind() {
    let area = Area::builder().placement_by_node(true).build().unwrap();
    for number in 0..20_u64 {
        let small = area.try_alloc(|_| PerCpuCell::new(number)).unwrap();
        let large = area.try_alloc(|_| [number; 2000]).unwrap();
        let own = area.try_alloc_zeroed::<[u64; 20_000]>().unwrap();
        assert_eq!(small.sum(), number * small.lanes() as u64);
        assert!(large.iter().all(|(_, copy)| *copy == [number; 2000]));
        assert!(own.iter().all(|(_, copy)| copy[19_999] == 0));
    }
}

/// A machine of two nodes, so that there is a choice to be advised; the real one without the
/// feature `testing`.
#[cfg(all(target_arch = "x86_64", feature = "testing"))]
fn with_two_nodes(body: impl FnOnce()) {
    use corelocal::testing::{self, Config};
    let root = std::env::temp_dir().join(format!("corelocal-quiet-{}", std::process::id()));
    for (file, text) in [
        ("cpu/possible", "0-1\n"),
        ("cpu/online", "0-1\n"),
        ("node/online", "0-1\n"),
        ("node/node0/cpulist", "0\n"),
        ("node/node0/meminfo", "Node 0 MemTotal: 1000 kB\n"),
        ("node/node1/cpulist", "1\n"),
        ("node/node1/meminfo", "Node 1 MemTotal: 1000 kB\n"),
    ] {
        let path = root.join("sys/devices/system").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    testing::with(Config::new().topology_root(&root), || {
        assert_eq!(corelocal::Topology::current().nodes().len(), 2, "the machine is made up");
        body();
    });
    std::fs::remove_dir_all(root).unwrap();
}

#[cfg(all(target_arch = "x86_64", not(feature = "testing")))]
fn with_two_nodes(body: impl FnOnce()) {
    body();
}

/// J4, <https://github.com/numactl/numactl/pull/232>, and M9,
/// <https://github.com/novitalabs/pegaflow/pull/277>: placement is advice. Where it is refused, all
/// works, nothing is asked a second time, and nothing is printed.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_refused_memory_policy_costs_one_call_and_no_words() {
    let name = "a_refused_memory_policy_costs_one_call_and_no_words";
    if is_child(name) {
        return with_two_nodes(|| {
            policy::refuse_all();
            objects_of_every_kind();
            let wanted = if cfg!(feature = "testing") { 1..=1 } else { 0..=1 };
            assert!(wanted.contains(&policy::refused()), "{} calls", policy::refused());
        });
    }
    let done = child(name).output().expect("the test binary runs again");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}{said}", String::from_utf8_lossy(&done.stdout));
    assert_eq!(said, "", "printed to the standard error");
}
