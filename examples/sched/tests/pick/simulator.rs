//! The simulator: nothing is lost, nothing idles while something waits, runs repeat, and a recorded
//! trace gives the model the work that it shows.

use crate::holds;
use crate::machine::{Shape, shapes};
use proptest::collection::vec;
use proptest::prelude::*;
use sched::pick::policy::CgroupMode;
use sched::pick::sim::recorded::{Seen, read};
use sched::pick::sim::{Event, Options, Sim, Timed};
use sched::pick::{Flat, Hierarchical, Picker};

const CPUS: usize = 3;
/// By then all work is done, on one CPU too: the last of 60 wake-ups comes before 0.2 s, and each wants
/// less than 20 ms.
const END: u64 = 1_500_000_000;

/// When which task wakes where, for how much work, or moves.
type Wakes = Vec<(u64, usize, Option<usize>, Result<u64, usize>)>;

fn wakes() -> impl Strategy<Value = Wakes> {
    let cpu = prop_oneof![Just(None), (0..CPUS).prop_map(Some)];
    let what = prop_oneof![3 => (1_u64..20_000_000).prop_map(Ok), 1 => (0..CPUS).prop_map(Err)];
    vec((0_u64..200_000_000, any::<usize>(), cpu, what), 1..60)
}

fn run<P: Picker>(shape: &Shape, wakes: &Wakes) -> (Sim<P>, Vec<u64>) {
    let world = shape.world(CgroupMode::Concur, CPUS);
    let mut wanted = vec![0; world.tasks()];
    let events = wakes.iter().map(|&(at, task, cpu, what)| {
        let task = task % wanted.len();
        let event = match what {
            Ok(work) => {
                wanted[task] += work;
                Event::Wake { task: task as u32, cpu, work: Some(work) }
            }
            Err(cpu) => Event::Migrate { task: task as u32, cpu },
        };
        (at, event)
    });
    let events: Vec<Timed> = events.collect();
    let options = Options { balances: true, reckons_due: true, ..Options::default() };
    let mut sim = Sim::<P>::new(world, CPUS, options);
    sim.feed(events);
    sim.run(END, &mut ());
    (sim, wanted)
}

fn check<P: Picker>((shape, wakes): (Shape, Wakes)) -> Result<(), String> {
    let (sim, wanted) = run::<P>(&shape, &wakes);
    let got: Vec<u64> = (0..wanted.len() as u32).map(|task| sim.record.of(task).service).collect();
    if got != wanted {
        return Err(format!("tasks wanted {wanted:?} and got {got:?}"));
    }
    // What is due adds up to the time of CPUs that have something to run.
    let due: f64 = (0..wanted.len() as u32).map(|task| sim.record.of(task).due).sum();
    let work: u64 = wanted.iter().sum();
    if (due - work as f64).abs() > 1.0 {
        return Err(format!("{work} ns were done, {due} were due"));
    }
    let again = run::<P>(&shape, &wakes).0;
    let differs = |task: &u32| sim.record.of(*task).latencies != again.record.of(*task).latencies;
    match (0..wanted.len() as u32).find(differs) {
        None => Ok(()),
        Some(task) => Err(format!("task {task} waits differently in a second run")),
    }
}

#[test]
fn every_task_gets_what_it_wants_and_runs_repeat() {
    holds(64, (shapes(), wakes()), check::<Hierarchical>);
    holds(64, (shapes(), wakes()), check::<Flat>);
}

#[test]
fn a_trace_gives_the_model_the_work_that_it_shows() {
    let on = |cpu, task| Seen::Switch { cpu, task: Some(task), sleeps: false };
    let sleeps = |cpu, task| Seen::Switch { cpu, task, sleeps: true };
    let ms = 1_000_000;
    let seen = [
        (0, on(0, 0)),
        (ms, Seen::Wake { task: 1, cpu: 0 }),
        (4 * ms, on(0, 1)),
        (6 * ms, sleeps(0, Some(0))),
        (7 * ms, Seen::Wake { task: 1, cpu: 1 }),
        (8 * ms, on(1, 1)),
        (9 * ms, sleeps(0, None)),
        (12 * ms, sleeps(1, None)),
    ];
    let shape = Shape { groups: vec![], tasks: vec![(0, 1 << 20, None), (0, 1 << 20, None)] };
    let world = shape.world(CgroupMode::Concur, 2);
    let recorded = read(&seen, &world, 2, 20 * ms);
    let (record, total) = (&recorded.record, |task: u32| recorded.record.of(task).service);
    assert_eq!((total(0), total(1)), (7 * ms, 6 * ms));
    assert_eq!(record.of(1).latencies, [3 * ms, ms]);
    assert_eq!((record.of(0).waiting, record.of(1).waiting), (2 * ms, 4 * ms));
    let mut sim = Sim::<Flat>::new(world, 2, Options::default());
    sim.feed(recorded.events);
    sim.run(20 * ms, &mut ());
    assert_eq!([0, 1].map(|task| sim.record.of(task).service), [7 * ms, 6 * ms]);
}
