//! Processes with less than usual: of address space, of memory, of CPUs.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "sets limits and mounts in a child")]

mod common;

use common::{allowed, alone, alone_after, before_exec, checked, child_args, is_child, pin, skip};
use corelocal::histogram::LogLinear;
use corelocal::refcount::{PerCpuArc, PerCpuArcOwner};
use corelocal::{
    Area, BatchedCounter, ByCpu, CoLocated, CpuId, CpuMask, Packed, Padded, PerCpu, PerCpuCell,
    PerCpuCounter, PerCpuGauge, PerCpuHistogram, PerCpuRing, PerCpuRwLock, Priority, PriorityVec,
    Split, Topology, backend, bytemuck::Zeroable, counters, field, per_cpu,
};
use std::ffi::{CStr, CString};
use std::io;
use std::process::Command;
use std::ptr;

per_cpu! { static HITS: PerCpuCell<u64>; }

/// Lowers a limit of this process to `bytes`.
fn limit(what: libc::__rlimit_resource_t, bytes: u64) {
    let to = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the call reads the structure.
    checked(unsafe { libc::setrlimit(what, &raw const to) }).expect("lowering a limit is allowed");
}

/// Makes objects until the system refuses, three times over; each time everything else works on.
fn until_refused<T: Zeroable>(area: &Area, most: usize) {
    // The heap is under the limit, too: what this test needs of it is taken before.
    let mut objects: Vec<PerCpu<T>> = Vec::with_capacity(most);
    let keeps = area.try_alloc(|_| PerCpuCell::new(3_u64)).expect("there is memory at first");
    let mut first = 0;
    for round in 0..3 {
        while objects.len() < most {
            match area.try_alloc_zeroed() {
                Ok(object) => objects.push(object),
                Err(_) => break,
            }
        }
        assert!(objects.len() < most, "never refused");
        assert!(!objects.is_empty(), "always refused");
        // Refused again, and what is there works.
        assert!(area.try_alloc_zeroed::<T>().is_err());
        keeps.add(1);
        assert_eq!(keeps.sum(), 3 * keeps.lanes() as u64 + round + 1);
        // The place of one object serves the next one.
        drop(objects.swap_remove(objects.len() / 2));
        objects.push(area.try_alloc_zeroed().expect("the place of the one that was freed"));
        let made = objects.len();
        objects.clear();
        if round == 0 {
            first = made;
        }
        assert!(made * 10 >= first * 9, "{made} of {first} objects after everything was freed");
    }
    println!("{} bytes: {first} objects", size_of::<T>());
}

fn under_a_limit(what: libc::__rlimit_resource_t) {
    let big = Area::builder().cpus(64).build().unwrap();
    let (global, huge) = (Area::global(), Area::builder().cpus(240).build().unwrap());
    HITS.add(1);
    limit(what, 256 << 20);
    until_refused::<[u64; 512]>(global, 1 << 18);
    until_refused::<[u64; 128]>(&big, 1 << 18);
    until_refused::<[u64; 4096]>(&big, 1 << 16);
    until_refused::<[u8; 3 << 20]>(global, 1 << 10);
    until_refused::<[u64; 4]>(&huge, 1 << 20);
    // The process lives on: threads, the heap, statics.
    std::thread::spawn(|| HITS.add(1)).join().unwrap();
    assert_eq!((HITS.sum(), vec![7_u8; 1 << 20].len()), (2, 1 << 20));
}

/// E3, <https://github.com/golang/go/issues/38010>: as under `prlimit --as=256M`.
#[test]
fn a_limit_on_address_space_ends_in_an_error() {
    alone("a_limit_on_address_space_ends_in_an_error", || under_a_limit(libc::RLIMIT_AS));
}

/// E3, <https://github.com/JuliaLang/julia/issues/10390>: as under `prlimit --data=256M`.
#[test]
fn a_limit_on_data_ends_in_an_error() {
    alone("a_limit_on_data_ends_in_an_error", || under_a_limit(libc::RLIMIT_DATA));
}

