//! Ends of threads: a registration never outlives its thread's memory.

use super::{common::stress, id_word, own};
use corelocal::sys::rseq::detours;
use corelocal::{PerCpuCell, per_cpu};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

per_cpu! { static ENDED: PerCpuCell<u64>; }

#[test]
fn a_thousand_short_threads_end_well() {
    own("ends::a_thousand_short_threads_end_well", || {
        let waves = 100 * stress();
        for _ in 0..waves {
            let spawn = |_| std::thread::spawn(|| ENDED.add(1));
            let threads: Vec<_> = (0..10).map(spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        }
        assert_eq!(ENDED.sum(), 10 * waves);
        assert_eq!(detours().spills, 0, "a new thread in an old one's memory was not registered");
    });
}

/// Nobody waits for them: with musl a thread takes its own memory away, and lives on for some
/// instructions.
#[test]
fn a_thousand_detached_threads_end_well() {
    own("ends::a_thousand_detached_threads_end_well", || {
        let times = 1000 * stress();
        for turn in 1..=times {
            std::thread::spawn(|| {
                for _ in 0..1 + ENDED.sum() % 100 {
                    std::hint::spin_loop();
                }
                ENDED.add(1);
            });
            while ENDED.sum() + 20 < turn {
                std::thread::yield_now();
            }
        }
        while ENDED.sum() < times {
            std::thread::yield_now();
        }
    });
}

static KEY: AtomicU32 = AtomicU32::new(0);
static WORD: AtomicI32 = AtomicI32::new(0);

/// Runs after the crate's destructor: with either libc in the order in which keys were made.
extern "C" fn late(_: *mut c_void) {
    WORD.store(id_word(), Ordering::Relaxed);
    ENDED.add(1);
}

#[test]
fn a_thread_is_not_registered_when_its_memory_goes() {
    own("ends::a_thread_is_not_registered_when_its_memory_goes", || {
        let mut key = 0;
        // SAFETY: the call writes the key.
        assert_eq!(unsafe { libc::pthread_key_create(&raw mut key, Some(late)) }, 0);
        KEY.store(key, Ordering::Relaxed);
        for times in 1..=20 {
            WORD.store(99, Ordering::Relaxed);
            let body = || {
                ENDED.add(1);
                let key = KEY.load(Ordering::Relaxed);
                // SAFETY: the key was made above; the value is not followed.
                let set =
                    unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) };
                assert_eq!(set, 0);
                assert!(id_word() >= 0);
            };
            std::thread::spawn(body).join().unwrap();
            assert_eq!(WORD.load(Ordering::Relaxed), -1, "still registered");
            // What comes so late is counted, and registers nothing anew.
            assert_eq!(ENDED.sum(), 2 * times);
            assert_eq!(detours().spills as u64, times);
        }
    });
}

/// Counts its thread's end.
struct Last(Cell<bool>);

impl Drop for Last {
    fn drop(&mut self) {
        ENDED.add(1);
    }
}

#[test]
fn the_end_of_a_thread_can_count() {
    thread_local! { static LAST: Last = const { Last(Cell::new(false)) }; }
    own("ends::the_end_of_a_thread_can_count", || {
        for before in [false, true] {
            let body = move || {
                if before {
                    ENDED.add(1);
                }
                LAST.with(|last| last.0.set(true));
                if !before {
                    ENDED.add(1);
                }
            };
            let threads = (0..50).map(|_| std::thread::spawn(body));
            threads.for_each(|thread| thread.join().unwrap());
        }
        assert_eq!(ENDED.sum(), 200);
        println!("{:?}", detours());
    });
}
