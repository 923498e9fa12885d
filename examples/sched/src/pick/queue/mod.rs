//! One EEVDF queue.
//!
//! Earliest eligible virtual deadline first (Stoica and Abdel-Wahab 1995; the kernel's
//! documentation `sched-eevdf`). V, the queue's virtual time, is the mean of the virtual run times,
//! weighted; who has been served less than its part is behind V and owed something (its lag); only
//! who is owed something or nothing is eligible; of those the earliest deadline runs.
//!
//! # No division, no overflow
//!
//! V itself needs a division. The pick asks `v <= V` as `(v - base) * W <= S` with the total weight
//! W and S, the sum of `w * (v - base)` over the queue, which each operation changes by its own
//! term. S and the products have 128 bits: all `v - base` are below 2^63 in size, and W is, because a
//! weight is at most 2^43 and a queue holds fewer than 2^20; so S and the product are below 2^126.
//! `base` follows V whenever V is computed anyway.

use super::entity::{Entity, TICK, rescaled, virtual_time, virtual_time_and_rest};
use super::rules::{Rules, Sound};
use super::timeline::Timeline;
use core::marker::PhantomData;

mod choice;

/// One of those in the queue.
pub type Slot = u32;

/// Who is behind a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Who {
    /// The task of this number.
    Task(u32),
    /// The group of this number.
    Group(u32),
}

#[derive(Clone, Debug)]
struct Entry {
    who: Who,
    entity: Entity,
    queued: bool,
}

/// Entities that compete for one stream of service.
#[derive(Clone, Debug)]
pub struct Queue<R = Sound> {
    entries: Vec<Entry>,
    free: Vec<Slot>,
    timeline: Timeline<R>,
    current: Option<Slot>,
    /// Up to which virtual run time the running one is not taken off for another's earlier deadline.
    protected: i64,
    base: i64,
    sum: i128,
    weight: u64,
    len: usize,
    rules: PhantomData<R>,
}

impl<R> Default for Queue<R> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            free: Vec::new(),
            timeline: Timeline::default(),
            current: None,
            protected: 0,
            base: 0,
            sum: 0,
            weight: 0,
            len: 0,
            rules: PhantomData,
        }
    }
}

impl<R: Rules> Queue<R> {
    /// How many compete, the running one and the delayed ones included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nobody competes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sum of the weights.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Who runs.
    pub fn current(&self) -> Option<Slot> {
        self.current
    }

    /// Who is behind a slot.
    pub fn who(&self, slot: Slot) -> Who {
        self.entries[slot as usize].who
    }

    /// The entity at a slot.
    pub fn entity(&self, slot: Slot) -> &Entity {
        &self.entries[slot as usize].entity
    }

