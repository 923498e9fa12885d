//! One run: threads that work and are disturbed, and the end state.

use crate::churn;
use crate::implementation::Implementation;
use crate::work::{Kind, Work};
use corelocal::sys::rseq::Points;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How a run is disturbed.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Threads that work.
    pub threads: usize,
    /// Steps of each, its handler's not counted.
    pub steps: u64,
    /// Milliseconds after which a thread stops in any case; 0 for never.
    pub millis: u64,
    /// Microseconds between the signals of a thread; 0 for none.
    pub signal_every: u32,
    /// Microseconds between forced migrations; 0 for none.
    pub move_every: u32,
    /// Threads of these that give up their registration first.
    pub unregistered: usize,
    /// Turns that sections wait at each point (the entry points only).
    pub turns: [u32; Points::COUNT],
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            threads: 8,
            steps: 100_000,
            millis: 0,
            signal_every: 211,
            move_every: 150,
            unregistered: 0,
            turns: [0; Points::COUNT],
        }
    }
}

/// Does the work and compares its end state.
///
/// # Errors
///
/// What was found, and what should have been.
pub fn run<I: Implementation>(on: I, kind: Kind, plan: Plan) -> Result<u64, String> {
    let work = Work::new(on, kind, churn::cpus());
    disturbed(plan, &|| work.step());
    work.check().map_err(|found| format!("{kind:?} over {on:?}, {plan:?}: {found}"))?;
    Ok(work.done())
}

/// Runs `step` as the plan says.
///
/// # Panics
///
/// If a thread panics.
pub fn disturbed<S: Fn() + Sync>(plan: Plan, step: &S) {
    let ids: Vec<AtomicI32> = (0..plan.threads).map(|_| AtomicI32::new(0)).collect();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| scope.spawn(move || worker(plan, number, id, step)))
            .collect();
        let mover = scope.spawn(|| mover(plan.move_every, &ids, &over));
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        over.store(true, Ordering::Relaxed);
        mover.join().unwrap();
        results.into_iter().for_each(|result| result.unwrap());
    });
}

fn worker<S: Fn() + Sync>(plan: Plan, number: usize, id: &AtomicI32, step: &S) {
    if number < plan.unregistered {
        let _ = churn::unregister();
    }
    id.store(churn::thread_id(), Ordering::Relaxed);
    let since = Instant::now();
    let patience = Duration::from_millis(plan.millis);
    let work = || {
        for _ in 0..plan.steps {
            step();
            if plan.millis != 0 && since.elapsed() > patience {
                break;
            }
        }
    };
    let held = || {
        if plan.turns == [0; Points::COUNT] {
            work();
        } else {
            corelocal::sys::rseq::hold(plan.turns, work);
        }
    };
    if plan.signal_every == 0 {
        held();
    } else {
        churn::interrupted(plan.signal_every, step, held);
    }
}

/// Moves each of the threads `ids` to a CPU at random, every `every` microseconds (0: never),
/// until `over`.
pub fn mover(every: u32, ids: &[AtomicI32], over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        if every == 0 {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        std::thread::sleep(Duration::from_micros(every.into()));
        for id in ids {
            match id.load(Ordering::Relaxed) {
                0 => {}
                id => churn::move_on(id),
            }
        }
    }
}

/// What `hold` is told to have a section wait for `turns` turns at `point`.
pub fn turns_at(point: usize, turns: u32) -> [u32; Points::COUNT] {
    let mut all = [0; Points::COUNT];
    all[point] = turns;
    all
}

/// Moves the threads `ids` about until it is `over`; in every fourth while all of them are on one of
/// `cpus`. `also` is done in each turn.
pub fn herd(ids: &[AtomicI32], cpus: &[u32], over: &AtomicBool, also: impl Fn()) {
    let mut turn = 0;
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_micros(150));
        turn += 1;
        also();
        let gone = (turn / 64 % 4 == 0).then(|| cpus[turn / 256 % cpus.len()]);
        for id in ids.iter().map(|id| id.load(Ordering::Relaxed)).filter(|id| *id != 0) {
            match gone {
                Some(cpu) => _ = churn::pin(id, &[cpu]),
                None => churn::move_on(id),
            }
        }
    }
}
