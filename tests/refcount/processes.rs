//! Signal handlers, children of `fork`, and systems that refuse the barrier.

use crate::common::{alone, alone_after, interrupt_every, refuse, refuse_here, skip};
use crate::{Value, count};
use corelocal::refcount::{KillError, PerCpuArc, PerCpuArcOwner, PerCpuRefCount, leaked};
use corelocal::{Backend, backend};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

static RUNG: OnceLock<PerCpuArc<Value>> = OnceLock::new();
static RANG: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_: i32) {
    if let Some(shared) = RUNG.get() {
        let arcs = [(); 3].map(|()| shared.clone());
        arcs[2].look();
    }
    RANG.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn a_signal_handler_that_clones_loses_a_reference() {
    alone("processes::a_signal_handler_that_clones_loses_a_reference", || {
        let (value, drops) = Value::new();
        let owner = PerCpuArcOwner::new(value);
        let shared = RUNG.get_or_init(|| owner.share());
        let _timer = interrupt_every(on_signal, 200);
        while RANG.load(Ordering::Relaxed) < 300 {
            let arcs: Vec<_> = (0..16).map(|_| shared.clone()).collect();
            arcs[15].look();
        }
        drop(owner);
        let killed = RANG.load(Ordering::Relaxed);
        while RANG.load(Ordering::Relaxed) < killed + 100 {
            drop(shared.clone());
        }
        // A handler between two instructions of this has put what it got.
        assert_eq!((PerCpuArc::references(shared), count(&drops)), (1, 0));
    });
}

/// D15: without the barrier nobody knows when the last section is over, so there are none.
#[test]
fn without_the_barrier_lanes_are_added_up() {
    let prepare =
        |command: &mut std::process::Command| refuse(command, &[libc::SYS_membarrier], libc::EPERM);
    alone_after("processes::without_the_barrier_lanes_are_added_up", prepare, || {
        let (value, drops) = Value::new();
        let owner = PerCpuArcOwner::new(value);
        let shared = owner.share();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let shared = shared.clone();
                scope.spawn(move || (0..2000).for_each(|_| shared.clone().look()));
            }
            owner.kill().expect("nothing to refuse");
        });
        assert_eq!((PerCpuArc::references(&shared), count(&drops)), (1, 0));
        drop(shared);
        assert_eq!((count(&drops), leaked()), (1, 0));
    });
}

/// The same when the sandbox is closed after the value was shared: never freed early, never in silence.
#[test]
fn a_barrier_that_is_refused_later_frees_early_or_leaks_in_silence() {
    alone("processes::a_barrier_that_is_refused_later_frees_early_or_leaks_in_silence", || {
        if backend() != Backend::Rseq {
            return skip("a_barrier_that_is_refused_later", "no sections here");
        }
        let (value, drops) = Value::new();
        let (second, dropped) = Value::new();
        let (owner, other) = (PerCpuArcOwner::new(value), PerCpuArcOwner::new(second));
        let ends = AtomicUsize::new(0);
        let users = PerCpuRefCount::new(|| _ = ends.fetch_add(1, Ordering::Relaxed));
        users.get();
        let shared = owner.share();
        refuse_here(&[libc::SYS_membarrier], libc::EPERM);
        let refused = owner.kill().unwrap_err();
        assert_eq!(refused.error(), KillError::NoFence);
        assert!(refused.to_string().contains("membarrier"));
        let owner = refused.into_owner();
        assert_eq!((owner.references(), leaked()), (2, 0));
        for _ in 0..2 {
            // It works on, and says that it is to go.
            let more: Vec<_> = (0..5).map(|_| shared.clone()).collect();
            assert_eq!((owner.references(), PerCpuArc::has_owner(&shared)), (7, false));
            drop(more);
            assert_eq!(users.kill(), Err(KillError::NoFence));
            assert!(users.try_get() && !users.try_get_live());
            users.put();
        }
        drop(owner);
        shared.look();
        drop(shared);
        drop(other);
        assert_eq!((count(&drops), count(&dropped), leaked()), (0, 0, 2));
        users.put();
        assert_eq!((ends.load(Ordering::Relaxed), users.references()), (0, 1));
    });
}

/// H7: a child of `fork` has the references that its parent had at that moment. Those of other threads
/// are never put there; its own are, and what only it had is dropped.
#[test]
fn a_forked_child_cannot_end_what_it_has() {
    alone("processes::a_forked_child_cannot_end_what_it_has", || {
        let child = || {
            let (value, drops) = Value::new();
            let owner = PerCpuArcOwner::new(value);
            let arcs: Vec<_> = (0..9).map(|_| owner.share()).collect();
            drop(owner);
            drop(arcs);
            i32::from(count(&drops) != 1)
        };
        let (value, drops) = Value::new();
        let owner = PerCpuArcOwner::new(value);
        let shared = owner.share();
        for _ in 0..20 {
            // SAFETY: one thread forks, and the child ends by `_exit`.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                // SAFETY: arms a timer that kills the child if it hangs.
                unsafe { libc::alarm(20) };
                drop(owner);
                let early = count(&drops);
                drop(shared);
                let code = child() + 2 * i32::from((early, count(&drops)) != (0, 1));
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(code) };
            }
            let mut status = 0;
            // SAFETY: waits for the child just made, and writes to `status` only.
            let waited = unsafe { libc::waitpid(pid, &raw mut status, 0) };
            assert_eq!((waited, status), (pid, 0), "hung (14), crashed, or a wrong end");
        }
        assert_eq!((owner.references(), count(&drops)), (2, 0));
    });
}
