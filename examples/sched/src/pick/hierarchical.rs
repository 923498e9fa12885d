//! A queue a group and CPU: tasks compete within their group, groups within theirs.
//!
//! Facts: the kernel up to 7.2. A group's entity weighs what the policy gives the group on this CPU,
//! asks for the shortest slice in the group, and is charged whenever a task below it runs; a pick
//! descends from the root, a task that joins lets every group above it join that was empty.

use super::entity::{Entity, NICE_0, SLICE};
use super::queue::{Queue, Slot, Who};
use super::rules::{Rules, Sound};
use super::world::{ROOT, World};
use super::{Checked, Features, Picker};

/// A group on this CPU.
#[derive(Clone, Debug)]
struct Level<R> {
    queue: Queue<R>,
    /// What of its load the group's total counts.
    told: u64,
    /// Where it is queued in the group above.
    on: Option<Slot>,
    /// Its state while it is not.
    entity: Entity,
}

/// The hierarchical pick's state on one CPU.
#[derive(Clone, Debug)]
pub struct Hierarchical<R = Sound> {
    levels: Vec<Level<R>>,
    features: Features,
    running: Option<u32>,
    updated: u64,
    slice_over: bool,
    /// The way from the root to the task that is picked.
    path: Vec<(u32, Slot)>,
}

impl<R: Rules> Hierarchical<R> {
    /// A group's queue.
    pub fn queue(&self, group: u32) -> &Queue<R> {
        &self.levels[group as usize].queue
    }

    fn queue_mut(&mut self, group: u32) -> &mut Queue<R> {
        &mut self.levels[group as usize].queue
    }

    /// Charges the running task and every group above it.
    fn update(&mut self, now: u64, world: &World) {
        let ns = now - self.updated;
        self.updated = now;
        let Some(task) = self.running.filter(|_| ns > 0) else { return };
        let mut group = world.task(task).group;
        loop {
            let queue = self.queue_mut(group);
            let over = queue.charge(ns) || !queue.is_protected();
            self.slice_over |= over && self.queue(group).len() > 1;
            if group == ROOT {
                return;
            }
            group = world.groups.of(group).parent;
        }
    }

    /// After something changed in `group`: from there to the root, lets groups compete that do not
    /// yet, and gives the others their new weight and slice.
    fn climb(&mut self, mut group: u32, world: &mut World) {
        while group != ROOT {
            let parent = world.groups.of(group).parent;
            let (weight, slice) = self.weight_and_slice(group, world);
            let level = &mut self.levels[group as usize];
            if let Some(slot) = level.on {
                let queue = self.queue_mut(parent);
                if queue.entity(slot).delayed {
                    queue.requeue(slot);
                }
                queue.reweight(slot, weight);
                queue.set_slice(slot, slice);
            } else {
                let mut entity = level.entity.clone();
                entity.reweigh_away(weight);
                entity.slice = slice;
                let slot = self.queue_mut(parent).join(Who::Group(group), entity);
                self.levels[group as usize].on = Some(slot);
            }
            group = parent;
        }
    }

    fn weight_and_slice(&mut self, group: u32, world: &mut World) -> (u64, u64) {
        let level = &mut self.levels[group as usize];
        let weight = world.groups.weight(group, level.queue.weight(), &mut level.told);
        let weight = if R::GROUP_TAKES_WEIGHT { weight } else { NICE_0 };
        (weight, level.queue.shortest_slice().unwrap_or(level.entity.slice))
    }

    /// After someone left `group`: from there to the root, groups that have become empty leave too.
    fn descend(&mut self, mut group: u32, sleep: bool, world: &mut World) {
        while group != ROOT {
            if !self.queue(group).is_empty() {
                return self.climb(group, world);
            }
            let parent = world.groups.of(group).parent;
            let level = &mut self.levels[group as usize];
            world.groups.weight(group, 0, &mut level.told);
            if let Some(slot) = level.on {
                let vruntime = self.queue(parent).entity(slot).vruntime;
                if sleep && self.features.delay && !self.queue(parent).is_eligible(vruntime) {
                    self.queue_mut(parent).delay(slot);
                    return self.climb(parent, world);
                }
                let entity = self.queue_mut(parent).leave(slot, sleep);
                self.stay_away(group, entity);
            }
            group = parent;
        }
    }

    /// Keeps what a group brought back from a queue.
    fn stay_away(&mut self, group: u32, entity: Entity) {
        let level = &mut self.levels[group as usize];
        (level.entity, level.on) = (entity, None);
    }

    /// Takes a delayed one out of the queue of `group`.
    fn finish_delayed(&mut self, group: u32, slot: Slot, world: &mut World) {
        let who = self.queue(group).who(slot);
        let entity = self.queue_mut(group).leave_delayed(slot);
        match who {
            Who::Task(task) => world.keep(task, entity),
            Who::Group(empty) => self.stay_away(empty, entity),
        }
        self.descend(group, true, world);
    }

