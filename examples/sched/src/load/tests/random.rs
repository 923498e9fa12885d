//! Random sequences of all operations, beside bookkeeping by hand: what every queue counts and
//! weighs, and that a queue's load is the sum of its entities'.

use super::*;
use crate::layout::Se;
use crate::load::average::se_weight;
use crate::load::group::set_cgroup_mode;
use crate::load::pelt::{Activity, MIN_DIVIDER, SEGMENT, update_avg, update_sum};
use crate::load::queue::Leaving;
use crate::model::{CreateError, ReleaseError};
use crate::structs::SchedAvg;
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeMap;

const CPUS: u32 = 3;
/// Groups of the tree at the beginning, and room for more.
const ROOM: usize = 4;
/// The root, 1 to 6, and the room.
const GROUPS: usize = 7 + ROOM;

#[derive(Clone, Debug)]
enum Step {
    Create(usize),
    Release(usize),
    Task {
        group: usize,
        cpu: u32,
        weight: u64,
        idle: bool,
    },
    Drop(usize),
    /// Wakes a task that sleeps, puts one that is queued to sleep.
    Toggle(usize),
    Migrate(usize, u32),
    Pass(u64),
    Tick,
    Shares(usize, u64),
    Idle(usize, bool),
    Mode(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let (group, cpu, task) = (0..GROUPS, 0..CPUS, 0_usize..64);
    prop_oneof![
        1 => group.clone().prop_map(Step::Create),
        1 => group.clone().prop_map(Step::Release),
        3 => (group.clone(), cpu.clone(), 15_u64..90_000, prop::bool::weighted(0.2))
            .prop_map(|(group, cpu, weight, idle)| Step::Task { group, cpu, weight, idle }),
        1 => task.clone().prop_map(Step::Drop),
        8 => task.clone().prop_map(Step::Toggle),
        3 => (task, cpu).prop_map(|(task, cpu)| Step::Migrate(task, cpu)),
        4 => prop_oneof![0_u64..5000, 0..30 * MS, 0..4000 * MS].prop_map(Step::Pass),
        4 => Just(Step::Tick),
        1 => (group.clone(), 2_u64..=262_144).prop_map(|(g, shares)| Step::Shares(g, shares)),
        1 => (group, any::<bool>()).prop_map(|(group, idle)| Step::Idle(group, idle)),
        1 => (0..CgroupMode::ALL.len()).prop_map(Step::Mode),
    ]
}

struct World<'m, L: Layout> {
    model: &'m Model<L>,
    area: &'m Area,
    tasks: Vec<Task<'m, L>>,
    /// By group and CPU: what load a queue may have that nobody in it accounts for. Who is removed
    /// from elsewhere takes its average along, which lacks what came since its segment began: at
    /// most a segment's worth of its weight. Who leaves takes its sum along, which was rounded
    /// down as often as the queue's, but then multiplied by its weight: less than that.
    left_behind: RefCell<BTreeMap<(usize, usize), u64>>,
}

impl<'m, L: Layout> World<'m, L> {
    fn is_there(&self, group: usize) -> bool {
        self.model.groups().get(group, &epoch::pin()).is_some()
    }

    fn toggle(&self, task: &Task<'m, L>, leaving: Leaving) {
        if leaving == Leaving::Migrate && task.se().on_rq().get() != 0 {
            self.will_leave(task.group(), task.cpu().index(), task.se());
        }
        on(self.model, task.cpu().index() as u32, |locked| {
            if task.se().on_rq().get() == 0 {
                enqueue_task(locked, task);
            } else {
                dequeue_task(locked, task, leaving);
            }
        });
    }

    /// A task that sleeps is gone from its queue.
    fn remove(&self, task: &Task<'m, L>) {
        self.will_leave(task.group(), task.cpu().index(), task.se());
        on(self.model, task.cpu().index() as u32, |l| lifecycle::remove_entity(l, task.se()));
    }

    fn will_leave(&self, group: usize, cpu: usize, se: &Se<L>) {
        let segment = se_weight::<L>(se) * SEGMENT / MIN_DIVIDER + 2;
        *self.left_behind.borrow_mut().entry((group, cpu)).or_default() += segment;
    }

