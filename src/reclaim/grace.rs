//! Grace periods: waiting for one, and what is run at the end of one.

use super::error::Pinned;
use super::{Guard, is_pinned, pin};
use crate::sync::{Arc, AtomicUsize, Ordering, pause};

/// Returns when every guard that is pinned now is gone. New readers may come meanwhile.
///
/// The kernel's `synchronize_rcu`, for those who would rather wait than hand over a callback. Takes
/// as long as the longest of those readers, and a few rounds of the scheduler; one that never ends is
/// waited for without end, and one that pins a little later may be waited for too. Deferred
/// callbacks of other threads may run on this one meanwhile.
///
/// What the readers did happens before the return (edge E91 of
/// [`docs::orderings`](crate::docs::orderings)).
///
/// # Errors
///
/// [`Pinned`]: the calling thread holds a guard itself, or is in a deferred callback.
///
/// ```
/// use corelocal::reclaim::{pin, wait_for_readers};
/// let guard = pin();
/// assert!(wait_for_readers().is_err());
/// drop(guard);
/// wait_for_readers()?;
/// # Ok::<(), corelocal::reclaim::Pinned>(())
/// ```
pub fn wait_for_readers() -> Result<(), Pinned> {
    if is_pinned() {
        return Err(Pinned { given_back: () });
    }
    let over = Arc::new(AtomicUsize::new(0));
    {
        let (guard, over) = (pin(), over.clone());
        // Release [E91]: pairs with the Acquire below.
        guard.defer(move || over.store(1, Ordering::Release));
        guard.flush();
    }
    let mut turn = 0;
    // Acquire [E91]: pairs with the Release above, so what the readers did is seen, by whichever
    // thread it was found that they are done.
    while over.load(Ordering::Acquire) == 0 {
        pause(turn);
        turn += 1;
        // Looks whether the readers are done.
        pin().flush();
    }
    Ok(())
}

/// Runs `f` when every guard that is pinned now is gone, on some thread that pins then.
///
/// A panic ends at `f`: the thread that happens to run it has nothing to do with it, and other deferred
/// functions wait behind it. The panic hook has told of it by then.
pub(super) fn defer(guard: &Guard, f: impl FnOnce() + Send + 'static) {
    guard.defer(move || contained(f));
}

#[cfg(not(corelocal_loom))]
fn contained(f: impl FnOnce()) {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    // `f` is consumed; what it owned and did not hand on was dropped on the way.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Its drop could panic again.
        core::mem::forget(payload);
    }
}

/// In a model, a panic is what the model finds.
#[cfg(corelocal_loom)]
fn contained(f: impl FnOnce()) {
    f();
}
