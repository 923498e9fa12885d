//! The harness under loom: every interleaving up to a bound.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::time::Instant;

pub use corelocal::model::{finish, touch};
pub use loom::sync::Arc;
pub use loom::sync::atomic::{AtomicU64, AtomicUsize, fence};
pub use loom::thread;

/// Whether models are explored (or only run many times).
pub const EXPLORES: bool = true;

/// Explores `f` with at most `bound` preemptions a run, and prints how many runs
/// that took.
///
/// `CORELOCAL_LOOM_FULL` lifts the bound, `LOOM_MAX_PREEMPTIONS` replaces it. With
/// `LOOM_LOG`, loom's own variables decide alone (to replay a failure).
///
/// # Panics
///
/// When a run of `f` panics, or loom finds a data race, a deadlock or a leak.
pub fn model(name: &str, bound: usize, f: impl Fn() + Send + Sync + 'static) {
    bounded_model(name, [Some(bound), None], f);
}

/// As [`model`], for a model that nobody can wait for without a bound: `CORELOCAL_LOOM_FULL`
/// raises it from the first to the second one.
///
/// # Panics
///
/// As [`model`].
pub fn large_model(name: &str, bounds: [usize; 2], f: impl Fn() + Send + Sync + 'static) {
    bounded_model(name, bounds.map(Some), f);
}

fn bounded_model(name: &str, bounds: [Option<usize>; 2], f: impl Fn() + Send + Sync + 'static) {
    // Relaxed: one operating-system thread counts; loom's threads are fibres on it.
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = runs.clone();
    let f = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        ASKED.set([0; THREADS]);
        f();
    };
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| explore(bounds, f)));
    let (runs, seconds) = (runs.load(Ordering::Relaxed), start.elapsed().as_secs_f64());
    match result {
        Ok(()) => println!("{name}: {runs} runs in {seconds:.2} s"),
        Err(panic) => {
            println!("{name}: failed in run {runs}; to replay it see loom-tests/README.md");
            resume_unwind(panic)
        }
    }
}

fn explore([quick, full]: [Option<usize>; 2], f: impl Fn() + Send + Sync + 'static) {
    if std::env::var_os("LOOM_LOG").is_some() {
        return loom::model(f);
    }
    let mut builder = loom::model::Builder::new();
    let bound = if std::env::var_os("CORELOCAL_LOOM_FULL").is_some() { full } else { quick };
    builder.preemption_bound = builder.preemption_bound.or(bound);
    builder.check(f);
}

/// Runs `f` with thread number `i` of each model in it (the one that runs the model is 0) on the CPU
/// `cpus[i]`, or on the last of them. Threads of a model are fibres of one system thread.
pub fn on_cpus<const N: usize>(cpus: [Option<u32>; N], f: impl FnOnce()) {
    on_changing_cpus(|thread, _| cpus[thread.min(N - 1)], f);
}

/// As [`on_cpus`], with threads that change CPUs: `cpu` tells where a thread is when it asks for the
/// first time in a run (0), the second time, and so on. Each operation asks once.
pub fn on_changing_cpus(cpu: impl Fn(usize, usize) -> Option<u32>, f: impl FnOnce()) {
    let number = || {
        // Not public but as text: `ThreadId(2)`.
        let id = format!("{:?}", thread::current().id());
        let digits = id.trim_start_matches("ThreadId(").trim_end_matches(')');
        digits.parse::<usize>().expect("loom numbers its threads")
    };
    let source = || {
        let (thread, mut asked) = (number(), ASKED.get());
        let question = asked[thread];
        asked[thread] += 1;
        ASKED.set(asked);
        cpu(thread, question)
    };
    corelocal::testing::with(corelocal::testing::Config::new().cpu_ids_from(source), f);
}

/// Threads of a model, at most.
const THREADS: usize = 5;

std::thread_local! {
    /// How often each thread of the model has asked for its CPU in this run.
    static ASKED: Cell<[usize; THREADS]> = const { Cell::new([0; THREADS]) };
}

/// Something that one thread at a time may own: every [`touch`](Self::touch) must
/// happen before the next one, or the model fails.
#[derive(Debug, Default)]
pub struct Canary(loom::cell::UnsafeCell<()>);

#[allow(unsafe_code, reason = "a model shares what it claims to own")]
// SAFETY:
// - the cell holds `()`, and nobody gets at its inside: `touch` only tells loom of
//   an access, and loom fails the model where two of them are not ordered.
unsafe impl Sync for Canary {}

impl Canary {
    /// Uses the thing as its only owner.
    #[track_caller]
    pub fn touch(&self) {
        self.0.with_mut(|_| ());
    }

    /// Uses the thing beside others who look: only a touch must come before or after.
    #[track_caller]
    pub fn look(&self) {
        self.0.with(|_| ());
    }
}
