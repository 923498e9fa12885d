//! Threads that come and go, signal handlers, ends of threads, and a library that is unloaded.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "handles signals, and loads a library")]

mod common;

use common::{alone, interrupt_every, resident, skip};
use corelocal::{Area, PerCpu, PerCpuCell, per_cpu};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

per_cpu! { static SERVED: PerCpuCell<u64>; }

/// H1, <https://github.com/hawkw/sharded-slab/issues/62>: nothing is kept for a thread, so there is
/// no number of threads at which it ends.
#[test]
fn ten_thousand_threads_leave_nothing_behind() {
    const LIVE: usize = 300;
    const WAVES: usize = 34;
    alone("ten_thousand_threads_leave_nothing_behind", || {
        let own = PerCpu::<PerCpuCell<u32>>::zeroed();
        let own = Arc::new(own);
        // All of a wave live at the same time.
        let wave = || {
            let meet = Arc::new(Barrier::new(LIVE));
            let spawn = |_| {
                let (meet, own) = (Arc::clone(&meet), Arc::clone(&own));
                let small = std::thread::Builder::new().stack_size(32 << 10);
                let work = move || {
                    SERVED.inc();
                    own.inc();
                    let object = PerCpu::<[PerCpuCell<u8>; 3]>::zeroed();
                    object.index(1).unwrap().inc();
                    meet.wait();
                };
                small.spawn(work).expect("the system has room for 300 threads")
            };
            let threads: Vec<_> = (0..LIVE).map(spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        // What libc keeps for threads (stacks, arenas) it has after the first waves.
        (0..2).for_each(|_| wave());
        let (stats, before) = (Area::global().stats(), resident());
        (2..WAVES).for_each(|_| wave());
        let grown = resident().saturating_sub(before);
        println!("{} threads: {} KiB more than after 600", WAVES * LIVE, grown >> 10);
        assert_eq!(Area::global().stats(), stats);
        assert!(grown < 2 << 20, "{grown} bytes");
        assert_eq!(SERVED.sum(), (WAVES * LIVE) as u64);
        assert_eq!(own.sum(), (WAVES * LIVE) as u32);
    });
}

per_cpu! {
    static RING: PerCpuCell<u64>;
    static NARROW: [PerCpuCell<u8>; 2];
}
static RANG: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
    RING.add(1);
    NARROW.index(1).unwrap().dec();
    RANG.fetch_add(1, Ordering::Relaxed);
}

/// A handler that interrupts an update of the same cell.
#[test]
fn a_signal_handler_that_adds_loses_nothing_and_nothing_of_others() {
    const SIGNALS: u64 = 1000;
    alone("a_signal_handler_that_adds_loses_nothing_and_nothing_of_others", || {
        let _ = (RING.sum(), NARROW.index(1)); // the first use
        interrupt_every(on_signal, 500);
        let (mut adds, mut rang) = (0_u64, 0);
        while rang < SIGNALS {
            for _ in 0..100 {
                RING.add(1);
                NARROW.index(1).unwrap().inc();
            }
            adds += 100;
            // What both sides did, between two signals.
            let sums = loop {
                let before = RANG.load(Ordering::Relaxed);
                let sums = (RING.sum(), NARROW.index(1).unwrap().sum());
                rang = RANG.load(Ordering::Relaxed);
                if rang == before {
                    break sums;
                }
            };
            let narrow = (adds as u8).wrapping_sub(rang as u8);
            assert_eq!(sums, (adds + rang, narrow), "{adds} adds and {rang} signals");
        }
    });
}

per_cpu! { static ENDED: PerCpuCell<u64>; }

/// Counts its thread's end, after what other thread-locals had to say.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        ENDED.add(1);
        let object = PerCpu::new(|lane| lane.index());
        assert!(object.iter().all(|(lane, index)| *index == lane.index()));
    }
}

#[test]
fn the_end_of_a_thread_can_use_statics_and_objects() {
    thread_local! { static LAST: Last = const { Last }; }
    let threads = (0..50).map(|_| std::thread::spawn(|| LAST.with(|_| ENDED.add(1))));
    threads.for_each(|thread| thread.join().unwrap());
    assert_eq!(ENDED.sum(), 100);
}

/// Builds `tests/unload/library.rs` against the crate that this test was built against.
fn build(to: &Path) -> Result<(), String> {
    let binary = std::env::current_exe().map_err(|error| error.to_string())?;
    let deps = binary.parent().expect("a binary lies in a directory");
    let is_crate = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        name.starts_with("libcorelocal-") && name.ends_with(".rlib")
    };
    let found = std::fs::read_dir(deps).map_err(|error| error.to_string())?;
    let mut crates: Vec<PathBuf> =
        found.filter_map(|entry| Some(entry.ok()?.path())).filter(is_crate).collect();
    crates.sort_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok());
    let newest = crates.last().ok_or("the crate's library is not beside this test")?;
    // The compiler that belongs to the cargo that runs this test.
    let cargo = std::env::var("CARGO").unwrap_or_default();
    let beside = Path::new(&cargo).with_file_name("rustc");
    let rustc = if beside.is_file() { beside } else { "rustc".into() };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unload/library.rs");
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=cdylib", "--crate-name=unload", "-o"]).arg(to);
    command.arg(source).arg("--extern").arg(format!("corelocal={}", newest.display()));
    command.arg("-L").arg(format!("dependency={}", deps.display()));
    let done = command.output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into()) }
}

/// Loads the library, calls it, unloads it: on one thread, which then ends.
fn visit(library: &CStr, calls: u64) {
    // SAFETY: the library's initialisers are those of the standard library.
    let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "dlopen");
    // SAFETY: the handle is open.
    let address = unsafe { libc::dlsym(handle, c"corelocal_test_call".as_ptr()) };
    assert!(!address.is_null(), "dlsym");
    // SAFETY: the library defines the function with this signature.
    let call = unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> u64>(address) };
    // Each time it is loaded it counts from the beginning: it shares nothing with us.
    assert!((1..=calls).all(|times| call() == times));
    // SAFETY: the handle is open, and nothing of the library is used any more.
    assert_eq!(unsafe { libc::dlclose(handle) }, 0);
}

/// H6, <https://github.com/rust-lang/rust/issues/91979>: a thread loads a library that uses the
/// crate, calls it, unloads it and ends. (The library's statics are never dropped: the memory of
/// their copies stays with the process.)
#[test]
fn a_library_that_used_the_crate_is_really_unloaded() {
    let name = "a_library_that_used_the_crate_is_really_unloaded";
    alone(name, || {
        let path = std::env::temp_dir().join(format!("libunload-{}.so", std::process::id()));
        if let Err(why) = build(&path) {
            return skip(name, &format!("the library cannot be built: {why}"));
        }
        let library = CString::new(path.to_str().expect("a plain path")).unwrap();
        let is_mapped = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.contains(path.file_name().and_then(|name| name.to_str()).unwrap())
        };
        for calls in [1, 5, 100] {
            let library = library.clone();
            std::thread::spawn(move || visit(&library, calls)).join().unwrap();
            assert!(!is_mapped(), "still mapped");
        }
        // Threads that called the library and live on when it is gone.
        let meet = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                visit(&library, 3);
                meet.wait();
                meet.wait();
            });
            meet.wait();
            assert!(!is_mapped(), "still mapped");
            (0..100).for_each(|_| std::thread::yield_now());
            meet.wait();
        });
        let _ = std::fs::remove_file(&path);
    });
}
