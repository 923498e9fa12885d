//! What the words of a count hold.
//!
//! One reference is [`UNIT`]: the two lowest bits are free to say what kind of word it is, and whole
//! units never carry into them.
//!
//! | word | holds |
//! |---|---|
//! | a lane's | what was got there less what was put there; wraps, like any cell |
//! | a closed lane's (without sections) | [`CLOSED`], and units that count nothing |
//! | the total, in the spill lane | [`TOTAL`], and by its value: |
//! | | about [`BIAS`]: lanes count as well, so it says nothing by itself |
//! | | up to [`MOST`]: the number of references |
//! | | [`SATURATED`] is set: there were too many to count, and the end never comes |
//! | | [`OVER`] is set: the end came, once |

/// One reference.
pub(super) const UNIT: u64 = 4;
/// Marks the total.
pub(super) const TOTAL: u64 = 1;
/// Marks a lane that does not count any more.
pub(super) const CLOSED: u64 = 2;
/// What the total holds too much while lanes count: far from zero, whatever is got or put there.
pub(super) const BIAS: u64 = 1 << 60;
/// The most that the total holds in references before it stops to count.
pub(super) const MOST: u64 = 1 << 58;
/// The count stopped; nothing that is put or got reaches zero from here.
pub(super) const SATURATED: u64 = 1 << 63;
/// The last reference was put.
pub(super) const OVER: u64 = 1 << 62;
/// The mark of the end: [`OVER`], and room for what comes too late in either direction.
pub(super) const END: u64 = OVER | (OVER / 2) | TOTAL;
/// No reference is left, and nobody has said so yet.
pub(super) const NONE: u64 = TOTAL;
/// One reference is left.
pub(super) const LAST: u64 = UNIT | TOTAL;

/// Whether a word was that of a lane which counts: then there is nothing more to do.
#[inline(always)]
pub(super) const fn is_lane(word: u64) -> bool {
    word & (TOTAL | CLOSED) == 0
}

/// Whether a word was the total.
#[inline(always)]
pub(super) const fn is_total(word: u64) -> bool {
    word & TOTAL != 0
}

/// Whether the total has passed [`MOST`], and is not about [`BIAS`].
pub(super) const fn is_beyond(total: u64) -> bool {
    total >= MOST && total < BIAS / 2
}

/// Whether lanes count as well.
pub(super) const fn is_biased(total: u64) -> bool {
    total >= BIAS / 2 && total < 2 * BIAS
}

/// What the total becomes when the lanes' sum is added and the bias goes; whether that cannot be
/// counted: beyond [`MOST`], or not even the reference of whoever kills.
pub(super) const fn folded(total: u64, lanes: u64) -> (u64, bool) {
    let whole = total.wrapping_add(lanes).wrapping_sub(BIAS);
    (whole, whole < LAST || whole >= MOST)
}

/// References in a total without a bias; 0 after the end.
pub(super) const fn references(whole: u64) -> u64 {
    if whole & OVER != 0 { 0 } else { (whole & !SATURATED) / UNIT }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_words_are_taken_for_each_other() {
        for units in [0, 1, 7, u64::MAX / UNIT] {
            assert!(is_lane(units.wrapping_mul(UNIT)) && !is_total(units.wrapping_mul(UNIT)));
            assert!(!is_lane(CLOSED.wrapping_add(units.wrapping_mul(UNIT))));
            assert!(is_total(TOTAL.wrapping_add(units.wrapping_mul(UNIT))));
        }
        let biased = BIAS | LAST;
        for drift in [0, 1 << 40, (1_u64 << 40).wrapping_neg()] {
            let drifted = biased.wrapping_add(drift);
            assert!(is_biased(drifted) && !is_beyond(drifted));
        }
        for whole in [NONE, LAST, MOST - UNIT] {
            assert!(!is_biased(whole) && !is_beyond(whole));
            assert!(!is_biased(whole | SATURATED) && !is_biased(whole | OVER));
        }
        assert!(is_beyond(MOST) && is_beyond(MOST | TOTAL));
        assert_eq!([LAST, NONE, END, END - UNIT].map(references), [1, 0, 0, 0]);
    }

    #[test]
    fn a_sum_that_wrapped_is_taken_for_a_number() {
        let start = BIAS | LAST;
        // Got on one lane and put on another: each wrapped, their sum is right.
        let (one, other) = (1_u64 << 63, (1_u64 << 63).wrapping_sub(UNIT).wrapping_neg());
        assert_eq!(folded(start, one.wrapping_add(other)), (LAST + UNIT, false));
        // More were got and forgotten than can be counted; as many as look like fewer than none.
        assert!(folded(start, MOST).1 && folded(start, BIAS).1 && folded(start, 3 << 61).1);
        assert!(folded(start, UNIT.wrapping_neg()).1, "one more put than got");
        assert_eq!(folded(start, MOST - 2 * UNIT), ((MOST - UNIT) | TOTAL, false));
    }
}
