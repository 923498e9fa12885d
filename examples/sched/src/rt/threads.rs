//! This machine's threads on one vector, timed.

use super::{Design, of_layout};
use crate::measure::machine::{Machine, pin, preemptions};
use crate::measure::stats::{Estimate, estimate};
use corelocal::priority::Layout;
use corelocal::{ByCpu, CpuId, CpuMask, Packed, Padded, Priority, PriorityVec, Split};
use serde::Serialize;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// One layout at one number of threads.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Timed {
    /// The layout.
    pub layout: String,
    /// Threads, each on a CPU of its own.
    pub threads: usize,
    /// Nanoseconds of a change from normal to 99 or back, and of a search for one below 99 among
    /// this machine's CPUs, one after the other.
    pub pair: Estimate,
    /// Samples that were thrown away: a thread was switched out in them, or the threads did not
    /// run at the same time.
    pub rejected: usize,
}

/// CPUs that are in the vector, so that searches over this machine's pass by others.
const CPUS: u32 = 480;

/// Times all layouts, round by round, so that what disturbs one disturbs all.
///
/// # Errors
///
/// The system's, as text: a thread could not be pinned.
pub fn time(machine: &Machine, rounds: usize, pairs: u32) -> Result<Vec<Timed>, String> {
    let designs: Vec<Design> =
        Design::ALL.into_iter().filter(|design| *design != Design::Near).collect();
    let cpus: Vec<CpuId> = machine.allowed.iter().copied().map(CpuId::new).collect();
    let counts: Vec<usize> = if cpus.len() > 1 { vec![1, 2] } else { vec![1] };
    let mut samples = vec![(Vec::new(), 0); designs.len() * counts.len()];
    for round in 0..rounds * 4 {
        for at in 0..samples.len() {
            // Another layout first in each round.
            let at = (at + round) % samples.len();
            if samples[at].0.len() == rounds {
                continue;
            }
            let (design, threads) = (designs[at / counts.len()], counts[at % counts.len()]);
            match design.sample(&cpus[..threads], pairs)? {
                Some(nanoseconds) => samples[at].0.push(nanoseconds),
                None => samples[at].1 += 1,
            }
        }
    }
    let timed = samples.into_iter().enumerate().filter(|(_, (kept, _))| !kept.is_empty());
    Ok(timed
        .map(|(at, (kept, rejected))| Timed {
            layout: designs[at / counts.len()].name(),
            threads: counts[at % counts.len()],
            pair: estimate(&kept),
            rejected,
        })
        .collect())
}

impl Design {
    fn sample(self, cpus: &[CpuId], pairs: u32) -> Result<Option<f64>, String> {
        of_layout!(self, sample(cpus, pairs))
    }
}

/// When a thread ran, and whether it ran through.
struct Ran {
    start: Instant,
    end: Instant,
    undisturbed: bool,
}

/// Nanoseconds a pair of operations, the slowest thread's; `None` if the sample is no good.
fn sample<L: Layout>(cpus: &[CpuId], pairs: u32) -> Result<Option<f64>, String> {
    let last = cpus.iter().map(|cpu| cpu.get()).max().unwrap_or(0);
    let order = (0..CPUS.max(last + 1)).map(CpuId::new);
    let vector = PriorityVec::<L>::try_new(order).map_err(|error| error.to_string())?;
    let allowed: CpuMask = cpus.iter().copied().collect();
    let barrier = Barrier::new(cpus.len());
    let run = |cpu: CpuId| -> Result<Ran, String> {
        let pinned = pin(cpu);
        let mut slot = PriorityVec::claim(&vector, cpu).expect("each thread has its CPU");
        let mut found = CpuMask::with_bound(CPUS as usize);
        barrier.wait();
        pinned?;
        let before = preemptions();
        let start = Instant::now();
        for _ in 0..pairs / 2 {
            for priority in [Priority::rt(99), Priority::NORMAL] {
                slot.set(priority).expect("a level of the vector");
                black_box(vector.find(Priority::rt(99), black_box(&allowed), &mut found));
            }
        }
        let end = Instant::now();
        Ok(Ran { start, end, undisturbed: preemptions() == before })
    };
    let ran: Vec<Result<Ran, String>> = thread::scope(|scope| {
        let threads: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| run(*cpu))).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.expect("a timed thread does not panic")).collect()
    });
    let ran = ran.into_iter().collect::<Result<Vec<Ran>, String>>()?;
    let longest = ran.iter().map(|ran| ran.end - ran.start).max().unwrap_or_default();
    let (Some(start), Some(end)) =
        (ran.iter().map(|ran| ran.start).max(), ran.iter().map(|ran| ran.end).min())
    else {
        return Ok(None);
    };
    // A machine with other work may run one after the other: then nothing was contended.
    let together = end.saturating_duration_since(start) >= longest.mul_f64(0.9);
    let good = together && ran.iter().all(|ran| ran.undisturbed);
    Ok(good.then(|| longest.as_nanos() as f64 / f64::from(pairs)))
}
