//! Processes whose threads libc registers: the default.

use crate::common::{allowed, alone, pin, skip};
use crate::report::{THREADS, expected, read, working};
use corelocal::sys::rseq::{HAS_SECTIONS, detours, thread_area};
use corelocal::{Backend, CpuId, PerCpu, PerCpuCell, backend};
use std::collections::BTreeMap;
use std::process::Command;

/// What libc exports under `name`, read as a `T`; `None` where it does not.
fn exported<T: Copy>(name: &std::ffi::CStr) -> Option<T> {
    // SAFETY: a valid handle, and a name that ends with a zero.
    let at: *mut T = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.cast();
    // SAFETY: null, or a constant of libc's of this type.
    unsafe { at.as_ref() }.copied()
}

/// `__rseq_size`: 0 where libc registers no thread.
fn registered_size() -> u32 {
    exported(c"__rseq_size").unwrap_or(0)
}

/// The words of this thread's area.
fn area_word(byte: usize) -> u32 {
    let area: *const u32 = thread_area().expect("registered").cast_const().cast();
    // SAFETY: the area has 32 bytes at least; the kernel writes whole words.
    unsafe { area.wrapping_byte_add(byte).read_volatile() }
}

/// D1, <https://github.com/compudj/librseq/issues/20>,
/// <https://github.com/google/tcmalloc/issues/144>: per-CPU mode silently off because libc was
/// there first.
#[test]
fn where_libc_registers_threads_sections_run_without_any_setting() {
    let size = registered_size();
    if size == 0 || !cfg!(target_arch = "x86_64") {
        let name = "where_libc_registers_threads_sections_run_without_any_setting";
        return skip(name, "libc registers no thread here, or sections want to be verified first");
    }
    assert_eq!(backend(), Backend::Rseq, "{}", backend().reason());
    assert!(backend().reason().to_string().contains(&size.to_string()));
}

/// D1, <https://github.com/docker-library/mongo/pull/723>: a registration of one's own beside
/// libc's.
#[test]
fn each_thread_is_registered_once_and_by_libc() {
    let log = std::env::temp_dir().join(format!("corelocal-rseq-{}", std::process::id()));
    let child = working(16);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=rseq", "-o"]).arg(&log);
    command.arg(child.get_program()).args(child.get_args());
    command.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_remove("GLIBC_TUNABLES");
    let done = command.output().ok().filter(|done| done.status.success());
    let text = std::fs::read_to_string(&log);
    let _ = std::fs::remove_file(log);
    let (Some(_), Ok(text)) = (done, text) else {
        return skip(
            "each_thread_is_registered_once_and_by_libc",
            "no strace, or it may not trace",
        );
    };
    let mut calls = BTreeMap::<&str, usize>::new();
    for line in text.lines().filter(|line| line.contains("rseq(")) {
        *calls.entry(line.split(' ').next().unwrap_or("")).or_default() += 1;
    }
    assert!(calls.values().all(|times| *times == 1), "{text}");
    if registered_size() > 0 {
        assert!(calls.len() as u64 > THREADS, "one a thread: {text}");
    }
}

/// D5, <https://github.com/DynamoRIO/dynamorio/issues/5955>,
/// <https://github.com/DynamoRIO/dynamorio/pull/5711>: the distance is libc's to say, and signed.
#[test]
#[cfg(all(target_arch = "x86_64", target_env = "gnu"))]
fn the_area_is_where_libc_says_from_each_threads_own_pointer() {
    let offset = exported::<isize>(c"__rseq_offset").filter(|_| registered_size() > 0);
    let Some(offset) = offset else {
        let name = "the_area_is_where_libc_says_from_each_threads_own_pointer";
        return skip(name, "libc registers no thread here");
    };
    let check = move || {
        // SAFETY: takes nothing. With this libc it is the thread pointer.
        let own = unsafe { libc::pthread_self() } as usize;
        let area = thread_area().expect("registered").addr();
        assert_eq!(area, own.wrapping_add_signed(offset));
        area
    };
    let other = std::thread::spawn(check).join().unwrap();
    assert_ne!(check(), other, "each thread has its own");
}

