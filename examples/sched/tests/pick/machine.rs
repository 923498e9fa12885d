//! A CPU to which everything happens, from random bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::entity::{NICE_0, nice_weight};
use sched::pick::policy::CgroupMode;
use sched::pick::{Features, Groups, Picker, ROOT, World};

/// A tree and tasks: each group's parent (taken modulo the groups before it) and shares, each task's
/// group and weight and, if it has one, its own slice.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) groups: Vec<(u32, u64)>,
    pub(crate) tasks: Vec<(u32, u64, Option<u64>)>,
}

impl Shape {
    pub(crate) fn world(&self, mode: CgroupMode, cpus: usize) -> World {
        let mut groups = Groups::new(mode, cpus);
        for &(parent, shares) in &self.groups {
            let before = groups.len() as u32;
            groups.add(parent % before, shares);
        }
        let all = groups.len() as u32;
        let mut world = World::new(groups);
        for &(group, weight, slice) in &self.tasks {
            world.add_task(group % all, weight, slice);
        }
        world
    }
}

pub(crate) fn shapes() -> impl Strategy<Value = Shape> {
    let weight = || (-20..20).prop_map(nice_weight);
    let shares = prop_oneof![weight(), Just(NICE_0), 2_u64..NICE_0];
    let slice = prop_oneof![Just(None), (100_000_u64..10_000_000).prop_map(Some)];
    let groups = vec((any::<u32>(), shares), 0..7);
    let tasks = vec((any::<u32>(), weight(), slice), 1..12);
    (groups, tasks).prop_map(|(groups, tasks)| Shape { groups, tasks })
}

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Awake tasks sleep, sleeping ones wake.
    Toggle(usize),
    /// A queued task goes elsewhere and comes back.
    Visit(usize),
    /// The group is throttled: its tasks leave without sleeping; or comes back.
    Throttle(u32),
    Pick,
    Tick,
    SetWeight(usize, u64),
    SetShares(u32, u64),
}

/// Steps, each after some nanoseconds.
pub(crate) fn steps(most: usize) -> impl Strategy<Value = Vec<(u64, Step)>> {
    let weight = || (-20..20).prop_map(nice_weight);
    let step = prop_oneof![
        4 => any::<usize>().prop_map(Step::Toggle),
        1 => any::<usize>().prop_map(Step::Visit),
        1 => any::<u32>().prop_map(Step::Throttle),
        4 => Just(Step::Pick),
        4 => Just(Step::Tick),
        1 => (any::<usize>(), weight()).prop_map(|(task, weight)| Step::SetWeight(task, weight)),
        1 => (any::<u32>(), weight()).prop_map(|(group, shares)| Step::SetShares(group, shares)),
    ];
    vec((0_u64..2_000_000, step), 1..most)
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Asleep,
    Awake,
    Throttled,
}

/// One CPU.
#[derive(Debug)]
pub(crate) struct Machine<P> {
    pub(crate) picker: P,
    pub(crate) world: World,
    states: Vec<State>,
    now: u64,
}

impl<P: Picker> Machine<P> {
    pub(crate) fn new(shape: &Shape) -> Self {
        let world = shape.world(CgroupMode::Up, 1);
        let picker = P::new(world.groups.len(), Features::default());
        Self { picker, states: vec![State::Asleep; world.tasks()], world, now: 0 }
    }

    pub(crate) fn wake_all(&mut self) {
        for task in 0..self.states.len() {
            self.toggle(task);
        }
    }

    fn toggle(&mut self, task: usize) {
        let (now, at) = (self.now, task as u32);
        match self.states[task] {
            State::Asleep => {
                self.picker.enqueue(now, at, &mut self.world);
                self.states[task] = State::Awake;
            }
            State::Awake => {
                self.picker.dequeue(now, at, true, &mut self.world);
                self.states[task] = State::Asleep;
            }
            State::Throttled => {}
        }
    }

    fn throttle(&mut self, group: u32) {
        for task in 0..self.states.len() {
            let of = self.world.task(task as u32).group;
            let below = group == ROOT || self.world.groups.upward(of).any(|above| above == group);
            match self.states[task] {
                State::Awake if below => {
                    self.picker.dequeue(self.now, task as u32, false, &mut self.world);
                    self.states[task] = State::Throttled;
                }
                State::Throttled if below => {
                    self.picker.enqueue(self.now, task as u32, &mut self.world);
                    self.states[task] = State::Awake;
                }
                _ => {}
            }
        }
    }

    pub(crate) fn step(&mut self, after: u64, step: Step) {
        self.now += after;
        let (now, world) = (self.now, &mut self.world);
        let (tasks, groups) = (self.states.len(), world.groups.len() as u32);
        match step {
            Step::Toggle(task) => return self.toggle(task % tasks),
            Step::Visit(task) if self.states[task % tasks] == State::Awake => {
                let task = (task % tasks) as u32;
                self.picker.dequeue(now, task, false, world);
                self.picker.enqueue(now, task, world);
            }
            Step::Visit(_) => {}
            Step::Throttle(group) => return self.throttle(group % groups),
            Step::Pick => {}
            Step::Tick if self.picker.tick(now, world) => {}
            Step::Tick => return,
            Step::SetWeight(task, weight) => {
                self.picker.set_weight(now, (task % tasks) as u32, weight, world);
            }
            Step::SetShares(group, shares) => {
                world.groups.set_shares(group % groups, shares);
                self.picker.group_changed(now, group % groups, world);
            }
        }
        self.picker.pick(now, &mut self.world);
    }

    /// Whether every queue holds what a queue must: its pick, its lags.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut found = Ok(());
        self.picker.queues(&mut |queue| {
            let checked = queue.check_pick().and_then(|()| queue.check_lags());
            if found.is_ok() {
                found = checked;
            }
        });
        found
    }
}
