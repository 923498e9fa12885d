//! One body: under the user's own loom in every order, else on threads, also in valgrind and under the
//! sanitizers.

use dependent::Gate;

#[cfg(loom)]
use loom::{sync::Arc, thread};
#[cfg(not(loom))]
use std::{sync::Arc, thread};

/// Runs `body`, says how often.
fn model(body: impl Fn() + Send + Sync + 'static) -> usize {
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = runs.clone();
    let body = move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        body();
    };
    #[cfg(loom)]
    loom::model(body);
    #[cfg(not(loom))]
    (0..200).for_each(|_| body());
    runs.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn every_job_is_counted_once() {
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let seen = outcomes.clone();
    let runs = model(move || {
        let gate = Arc::new(Gate::new());
        let job = |gate: Arc<Gate>| move || gate.enter().then(|| gate.leave()).is_some();
        let jobs = [thread::spawn(job(gate.clone())), thread::spawn(job(gate.clone()))];
        gate.close();
        let entered = jobs.map(|job| u64::from(job.join().unwrap())).iter().sum::<u64>();
        // Joined: the sums are exact.
        assert_eq!(gate.counts(), (entered, 2 - entered));
        seen.lock().unwrap().insert(entered);
    });
    println!("{runs} runs, jobs inside: {:?}", outcomes.lock().unwrap());
    // A model sees every order; threads see what they see.
    if cfg!(loom) {
        assert!(outcomes.lock().unwrap().iter().eq([0, 1, 2].iter()));
        assert!(runs > 20);
    }
}

/// L1, <https://github.com/tokio-rs/loom/issues/290>: a planted race is found beside our counter, and
/// what is printed is loom's finding and no second panic: our types drop while the model unwinds.
#[test]
#[cfg(loom)]
#[should_panic = "Causality violation"]
fn a_model_that_fails_says_why_with_our_types_in_it() {
    model(|| {
        let shared = Arc::new((loom::cell::UnsafeCell::new(0_u32), Gate::new()));
        let other = shared.clone();
        let write = |shared: &(loom::cell::UnsafeCell<u32>, Gate)| {
            // The counter orders nothing: that both have counted makes the cell nobody's.
            shared.1.enter();
            shared.0.with_mut(|_| {});
        };
        let thread = thread::spawn(move || write(&other));
        write(&shared);
        thread.join().unwrap();
    });
}

/// Adds, moves and drops on threads: what valgrind and the sanitizers look at.
#[test]
#[cfg(not(loom))]
fn gates_come_and_go_on_threads() {
    for _ in 0..20 {
        let gate = Arc::new(Gate::new());
        let work = |gate: Arc<Gate>| {
            move || (0..1000).filter(|_| gate.enter().then(|| gate.leave()).is_some()).count()
        };
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(work(gate.clone()))).collect();
        let entered: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert_eq!(gate.counts(), (entered as u64, 4000 - entered as u64));
    }
}