    /// The group's entities will leave their queues.
    fn will_release(&self, group: usize) {
        let guard = &epoch::pin();
        let Some(tg) = self.model.groups().get(group, guard) else { return };
        for cpu in self.model.cpus() {
            if let Some(se) = L::tg_se(tg, cpu).map(Held::plain) {
                self.will_leave(tg.links.parent.get() as usize, cpu.index(), se);
            }
        }
    }

    fn take(&mut self, step: Step) {
        let model = self.model;
        match step {
            Step::Create(parent) => {
                let exists = self.is_there(parent);
                let limits = Limits { shares: 700, ..Limits::default() };
                match create_group(model, parent, limits, self.area, Gate::OPEN) {
                    Ok(index) => assert!(exists && self.is_there(index)),
                    Err(CreateError::Full) => {}
                    Err(error) => assert!(!exists, "{error}"),
                }
            }
            Step::Release(group) => {
                let busy = self.tasks.iter().any(|task| task.group() == group);
                self.will_release(group);
                match release_group(model, group) {
                    Ok(()) => assert!(!busy),
                    Err(ReleaseError::HasTasks) => assert!(busy),
                    Err(ReleaseError::Root) => assert_eq!(group, 0),
                    Err(ReleaseError::NotThere) => assert!(!self.is_there(group)),
                    Err(error) => assert_eq!(error, ReleaseError::HasChildren),
                }
            }
            Step::Task { group, cpu, weight, idle } => {
                if let Ok(task) = Task::new(model, group, CpuId::new(cpu), weight) {
                    self.tasks.push(if idle { task.idle() } else { task });
                }
            }
            Step::Pass(ns) => advance(model, ns),
            Step::Tick => tick(model, &self.tasks),
            Step::Shares(group, shares) => {
                let done = set_shares(model, group, shares);
                let is_idle = |tg: &crate::model::Tg<L>| tg.idle.get() != 0;
                let idle = model.groups().get(group, &epoch::pin()).is_some_and(is_idle);
                assert_eq!(done.is_ok(), group != 0 && self.is_there(group) && !idle, "{done:?}");
                assert_eq!(done == Err(SetError::Idle), idle);
            }
            Step::Idle(group, idle) => {
                let done = set_idle(model, group, idle);
                assert_eq!(done.is_ok(), group != 0 && self.is_there(group), "{done:?}");
            }
            Step::Mode(mode) => {
                // Refused in kernels that do not count.
                let _ = set_cgroup_mode(model, CgroupMode::ALL[mode]);
            }
            _ if self.tasks.is_empty() => {}
            Step::Drop(at) => {
                let task = self.tasks.swap_remove(at % self.tasks.len());
                if task.se().on_rq().get() != 0 {
                    self.toggle(&task, Leaving::Migrate);
                } else {
                    self.remove(&task);
                }
            }
            Step::Toggle(at) => self.toggle(&self.tasks[at % self.tasks.len()], Leaving::Sleep),
            Step::Migrate(at, cpu) => {
                let task = &self.tasks[at % self.tasks.len()];
                let queued = task.se().on_rq().get() != 0;
                if queued {
                    self.toggle(task, Leaving::Migrate);
                } else {
                    self.remove(task);
                    task.se().avg().last_update_time.set(0);
                }
                task.place(CpuId::new(cpu));
                if queued {
                    self.toggle(task, Leaving::Migrate);
                }
            }
        }
    }

