//! Signal handlers, and children of `fork`.

use crate::common::{alone, checked, interrupt_every};
use corelocal::ring::StaticRing;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

static RUNG: StaticRing = StaticRing::new(1 << 16);
static RANG: AtomicU64 = AtomicU64::new(0);
static WROTE: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
    let number = RANG.fetch_add(1, Ordering::Relaxed);
    if RUNG.write_at(number, &[1; 40]).is_ok() {
        WROTE.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_signal_handler_tears_a_record_or_waits_for_it() {
    alone("processes::a_signal_handler_tears_a_record_or_waits_for_it", || {
        RUNG.write(&[0; 40]).unwrap();
        interrupt_every(on_signal, 100);
        let (mut wrote, mut read) = (1_u64, [0_u64; 2]);
        let mut reader = RUNG.reader().unwrap();
        let mut drain = || {
            for record in reader.drain() {
                let bytes = record.bytes();
                assert!(bytes.len() == 40 && bytes.iter().all(|byte| *byte == bytes[0]), "torn");
                read[usize::from(bytes[0])] += 1;
            }
            reader.give_back();
            read
        };
        while RANG.load(Ordering::Relaxed) < 1000 {
            for _ in 0..200 {
                wrote += u64::from(RUNG.write(&[0; 40]).is_ok());
            }
            drain();
        }
        // No signal while records are counted.
        // SAFETY: all zero is an empty set.
        let mut set = unsafe { std::mem::zeroed() };
        // SAFETY: the call changes the set.
        checked(unsafe { libc::sigaddset(&raw mut set, libc::SIGUSR1) }).unwrap();
        let (old, how) = (ptr::null_mut(), libc::SIG_BLOCK);
        // SAFETY: the call reads the set.
        checked(unsafe { libc::sigprocmask(how, &raw const set, old) }).unwrap();
        assert_eq!(drain(), [wrote, WROTE.load(Ordering::Relaxed)]);
        assert!(WROTE.load(Ordering::Relaxed) > 500);
    });
}

static FORKED: StaticRing = StaticRing::new(1 << 12);

/// What a child does: what the parent's threads wrote is in its copy, and so is what it writes.
fn child() -> i32 {
    let Ok(mut reader) = FORKED.reader() else { return 2 };
    reader.skip();
    for number in 0..200 {
        if FORKED.write_at(number, &[3; 100]).is_err() {
            return 3;
        }
        let mut records = reader.drain();
        let first = records.next().map(|record| (record.time(), record.bytes().len()));
        if first != Some((Some(number), 100)) || records.next().is_some() {
            return 4;
        }
        reader.give_back();
    }
    0
}

/// H7, <https://github.com/gperftools/gperftools/issues/499>.
#[test]
fn a_forked_child_waits_for_writers_that_are_gone() {
    alone("processes::a_forked_child_waits_for_writers_that_are_gone", || {
        let over = AtomicU64::new(0);
        FORKED.write(&[9]).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while over.load(Ordering::Relaxed) == 0 {
                        let _ = FORKED.write(&[1; 30]);
                    }
                });
            }
            let fork = |_| {
                // SAFETY: the child calls nothing but the ring, `alarm` and `_exit`.
                let pid = unsafe { libc::fork() };
                if pid == 0 {
                    // SAFETY: arms a timer that kills the child if it hangs.
                    unsafe { libc::alarm(20) };
                    // SAFETY: ends the child at once.
                    unsafe { libc::_exit(child()) };
                }
                let mut status = 0;
                // SAFETY: waits for the child just made, and writes to `status` only.
                let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
                (waited == pid, status)
            };
            let sections = corelocal::backend() == corelocal::Backend::Rseq;
            let bad = (0..50).map(fork).find(|end| {
                // Without sections a thread that is gone may hold a lane, and another one the
                // spill lane: then the record is dropped, which is what is promised.
                *end != (true, 0) && (sections || *end != (true, 3 << 8))
            });
            over.store(1, Ordering::Relaxed);
            assert_eq!(bad, None, "hung (14), crashed (a signal), or a wrong record (code * 256)");
        });
    });
}
