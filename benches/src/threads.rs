//! Threads that begin together, each pinned to a CPU of its own.

use crate::Sample;
use crate::machine;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{hint, thread};

/// What each thread does: so many operations.
pub type Op = Arc<dyn Fn(u64) + Send + Sync>;

struct Job {
    op: Op,
    ops: u64,
    gate: Arc<Gate>,
}

/// A thread pinned to an allowed CPU of its own, the first one's aside. It lives as long as the process,
/// so that nobody pays for its beginning, and peers that number their threads do not see a new one
/// in each piece.
struct Partner {
    jobs: Sender<Job>,
    samples: Receiver<Sample>,
}

/// Where threads meet, by spinning: a sleeping barrier would wake the others late.
struct Gate {
    here: AtomicUsize,
    threads: usize,
}

impl Gate {
    fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { here: AtomicUsize::new(0), threads })
    }

    fn pass(&self) {
        /// Then another thread is not running, and our CPU may be what it waits for.
        const PATIENCE: u32 = 1 << 14;
        // Relaxed, both: they meet in time; what they share was sent over a channel.
        self.here.fetch_add(1, Ordering::Relaxed);
        let mut turns = 0_u32;
        while self.here.load(Ordering::Relaxed) < self.threads {
            turns += 1;
            if turns % PATIENCE == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
    }
}

/// Whether there are CPUs for two threads.
pub fn two_cpus() -> bool {
    machine::cpus().len() > 1
}

/// Numbers of threads to measure with, each on a CPU of its own: 1, 2, 4, and as many as there are
/// allowed CPUs.
pub fn counts() -> Vec<usize> {
    counts_of(machine::cpus().len())
}

fn counts_of(cpus: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = [1, 2, 4, cpus].into_iter().filter(|&n| n <= cpus).collect();
    counts.sort_unstable();
    counts.dedup();
    counts
}

/// `1 thread`, `2 threads`: how a scene's name ends.
pub fn label(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

/// So many partners, held for one piece. Their CPUs are the second allowed one and those after it; where
/// there are not so many, some share.
fn partners(count: usize) -> MutexGuard<'static, Vec<Partner>> {
    static PARTNERS: Mutex<Vec<Partner>> = Mutex::new(Vec::new());
    let mut partners = PARTNERS.lock().unwrap_or_else(PoisonError::into_inner);
    while partners.len() < count {
        let cpus = machine::cpus();
        let cpu = cpus[(partners.len() + 1) % cpus.len()];
        partners.push(Partner::on(cpu));
    }
    partners
}

impl Partner {
    fn on(cpu: usize) -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, samples) = channel();
        thread::spawn(move || {
            machine::pin(cpu);
            for job in inbox {
                job.gate.pass();
                let sample = Sample::of(job.ops, || (job.op)(job.ops));
                if outbox.send(sample).is_err() {
                    return;
                }
            }
        });
        Self { jobs, samples }
    }

    fn begin(&self, op: &Op, ops: u64, gate: &Arc<Gate>) {
        let job = Job { op: Arc::clone(op), ops, gate: Arc::clone(gate) };
        self.jobs.send(job).expect("the thread is there");
    }

    fn sample(&self) -> Sample {
        self.samples.recv().expect("the thread answers")
    }
}

/// Does `ops` operations on this thread and as many on each of the others, pinned elsewhere, at the same
/// time; the slowest one's time counts. Nothing before all are ready is timed, and if one of them was
/// preempted, nothing is.
///
/// # Panics
///
/// If `threads` is 0, or `op` panics on another thread.
pub fn on_many(threads: usize, op: &Op, ops: u64) -> Sample {
    if threads == 1 {
        return Sample::of(ops, || op(ops));
    }
    let others = threads.checked_sub(1).expect("a thread at least");
    let partners = partners(others);
    let gate = Gate::new(threads);
    partners[..others].iter().for_each(|partner| partner.begin(op, ops, &gate));
    gate.pass();
    let mut slowest = Sample::of(ops, || op(ops));
    for partner in &partners[..others] {
        let theirs = partner.sample();
        if theirs.ops == 0 {
            slowest = Sample::REJECTED;
        }
        slowest.elapsed = slowest.elapsed.max(theirs.elapsed);
    }
    if slowest.ops == 0 { Sample::REJECTED } else { slowest }
}

