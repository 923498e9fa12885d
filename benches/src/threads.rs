//! Two threads that begin together.

use crate::Sample;
use crate::machine;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{hint, thread};

/// What both threads do: so many operations.
pub type Op = Arc<dyn Fn(u64) + Send + Sync>;

struct Job {
    op: Op,
    ops: u64,
    gate: Arc<Gate>,
}

/// The second thread, pinned to the second allowed CPU. It lives as long as the process, so that
/// peers that number their threads do not see a new one in each piece.
struct Partner {
    jobs: Sender<Job>,
    samples: Receiver<Sample>,
}

/// Where two threads meet, by spinning: a sleeping barrier would wake the second one late.
#[derive(Default)]
struct Gate(AtomicUsize);

impl Gate {
    fn pass(&self) {
        /// Then the other thread is not running, and our CPU may be what it waits for.
        const PATIENCE: u32 = 1 << 14;
        // Relaxed, both: they meet in time; what they share was sent over a channel.
        self.0.fetch_add(1, Ordering::Relaxed);
        let mut turns = 0_u32;
        while self.0.load(Ordering::Relaxed) < 2 {
            turns += 1;
            if turns % PATIENCE == 0 { thread::yield_now() } else { hint::spin_loop() }
        }
    }
}

/// Whether there are CPUs for two threads.
pub fn two_cpus() -> bool {
    machine::cpus().len() > 1
}

fn partner() -> &'static Mutex<Partner> {
    static PARTNER: OnceLock<Mutex<Partner>> = OnceLock::new();
    PARTNER.get_or_init(|| {
        let (jobs, inbox) = channel::<Job>();
        let (outbox, samples) = channel();
        let cpu = machine::cpus()[1];
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
        Mutex::new(Partner { jobs, samples })
    })
}

/// Does `ops` operations on this thread and as many on a second one, pinned elsewhere, at the same
/// time; the slower one's time counts. Nothing before both are ready is timed.
///
/// # Panics
///
/// If there is only one CPU (see [`two_cpus`]), or `op` panics on the second thread.
pub fn on_two(op: &Op, ops: u64) -> Sample {
    let partner = partner().lock().unwrap_or_else(PoisonError::into_inner);
    let gate = Arc::new(Gate::default());
    let job = Job { op: Arc::clone(op), ops, gate: Arc::clone(&gate) };
    partner.jobs.send(job).expect("the second thread is there");
    gate.pass();
    let ours = Sample::of(ops, || op(ops));
    let theirs = partner.samples.recv().expect("the second thread answers");
    if ours.ops == 0 || theirs.ops == 0 {
        return Sample::REJECTED;
    }
    Sample { elapsed: ours.elapsed.max(theirs.elapsed), ..ours }
}

/// Does `ops` operations on this thread, while the second one does `other`, a few at a time, from
/// before the first one to after the last one. Only the first thread's operations count.
///
/// # Panics
///
/// As [`on_two`].
pub fn beside(op: impl FnOnce(u64), other: &Op, ops: u64) -> Sample {
    /// At most so many more than are needed.
    const FEW: u64 = 16;
    let partner = partner().lock().unwrap_or_else(PoisonError::into_inner);
    let (gate, over) = (Arc::new(Gate::default()), Arc::new(AtomicBool::new(false)));
    let until_over: Op = {
        let (other, over) = (Arc::clone(other), Arc::clone(&over));
        Arc::new(move |_| {
            // Relaxed: nothing is handed over by it.
            while !over.load(Ordering::Relaxed) {
                other(FEW);
            }
        })
    };
    let job = Job { op: until_over, ops: 1, gate: Arc::clone(&gate) };
    partner.jobs.send(job).expect("the second thread is there");
    gate.pass();
    let ours = Sample::of(ops, || op(ops));
    over.store(true, Ordering::Relaxed); // Relaxed: as above.
    let theirs = partner.samples.recv().expect("the second thread answers");
    if theirs.ops == 0 { Sample::REJECTED } else { ours }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_do_all_their_operations_at_once() {
        if !two_cpus() {
            return;
        }
        let done = Arc::new(AtomicUsize::new(0));
        // Each waits in its operation for the other to come: alone, neither would end.
        let op: Op = {
            let done = Arc::clone(&done);
            Arc::new(move |ops| {
                done.fetch_add(ops as usize, Ordering::Relaxed);
                while done.load(Ordering::Relaxed) % 20 != 0 {
                    thread::yield_now();
                }
            })
        };
        for round in 1..=3 {
            on_two(&op, 10);
            assert_eq!(done.load(Ordering::Relaxed), 20 * round);
        }
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
