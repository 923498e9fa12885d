//! What a count does: got and put in lanes until it is killed, then in one word.
//!
//! The total lies in the spill lane, whose word only atomics change. While lanes count it holds a bias,
//! so no put can find it at the end. A kill
//!
//! 1. says so, in the mode;
//! 2. waits until nobody counts in a lane who has not seen that: with sections, which load the mode
//!    themselves, by the system's barrier (edge E24); without, by closing the lanes one by one, after
//!    which an addition finds that it counted nothing, and goes to the total;
//! 3. adds the lanes' sum to the total, and takes the bias away, in one step (the fold);
//! 4. puts the reference that the count began with, like any other.
//!
//! From 1 to 3 others count on the total, which is still biased. So every get and every put is in a
//! lane before its sum is taken, or on the total: once, and never on both. Whoever lowers the
//! total from one to none then marks the end, if nobody has got a reference meanwhile
//! ([`try_get`] may): only the mark is the end, and there is one.
//!
//! A put touches nothing of the count once it has counted, unless it was the last: others may have
//! put the last one by then, and freed it all.

use super::error::KillError;
use super::lanes::Lanes;
use super::word::{self, BIAS, END, LAST, NONE, OVER, SATURATED, UNIT};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::sys::rseq::NoFence;

/// Lanes count, in sections. The one mode that a section commits in.
pub(crate) const SECTIONS: usize = 0;
/// Lanes count, by atomics: there are no sections.
pub(crate) const LANES: usize = 1;
/// Only the total counts: there are sections, and no barrier to end them.
pub(crate) const WHOLE: usize = 2;
/// Somebody kills.
const ENDING: usize = 3;
/// The barrier was refused: only the total counts, with its bias, until another kill.
const STALLED: usize = 4;
/// Only the total counts.
const KILLED: usize = 5;

/// What the total of a new count holds: one reference.
pub(crate) const fn first_total(mode: usize) -> u64 {
    if mode == WHOLE { LAST } else { BIAS | LAST }
}

/// Whether nobody has begun to kill.
#[inline]
pub(crate) fn is_live(mode: &AtomicUsize) -> bool {
    // Relaxed: a hint by the time that it is used.
    mode.load(Ordering::Relaxed) < ENDING
}

/// One reference more, for whoever has one.
#[inline(always)]
pub(crate) fn get<L: Lanes>(lanes: L, mode: &AtomicUsize) {
    let found = lanes.get(mode);
    if !word::is_lane(found) {
        get_whole(&lanes, found);
    }
}

/// One reference more, unless the end has come. Says whether.
#[inline(always)]
pub(crate) fn try_get<L: Lanes>(lanes: L, mode: &AtomicUsize) -> bool {
    let found = lanes.get(mode);
    word::is_lane(found) || get_whole(&lanes, found)
}

/// A get that no lane counted.
#[cold]
#[inline(never)]
fn get_whole<L: Lanes>(lanes: &L, found: u64) -> bool {
    let total = lanes.total();
    let old = if word::is_total(found) {
        found
    } else {
        // Relaxed: whoever gets has a reference, or an object that came to it with an edge of its own.
        total.fetch_add(UNIT, Ordering::Relaxed)
    };
    if word::is_beyond(old) {
        // Relaxed: the bit stays, and says nothing of other memory.
        total.fetch_or(SATURATED, Ordering::Relaxed);
    }
    old & OVER == 0
}

/// One reference less. `true`: that was the end, and the caller is the one who is told.
#[inline(always)]
#[must_use = "somebody has to act at the end"]
pub(crate) fn put<L: Lanes>(lanes: L, mode: &AtomicUsize) -> bool {
    let found = lanes.put(mode);
    !word::is_lane(found) && put_whole(&lanes, found)
}

/// A put that no lane counted.
#[cold]
#[inline(never)]
fn put_whole<L: Lanes>(lanes: &L, found: u64) -> bool {
    let old = if word::is_total(found) {
        found
    } else {
        // Not counted yet, so the words are still there.
        // Release [E71]: pairs with the Acquire in `end`: what this thread did with the object.
        lanes.total().fetch_sub(UNIT, Ordering::Release)
    };
    old == LAST && end(lanes.total())
}

/// Marks the end, unless somebody has got a reference since the last one was put.
fn end(total: &AtomicU64) -> bool {
    // Acquire [E71]: pairs with the Releases of the puts. Only read-modify-writes
    // change the word, so it sees them all. Relaxed on failure: the end is somebody else's.
    total.compare_exchange(NONE, END, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Ends the counting in lanes. The caller has a reference, and puts it next: then the end can come.
///
/// # Errors
///
/// [`KillError`]; the end cannot come by this call.
pub(crate) fn kill<L: Lanes>(lanes: L, mode: &AtomicUsize) -> Result<(), KillError> {
    let counted = match begin(mode).ok_or(KillError::Killed)? {
        // A put that is in no section yet must not be waited for: it is on the total by then.
        SECTIONS | STALLED => match lanes.fence() {
            // [E24]: sections that saw the old mode are over, and seen.
            Ok(()) => Some(lanes.sum()),
            Err(NoFence) => {
                // Relaxed: only a kill looks at the difference.
                mode.store(STALLED, Ordering::Relaxed);
                return Err(KillError::NoFence);
            }
        },
        LANES => Some(lanes.close()),
        _ => None,
    };
    // Relaxed: for those who ask only; the total says by itself whether it is whole.
    mode.store(KILLED, Ordering::Relaxed);
    if let Some(counted) = counted {
        fold(lanes.total(), counted);
    }
    Ok(())
}

/// Takes the right to kill; returns the mode before.
fn begin(mode: &AtomicUsize) -> Option<usize> {
    // Relaxed, all: the barrier that follows orders the mode and the lanes [E24]; where lanes are
    // closed, they say so themselves.
    let mut was = mode.load(Ordering::Relaxed);
    while was != ENDING && was != KILLED {
        match mode.compare_exchange(was, ENDING, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(was),
            Err(now) => was = now,
        }
    }
    None
}

/// Makes the total whole.
fn fold(total: &AtomicU64, counted: u64) {
    // Relaxed: the uses of those who put in lanes, which this thread has taken over, are released by
    // its own put, without which there is no end [E71].
    let old = total.fetch_add(counted.wrapping_sub(BIAS), Ordering::Relaxed);
    if word::folded(old, counted).1 {
        // Relaxed: as in `get_whole`.
        total.fetch_or(SATURATED, Ordering::Relaxed);
    }
}

/// How many references there are; exact while none is got or put.
pub(crate) fn references<L: Lanes>(lanes: L) -> u64 {
    // Relaxed: a number.
    let total = lanes.total().load(Ordering::Relaxed);
    let whole = if word::is_biased(total) {
        // Between two loads references may have been put that were got after the first.
        let (whole, _) = word::folded(total, lanes.sum());
        if whole > SATURATED { LAST } else { whole }
    } else {
        total
    };
    word::references(whole)
}
