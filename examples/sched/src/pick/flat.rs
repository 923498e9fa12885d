//! One queue a CPU for all tasks, each weighted by its part of the whole.
//!
//! Facts: the kernel's series "sched: Flatten the pick" (Linux 7.3). Groups keep their load and
//! weight on each CPU, but do not compete: a task's weight in the one queue is `h_load`, its weight
//! times the fractions of all groups above it. It is computed when the task is put into the queue,
//! set running, at ticks while it runs, and when its nice value changes; who waits keeps a stale one.

use super::entity::{Entity, LEAST_WEIGHT, NICE_0};
use super::queue::{Queue, Who};
use super::rules::{Rules, Sound};
use super::world::{Groups, ROOT, World};
use super::{Features, Picker};

/// Bits that [`Features::precise`] carries below the unit.
const PRECISION: u32 = 10;

/// A group on this CPU.
#[derive(Clone, Debug, Default)]
struct Here {
    /// The weights of the tasks and groups in it that are queued here.
    load: u64,
    /// What of it the group's total counts.
    told: u64,
    /// How many those are.
    queued: u32,
    /// Its own weight in the group above, 0 while nothing in it is queued.
    weight: u64,
    /// Who in it is on the way to the running task.
    h_curr: Option<Who>,
}

/// The flat pick's state on one CPU.
#[derive(Clone, Debug)]
pub struct Flat<R = Sound> {
    queue: Queue<R>,
    groups: Vec<Here>,
    features: Features,
    running: Option<u32>,
    updated: u64,
    slice_over: bool,
}

impl<R: Rules> Flat<R> {
    /// The queue.
    pub fn queue(&self) -> &Queue<R> {
        &self.queue
    }

    /// A task's part of this CPU, as a weight beside nice 0 in the root group. Each level divides and
    /// rounds down, to no less than 2. O(depth).
    pub fn h_load(&self, task: u32, world: &World) -> u64 {
        let of = world.task(task);
        let bits = if self.features.precise { PRECISION } else { 0 };
        let (mut group, mut weight) = (of.group, of.weight);
        let mut part = NICE_0 << bits;
        loop {
            let right = R::DIVIDES_AT_EVERY_LEVEL || group != of.group;
            let by = match group == ROOT || !right {
                true => NICE_0,
                // Who is not queued yet counts as alone.
                false => self.groups[group as usize].load.max(1),
            };
            part = (u128::from(part) * u128::from(weight) / u128::from(by)) as u64;
            part = part.max(LEAST_WEIGHT);
            if group == ROOT {
                break;
            }
            weight = self.groups[group as usize].weight;
            group = world.groups.of(group).parent;
        }
        match bits {
            0 => part,
            // Rounded once, to the nearest.
            bits => ((part + (1 << (bits - 1))) >> bits).max(LEAST_WEIGHT),
        }
    }

    /// The part of this CPU that belongs to a group, in the same measure.
    pub fn group_load(&self, group: u32, world: &World) -> u64 {
        let mut part = u128::from(NICE_0);
        let mut parts: Vec<u32> = world.groups.upward(group).collect();
        while let Some(group) = parts.pop() {
            let parent = world.groups.of(group).parent;
            let by = if parent == ROOT { NICE_0 } else { self.groups[parent as usize].load };
            part = part * u128::from(self.groups[group as usize].weight) / u128::from(by.max(1));
        }
        part as u64
    }

    /// Charges the running task. Only the task's own virtual time goes on: there is one queue.
    fn update(&mut self, now: u64) {
        let ns = now - self.updated;
        if ns > 0 && self.running.is_some() {
            self.slice_over |= self.queue.charge(ns) || !self.queue.is_protected();
        }
        self.updated = now;
    }

    /// [`Flat::update`] of who calls on behalf of the root queue. The kernel first asked that
    /// queue's `h_curr` here and returned early where it was a group's entity.
    fn update_root(&mut self, now: u64) {
        let task_in_root = matches!(self.groups[ROOT as usize].h_curr, Some(Who::Task(_)));
        if R::CHARGES_RUNNING_TASK || task_in_root {
            self.update(now);
        } else {
            self.updated = now;
        }
    }

    /// Counts a task of this group and weight in or out, up to the root.
    fn account(&mut self, into: bool, (mut group, weight): (u32, u64), groups: &mut Groups) {
        let here = &mut self.groups[group as usize];
        match into {
            true => (here.load, here.queued) = (here.load + weight, here.queued + 1),
            false => (here.load, here.queued) = (here.load - weight, here.queued - 1),
        }
        while group != ROOT {
            group = self.renew_weight(group, groups);
        }
    }

    /// Computes the weight of `group` anew and tells the group above, which is returned.
    fn renew_weight(&mut self, group: u32, groups: &mut Groups) -> u32 {
        let here = &mut self.groups[group as usize];
        let was = here.weight;
        let weight = groups.weight(group, here.load, &mut here.told);
        let weight = if R::GROUP_TAKES_WEIGHT { weight } else { NICE_0 };
        here.weight = if here.queued > 0 { weight } else { 0 };
        let is = here.weight;
        let parent = groups.of(group).parent;
        let above = &mut self.groups[parent as usize];
        above.load = above.load - was + is;
        match (was, is) {
            (0, 1..) => above.queued += 1,
            (1.., 0) => above.queued -= 1,
            _ => {}
        }
        parent
    }