    /// Every slot that is taken.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        let taken = self.entries.iter().enumerate().filter(|(_, entry)| entry.queued);
        taken.map(|(at, _)| at as Slot)
    }

    /// V, rounded down. Of an empty queue: where the next one will be placed.
    pub fn average(&self) -> i64 {
        if self.weight == 0 {
            return self.base;
        }
        let by = i128::from(self.weight);
        let mean = match (i64::try_from(self.sum), i64::try_from(self.weight)) {
            // A division of 128 bits takes several times as long.
            (Ok(sum), Ok(weight)) => sum.div_euclid(weight),
            _ => self.sum.div_euclid(by) as i64,
        };
        self.base + mean
    }

    /// What a slot is owed now, in its own virtual time, at most [`Queue::longest_lag`] either way.
    pub fn lag(&self, slot: Slot) -> i64 {
        let entity = self.entity(slot);
        let most = self.longest_lag(entity.weight);
        (self.average() - entity.vruntime).clamp(-most, most)
    }

    /// The lag that is kept at most: the longest slice here and a tick, which is how far EEVDF lets
    /// anyone fall behind or get ahead when running ones are looked at once a tick.
    pub fn longest_lag(&self, weight: u64) -> i64 {
        let running = self.current.map(|slot| self.entity(slot).slice);
        let longest = self.timeline.slices().map(|(_, longest)| longest).max(running);
        virtual_time(longest.unwrap_or(0) + TICK, weight)
    }

    /// The shortest slice here.
    pub fn shortest_slice(&self) -> Option<u64> {
        let running = self.current.map(|slot| self.entity(slot).slice);
        let waiting = self.timeline.slices().map(|(shortest, _)| shortest);
        running.into_iter().chain(waiting).min()
    }

    /// Lets `entity` compete. It is placed so that it is owed afterwards what it was owed when it
    /// left: with W the weight of the others, `lag * (W + w) / W` behind their V, since its own
    /// weight moves V towards it. To an empty queue nobody brings a lag: it would be to itself.
    pub fn join(&mut self, who: Who, entity: Entity) -> Slot {
        let slot = self.free.pop().unwrap_or(self.entries.len() as Slot);
        let entry = Entry { who, entity, queued: true };
        match self.entries.get_mut(slot as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.enter(slot);
        slot
    }

    /// Places the entity of `slot` and counts it.
    fn enter(&mut self, slot: Slot) {
        let average = self.average();
        self.rebase(average);
        let others = self.weight;
        let entity = &mut self.entries[slot as usize].entity;
        let lag = match others {
            0 => 0,
            _ => rescaled(entity.vlag, others + entity.weight, others),
        };
        entity.vruntime = average - lag;
        entity.deadline = match entity.relative {
            true => entity.vruntime + entity.deadline,
            false => entity.renewed(),
        };
        (entity.relative, entity.rest) = (false, 0);
        self.count(slot);
        self.line_up(slot);
        self.len += 1;
    }

    /// Ends the competition for `slot`, whose entity takes its lag along. Who does not `sleep` also
    /// takes its place in the slice that it is in.
    ///
    /// If it is the running one, it must have been charged, and nobody runs afterwards.
    pub fn leave(&mut self, slot: Slot, sleep: bool) -> Entity {
        let lag = self.lag(slot);
        self.exit(slot);
        self.free.push(slot);
        let entry = &mut self.entries[slot as usize];
        entry.queued = false;
        let mut entity = entry.entity.clone();
        entity.vlag = lag;
        entity.relative = !sleep;
        if !sleep {
            entity.deadline -= entity.vruntime;
        }
        entity
    }

    /// Takes `slot` out of tree and sums.
    fn exit(&mut self, slot: Slot) {
        match self.current == Some(slot) {
            true => self.current = None,
            false => self.timeline.remove(slot),
        }
        self.discount(slot);
        self.len -= 1;
        let average = self.average();
        self.rebase(average);
    }

    /// Charges the running one with `ns` of service. Says whether its slice is used up; then it has
    /// got the next one.
    pub fn charge(&mut self, ns: u64) -> bool {
        let Some(slot) = self.current else { return false };
        let entity = &mut self.entries[slot as usize].entity;
        let (by, rest) = virtual_time_and_rest(ns, entity.weight, entity.rest);
        (entity.vruntime, entity.rest) = (entity.vruntime + by, rest);
        if R::CHARGE_MOVES_SUM {
            self.sum += i128::from(entity.weight) * i128::from(by);
        }
        let over = entity.vruntime >= entity.deadline;
        if over {
            entity.deadline = entity.renewed();
        }
        over
    }

    /// Lets `slot` run. Nobody must be running.
    pub fn set_current(&mut self, slot: Slot) {
        debug_assert!(self.current.is_none(), "two would run");
        let entity = self.entity(slot);
        let slice = self.shortest_slice().unwrap_or(entity.slice).min(entity.slice);
        let end = entity.vruntime + virtual_time(slice, entity.weight);
        self.protected = end.min(entity.deadline);
        self.timeline.remove(slot);
        self.current = Some(slot);
    }

    /// Puts the running one back among those that wait.
    pub fn put_current(&mut self) {
        if let Some(slot) = self.current.take() {
            self.line_up(slot);
        }
    }

    /// Gives `slot` a new weight. `lag * weight` stays, and so does V: it is placed anew as far from
    /// V as its lag is now, and its deadline likewise. What V's rounding hides is carried: a heavy
    /// one's lag in the service of a light one would multiply it.
    pub fn reweight(&mut self, slot: Slot, weight: u64) {
        let Entity { weight: old, vruntime, deadline, .. } = *self.entity(slot);
        if old == weight {
            return;
        }
        let average = self.average();
        let hidden = self.sum - i128::from(average - self.base) * i128::from(self.weight);
        let hidden = hidden * (i128::from(old) - i128::from(weight)) / i128::from(self.weight);
        let waits = self.current != Some(slot);
        if waits {
            self.timeline.remove(slot);
        }
        self.discount(slot);
        let owed = i128::from(average - vruntime) * i128::from(old) + hidden;
        let to = if R::REWEIGHT_SCALES_LAG { weight } else { old };
        let entity = &mut self.entries[slot as usize].entity;
        entity.vruntime = average - (owed / i128::from(to)) as i64;
        if !waits {
            self.protected = entity.vruntime + rescaled(self.protected - vruntime, old, weight);
        }
        entity.deadline = entity.vruntime + rescaled(deadline - vruntime, old, weight);
        (entity.weight, entity.rest) = (weight, 0);
        self.count(slot);
        if waits {
            self.line_up(slot);
        }
    }

    /// The slice that `slot` asks for from its next one on.
    pub fn set_slice(&mut self, slot: Slot, slice: u64) {
        if self.entity(slot).slice == slice {
            return;
        }
        let waits = self.current != Some(slot);
        if waits {
            self.timeline.remove(slot);
        }
        self.entries[slot as usize].entity.slice = slice;
        if waits {
            self.line_up(slot);
        }
    }

    /// Lets `slot` sleep and stay: it is owed less than nothing, and pays by waiting here.
    pub fn delay(&mut self, slot: Slot) {
        self.entries[slot as usize].entity.delayed = true;
    }

    /// Wakes the delayed `slot`. If the wait has made it owed something, that is forfeit.
    ///
    /// The running one must have been charged: the lag is judged by V as it is now.
    pub fn requeue(&mut self, slot: Slot) {
        let lag = self.lag(slot);
        self.entries[slot as usize].entity.delayed = false;
        if lag > 0 {
            let runs = self.current == Some(slot);
            self.exit(slot);
            self.entries[slot as usize].entity.vlag = 0;
            self.enter(slot);
            if runs {
                self.set_current(slot);
            }
        }
    }

    /// Takes the delayed `slot` out once it has paid: what it is owed by now is forfeit.
    pub fn leave_delayed(&mut self, slot: Slot) -> Entity {
        let mut entity = self.leave(slot, true);
        entity.vlag = entity.vlag.min(0);
        entity.delayed = false;
        entity
    }

    fn rebase(&mut self, base: i64) {
        self.sum -= i128::from(self.weight) * i128::from(base - self.base);
        self.base = base;
    }

    fn line_up(&mut self, slot: Slot) {
        let Entity { deadline, vruntime, slice, .. } = *self.entity(slot);
        self.timeline.insert(slot, deadline, vruntime, slice);
    }

    fn term(&self, slot: Slot) -> (u64, i128) {
        let Entity { weight, vruntime, .. } = *self.entity(slot);
        (weight, i128::from(weight) * i128::from(vruntime - self.base))
    }

    fn count(&mut self, slot: Slot) {
        let (weight, term) = self.term(slot);
        self.weight += weight;
        self.sum += term;
    }

    fn discount(&mut self, slot: Slot) {
        let (weight, term) = self.term(slot);
        self.weight -= weight;
        if R::LEAVING_MOVES_SUM {
            self.sum -= term;
        }
    }
}
