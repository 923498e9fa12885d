//! What all CPUs share: the tree of groups and the tasks.

use super::entity::{Entity, LEAST_WEIGHT, NICE_0, SLICE};
use super::policy::{CgroupMode, Situation, weight};
use super::queue::Slot;

/// The root group's number.
pub const ROOT: u32 = 0;

/// A group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The group that it is in; [`ROOT`] for the root itself.
    pub parent: u32,
    /// Levels below the root.
    pub depth: u32,
    /// Its weight as set by its owner.
    pub shares: u64,
    /// The load of its queues on all CPUs.
    pub load: u64,
    /// Its runnable tasks, and those of the groups below it.
    pub runnable: u64,
}

/// The tree of groups.
#[derive(Clone, Debug)]
pub struct Groups {
    all: Vec<Group>,
    mode: CgroupMode,
    cpus: u64,
}

impl Groups {
    /// A root group alone, on `cpus` CPUs.
    pub fn new(mode: CgroupMode, cpus: usize) -> Self {
        let root = Group { parent: ROOT, depth: 0, shares: NICE_0, load: 0, runnable: 0 };
        Self { all: vec![root], mode, cpus: cpus as u64 }
    }

    /// A new group in `parent`, and its number.
    ///
    /// # Panics
    ///
    /// If there is no group `parent`, or `shares` is less than [`LEAST_WEIGHT`].
    pub fn add(&mut self, parent: u32, shares: u64) -> u32 {
        assert!(shares >= LEAST_WEIGHT, "{shares} shares are less than {LEAST_WEIGHT}");
        let depth = self.of(parent).depth + 1;
        self.all.push(Group { parent, depth, shares, load: 0, runnable: 0 });
        (self.all.len() - 1) as u32
    }

    /// How many there are, the root included.
    #[allow(clippy::len_without_is_empty, reason = "there is always the root")]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// The policy.
    pub fn mode(&self) -> CgroupMode {
        self.mode
    }

    /// A group.
    ///
    /// # Panics
    ///
    /// If there is none of this number.
    pub fn of(&self, group: u32) -> &Group {
        &self.all[group as usize]
    }

    /// Changes a group's weight. The CPUs take it over when they look at the group next.
    ///
    /// # Panics
    ///
    /// As [`Groups::add`].
    pub fn set_shares(&mut self, group: u32, shares: u64) {
        assert!(shares >= LEAST_WEIGHT, "{shares} shares are less than {LEAST_WEIGHT}");
        self.all[group as usize].shares = shares;
    }

    /// A group and all above it, without the root.
    pub fn upward(&self, group: u32) -> impl Iterator<Item = u32> {
        let parent = |&at: &u32| Some(self.of(at).parent);
        core::iter::successors(Some(group), parent).take_while(|&at| at != ROOT)
    }

    /// Counts a task that became runnable (or no longer is) in its group and all above.
    pub(super) fn count(&mut self, group: u32, runnable: bool) {
        let mut at = group;
        loop {
            let group = &mut self.all[at as usize];
            match runnable {
                true => group.runnable += 1,
                false => group.runnable -= 1,
            }
            if at == ROOT {
                break;
            }
            at = group.parent;
        }
    }

    /// The weight of `group` on a CPU where its load is `load`, and was when this CPU told it last.
    pub(super) fn weight(&mut self, group: u32, load: u64, told: &mut u64) -> u64 {
        let group = &mut self.all[group as usize];
        group.load = group.load - *told + load;
        *told = load;
        let Group { shares, load: total, runnable, .. } = *group;
        weight(self.mode, Situation { shares, load, total, cpus: self.cpus, runnable })
    }
}

/// A task.
#[derive(Clone, Debug)]
pub struct Task {
    /// The group that it is in.
    pub group: u32,
    /// Its weight within the group: [`nice_weight`](super::entity::nice_weight).
    pub weight: u64,
    /// Where it is queued on its CPU.
    pub(super) on: Option<Slot>,
    /// Its state while it is not queued.
    pub(super) entity: Entity,
    /// The slice that it asks for.
    pub(super) slice: u64,
}

/// Groups and tasks.
#[derive(Clone, Debug)]
pub struct World {
    /// The tree of groups.
    pub groups: Groups,
    pub(super) tasks: Vec<Task>,
}

impl World {
    /// A world with this tree and no task.
    pub fn new(groups: Groups) -> Self {
        Self { groups, tasks: Vec::new() }
    }

    /// A new task, asleep; `slice` is its own, else [`SLICE`]. Returns its number.
    ///
    /// # Panics
    ///
    /// If there is no such group, the weight is less than [`LEAST_WEIGHT`] or the slice is 0.
    pub fn add_task(&mut self, group: u32, weight: u64, slice: Option<u64>) -> u32 {
        assert!((group as usize) < self.groups.len(), "there is no group {group}");
        assert!(weight >= LEAST_WEIGHT, "a weight of {weight} is less than {LEAST_WEIGHT}");
        let slice = slice.unwrap_or(SLICE);
        assert!(slice > 0, "a slice of nothing never ends");
        let entity = Entity::new(weight, slice);
        self.tasks.push(Task { group, weight, on: None, entity, slice });
        (self.tasks.len() - 1) as u32
    }

    /// A task.
    ///
    /// # Panics
    ///
    /// If there is none of this number.
    pub fn task(&self, task: u32) -> &Task {
        &self.tasks[task as usize]
    }

    /// How many tasks there are.
    pub fn tasks(&self) -> usize {
        self.tasks.len()
    }

    /// What a task takes along into a queue.
    pub(super) fn take(&mut self, task: u32) -> Entity {
        let task = &mut self.tasks[task as usize];
        task.entity.slice = task.slice;
        task.entity.clone()
    }

    /// Keeps what a task brought back from a queue.
    pub(super) fn keep(&mut self, task: u32, entity: Entity) {
        let task = &mut self.tasks[task as usize];
        (task.entity, task.on) = (entity, None);
    }
}