    /// Computes the weights of `group` and all above it anew.
    fn renew_weights(&mut self, mut group: u32, world: &mut World) {
        while group != ROOT {
            group = self.renew_weight(group, &mut world.groups);
        }
    }

    /// The way from the root to `task`, marked or unmarked.
    fn mark(&mut self, task: u32, world: &World, running: bool) {
        let group = world.task(task).group;
        let mut who = Who::Task(task);
        for at in world.groups.upward(group) {
            self.groups[at as usize].h_curr = running.then_some(who);
            who = Who::Group(at);
        }
        self.groups[ROOT as usize].h_curr = running.then_some(who);
    }

    /// Takes `task` out of the queue, with what `entity` it brought back.
    fn left(&mut self, task: u32, entity: Entity, world: &mut World) {
        world.keep(task, entity);
        let of = (world.task(task).group, world.task(task).weight);
        self.account(false, of, &mut world.groups);
    }
}

impl<R: Rules> Picker for Flat<R> {
    const NAME: &'static str = "flat";

    fn new(groups: usize, features: Features) -> Self {
        Self {
            queue: Queue::default(),
            groups: vec![Here::default(); groups],
            features,
            running: None,
            updated: 0,
            slice_over: false,
        }
    }

    fn current(&self) -> Option<u32> {
        self.running
    }

    fn enqueue(&mut self, now: u64, task: u32, world: &mut World) {
        let requeues = world.task(task).on;
        if requeues.is_none() || R::CHARGES_BEFORE_REQUEUE {
            self.update(now);
        }
        let (group, weight) = (world.task(task).group, world.task(task).weight);
        world.groups.count(group, true);
        if let Some(slot) = requeues {
            self.queue.requeue(slot);
            self.renew_weights(group, world);
            self.queue.reweight(slot, self.h_load(task, world));
            return;
        }
        self.account(true, (group, weight), &mut world.groups);
        let mut entity = world.take(task);
        entity.reweigh_away(self.h_load(task, world));
        let slot = self.queue.join(Who::Task(task), entity);
        world.tasks[task as usize].on = Some(slot);
    }

    fn dequeue(&mut self, now: u64, task: u32, sleep: bool, world: &mut World) -> bool {
        self.update(now);
        let slot = world.task(task).on.expect("a task that is queued");
        if self.running == Some(task) {
            self.mark(task, world, false);
            self.running = None;
        }
        let entity = self.queue.entity(slot);
        if !entity.delayed {
            world.groups.count(world.task(task).group, false);
            if sleep && self.features.delay && !self.queue.is_eligible(entity.vruntime) {
                self.queue.delay(slot);
                return false;
            }
        }
        let entity = match entity.delayed {
            true => self.queue.leave_delayed(slot),
            false => self.queue.leave(slot, sleep),
        };
        self.left(task, entity, world);
        true
    }

    fn pick(&mut self, now: u64, world: &mut World) -> Option<u32> {
        self.update_root(now);
        self.slice_over = false;
        loop {
            let slot = self.queue.next()?;
            let Who::Task(task) = self.queue.who(slot) else { unreachable!("only tasks compete") };
            if self.queue.entity(slot).delayed {
                let entity = self.queue.leave_delayed(slot);
                self.left(task, entity, world);
                continue;
            }
            if self.queue.current() != Some(slot) {
                self.queue.put_current();
                self.queue.set_current(slot);
                if let Some(before) = self.running {
                    self.mark(before, world, false);
                }
                self.mark(task, world, true);
                self.running = Some(task);
                if R::RENEWS_WEIGHT {
                    self.queue.reweight(slot, self.h_load(task, world));
                }
            }
            return Some(task);
        }
    }

    fn tick(&mut self, now: u64, world: &mut World) -> bool {
        self.update(now);
        if let Some(task) = self.running {
            self.renew_weights(world.task(task).group, world);
            if let (Some(slot), true) = (self.queue.current(), R::RENEWS_WEIGHT) {
                self.queue.reweight(slot, self.h_load(task, world));
            }
        }
        self.slice_over && self.queue.len() > 1
    }

    fn preempts(&mut self, now: u64, task: u32, world: &World) -> bool {
        self.update(now);
        let slot = world.task(task).on;
        self.running.is_none() || slot.is_some_and(|slot| self.queue.preempts(slot))
    }

    fn set_weight(&mut self, now: u64, task: u32, weight: u64, world: &mut World) {
        self.update(now);
        let of = &mut world.tasks[task as usize];
        let before = core::mem::replace(&mut of.weight, weight);
        let (group, on) = (of.group, of.on);
        if let Some(slot) = on {
            let here = &mut self.groups[group as usize];
            here.load = here.load - before + weight;
            self.renew_weights(group, world);
            self.queue.reweight(slot, self.h_load(task, world));
        }
    }

    fn group_changed(&mut self, now: u64, group: u32, world: &mut World) {
        self.update(now);
        self.renew_weights(group, world);
    }

    fn queues(&self, visit: &mut dyn FnMut(&dyn super::Checked)) {
        visit(&self.queue);
    }
}
