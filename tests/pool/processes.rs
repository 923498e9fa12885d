//! Signal handlers, children of `fork`, and systems that refuse the barrier.

use crate::common::{alone, alone_after, checked, interrupt_every, refuse, refuse_here};
use crate::small;
use corelocal::pool::{DrainError, PerCpuPool, StaticPool};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static RUNG: StaticPool<[u64; 4]> = StaticPool::new(|| {
    PerCpuPool::builder(|| [0; 4]).lane_capacity(8).shared_batches(64).build().unwrap()
});
static RANG: AtomicU64 = AtomicU64::new(0);
static GOT: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
    RANG.fetch_add(1, Ordering::Relaxed);
    if let Some(mut object) = RUNG.get_idle() {
        // Nobody else has it: whoever was interrupted left it whole.
        assert_eq!(object[0], object[1]);
        object[0] += 1;
        object[1] += 1;
        GOT.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_signal_handler_gets_an_object_that_is_in_use() {
    alone("processes::a_signal_handler_gets_an_object_that_is_in_use", || {
        // The objects, before any signal: while they are sent nothing is made.
        drop((0..12).map(|_| RUNG.get()).collect::<Vec<_>>());
        if !RUNG.uses_sections() {
            return crate::common::skip("a_signal_handler", "magazines are not for handlers");
        }
        interrupt_every(on_signal, 200);
        let mut uses = 0;
        while RANG.load(Ordering::Relaxed) < 1000 {
            for count in 1..=12 {
                let mut out = [const { None }; 12];
                for object in &mut out[..count] {
                    *object = RUNG.get_idle();
                }
                for object in out.iter_mut().flatten() {
                    assert_eq!(object[0], object[1]);
                    object[0] += 1;
                    std::hint::black_box(&mut *object);
                    object[1] += 1;
                    uses += 1;
                }
            }
        }
        // Not in every signal: at some moments all twelve are out.
        assert!(GOT.load(Ordering::Relaxed) > 0);
        // No signal while objects are counted.
        // SAFETY: all zero is an empty set.
        let mut set = unsafe { std::mem::zeroed() };
        // SAFETY: the call changes the set.
        checked(unsafe { libc::sigaddset(&raw mut set, libc::SIGUSR1) }).unwrap();
        let (old, how) = (ptr::null_mut(), libc::SIG_BLOCK);
        // SAFETY: the call reads the set.
        checked(unsafe { libc::sigprocmask(how, &raw const set, old) }).unwrap();
        let counts: Vec<_> = RUNG.drain().unwrap().collect();
        assert_eq!(counts.len(), 12);
        let used: u64 = counts.iter().map(|count| count[0]).sum();
        assert_eq!(used, uses + GOT.load(Ordering::Relaxed));
    });
}

static FORKED: StaticPool<u64> = StaticPool::new(|| {
    PerCpuPool::builder(|| 0).lane_capacity(4).shared_batches(4).build().unwrap()
});

/// What a child does while the threads that may have held something are gone.
fn child() -> i32 {
    for round in 0..300 {
        let mut out = [FORKED.get(), FORKED.get(), FORKED.get(), FORKED.get(), FORKED.get()];
        for (at, object) in out.iter_mut().enumerate() {
            **object = at as u64;
        }
        if out.iter().enumerate().any(|(at, object)| **object != at as u64) {
            return 2;
        }
        drop(out);
        if round % 100 == 0 {
            match FORKED.drain() {
                // A thread of the parent's was at it.
                Ok(_) | Err(DrainError::InProgress) => {}
                Err(_) => return 3,
            }
        }
    }
    0
}

/// H7, <https://github.com/gperftools/gperftools/issues/499>.
#[test]
fn a_forked_child_waits_for_threads_that_are_gone() {
    alone("processes::a_forked_child_waits_for_threads_that_are_gone", || {
        let done = AtomicBool::new(false);
        drop(FORKED.get());
        // Where each thread has a lock, a child's drain waits 60 ms for each that is held for ever.
        let forks = if FORKED.uses_sections() { 200 } else { 20 };
        std::thread::scope(|scope| {
            for number in 0..4 {
                let done = &done;
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        let out = [(); 9].map(|()| FORKED.get());
                        drop(out);
                        if number == 0 {
                            let _ = FORKED.shrink_to(3);
                        }
                    }
                });
            }
            let fork = |_| {
                // SAFETY: the child calls nothing but the pool, `alarm` and `_exit`.
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
            let bad = (0..forks).map(fork).find(|end| *end != (true, 0));
            done.store(true, Ordering::Relaxed);
            assert_eq!(bad, None, "hung (14), crashed (a signal), or a wrong value (code * 256)");
        });
    });
}

/// D15, <https://github.com/google/gvisor/issues/267>: without the barrier nobody takes lanes over
/// from sections, so there are none.
#[test]
fn without_the_barrier_sections_are_drained() {
    let name = "processes::without_the_barrier_sections_are_drained";
    let prepare = |command: &mut std::process::Command| {
        refuse(command, &[libc::SYS_membarrier], libc::EPERM);
    };
    alone_after(name, prepare, || {
        let (pool, census) = small();
        assert!(!pool.uses_sections());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    (0..1000).for_each(|_| drop([pool.get(), pool.get(), pool.get()]));
                });
            }
            for _ in 0..100 {
                drop(pool.drain().unwrap());
            }
        });
        let alive = census.alive();
        assert_eq!(pool.drain().unwrap().count(), alive);
        drop([pool.get(), pool.get(), pool.get()]);
        assert_eq!((pool.shrink_to(1), census.alive()), (Ok(2), 1));
        drop(pool);
        assert_eq!(census.alive(), 0);
    });
}

/// The same when the sandbox is closed after the pool was built.
#[test]
fn a_barrier_that_is_refused_later_loses_objects() {
    alone("processes::a_barrier_that_is_refused_later_loses_objects", || {
        let (pool, census) = small();
        if !pool.uses_sections() {
            return crate::common::skip("a_barrier", "no sections here");
        }
        drop((0..8).map(|_| pool.get()).collect::<Vec<_>>());
        refuse_here(&[libc::SYS_membarrier], libc::EPERM);
        for _ in 0..3 {
            assert_eq!(pool.drain().unwrap_err(), DrainError::NoFence);
            assert_eq!(pool.shrink_to(0).unwrap_err(), DrainError::NoFence);
            drop((0..8).map(|_| pool.get()).collect::<Vec<_>>());
            assert_eq!(census.alive(), pool.objects());
        }
        drop(pool);
        assert_eq!(census.alive(), 0);
    });
}
