//! [`BatchedCounter::limited_add`]: counts that do not pass a limit.
//!
//! Whoever wants to add sets that amount aside first, in the word `out`, which holds all that is set
//! aside and not yet counted. What was set aside before, and the sum of the lanes, tell whether
//! there is room. Then the amount goes into the lane, and then out of `out`.
//!
//! # Why the limit holds
//!
//! Let all increases go through `limited_add` with one limit. Order them by the moment at which they
//! set their amount aside (`out` is one word, so that is an order), and take the last one, P, of those
//! that were let in. Each earlier one either was done before P set its amount aside, and P's sum has
//! it (edge E41); or it was not, and is in what P found in `out`. Nobody after P was let in. So all that was
//! ever let in, less all that was subtracted by then, is at most what P compared with the limit. (A live
//! sum may miss an amount that was taken back out again. It misses no increase by one that was done,
//! and the others are in `out`.)
//!
//! That asks in which order `out` changes, and that what is taken out of it is counted before (E42). It
//! does not ask that a stock's `LEFT` is seen in that order too. Where stores are reordered, somebody may
//! use a part of a stock up, and another one collect it, before `out` shows that it was set aside. For
//! that moment `out` is less than nothing (modulo its width, and nobody is let in), or shows less than
//! others have aside. But whoever filled the stock was let in, and comes later in the order of `out`, and
//! what is said above is about the last who was: of what that one finds in `out` nothing is missing.
//!
//! # Why that is not slow
//!
//! Where there is much room, a thread sets more aside than it needs, and leaves the rest in a
//! **stock** of its CPU. Whoever finds enough there takes it with an atomic on a word that its CPU
//! has to itself, and touches nothing shared. It goes through the same three steps: out of the stock's
//! `LEFT`, into the lane, and into the stock's `DONE`, which says how much of `out` is done with. Near
//! the limit nothing is left in stocks, and whoever finds no room first collects what all of them
//! hold. So when nobody else is at it, an amount is refused only if it would pass the limit.
//!
//! The stocks' words are never in a section: they are updated by atomics alone, by anybody, as the words
//! of a user's `PerCpu<AtomicU64>` are.

use super::BatchedCounter;
use crate::cacheline::CacheLine;
use crate::error::{AllocError, OverLimit};
use crate::percpu::{Area, PerCpu};
use crate::sync::{AtomicU64, Ordering};

/// What a CPU has in stock: of what was set aside, not used yet; and used and counted.
type Stock = [AtomicU64; 2];
const LEFT: usize = 0;
const DONE: usize = 1;

/// A stock is filled for this many amounts of the size that was asked for, if there is room.
const AHEAD: i128 = 256;

/// What is set aside for `limited_add`.
#[derive(Debug)]
pub(super) struct Reserve {
    stocks: PerCpu<Stock>,
    /// All that was set aside and is not known to be counted, stocks included.
    out: CacheLine<AtomicU64, 2>,
}

impl Reserve {
    pub(super) fn try_new(area: &Area) -> Result<Self, AllocError> {
        // A loom atomic is not valid in zeroed memory.
        #[cfg(corelocal_loom)]
        let stocks = area.try_alloc(|_| [AtomicU64::new(0), AtomicU64::new(0)])?;
        #[cfg(not(corelocal_loom))]
        let stocks = area.try_alloc_zeroed()?;
        Ok(Self { stocks, out: CacheLine::new(AtomicU64::new(0)) })
    }

    /// Sets `amount` aside. Returns how much then is, this amount included; `None`, with nothing
    /// changed, if no word could hold it.
    fn set_aside(&self, amount: u64) -> Option<u64> {
        let more = |out: u64| out.checked_add(amount);
        // Acquire [E41]: pairs with the Release in `put_back`: the sum that follows has every
        // amount that was put back before.
        let found = self.out.fetch_update(Ordering::Acquire, Ordering::Relaxed, more);
        Some(found.ok()? + amount)
    }

    /// `amount` is counted in a lane, or will not be.
    fn put_back(&self, amount: u64) {
        // Release [E41]: pairs with the Acquire in `set_aside`.
        self.out.fetch_sub(amount, Ordering::Release);
    }

    /// Takes all that is in stock back.
    fn collect(&self) {
        for (_, stock) in &self.stocks {
            for word in stock {
                // Relaxed: a look, so that lines of other CPUs are not written for nothing.
                if word.load(Ordering::Relaxed) != 0 {
                    // Acquire [E42]: pairs with the Release in `limited_add`: what is taken out of
                    // `out` now is in a lane. (Of what is left nothing is asked.)
                    self.put_back(word.swap(0, Ordering::Acquire));
                }
            }
        }
    }
}

/// Leaves `amount`, which is set aside, in a stock.
fn fill(stock: &Stock, amount: u64) {
    // Relaxed: why the limit holds does not ask in which order this and `out` are seen.
    stock[LEFT].fetch_add(amount, Ordering::Relaxed);
}

