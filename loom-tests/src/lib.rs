//! The harness of the models: one set of names, with loom behind it or real threads.
//!
//! A model lies in `tests/`, calls functions of `corelocal` (never a copy of them),
//! takes threads and atomics from here, and is handed to [`model`]. Read
//! `README.md` for how to run, replay and mutate models.

#[cfg(all(corelocal_loom, not(feature = "loom")))]
compile_error!("`--cfg corelocal_loom` needs `--features loom`: otherwise nothing is modelled");

#[cfg(all(corelocal_loom, feature = "loom"))]
#[path = "explore.rs"]
mod inner;
#[cfg(not(all(corelocal_loom, feature = "loom")))]
#[path = "stress.rs"]
mod inner;

#[cfg(not(all(corelocal_loom, feature = "loom")))]
pub mod history;
pub mod owned;
#[cfg(corelocal_loom)]
pub mod pool;
pub mod priorities;
#[cfg(corelocal_loom)]
pub mod ring;
pub mod sections;

pub use inner::{
    Arc, AtomicU64, AtomicUsize, Canary, EXPLORES, fence, finish, large_model, model,
    on_changing_cpus, on_cpus, thread, touch,
};

/// One thread's part in a model, with its own handle to what the threads share.
pub fn part<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    body: impl FnOnce(&T) + Send + 'static,
) -> Box<dyn FnOnce() + Send> {
    let shared = shared.clone();
    Box::new(move || body(&shared))
}

/// Runs `threads` at once, the last one on the calling thread, and joins them; a
/// panic in one of them is the caller's.
///
/// Loom's limit is five threads, the caller included.
pub fn together<const N: usize>(threads: [Box<dyn FnOnce() + Send>; N]) {
    let mut threads = Vec::from(threads);
    let last = threads.pop();
    let spawned: Vec<_> = threads.into_iter().map(thread::spawn).collect();
    last.into_iter().for_each(|body| body());
    for thread in spawned {
        thread.join().expect("a thread of the model panicked");
    }
}
