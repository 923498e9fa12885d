//! What a container does to a process: a set of one CPU, a bound on memory; and a system that promises
//! no more memory than it has.
//!
//! A control group is made beside those that are there, for one child, and removed. Where that is not
//! allowed, or the controllers are not there, each test says so.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "joins a group between fork and exec")]

mod common;

use common::{allowed, alone_after, before_exec, is_child, resident, skip};
use corelocal::{Area, CpuId, PerCpu, PerCpuCell, Topology, per_cpu};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

per_cpu! { static HITS: PerCpuCell<u64>; }

/// In which group a child shall find itself; empty where none could be made.
const GROUP: &str = "CORELOCAL_TEST_GROUP";

/// A control group of one controller, removed when it is dropped.
struct Group(PathBuf);

impl Group {
    /// A group with these settings, of the first kind of hierarchy or the second.
    fn new(controller: &str, settings: &[(&str, &str)]) -> io::Result<Self> {
        let root = Path::new("/sys/fs/cgroup");
        let home = if root.join(controller).is_dir() { root.join(controller) } else { root.into() };
        let name = format!("corelocal-{controller}-{}", std::process::id());
        let group = Self(home.join(name));
        fs::create_dir(&group.0)?;
        for (file, value) in settings {
            // A kind of hierarchy has files that the other one has not.
            if group.0.join(file).exists() {
                fs::write(group.0.join(file), value)?;
            }
        }
        fs::metadata(group.0.join("cgroup.procs")).map(|_| group)
    }

    /// Has the child begin in the group.
    fn join(&self, command: &mut Command) {
        let file = CString::new(self.0.join("cgroup.procs").as_os_str().as_bytes());
        let file = file.expect("no zero in a path");
        let step = move || {
            // SAFETY: the path ends in zero.
            let to = unsafe { libc::open(file.as_ptr(), libc::O_WRONLY) };
            // Where it is not allowed, the child finds out.
            // SAFETY: one byte of a constant; 0 is whoever writes.
            let _ = unsafe { libc::write(to, c"0".as_ptr().cast(), 1) };
            Ok(())
        };
        // SAFETY: two system calls; the string was made before.
        unsafe { before_exec(command, step) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Runs `body` in a process that begins in a group with these settings.
fn in_group(name: &str, controller: &str, settings: &[(&str, &str)], body: impl FnOnce()) {
    let mut made = None;
    let prepare = |command: &mut Command| {
        let group = Group::new(controller, settings);
        command.env(GROUP, if group.is_ok() { controller } else { "" });
        if let Ok(group) = &group {
            group.join(command);
        }
        made = group.ok();
    };
    alone_after(name, prepare, || {
        let group = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        if std::env::var_os(GROUP).is_none_or(|group| group.is_empty())
            || !group.contains(&format!("corelocal-{controller}-"))
        {
            return skip(name, &format!("no control group of {controller} can be made here"));
        }
        body();
    });
}

/// Counts in two kinds of object from four threads.
fn work() {
    let (before, cells) = (HITS.sum(), PerCpu::<PerCpuCell<u64>>::zeroed());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    HITS.inc();
                    cells.inc();
                }
            });
        }
    });
    assert_eq!((HITS.sum() - before, cells.sum()), (4000, 4000));
}