/// Takes `amount` out of a stock; `false` if there is not enough.
fn draw(stock: &Stock, amount: u64) -> bool {
    let less = |left: u64| left.checked_sub(amount);
    // Relaxed, both: as in `fill`. What is drawn was let in when it was set aside.
    stock[LEFT].fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
}

impl BatchedCounter {
    /// Adds `value`, unless the count would pass `limit` (be larger than it).
    ///
    /// **It never does**: as long as all increases go through this function, with one limit, the
    /// count is never above it, whoever adds at the same time. What else increases the count, `add`
    /// or a call with a larger limit, is taken into account: exactly, if it was over before this
    /// call began and nobody is in the middle of an update, and with the precision of
    /// [`read`](Self::read) else.
    ///
    /// While nobody else is adding with a limit, it refuses only what would pass. A call that runs
    /// beside others may also be refused because of an amount that is in the end refused itself.
    ///
    /// Far from the limit this takes two locked instructions on a line of this CPU, beside the `add`. Near
    /// it, where little is left for each CPU, it takes some on a shared line, and a load a lane.
    /// Lock-free, and safe in signal handlers. To take back what was added, [`sub`](Self::sub) it.
    ///
    /// # Errors
    ///
    /// [`OverLimit`]; nothing was added.
    ///
    /// ```
    /// use corelocal::BatchedCounter;
    /// let in_flight = BatchedCounter::new();
    /// let admitted = (0..150).filter(|_| in_flight.limited_add(1, 100).is_ok()).count();
    /// assert_eq!((admitted, in_flight.sum()), (100, 100));
    /// in_flight.sub(1);
    /// assert_eq!(in_flight.limited_add(1, 100), Ok(()));
    /// ```
    pub fn limited_add(&self, value: u64, limit: i64) -> Result<(), OverLimit> {
        let stock = self.reserve.stocks.this();
        if draw(stock, value) {
            if self.has_room(limit) {
                self.add(value as i64);
                // Release [E42]: pairs with the Acquire in `collect`: it is in a lane first.
                stock[DONE].fetch_add(value, Ordering::Release);
                return Ok(());
            }
            fill(stock, value);
        }
        self.limited_add_slow(stock, value, limit)
    }

    /// Whether the count is within `limit` together with all that is set aside, as far as the root
    /// can tell. (The limit of whoever filled the stock may have been another, and `add` asks nobody.)
    fn has_room(&self, limit: i64) -> bool {
        // Relaxed: what was drawn is let in already, by the limit of whoever filled the stock. Of
        // calls that were over before this one, coherence shows the root and `out`; of others this
        // sees what it sees, as `read` does.
        let out = self.reserve.out.load(Ordering::Relaxed);
        self.room(out, limit) >= 0
    }

    /// What the root leaves for more, at least, if `out` is set aside.
    fn room(&self, out: u64, limit: i64) -> i128 {
        let most = self.range().map_or(i64::MAX, |(_, most)| most);
        i128::from(limit) - i128::from(most) - i128::from(out)
    }

    #[cold]
    fn limited_add_slow(&self, stock: &Stock, value: u64, limit: i64) -> Result<(), OverLimit> {
        let refused = OverLimit { value, limit };
        // Relaxed: a guess; what is set aside for the stock is let in or not as all else.
        let out = self.reserve.out.load(Ordering::Relaxed);
        let share = self.room(out, limit) / (4 * self.lanes.lanes() as i128);
        let ahead = share.min(AHEAD * i128::from(value));
        // With less than this it would soon be empty again.
        let ahead = if ahead < 4 * i128::from(value) { 0 } else { ahead as u64 };
        let with_stock = value.saturating_add(ahead);
        if self.is_let_in(with_stock, limit) {
            fill(stock, ahead);
        } else {
            self.reserve.collect();
            if !self.is_let_in(value, limit) {
                return Err(refused);
            }
        }
        self.add(value as i64);
        self.reserve.put_back(value);
        Ok(())
    }

    /// Sets `amount` aside, if the count has room for it and for all that was set aside before.
    fn is_let_in(&self, amount: u64, limit: i64) -> bool {
        let Some(out) = self.reserve.set_aside(amount) else { return false };
        let fits = i128::from(self.sum()) + i128::from(out) <= i128::from(limit);
        if !fits {
            self.reserve.put_back(amount);
        }
        fits
    }
}

#[cfg(all(test, not(corelocal_loom)))]
mod tests {
    use super::*;

    /// Far from the limit calls are to find something in stock, and near it nothing is to lie there.
    #[test]
    fn every_call_goes_to_the_line_that_all_share() {
        let in_stock = |limit| {
            let counter = BatchedCounter::new();
            counter.limited_add(1, limit).unwrap();
            // Relaxed: nobody else is here.
            let left = |stock: &Stock| stock[LEFT].load(Ordering::Relaxed);
            counter.reserve.stocks.iter().map(|(_, stock)| left(stock)).sum::<u64>()
        };
        assert_eq!(in_stock(i64::MAX), AHEAD as u64);
        assert_eq!(in_stock(1), 0);
    }
}