    /// What the queue of `group` on `cpu` must count: entities, tasks below, idle ones as seen
    /// from there, and weight.
    fn compare(&self, locked: &Locked<'_, L>, group: usize) {
        let Some(queue) = locked.cfs(group) else { return };
        let parent = |g: usize| locked.tg(g).unwrap().links.parent.get() as usize;
        let (mut tasks, mut queued, mut idle, mut weight) = (0, 0, 0, 0);
        for task in self.tasks.iter().filter(|t| t.se().on_rq().get() != 0 && t.cpu() == locked.cpu)
        {
            let (mut at, mut is_idle) = (task.group(), task.is_idle());
            if at == group {
                tasks += 1;
                weight += task.se().load().weight.get();
            }
            while at != group && at != 0 {
                is_idle |= locked.tg(at).unwrap().idle.get() != 0;
                at = parent(at);
            }
            if at == group {
                queued += 1;
                idle += u32::from(is_idle);
            }
        }
        for below in (1..GROUPS).filter(|&g| locked.tg(g).is_some() && parent(g) == group) {
            let se = locked.se_of(locked.cfs(below).unwrap()).unwrap();
            if se.on_rq().get() != 0 {
                tasks += 1;
                weight += se.load().weight.get();
            }
        }
        assert_eq!(queue.nr_queued().get(), tasks, "group {group}");
        assert_eq!(queue.load().weight.get(), weight, "group {group}");
        assert_eq!(queue.h_nr_queued().get(), queued, "group {group}");
        assert_eq!(queue.h_nr_runnable().get(), queued, "group {group}");
        assert_eq!(queue.h_nr_idle().get(), idle, "group {group}");
        self.compare_load(locked, group, queue);
    }

    /// A queue's load is the sum of its entities', each brought to the queue's time.
    fn compare_load(&self, locked: &Locked<'_, L>, group: usize, queue: &crate::layout::Cfs<L>) {
        if queue.removed().nr.get() != 0 {
            return;
        }
        let tasks = self.tasks.iter().map(|task| task.se());
        let groups = (1..GROUPS).filter_map(|g| locked.se_of(locked.cfs(g)?));
        let (mut sum, mut heaviest, mut entities) = (0_u64, 0_u64, 0_u64);
        for se in tasks.chain(groups).filter(|se| se.cfs_rq().is(Some(queue))) {
            if se.avg().last_update_time.get() == 0 {
                continue;
            }
            let aged: SchedAvg = bytemuck::Zeroable::zeroed();
            aged.last_update_time.set(se.avg().last_update_time.get());
            aged.period_contrib.set(se.avg().period_contrib.get());
            aged.load_sum.set(se.avg().load_sum.get());
            aged.load_avg.set(se.avg().load_avg.get());
            let load = u64::from(se.on_rq().get() != 0);
            let activity = Activity { load, runnable: 0, running: false };
            if update_sum(queue.avg().last_update_time.get(), &aged, activity) {
                update_avg(&aged, se_weight::<L>(se));
            }
            sum += aged.load_avg.get();
            heaviest = heaviest.max(se_weight::<L>(se));
            entities += 1;
        }
        let load = queue.avg().load_avg.get();
        // The roundings of an entity's sum are multiplied by its weight.
        let at = (group, locked.cpu.index());
        let left = self.left_behind.borrow().get(&at).copied().unwrap_or(0);
        let slack = entities + 2 + (load.max(sum) + heaviest) / 50 + left;
        let off = load.abs_diff(sum);
        assert!(off <= slack, "group {group} {}: {load} and {sum} of {entities}", locked.cpu);
    }
}

/// `steps` in one layout, all compared after each of them.
fn run<L: Layout>(steps: &[Step]) {
    let area = area(CPUS);
    let tree = Tree::regular(2, 2).unwrap();
    let model = &Model::<L>::build_idle(&tree, CPUS, Order::Allocation, &area, ROOM).unwrap();
    let mut world =
        World { model, area: &area, tasks: Vec::new(), left_behind: RefCell::default() };
    for step in steps {
        world.take(step.clone());
        check(model).unwrap();
        for cpu in 0..CPUS {
            on(model, cpu, |locked| (0..GROUPS).for_each(|group| world.compare(locked, group)));
        }
    }
    for task in world.tasks.iter().filter(|task| task.se().on_rq().get() != 0) {
        world.toggle(task, Leaving::Sleep);
    }
}

proptest! {
    #![proptest_config(super::config(40))]

    #[test]
    fn counts_weights_and_loads_add_up_in_linux_7_3(steps in prop::collection::vec(step(), 1..80)) {
        run::<L2<V7_3>>(&steps);
    }

    #[test]
    fn counts_weights_and_loads_add_up_in_linux_6_14(steps in prop::collection::vec(step(), 1..80)) {
        run::<L0<V6_14>>(&steps);
    }

    #[test]
    fn counts_weights_and_loads_add_up_in_the_reordered_structures(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        run::<L3>(&steps);
    }
}