/// As [`on_many`] with two threads.
///
/// # Panics
///
/// As [`on_many`].
pub fn on_two(op: &Op, ops: u64) -> Sample {
    on_many(2, op, ops)
}

/// Does `ops` operations on this thread, while the second one does `other`, a few at a time, from
/// before the first one to after the last one. Only the first thread's operations count.
///
/// # Panics
///
/// As [`on_many`].
pub fn beside(op: impl FnOnce(u64), other: &Op, ops: u64) -> Sample {
    /// At most so many more than are needed.
    const FEW: u64 = 16;
    let partners = partners(1);
    let (gate, over) = (Gate::new(2), Arc::new(AtomicBool::new(false)));
    let until_over: Op = {
        let (other, over) = (Arc::clone(other), Arc::clone(&over));
        Arc::new(move |_| {
            // Relaxed: nothing is handed over by it.
            while !over.load(Ordering::Relaxed) {
                other(FEW);
            }
        })
    };
    partners[0].begin(&until_over, 1, &gate);
    gate.pass();
    let ours = Sample::of(ops, || op(ops));
    over.store(true, Ordering::Relaxed); // Relaxed: as above.
    if partners[0].sample().ops == 0 { Sample::REJECTED } else { ours }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_threads_as_there_are_cpus_for() {
        for (cpus, counts) in [
            (1, &[1][..]),
            (2, &[1, 2]),
            (3, &[1, 2, 3]),
            (4, &[1, 2, 4]),
            (6, &[1, 2, 4, 6]),
            (128, &[1, 2, 4, 128]),
        ] {
            assert_eq!(counts_of(cpus), counts);
        }
        assert_eq!([1, 2].map(label), ["1 thread", "2 threads"]);
    }

    /// Also with more threads than CPUs.
    #[test]
    fn threads_do_all_their_operations_at_once() {
        for threads in [1, 2, 3, 5] {
            let done = Arc::new(AtomicUsize::new(0));
            // Each waits in its operation for the others to come: alone, none would end.
            let op: Op = {
                let done = Arc::clone(&done);
                Arc::new(move |ops| {
                    done.fetch_add(ops as usize, Ordering::Relaxed);
                    while done.load(Ordering::Relaxed) % (10 * threads) != 0 {
                        thread::yield_now();
                    }
                })
            };
            for round in 1..=3 {
                on_many(threads, &op, 10);
                assert_eq!(done.load(Ordering::Relaxed), 10 * threads * round);
            }
        }
    }

    #[test]
    fn each_thread_is_pinned_to_a_cpu_of_its_own() {
        let cpus = machine::cpus().len();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let op: Op = {
            let seen = Arc::clone(&seen);
            Arc::new(move |_| {
                let at = machine::sched_getcpu();
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(at);
            })
        };
        thread::spawn(move || {
            machine::pin_first();
            on_many(cpus, &op, 1);
        })
        .join()
        .expect("no panics");
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        seen.sort_unstable();
        assert_eq!(seen, machine::cpus());
    }

    #[test]
    fn the_other_thread_is_at_work_all_the_time() {
        if !two_cpus() {
            return;
        }
        let turns = Arc::new(AtomicUsize::new(0));
        let other: Op = {
            let turns = Arc::clone(&turns);
            Arc::new(move |_| {
                turns.fetch_add(1, Ordering::Relaxed);
            })
        };
        // Ends only when the other one has made a hundred turns meanwhile.
        let wait = |_| {
            let first = turns.load(Ordering::Relaxed);
            while turns.load(Ordering::Relaxed) < first + 100 {
                thread::yield_now();
            }
        };
        beside(wait, &other, 1);
        let after = turns.load(Ordering::Relaxed);
        assert!(after >= 100);
        beside(|_| (), &other, 1);
        let last = turns.load(Ordering::Relaxed);
        thread::yield_now();
        assert_eq!(turns.load(Ordering::Relaxed), last, "it works on");
    }
}