    /// Puts back who runs in `group` and below.
    fn put_back(&mut self, mut group: u32) {
        loop {
            let queue = self.queue_mut(group);
            let Some(slot) = queue.current() else { return };
            let who = queue.who(slot);
            queue.put_current();
            let Who::Group(below) = who else { return };
            group = below;
        }
    }

    /// The way from the root to the task that should run, in `path`.
    fn find(&mut self, world: &mut World) -> Option<u32> {
        let mut group = ROOT;
        self.path.clear();
        loop {
            let queue = self.queue(group);
            let slot = queue.next()?;
            if queue.entity(slot).delayed {
                self.finish_delayed(group, slot, world);
                // Groups above may have gone as well.
                self.path.clear();
                group = ROOT;
                continue;
            }
            let who = queue.who(slot);
            self.path.push((group, slot));
            match who {
                Who::Task(task) => return Some(task),
                Who::Group(below) => group = below,
            }
        }
    }
}

impl<R: Rules> Picker for Hierarchical<R> {
    const NAME: &'static str = "hierarchical";

    fn new(groups: usize, features: Features) -> Self {
        let entity = || Entity::new(NICE_0, SLICE);
        let level = |_| Level { queue: Queue::default(), told: 0, on: None, entity: entity() };
        Self {
            levels: (0..groups).map(level).collect(),
            features,
            running: None,
            updated: 0,
            slice_over: false,
            path: Vec::new(),
        }
    }

    fn current(&self) -> Option<u32> {
        self.running
    }

    fn enqueue(&mut self, now: u64, task: u32, world: &mut World) {
        let group = world.task(task).group;
        let requeues = world.task(task).on;
        if requeues.is_none() || R::CHARGES_BEFORE_REQUEUE {
            self.update(now, world);
        }
        world.groups.count(group, true);
        match requeues {
            Some(slot) => self.queue_mut(group).requeue(slot),
            None => {
                let mut entity = world.take(task);
                entity.reweigh_away(world.task(task).weight);
                let slot = self.queue_mut(group).join(Who::Task(task), entity);
                world.tasks[task as usize].on = Some(slot);
            }
        }
        self.climb(group, world);
    }

    fn dequeue(&mut self, now: u64, task: u32, sleep: bool, world: &mut World) -> bool {
        self.update(now, world);
        let group = world.task(task).group;
        let slot = world.task(task).on.expect("a task that is queued");
        if self.running == Some(task) {
            self.running = None;
        }
        let queue = &mut self.levels[group as usize].queue;
        let (delayed, vruntime) = (queue.entity(slot).delayed, queue.entity(slot).vruntime);
        if !delayed {
            world.groups.count(group, false);
            if sleep && self.features.delay && !queue.is_eligible(vruntime) {
                queue.delay(slot);
                return false;
            }
        }
        let entity = match delayed {
            true => queue.leave_delayed(slot),
            false => queue.leave(slot, sleep),
        };
        world.keep(task, entity);
        self.descend(group, sleep, world);
        true
    }

    fn pick(&mut self, now: u64, world: &mut World) -> Option<u32> {
        self.update(now, world);
        self.slice_over = false;
        let task = self.find(world)?;
        let path = core::mem::take(&mut self.path);
        for &(group, slot) in &path {
            if self.queue(group).current() != Some(slot) {
                self.put_back(group);
                self.queue_mut(group).set_current(slot);
            }
        }
        self.path = path;
        self.running = Some(task);
        Some(task)
    }

    fn tick(&mut self, now: u64, world: &mut World) -> bool {
        self.update(now, world);
        if let Some(task) = self.running {
            self.climb(world.task(task).group, world);
        }
        self.slice_over
    }

    fn preempts(&mut self, now: u64, task: u32, world: &World) -> bool {
        self.update(now, world);
        if self.running.is_none() {
            return true;
        }
        // Up to the first queue that both are in.
        let (mut group, mut slot) = (world.task(task).group, world.task(task).on);
        while self.queue(group).current().is_none() && group != ROOT {
            slot = self.levels[group as usize].on;
            group = world.groups.of(group).parent;
        }
        slot.is_some_and(|slot| self.queue_mut(group).preempts(slot))
    }

    fn set_weight(&mut self, now: u64, task: u32, weight: u64, world: &mut World) {
        self.update(now, world);
        let of = &mut world.tasks[task as usize];
        of.weight = weight;
        let (group, on) = (of.group, of.on);
        if let Some(slot) = on {
            self.queue_mut(group).reweight(slot, weight);
            self.climb(group, world);
        }
    }

    fn group_changed(&mut self, now: u64, group: u32, world: &mut World) {
        self.update(now, world);
        if !self.queue(group).is_empty() {
            self.climb(group, world);
        }
    }

    fn queues(&self, visit: &mut dyn FnMut(&dyn Checked)) {
        self.levels.iter().for_each(|level| visit(&level.queue));
    }
}