/// A limit that was reached before the first object: the first use of a static is an error too.
#[test]
fn a_static_that_finds_no_memory_says_so_and_tries_again() {
    per_cpu! { static LATE: [u64; 1 << 20]; }
    alone("a_static_that_finds_no_memory_says_so_and_tries_again", || {
        let set = |bytes| {
            let to = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: the call reads the structure.
            checked(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const to) }).unwrap();
        };
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        // Room for the heap, and not for the static.
        set(pages * 4096 + (8 << 20));
        let refused = LATE.try_as_ref().is_err();
        let panics = std::panic::catch_unwind(|| LATE.iter().len()).is_err();
        set(libc::RLIM_INFINITY);
        assert!(refused && panics);
        assert!(LATE.iter().all(|(_, words)| words[1 << 19] == 0));
    });
}

counters! { struct Stats { reads: u64, writes as WRITES: u32 } }

/// Every container and operation once; afterwards this thread is where it was.
fn every_operation() {
    let cells = PerCpu::<PerCpuCell<u64>>::zeroed();
    (0..1000).for_each(|_| cells.add(1));
    assert_eq!(cells.sum(), 1000);
    let (_, before) = cells.swap(5);
    assert!(before <= 1000);
    let _ = cells.compare_exchange(5, 6);
    let _ = cells.add_on(CpuId::new(0), 1);
    let mut names = PerCpu::new(|lane| lane.index().to_string());
    names.iter_mut().for_each(|(_, name)| name.push('!'));
    assert!(names.iter().all(|(lane, name)| *name == format!("{}!", lane.index())));
    assert_eq!(names.iter_cpus().len(), names.lanes() - 1);
    assert_eq!(names.into_iter().count(), cells.lanes());
    let stats = PerCpu::<Stats>::zeroed();
    stats.at(Stats::READS).inc();
    stats.at(Stats::WRITES).inc();
    assert_eq!((stats.snapshot().reads, stats.snapshot().writes), (1, 1));
    let pairs = PerCpu::new(|lane| CoLocated::<u64, u8>::new(lane.index() as u64, 1, ()));
    assert_eq!(*pairs.spill().a(), pairs.lanes() as u64 - 1);
    let table = PerCpu::<[PerCpuCell<u8>; 300]>::zeroed();
    table.index(299).unwrap().dec();
    assert_eq!(table.index(299).unwrap().sum(), 255);
    let parts = PerCpu::new(|_| Parts { cell: PerCpuCell::new(1) });
    assert_eq!(parts.at(field!(Parts, cell)).sum(), parts.lanes() as u16);
    drop(PerCpu::<[u8; 3 << 20]>::zeroed());
    let seen = HITS.sum();
    HITS.inc();
    assert_eq!(HITS.sum(), seen + 1);
    let area = Area::builder().cpus(64).build().unwrap();
    assert_eq!(area.try_alloc(|_| PerCpuCell::new(1_u8)).unwrap().sum(), 65);
}

struct Parts {
    cell: PerCpuCell<u16>,
}

/// What is built on objects, each made, used, ended: drains, kills and writes look at every lane.
fn every_structure() {
    let (counter, gauge, batched) =
        (PerCpuCounter::new(), PerCpuGauge::new(), BatchedCounter::new());
    counter.add(5);
    gauge.dec();
    assert_eq!((counter.take(), counter.sum(), gauge.sum()), (5, 0, -1));
    assert!(batched.limited_add(3, 3).is_ok() && batched.limited_add(1, 3).is_err());
    let histogram = PerCpuHistogram::<64>::new(LogLinear);
    histogram.record(7);
    assert_eq!(histogram.snapshot().count(), 1);
    let ring = PerCpuRing::new(4096);
    ring.write(b"record").unwrap();
    assert_eq!(ring.reader().unwrap().drain().count(), 1);
    let owner = PerCpuArcOwner::new(8);
    let arc = owner.share();
    assert!(owner.kill().is_ok());
    assert_eq!((*arc, PerCpuArc::has_owner(&arc)), (8, false));
    let lock = PerCpuRwLock::new(1);
    *lock.write().unwrap() += 1;
    assert_eq!(*lock.read().unwrap(), 2);
    #[cfg(feature = "pool")]
    {
        let pool = corelocal::PerCpuPool::new(Vec::<u8>::new);
        drop(pool.get());
        assert_eq!(pool.drain().unwrap().count(), 1);
        assert_eq!(pool.shrink_to(0), Ok(0));
    }
    one_cpu_and_its_priority();
}

