//! What groups get over time, against what is due to them.

use crate::pick::entity::NICE_0;
use crate::pick::policy::CgroupMode;
use crate::pick::sim::{Event, Options, Sim, Timed};
use crate::pick::{Groups, Picker, ROOT, World};
use serde::Serialize;

/// Nanoseconds between two points.
const STEP: u64 = 1_000_000;
/// What is shown, nanoseconds.
const TIME: u64 = 600_000_000;
/// The groups whose service is shown, by their numbers in `world`.
pub const SHOWN: [(&str, u32); 3] = [("a", 1), ("b", 2), ("b/c", 3)];

/// The course of one run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Course {
    /// The pick.
    pub picker: &'static str,
    /// Of each shown group: milliseconds since the start, of service, and due.
    pub groups: Vec<Vec<[f64; 3]>>,
}

impl Course {
    /// The largest distance between service and what was due, of any shown group, milliseconds.
    pub fn worst(&self) -> f64 {
        let all = self.groups.iter().flatten();
        all.map(|[_, service, due]| (service - due).abs()).fold(0.0, f64::max)
    }
}

/// Group a with two spinners; group b, of double weight, with one and a group c with three.
fn world() -> World {
    let mut groups = Groups::new(CgroupMode::Concur, 1);
    let (a, b) = (groups.add(ROOT, NICE_0), groups.add(ROOT, 2 * NICE_0));
    let c = groups.add(b, NICE_0);
    let mut world = World::new(groups);
    for group in [a, a, b, c, c, c] {
        world.add_task(group, NICE_0, None);
    }
    world
}

/// Someone sleeps and comes back, a group becomes heavier, a task becomes nicer.
fn events() -> Vec<Timed> {
    let wake = |at, task| (at, Event::Wake { task, cpu: None, work: None });
    let mut events: Vec<Timed> = (0..6).map(|task| wake(0, task)).collect();
    events.extend([
        (150_000_000, Event::Sleep { task: 0 }),
        (150_000_000, Event::Sleep { task: 1 }),
        wake(250_000_000, 0),
        wake(250_000_000, 1),
        (350_000_000, Event::SetShares { group: 3, shares: 3 * NICE_0 }),
        (450_000_000, Event::SetWeight { task: 2, weight: NICE_0 / 4 }),
    ]);
    events
}

/// Simulates it.
pub fn course<P: Picker>() -> Course {
    let options = Options { reckons_due: true, ..Options::default() };
    let mut sim = Sim::<P>::new(world(), 1, options);
    sim.feed(events());
    let mut groups = vec![Vec::new(); SHOWN.len()];
    for step in 0..=TIME / STEP {
        sim.run(step * STEP, &mut ());
        for (course, (_, group)) in groups.iter_mut().zip(SHOWN) {
            let account = sim.record.of_group(group, &sim.world);
            let time = (step * STEP) as f64;
            course.push([time, account.service as f64, account.due].map(|ns| ns / 1e6));
        }
    }
    Course { picker: P::NAME, groups }
}
