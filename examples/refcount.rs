//! The routes of a small proxy, shared by its workers and replaced while they run.
//!
//! Every request holds on to the routes it began with (an upstream may be slow, and must not
//! change under it), so they are cloned and dropped once a request, by every worker: with an `Arc` that
//! is one word which all CPUs write. Here a clone stays on its CPU. The controller owns the routes: when it
//! has new ones it publishes them and drops the owner of the old ones, and whoever serves the last
//! request that uses them closes their connections.
//!
//! ```text
//! cargo run --release --example refcount
//! ```

use corelocal::refcount::{PerCpuArc, PerCpuArcOwner};
use std::process::ExitCode;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WORKERS: usize = 4;
const RELOADS: u64 = 50;

/// What closed: in this example, how many upstreams, and how many too early.
static CLOSED: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// A connection to somewhere else.
struct Upstream {
    is_open: AtomicBool,
    version: u64,
}

impl Upstream {
    fn ask(&self, question: u64) -> u64 {
        if !self.is_open.load(Ordering::Relaxed) {
            REFUSED.fetch_add(1, Ordering::Relaxed);
        }
        question ^ self.version
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.is_open.store(false, Ordering::Relaxed);
        CLOSED.fetch_add(1, Ordering::Relaxed);
    }
}

struct Routes {
    version: u64,
    upstreams: Vec<Upstream>,
}

impl Routes {
    fn new(version: u64) -> Self {
        let upstream = |_| Upstream { is_open: AtomicBool::new(true), version };
        Self { version, upstreams: (0..8).map(upstream).collect() }
    }
}

/// A worker's copy of what is in force; it looks whether there is a newer one now and then.
struct Worker<'a> {
    published: &'a RwLock<PerCpuArc<Routes>>,
    current: PerCpuArc<Routes>,
}

impl Worker<'_> {
    fn serve(&mut self, request: u64) -> u64 {
        // The owner is gone: there are new ones.
        if !PerCpuArc::has_owner(&self.current) {
            self.current = self.published.read().expect("no panic while it was held").clone();
        }
        // For as long as the request takes, whatever is published meanwhile.
        let routes = self.current.clone();
        let upstream = &routes.upstreams[request as usize % routes.upstreams.len()];
        let answer = upstream.ask(request);
        assert_eq!(answer, request ^ routes.version);
        answer
    }
}

fn main() -> ExitCode {
    let mut owner = PerCpuArcOwner::new(Routes::new(0));
    let published = RwLock::new(owner.share());
    let is_over = AtomicBool::new(false);
    let served = AtomicU64::new(0);
    let since = Instant::now();
    thread::scope(|scope| {
        for number in 0..WORKERS as u64 {
            let (published, is_over, served) = (&published, &is_over, &served);
            scope.spawn(move || {
                let current = published.read().expect("nobody panics").clone();
                let mut worker = Worker { published, current };
                let mut requests = 0;
                while !is_over.load(Ordering::Relaxed) {
                    for _ in 0..1000 {
                        worker.serve(number << 32 | requests);
                        requests += 1;
                    }
                }
                served.fetch_add(requests, Ordering::Relaxed);
            });
        }
        for version in 1..=RELOADS {
            thread::sleep(Duration::from_millis(5));
            let next = PerCpuArcOwner::new(Routes::new(version));
            *published.write().expect("nobody panics") = next.share();
            // The old ones go with the last request that uses them.
            drop(std::mem::replace(&mut owner, next));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    // Shutdown: one reference is published, one is ours.
    println!("{} references at the end, backend {}", owner.references(), corelocal::backend());
    if let Err(error) = owner.kill() {
        eprintln!("refcount: {error}");
        return ExitCode::FAILURE;
    }
    drop(published);
    let served = served.into_inner();
    println!(
        "{served} requests by {WORKERS} workers in {:.2} s over {} versions of the routes",
        since.elapsed().as_secs_f64(),
        RELOADS + 1
    );
    let closed = CLOSED.load(Ordering::Relaxed);
    let early = REFUSED.load(Ordering::Relaxed);
    println!("{closed} upstreams closed, each once; {early} requests met a closed one");
    if closed == 8 * (RELOADS + 1) && early == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