/// A1, <https://github.com/jemalloc/jemalloc/issues/2054>, J6,
/// <https://github.com/RRZE-HPC/likwid/issues/630>: a container with one CPU, whose id is not 0.
#[test]
fn a_container_of_one_cpu_has_the_lanes_of_the_machine_and_its_own_id() {
    let name = "a_container_of_one_cpu_has_the_lanes_of_the_machine_and_its_own_id";
    let cpu = if is_child(name) { 0 } else { *allowed().last().expect("one CPU at least") };
    // A group has no nodes at first; the root's are the machine's.
    let nodes = fs::read_to_string("/sys/fs/cgroup/cpuset/cpuset.mems").unwrap_or("0".into());
    let settings = [("cpuset.cpus", &*cpu.to_string()), ("cpuset.mems", nodes.trim())];
    in_group(name, "cpuset", &settings, || {
        let [cpu] = allowed()[..] else { panic!("{:?} are allowed in a set of one", allowed()) };
        let topology = Topology::current();
        assert!(topology.allowed().iter().eq([CpuId::new(cpu)]), "{:?}", topology.allowed());
        assert!(topology.cpus() > cpu, "{} lanes, on CPU {cpu}", topology.cpus());
        assert!(topology.possible().contains(CpuId::new(cpu)));
        work();
        let cells = PerCpu::<PerCpuCell<u64>>::zeroed();
        (0..100).for_each(|_| cells.inc());
        // The spill lane is for who is not told its CPU.
        if corelocal::backend() != corelocal::Backend::Thread {
            assert_eq!(cells[CpuId::new(cpu)].load(), 100);
        }
    });
}

/// E1, <https://github.com/osquery/osquery/pull/6717>: 64 MiB for the process, 2 GiB of lanes for 512
/// possible CPUs.
#[test]
fn a_container_with_little_memory_is_not_killed_for_lanes_of_absent_cpus() {
    let name = "a_container_with_little_memory_is_not_killed_for_lanes_of_absent_cpus";
    let bound = (64_u64 << 20).to_string();
    let settings = [("memory.limit_in_bytes", &*bound), ("memory.max", &*bound)];
    in_group(name, "memory", &settings, || {
        let area = Area::builder().cpus(512).build().expect("an area takes no memory by itself");
        let before = resident();
        let block = || area.try_alloc_zeroed::<[PerCpuCell<u64>; 512]>().expect("address space");
        let blocks: Vec<_> = (0..1000).map(|_| block()).collect();
        for block in &blocks {
            block.index(511).expect("there are 512").inc();
        }
        assert!(blocks.iter().all(|block| block.index(511).expect("there are 512").sum() == 1));
        let grown = resident().saturating_sub(before);
        assert!(grown < 48 << 20, "{} MiB of 64", grown >> 20);
        work();
    });
}

/// E4, <https://github.com/symmetryinvestments/symgc/issues/37>: the system promises no more than it
/// has. The whole machine's setting, so only where the environment allows it.
#[test]
fn where_memory_is_promised_once_objects_are_made_or_refused() {
    const ALLOW: &str = "CORELOCAL_STRICT_OVERCOMMIT";
    const SETTING: &str = "/proc/sys/vm/overcommit_memory";
    struct PutBack(String);
    impl Drop for PutBack {
        fn drop(&mut self) {
            fs::write(SETTING, &self.0).expect("it was written before");
        }
    }
    let name = "where_memory_is_promised_once_objects_are_made_or_refused";
    let settled = || fs::read_to_string(SETTING).is_ok_and(|now| now.trim() == "2");
    if is_child(name) {
        if !settled() {
            return skip(name, "the system's promises cannot be made strict here");
        }
        work();
        let area = Area::builder().cpus(240).build().expect("an area takes no memory by itself");
        // 60 MiB each: sooner or later there is an error, and nobody is killed.
        let blocks: Vec<_> =
            (0..10_000).map_while(|_| area.try_alloc_zeroed::<[u64; 1 << 15]>().ok()).collect();
        assert!(blocks.len() < 10_000, "{} GiB were promised", blocks.len() * 60 / 1024);
        drop(blocks);
        return work();
    }
    if std::env::var_os(ALLOW).is_none() {
        return skip(name, &format!("the setting is the whole machine's; {ALLOW}=1 allows it"));
    }
    let before = fs::read_to_string(SETTING).expect("a Linux has it");
    let _put_back = fs::write(SETTING, "2").is_ok().then_some(PutBack(before));
    common::alone(name, || unreachable!("the child has returned"));
}
