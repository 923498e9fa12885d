//! Who of a queue is to run.

use super::{Queue, Slot};
use crate::pick::entity::{Entity, virtual_time};
use crate::pick::rules::Rules;

impl<R: Rules> Queue<R> {
    /// Whether one served up to `vruntime` has not had more than its part: `vruntime <= V`.
    #[inline]
    pub fn is_eligible(&self, vruntime: i64) -> bool {
        if !R::ASKS_ELIGIBILITY {
            return true;
        }
        i128::from(vruntime - self.base) * i128::from(self.weight) <= self.sum
    }

    /// Who is to run: the earliest deadline among the eligible; with equal deadlines who waits,
    /// then who was put there first. There is one unless the queue is empty. O(log n).
    #[inline]
    pub fn pick(&self) -> Option<Slot> {
        let first = self.timeline.first(|vruntime| self.is_eligible(vruntime));
        let running = self.current.filter(|&slot| self.is_eligible(self.entity(slot).vruntime));
        match (first, running) {
            (Some(first), Some(running)) => {
                let earlier = self.entity(running).deadline < self.entity(first).deadline;
                Some(if earlier { running } else { first })
            }
            (first, running) => first.or(running),
        }
    }

    /// The same answer as [`Queue::pick`], by looking at everyone and dividing: the oracle.
    pub fn pick_by_looking_at_all(&self) -> Option<Slot> {
        let average = self.average();
        let eligible = self.slots().filter(|&slot| self.entity(slot).vruntime <= average);
        eligible.min_by_key(|&slot| {
            let running = self.current == Some(slot);
            let arrival = if running { u64::MAX } else { self.timeline.arrival(slot) };
            (self.entity(slot).deadline, arrival)
        })
    }

    /// Who is to run next: the running one while it is [protected](Queue::is_protected) and has not
    /// had more than its part, else [`Queue::pick`]'s answer.
    pub fn next(&self) -> Option<Slot> {
        let running = self.current.filter(|&slot| self.is_eligible(self.entity(slot).vruntime));
        running.filter(|_| self.is_protected()).or_else(|| self.pick())
    }

    /// Whether the running one has not yet had what it was set running for: its slice, or the
    /// shortest slice that was waiting then. (Without this two that are served in turn would
    /// interrupt each other at every tick.)
    pub fn is_protected(&self) -> bool {
        self.current.is_some_and(|slot| self.entity(slot).vruntime < self.protected)
    }

    /// Whether `slot`, which just woke, should run instead of the running one. A shorter slice
    /// lifts the running one's protection; if it is not its turn yet all the same, the running one
    /// is protected for as long as that shorter slice only.
    pub fn preempts(&mut self, slot: Slot) -> bool {
        let Some(running) = self.current else { return true };
        let slice = self.entity(slot).slice;
        let Entity { slice: own, vruntime, weight, .. } = *self.entity(running);
        if slice >= own {
            return self.next() == Some(slot);
        }
        let now = self.pick() == Some(slot);
        let left = if now { 0 } else { virtual_time(slice, weight) };
        self.protected = self.protected.min(vruntime + left);
        now
    }
}
