//! Systems that refuse the barrier, and children of `fork`.

use crate::common::{alone, alone_after, on_moving_threads, refuse, refuse_here, skip};
use corelocal::{Backend, PerCpuRwLock, backend};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// D15: without the barrier nobody can tell when the sections of readers are over, so there are none.
#[test]
fn without_the_barrier_readers_use_sections() {
    let name = "processes::without_the_barrier_readers_use_sections";
    let prepare = |command: &mut std::process::Command| {
        refuse(command, &[libc::SYS_membarrier], libc::EPERM);
    };
    alone_after(name, prepare, || {
        let lock = PerCpuRwLock::new([0_u64; 2]);
        assert!(!lock.uses_sections());
        on_moving_threads(1_000, |rng, _| {
            if rng.below(10) == 0 {
                let mut pair = lock.write().unwrap();
                pair[0] += 1;
                pair[1] += 1;
            } else {
                let pair = lock.read().unwrap();
                assert_eq!(pair[0], pair[1]);
            }
        });
        let inside = lock.read().unwrap();
        assert!(lock.try_write().is_err() && lock.try_read().is_ok());
        drop(inside);
        assert!(lock.try_write().is_ok());
    });
}

/// The same when the sandbox is closed after the lock was made: nobody knows who is inside.
#[test]
fn a_barrier_that_is_refused_later_lets_a_writer_in() {
    alone("processes::a_barrier_that_is_refused_later_lets_a_writer_in", || {
        let lock = PerCpuRwLock::new(1);
        assert_eq!(
            lock.uses_sections(),
            backend() == Backend::Rseq && corelocal::sys::rseq::can_fence()
        );
        if !lock.uses_sections() {
            return skip("a_barrier_that_is_refused_later", "no sections here");
        }
        *lock.write().unwrap() += 1;
        refuse_here(&[libc::SYS_membarrier], libc::EPERM);
        for _ in 0..3 {
            let refused = catch_unwind(AssertUnwindSafe(|| drop(lock.write())));
            let text = *refused.unwrap_err().downcast::<String>().unwrap();
            assert!(text.contains("barrier"), "{text}");
            assert!(catch_unwind(AssertUnwindSafe(|| drop(lock.try_write()))).is_err());
            // It is open, and as it was.
            assert_eq!((*lock.read().unwrap(), *lock.try_read().unwrap()), (2, 2));
            assert!(!lock.is_poisoned());
        }
        assert_eq!(lock.into_inner().unwrap(), 2);
    });
}

/// H7 for locks: a child that no guard was inherited by reads and writes.
#[test]
fn a_forked_child_finds_a_free_lock_taken() {
    alone("processes::a_forked_child_finds_a_free_lock_taken", || {
        let lock = PerCpuRwLock::new(0_u64);
        *lock.write().unwrap() += 1;
        drop(lock.read());
        for _ in 0..20 {
            // SAFETY: the child uses the lock, `alarm` and `_exit`.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                // SAFETY: arms a timer that kills the child if it hangs.
                unsafe { libc::alarm(20) };
                let before = *lock.read().unwrap();
                *lock.write().unwrap() += 1;
                let good = *lock.try_read().unwrap() == before + 1;
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(i32::from(!good)) };
            }
            let mut status = 0;
            // SAFETY: waits for the child just made, and writes to `status` only.
            let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
            assert_eq!(
                (waited, status),
                (pid, 0),
                "hung (14), crashed (a signal), or a wrong value (256)"
            );
        }
        assert_eq!(*lock.read().unwrap(), 1);
    });
}