/// A priority vector of one CPU in each layout.
fn one_cpu_and_its_priority() {
    fn check<L: corelocal::priority::Layout>() {
        let cpu = CpuId::new(0);
        let vector = PriorityVec::<L>::try_new([cpu]).unwrap();
        let mut slot = PriorityVec::claim(&vector, cpu).unwrap();
        let (allowed, mut found) = (CpuMask::from_iter([cpu]), CpuMask::new());
        assert_eq!(vector.find(Priority::HIGHER, &allowed, &mut found), None);
        slot.set(Priority::NORMAL).unwrap();
        let level = vector.find(Priority::HIGHER, &allowed, &mut found);
        assert_eq!((level, &found), (Some(Priority::NORMAL), &allowed));
        assert_eq!(vector.find(Priority::NORMAL, &allowed, &mut found), None, "an equal");
    }
    check::<ByCpu>();
    check::<Packed>();
    check::<Padded>();
    check::<Split>();
}

/// A1, <https://github.com/jemalloc/jemalloc/issues/2054>: as under `taskset -c 1`. The count of
/// allowed CPUs is 1, and the id is not 0.
#[test]
fn a_process_on_one_cpu_counts_everything() {
    let cpu = *allowed().last().expect("one CPU at least");
    let name = "a_process_on_one_cpu_counts_everything";
    let prepare = |command: &mut Command| {
        // SAFETY: one system call.
        unsafe { before_exec(command, move || pin(cpu)) }
    };
    alone_after(name, prepare, || {
        if cpu == 0 {
            skip(name, "only CPU 0 is allowed, whose id every count covers");
        }
        let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
        (0..1000).for_each(|_| hits.add(1));
        assert_eq!(hits.sum(), 1000);
        assert!(hits.cpus() > cpu as usize);
        assert!(hits.iter().any(|(lane, _)| lane.cpu() == Some(CpuId::new(cpu))));
        every_operation();
        every_structure();
    });
}

const POSSIBLE: &CStr = c"/sys/devices/system/cpu/possible";

