//! Taking lanes over from the sections of their CPUs.

use super::lanes::{ALONE, LOADED, Lane, Lanes, SPARE};
use super::node::Chain;
use crate::sync::{AtomicUsize, Ordering};
use crate::sys::rseq::{Anchor, Anchored, Atomic, HERE, NoFence, Outcome, Stride};

/// How often a drain asks for a lock of the spill lane or of a magazine. Its holder is between a
/// few instructions, and perhaps waits for a CPU; or it vanished (`fork`).
const PATIENCE: usize = if cfg!(corelocal_loom) { 2 } else { 64 };

/// Why lanes could not be taken over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// Somebody else is at it.
    Taken,
    /// The kernel refused the barrier. The phase was turned: what the lanes held stays in the pair
    /// that is not in use, until the next take-over, or the one after it, succeeds.
    NoFence,
}

impl<S: Stride> Lanes<S> {
    /// Takes what is in the lanes of all CPUs, whatever became of them, and in the spill lane
    /// behind them: turns the phase, waits with `fence` until no section of the old one is
    /// running, and empties the lists of the old one. `found` gets them, and must not panic.
    ///
    /// # Errors
    ///
    /// [`Refused`]; `found` was not called.
    ///
    /// # Safety
    ///
    /// * The lists at `lane0` are this pool's: a [`Lane`] lies in each lane up to `spill`, the
    ///   spill lane's number, `S::BYTES` apart.
    /// * When `fence` says yes, no section is running any more that began before the call.
    pub(crate) unsafe fn take_over(
        &self,
        lane0: *mut Lane,
        spill: u32,
        fence: impl FnOnce() -> Result<(), NoFence>,
        mut found: impl FnMut(Chain),
    ) -> Result<(), Refused> {
        let _taking = Taking::begin(&self.taken).ok_or(Refused::Taken)?;
        // Relaxed: what phase it is matters to nobody but those who put before (and then we see
        // theirs): of whichever pair is taken below, the phase that is set does not use it.
        let old = self.phase.load(Ordering::Relaxed);
        // Release [E51]: pairs with the Acquire in `phase`: the pair that comes into use now was
        // emptied by the last take-over.
        self.phase.store(old.wrapping_add(1) & !ALONE, Ordering::Release);
        fence().map_err(|NoFence| Refused::NoFence)?;
        for which in [LOADED, SPARE] {
            let list = Self::list(lane0, old, which);
            for lane in 0..spill as usize {
                let place = list.wrapping_byte_add(lane * S::BYTES);
                // SAFETY:
                // - a lane's list lies there.
                let word = unsafe { &(*place).word };
                // Relaxed, both: [E24], the barrier above: sections that saw the old phase are
                // over, later ones leave this list alone, and no atomic ever stores here.
                let head = word.load(Ordering::Relaxed);
                if head != 0 {
                    word.store(0, Ordering::Relaxed);
                    // SAFETY:
                    // - what was in the list belongs to whoever took the lanes over.
                    found(unsafe { Chain::from_head(head) });
                }
            }
            // SAFETY:
            // - the lists are the pool's.
            found(unsafe { take_locked::<S>(list, spill) });
        }
        Ok(())
    }

    /// As [`take_over`](Self::take_over), of one lane in the hands of `Atomic`: its locks are
    /// enough.
    ///
    /// # Safety
    ///
    /// A [`Lane`] of this pool lies there.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models have no magazines"))]
    pub(crate) unsafe fn take_lane(&self, lane: *mut Lane, mut found: impl FnMut(Chain)) {
        for which in [LOADED, SPARE] {
            // SAFETY:
            // - the lists are the pool's.
            found(unsafe { take_locked::<S>(Self::list(lane, 0, which), 0) });
        }
    }

    /// What is in the lanes of a pool that nobody uses any more. Never panics but if `found` does,
    /// and finds the rest when it is called again.
    ///
    /// # Safety
    ///
    /// As [`take_over`](Self::take_over), of the lists; nobody else uses the pool, now or later.
    #[cfg_attr(corelocal_loom, allow(dead_code, reason = "models drain at their end"))]
    pub(super) unsafe fn sweep(
        &self,
        lane0: *mut Lane,
        lanes: usize,
        mut found: impl FnMut(Chain),
    ) {
        for lane in 0..lanes {
            for list in 0..4 {
                let place = Self::list(lane0, 0, list).wrapping_byte_add(lane * S::BYTES);
                // SAFETY:
                // - a lane's list lies there.
                let word = unsafe { &(*place).word };
                // Relaxed, both: nobody else is left.
                let head = word.load(Ordering::Relaxed);
                if head != 0 {
                    word.store(0, Ordering::Relaxed);
                    // SAFETY:
                    // - nobody else uses the pool.
                    found(unsafe { Chain::from_head(head) });
                }
            }
        }
    }
}

/// Takes a list whose lane has a lock. Gives up on a holder that does not come back: what the list
/// holds stays there, and is found another time.
///
/// # Safety
///
/// A pool's list lies in `lane`, counted from `list`.
unsafe fn take_locked<S: Stride>(list: *mut Anchor, lane: u32) -> Chain {
    for turn in 0..PATIENCE {
        // SAFETY:
        // - passed on to the caller.
        match unsafe { Atomic::on_lane(lane).list_take::<S, _>(list, HERE) } {
            // SAFETY:
            // - what was taken is this thread's.
            Outcome::Committed { value, .. } => return unsafe { Chain::from_head(value) },
            Outcome::Busy => crate::sync::pause(turn),
            _ => break,
        }
    }
    Chain::EMPTY
}

/// The right to take lanes over.
struct Taking<'a>(&'a AtomicUsize);

impl<'a> Taking<'a> {
    fn begin(taken: &'a AtomicUsize) -> Option<Self> {
        // Relaxed, both: [E52], the barrier that follows, before any list is looked at.
        let begun = taken.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed);
        begun.is_ok().then(|| Self(taken))
    }
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        // Release [E52]: pairs with the barrier of the next take-over: the emptied lists.
        self.0.store(0, Ordering::Release);
    }
}
