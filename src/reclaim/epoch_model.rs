//! Epochs under loom: the promises of `crossbeam-epoch`, and no more than these.
//!
//! That crate's own atomics are no loom atomics in our builds (it wants another flag for the whole
//! build), so a model would not see what it orders. This stands in for it:
//!
//! * a deferred function runs when all guards are gone that were pinned when it was deferred, and
//!   not before; what was done under guards that are gone happens before it;
//! * a guard that was pinned too late to be waited for sees what was done before the function was
//!   deferred.
//!
//! The function runs at the first moment that the promises allow, on the thread that drops the last
//! of the guards. As in `sys::memory`'s model, all threads are fibres of one system thread, so
//! a thread-local holds what they share; it orders nothing.

use crate::sync::{AtomicUsize, Ordering, ThreadId, current_thread, fence};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;

struct Deferred {
    /// The guards that were pinned when it was deferred.
    behind: Vec<usize>,
    run: Box<dyn FnOnce()>,
}

#[derive(Default)]
struct State {
    /// What guards leave behind when they go. Made by the first pin of a run, which must be that of
    /// the thread that starts the others: loom orders its making before their uses by that alone.
    gone: Option<Rc<AtomicUsize>>,
    /// Guards so far, and those that are pinned.
    guards: usize,
    pinned: Vec<(ThreadId, usize)>,
    deferred: Vec<Deferred>,
}

impl State {
    /// The functions that no guard is in the way of any more.
    fn take_ready(&mut self) -> Vec<Deferred> {
        let is_pinned = |number: &usize| self.pinned.iter().any(|(_, other)| other == number);
        let all = core::mem::take(&mut self.deferred);
        let (waiting, ready) = all.into_iter().partition(|one| one.behind.iter().any(is_pinned));
        self.deferred = waiting;
        ready
    }
}

std::thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// A pinned thread.
pub struct Guard {
    number: usize,
    /// Not `Send`.
    gone: Rc<AtomicUsize>,
}

/// Pins the calling thread.
pub fn pin() -> Guard {
    let guard = STATE.with_borrow_mut(|state| {
        let gone = state.gone.get_or_insert_with(Rc::default).clone();
        state.guards += 1;
        state.pinned.push((current_thread(), state.guards));
        Guard { number: state.guards, gone }
    });
    // [E93]: with the fence in `defer`: that waits for this guard, or its reader sees what was done
    // before that.
    fence(Ordering::SeqCst);
    guard
}

/// Whether the calling thread is pinned.
pub(super) fn is_pinned() -> bool {
    let this = current_thread();
    STATE.with_borrow(|state| state.pinned.iter().any(|(thread, _)| *thread == this))
}

impl Guard {
    /// Runs `f` when all guards that are pinned now are gone, this one among them.
    pub fn defer<R>(&self, f: impl FnOnce() -> R + Send + 'static) {
        // [E93]: with the fence in `pin`.
        fence(Ordering::SeqCst);
        STATE.with_borrow_mut(|state| {
            let behind = state.pinned.iter().map(|(_, number)| *number).collect();
            state.deferred.push(Deferred { behind, run: Box::new(move || drop(f())) });
        });
    }

    /// Functions run as early as they can anyway.
    pub fn flush(&self) {}
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Release [E92]: with the Acquire below, in whichever thread drops the last guard.
        self.gone.fetch_add(1, Ordering::Release);
        let ready = STATE.with_borrow_mut(|state| {
            state.pinned.retain(|(_, number)| *number != self.number);
            state.take_ready()
        });
        for deferred in ready {
            // Acquire [E92]: with the Release above, of all guards that are gone.
            self.gone.fetch_add(1, Ordering::Acquire);
            (deferred.run)();
        }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Ends a run.
///
/// # Panics
///
/// If a thread is still pinned, or a deferred function was not run.
#[track_caller]
pub(crate) fn finish() {
    let state = STATE.take();
    assert!(state.pinned.is_empty(), "a guard leaked");
    assert!(state.deferred.is_empty(), "a deferred function was not run");
}