/// Between fork and exec: CPU 0 alone, and a mount namespace where `possible` reads like `file`.
fn see_one_cpu(file: &CStr) -> io::Result<()> {
    // SAFETY: one system call.
    let enter = |flags| checked(unsafe { libc::unshare(flags) });
    enter(libc::CLONE_NEWNS).or_else(|_| enter(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
    let mount = |from: *const libc::c_char, to: &CStr, how| {
        // SAFETY: the strings end in zero; no type and no data belong to these kinds of mount.
        checked(unsafe { libc::mount(from, to.as_ptr(), ptr::null(), how, ptr::null()) })
    };
    mount(ptr::null(), c"/", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(file.as_ptr(), POSSIBLE, libc::MS_BIND)?;
    pin(0)
}

/// E6, <https://github.com/xacrimon/dashmap/pull/256>: exactly one CPU.
#[test]
fn a_machine_with_one_cpu_has_every_container() {
    let name = "a_machine_with_one_cpu_has_every_container";
    let path = std::env::temp_dir().join(format!("corelocal-possible-{}", std::process::id()));
    let file = CString::new(path.to_str().expect("a plain path")).unwrap();
    let prepare = |command: &mut Command| {
        std::fs::write(&path, "0\n").unwrap();
        let step = move || {
            // Where it is not allowed, the child finds out.
            let _ = see_one_cpu(&file);
            Ok(())
        };
        // SAFETY: system calls only; the strings were made before.
        unsafe { before_exec(command, step) }
    };
    alone_after(name, prepare, || {
        let possible = std::fs::read_to_string(POSSIBLE.to_str().unwrap());
        if possible.is_ok_and(|list| list != "0\n") || allowed() != [0] {
            return skip(name, "no mount namespace, or CPU 0 is not allowed here");
        }
        assert_eq!((Topology::current().cpus(), Area::global().lanes()), (1, 2));
        assert_eq!(HITS.iter().len(), 2);
        every_operation();
        every_structure();
        // Where a thread's CPU is not known, its place is found by a hash.
        #[cfg(feature = "testing")]
        {
            use corelocal::testing::{Config, with};
            with(Config::new().cpu_id(None), every_operation);
            with(Config::new().cpu_id(None), every_structure);
        }
        let one = Area::builder().cpus(1).build().unwrap();
        assert_eq!(one.try_alloc(|_| PerCpuCell::new(1_u8)).unwrap().sum(), 2);
    });
    let _ = std::fs::remove_file(path);
}

/// The system calls that a child makes which runs `name` with `OBJECTS=objects`: their names, and
/// the paths they open.
fn traced(name: &str, objects: usize) -> Option<String> {
    let log = std::env::temp_dir().join(format!("corelocal-trace-{}", std::process::id()));
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=open,openat,openat2,sched_setaffinity", "-o"]);
    command.arg(&log).arg(std::env::current_exe().unwrap()).env(OBJECTS, objects.to_string());
    child_args(&mut command, name);
    let done = command.output().ok().filter(|done| done.status.success());
    let text = std::fs::read_to_string(&log);
    let _ = std::fs::remove_file(log);
    done.and(text.ok())
}

const OBJECTS: &str = "CORELOCAL_TEST_OBJECTS";

/// B7, <https://github.com/xacrimon/dashmap/issues/219>, and A6,
/// <https://github.com/google/tcmalloc/issues/188>: the machine's files are read once a process,
/// and no operation goes to another CPU.
#[test]
fn a_thousand_objects_open_no_more_files_than_one() {
    let name = "a_thousand_objects_open_no_more_files_than_one";
    if is_child(name) {
        let objects = std::env::var(OBJECTS).unwrap().parse().unwrap();
        let made: Vec<_> = (0..objects).map(|_| PerCpu::<PerCpuCell<u64>>::zeroed()).collect();
        made.iter().for_each(|cell| cell.inc());
        for _ in 0..objects {
            every_operation();
            let _ = (backend(), CpuId::current(), Topology::current().cpus());
        }
        (0..objects.min(20)).for_each(|_: usize| every_structure());
        return;
    }
    let (Some(one), Some(many)) = (traced(name, 1), traced(name, 1000)) else {
        return skip(name, "no strace, or it may not trace");
    };
    let files = |text: &str| text.lines().filter(|line| line.contains("open")).count();
    let machine = |text: &str| text.lines().filter(|line| line.contains("/sys/")).count();
    println!("{} files opened, {} of them under /sys", files(&many), machine(&many));
    assert!(files(&one) > 0, "the trace saw nothing: {one}");
    assert_eq!(files(&one), files(&many), "{many}");
    assert!(!many.contains("sched_setaffinity"), "{many}");
    // `possible` alone decides the lanes; the rest is the topology that this test asks for.
    let cpus = Area::global().lanes();
    assert!(machine(&many) <= 10 + 10 * cpus, "{many}");
}

/// Maps pages that cannot merge until the system refuses another mapping.
fn exhaust_mappings() -> Vec<*mut libc::c_void> {
    let mut made = Vec::with_capacity(1 << 18);
    for access in [libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE].into_iter().cycle() {
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new private mapping at an address of the system's choice touches nobody.
        let at = unsafe { libc::mmap(ptr::null_mut(), 4096, access, kind, -1, 0) };
        if at == libc::MAP_FAILED || made.len() == made.capacity() {
            break;
        }
        made.push(at);
    }
    made
}

/// E3, as above, for the limit on the number of mappings, which other parts of a program reach.
#[test]
fn at_the_limit_of_mappings_objects_are_refused_and_dropped() {
    type Own = [u8; 31 * 4096];
    let name = "at_the_limit_of_mappings_objects_are_refused_and_dropped";
    let most = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    if most.trim().parse::<usize>().unwrap() > 1 << 18 {
        return skip(name, "the limit is too high to be reached");
    }
    alone(name, || {
        let area = Area::builder().build().unwrap();
        let chunks = || (0..500).map(|_| area.try_alloc_zeroed::<[u64; 1000]>().unwrap());
        let mut small: Vec<_> = chunks().collect();
        let mut own: Vec<_> = (0..500).map(|_| area.try_alloc_zeroed::<Own>().unwrap()).collect();
        let others = exhaust_mappings();
        assert!(area.try_alloc_zeroed::<Own>().is_err(), "{} others", others.len());
        let mut index = 0;
        for _ in 0..5 {
            // From the middle of whatever the kernel has joined.
            let mut stays = |times| {
                index += 1;
                index % times != 0
            };
            small.retain(|_| stays(7));
            own.retain(|_| stays(3));
        }
        own.push(area.try_alloc_zeroed().expect("there is room again"));
        let kept = small.len() * small[0].lanes() * size_of::<[u64; 1000]>();
        assert!(area.stats().live >= kept);
        small.clear();
        own.clear();
        assert_eq!((area.stats().live, area.stats().chunks), (0, 1));
    });
}
