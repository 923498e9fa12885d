//! Which task runs: EEVDF once a queue of each group, and once flat.
//!
//! | file | what it is |
//! |---|---|
//! | `rules` | the lines that the checks are about, for the tests to take wrong |
//! | `entity`, `timeline`, `queue` | who competes, the augmented tree, one EEVDF queue |
//! | `policy`, `world` | a group's weight on a CPU; the tree of groups and the tasks |
//! | `hierarchical`, `flat` | the two picks |
//! | `sim` | CPUs in virtual time, driven by a list of events; what tasks got and were due |
//! | `report`, `args`, `command` | `sched pick`: what is measured, asked, printed |
//!
//! Sources: I. Stoica and H. Abdel-Wahab, "Earliest Eligible Virtual Deadline First", TR-95-22, Old
//! Dominion University 1995, for the algorithm; the behaviour of Linux 7.2 and 7.3 for how it is
//! used: lag kept over sleep, delayed dequeue, slices on request, groups, the flat pick.
//!
//! ```
//! use sched::pick::entity::NICE_0;
//! use sched::pick::policy::CgroupMode;
//! use sched::pick::sim::{Event, Options, Sim};
//! use sched::pick::{Flat, Groups, ROOT, World};
//!
//! // Two groups of equal weight, one with a task, the other with two, on one CPU.
//! let mut groups = Groups::new(CgroupMode::Concur, 1);
//! let (one, two) = (groups.add(ROOT, NICE_0), groups.add(ROOT, NICE_0));
//! let mut world = World::new(groups);
//! let tasks = [one, two, two].map(|group| world.add_task(group, NICE_0, None));
//! let mut sim = Sim::<Flat>::new(world, 1, Options::default());
//! sim.feed(tasks.map(|task| (0, Event::Wake { task, cpu: Some(0), work: None })));
//! sim.run(1_200_000_000, &mut ());
//! let got = |group| sim.record.of_group(group, &sim.world).service;
//! assert!(got(one).abs_diff(got(two)) <= 2 * 3_000_000);
//! ```

pub mod args;
pub mod command;
pub mod entity;
pub mod flat;
pub mod hierarchical;
pub mod policy;
pub mod queue;
pub mod report;
pub mod rules;
pub mod sim;
pub mod timeline;
pub mod world;

pub use flat::Flat;
pub use hierarchical::Hierarchical;
pub use world::{Groups, ROOT, World};

use queue::{Queue, Slot};
use rules::Rules;

/// What can be turned on or off.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Who falls asleep after more than its part stays queued until it has paid.
    pub delay: bool,
    /// The flat pick computes parts with ten more bits and rounds once.
    pub precise: bool,
}

impl Default for Features {
    /// As the kernel: delayed dequeue, parts in whole units.
    fn default() -> Self {
        Self { delay: true, precise: false }
    }
}

/// A way to decide which of a CPU's tasks runs. Times are nanoseconds and never go back.
pub trait Picker: core::fmt::Debug {
    /// Its name in the output.
    const NAME: &'static str;

    /// A CPU without tasks, for a tree with so many groups.
    fn new(groups: usize, features: Features) -> Self;

    /// The running task.
    fn current(&self) -> Option<u32>;

    /// Lets `task` compete here, which did not or is [delayed](Features::delay) here.
    fn enqueue(&mut self, now: u64, task: u32, world: &mut World);

    /// Ends the competition for `task`; nobody runs until the next pick if it was running. Says
    /// whether it is gone; else it is delayed, and its next enqueue must be here.
    ///
    /// # Panics
    ///
    /// If the task is not queued.
    fn dequeue(&mut self, now: u64, task: u32, sleep: bool, world: &mut World) -> bool;

    /// Decides who runs from now on.
    fn pick(&mut self, now: u64, world: &mut World) -> Option<u32>;

    /// The periodic tick: charges, renews weights, says whether it is time to pick.
    fn tick(&mut self, now: u64, world: &mut World) -> bool;

    /// Whether `task`, which was just enqueued, should run at once.
    fn preempts(&mut self, now: u64, task: u32, world: &World) -> bool;

    /// Gives `task`, which is here or asleep, another weight (`nice`).
    fn set_weight(&mut self, now: u64, task: u32, weight: u64, world: &mut World);

    /// Takes notice that the shares of `group` changed.
    fn group_changed(&mut self, now: u64, group: u32, world: &mut World);

    /// Shows every queue to `visit`.
    fn queues(&self, visit: &mut dyn FnMut(&dyn Checked));
}

/// What can be asked of any queue in a check.
pub trait Checked {
    /// Whether someone is eligible, the pick is, and the tree and looking at everyone agree.
    ///
    /// # Errors
    ///
    /// What does not hold.
    fn check_pick(&self) -> Result<(), String>;

    /// Whether the sum of `weight * lag` is 0 up to one unit for each that competes.
    ///
    /// # Errors
    ///
    /// What does not hold.
    fn check_lags(&self) -> Result<(), String>;
}

impl<R: Rules> Checked for Queue<R> {
    fn check_pick(&self) -> Result<(), String> {
        let (pick, oracle) = (self.pick(), self.pick_by_looking_at_all());
        if pick != oracle {
            return Err(format!("the tree picks {pick:?}, looking at all {oracle:?}"));
        }
        if pick.is_none() != self.is_empty() {
            return Err(format!("{pick:?} is picked of {}", self.len()));
        }
        Ok(())
    }

    fn check_lags(&self) -> Result<(), String> {
        let average = self.average();
        let owed = |slot: Slot| {
            let entity = self.entity(slot);
            i128::from(entity.weight) * i128::from(average - entity.vruntime)
        };
        let (sum, weight) = (self.slots().map(owed).sum::<i128>(), self.slots());
        let weight: u64 = weight.map(|slot| self.entity(slot).weight).sum();
        match weight == self.weight() && sum.unsigned_abs() <= u128::from(weight) {
            true => Ok(()),
            false => Err(format!(
                "weights sum to {weight}, the queue says {}; weighted lags sum to {sum}",
                self.weight()
            )),
        }
    }
}