/// D13, <https://github.com/jemalloc/jemalloc/pull/3006>: a CPU that is remembered is soon the
/// wrong one.
#[test]
fn a_thread_that_is_moved_counts_on_its_new_cpu_at_once() {
    let body = || {
        let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
        let cpus = allowed();
        for _ in 0..50 {
            for &cpu in &cpus {
                pin(cpu).expect("an allowed CPU");
                let mut hits = 0;
                for _ in 0..100 {
                    let (lane, _) = cell.fetch_add(1);
                    hits += usize::from(lane.cpu() == Some(CpuId::new(cpu)));
                }
                assert!(hits == 100 || CpuId::current().is_none(), "CPU {cpu}: {hits} of 100");
            }
        }
        for (lane, copy) in &cell {
            let pinned = cpus.iter().any(|&cpu| lane.cpu() == Some(CpuId::new(cpu)));
            assert!(CpuId::current().is_none() || copy.load() == if pinned { 5000 } else { 0 });
        }
    };
    std::thread::spawn(body).join().unwrap();
}

/// The kernel of some releases ends processes that write to its words.
#[test]
fn after_ten_million_operations_the_id_words_are_the_kernels() {
    if thread_area().is_none() || CpuId::current().is_none() {
        let name = "after_ten_million_operations_the_id_words_are_the_kernels";
        return skip(name, "libc registers no thread here");
    }
    let body = || {
        let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
        let cpus = allowed();
        for &cpu in &cpus {
            pin(cpu).expect("an allowed CPU");
            (0..10_000_000 / cpus.len()).for_each(|_| cell.inc());
            assert_eq!([area_word(0), area_word(4)], [cpu; 2], "the id words");
            assert_eq!([area_word(8), area_word(12)], [0; 2], "no descriptor is left behind");
            assert_eq!(area_word(16), 0, "flags");
        }
        assert_eq!(cell.sum() as usize, 10_000_000 / cpus.len() * cpus.len());
    };
    std::thread::spawn(body).join().unwrap();
}

/// Takes this thread's registration away, or gives it back. Says whether the kernel did.
fn set_registered(on: bool) -> bool {
    const SIGNATURE: u32 = 0x5305_3053;
    let area = thread_area().expect("there was a registration");
    // SAFETY: the area is libc's for this thread; its length is that of the first version, which
    // the kernel compares.
    unsafe { libc::syscall(libc::SYS_rseq, area, 32, i32::from(!on), SIGNATURE) == 0 }
}

/// D10, <https://github.com/compudj/librseq/issues/17>,
/// <https://github.com/ydb-platform/nbs/pull/6534>: one thread of another kind, in the middle of
/// a process that looked once.
#[test]
#[cfg(target_arch = "x86_64")]
fn a_thread_that_is_not_registered_counts_on_the_spill_lane_beside_those_that_are() {
    let name = "registered::\
                a_thread_that_is_not_registered_counts_on_the_spill_lane_beside_those_that_are";
    alone(name, || {
        if backend() != Backend::Rseq || !HAS_SECTIONS {
            return skip(name, "no sections here");
        }
        let cell = PerCpu::<PerCpuCell<u64>>::zeroed();
        let unregistered = std::thread::scope(|scope| {
            scope.spawn(|| (0..100_000).for_each(|_| cell.inc()));
            let other = || {
                cell.inc();
                if !set_registered(false) {
                    return false;
                }
                assert_eq!(CpuId::current(), None);
                let before = detours().spills;
                for _ in 0..50_000 {
                    assert!(cell.fetch_add(1).0.is_spill());
                    assert!(cell.add_on(CpuId::new(0), 1).is_err());
                }
                assert!(detours().spills - before >= 50_000);
                assert!(set_registered(true));
                assert!(!cell.fetch_add(1).0.is_spill(), "the id is looked at each time");
                true
            };
            scope.spawn(other).join().unwrap()
        });
        if !unregistered {
            return skip(name, "the kernel does not take the registration away in this way");
        }
        // A section that was cut off again and again may have gone there as well.
        let spilled = cell.spill().load();
        assert!((50_000..50_100).contains(&spilled), "{spilled}");
        assert_eq!(cell.sum(), 150_002);
    });
}

/// The child that the others compare with.
#[test]
fn a_child_in_no_special_condition_has_this_processs_backend() {
    let report = read(&working(16).output().expect("the test binary runs again"));
    assert_eq!(report["backend"], backend().to_string());
    assert_eq!(report["sum"], expected(16));
}
