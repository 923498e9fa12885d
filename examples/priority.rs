//! A small real-time dispatcher: run queues in a `PerCpu`, and a `PriorityVec` that says where work
//! can go. Who has too much **pushes**, who runs out **pulls**, and no waiting task is forgotten between.
//!
//! ```text
//! cargo run --release --example priority
//! ```
//!
//! Each CPU that we may use has a worker, at most eight. (A real dispatcher pins its workers; what is
//! shown here does not depend on it.) Tasks run in slices; between two slices the most urgent one is
//! next. The end is checked: every slice ran once, wherever it ran.

use corelocal::{CpuId, CpuMask, CpuSlot, PerCpu, Priority, PriorityVec, Topology};
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

/// Ordered by priority; among equals the older one first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Task {
    priority: Priority,
    age: std::cmp::Reverse<u32>,
    slices: u32,
}

/// What a CPU has done, and how it came to its tasks.
#[derive(Default)]
struct Tally {
    slices: u64,
    finished: Vec<Priority>,
    pushed_here: usize,
    pulled_here: usize,
}

/// What is under a run queue's lock. Who holds the lock is the one writer of the CPU's priority: the
/// slot lies in the queue.
struct Queue<'v> {
    waiting: BinaryHeap<Task>,
    /// What the worker has in hand.
    running: Priority,
    /// None for CPUs without a worker, and for the spill lane.
    slot: Option<CpuSlot<&'v PriorityVec>>,
    tally: Tally,
}

struct RunQueue<'v> {
    queue: Mutex<Queue<'v>>,
    /// The mark of push and pull: tasks wait here that somebody else could run.
    has_too_much: AtomicBool,
    wake: Condvar,
}

struct Dispatcher<'v> {
    cpus: &'v PriorityVec,
    served: CpuMask,
    /// A copy for each CPU, and one more for threads whose CPU is not known: the spill lane.
    queues: PerCpu<RunQueue<'v>>,
    /// Tasks that are not finished, and one while there may come more.
    open: AtomicUsize,
}

impl Queue<'_> {
    /// What this CPU runs at: the most urgent of what it has.
    fn level(&self) -> Priority {
        let waiting = self.waiting.peek().map_or(Priority::NORMAL, |task| task.priority);
        waiting.max(self.running)
    }

    /// Whether more is here than its worker can have in hand.
    fn is_overloaded(&self) -> bool {
        let spoken_for = usize::from(self.slot.is_some() && self.running == Priority::NORMAL);
        self.waiting.len() > spoken_for
    }
}

impl<'v> RunQueue<'v> {
    fn lock(&self) -> MutexGuard<'_, Queue<'v>> {
        self.queue.lock().expect("no worker panics")
    }

    /// Changes the queue, then says what it is at now, and whether it has too much.
    fn change<R>(&self, change: impl FnOnce(&mut Queue<'v>) -> R) -> R {
        let mut queue = self.lock();
        let result = change(&mut queue);
        // Relaxed: `push` and `set` have the barriers.
        self.has_too_much.store(queue.is_overloaded(), Ordering::Relaxed);
        let level = queue.level();
        if let Some(slot) = &mut queue.slot {
            slot.set(level).expect("the vector has the kernel's levels");
        }
        self.wake.notify_one();
        result
    }
}

impl<'v> Dispatcher<'v> {
    fn new(cpus: &'v PriorityVec, served: CpuMask) -> Self {
        let queues = PerCpu::new(|lane| {
            let cpu = lane.cpu().filter(|cpu| served.contains(*cpu));
            let mut slot = cpu.map(|cpu| PriorityVec::claim(cpus, cpu).expect("claimed once"));
            if let Some(slot) = &mut slot {
                slot.set(Priority::NORMAL).expect("every vector has level 0");
            }
            let (waiting, running) = (BinaryHeap::new(), Priority::NORMAL);
            let queue = Mutex::new(Queue { waiting, running, slot, tally: Tally::default() });
            RunQueue { queue, has_too_much: AtomicBool::new(false), wake: Condvar::new() }
        });
        Self { cpus, served, queues, open: AtomicUsize::new(1) }
    }

    /// A new task on `queue`, from any thread.
    fn submit(&self, queue: &RunQueue<'v>, near: CpuId, task: Task) {
        self.open.fetch_add(1, Ordering::Relaxed); // Relaxed: a count, and this task holds it up.
        queue.change(|queue| queue.waiting.push(task));
        self.push(queue, near);
    }

    /// Hands tasks that wait in `from` to CPUs that run something less urgent.
    fn push(&self, from: &RunQueue<'v>, near: CpuId) {
        loop {
            // The mark, then the search: the pusher's half of the handshake. `CpuSlot::set` has
            // the other one. Either we see a CPU that went down, or its worker sees our mark.
            fence(Ordering::SeqCst);
            let waiting = from.lock();
            let priority = waiting.waiting.peek().map(|task| task.priority);
            let (Some(priority), true) = (priority, waiting.is_overloaded()) else { return };
            drop(waiting);
            let found = self.cpus.find_any(priority, &self.served, near);
            let Some((target, _)) = found else { return };
            let Some(task) = from.change(|queue| queue.waiting.pop()) else { return };
            // The answer may be old: look again, under the target's lock.
            let target = self.queues.get(target).expect("a CPU of the vector has a lane");
            let refused = target.change(|queue| {
                if queue.level() >= task.priority {
                    return Some(task);
                }
                queue.waiting.push(task);
                queue.tally.pushed_here += 1;
                None
            });
            if let Some(task) = refused {
                from.change(|queue| queue.waiting.push(task));
            }
        }
    }

    /// Fetches a task that is more urgent than all that is here: this CPU has gone down, and said so.
    fn pull(&self, own: &RunQueue<'v>) -> bool {
        let level = own.lock().level();
        // All lanes: also those without a worker, and the spill lane.
        for (_, other) in &self.queues {
            // Relaxed: after the full barrier in `set`.
            if !other.has_too_much.load(Ordering::Relaxed) {
                continue;
            }
            let take = |queue: &mut Queue<'v>| {
                let first = queue.waiting.peek().map(|task| task.priority);
                if queue.is_overloaded() && first > Some(level) {
                    queue.waiting.pop()
                } else {
                    None
                }
            };
            if let Some(task) = other.change(take) {
                own.change(|queue| {
                    queue.waiting.push(task);
                    queue.tally.pulled_here += 1;
                });
                return true;
            }
        }
        false
    }

    /// A worker: until everything is done.
    fn work(&self, cpu: CpuId) {
        let own = self.queues.get(cpu).expect("a worker's CPU has a lane");
        loop {
            while self.pull(own) {}
            let next = own.change(|queue| {
                let next = queue.waiting.pop();
                queue.running = next.as_ref().map_or(Priority::NORMAL, |task| task.priority);
                next
            });
            if let Some(task) = next {
                // What it left behind may go on elsewhere.
                self.push(own, cpu);
                self.run(own, task);
            } else {
                let queue = own.lock();
                // Acquire: what the tasks did, before what is done with it.
                let is_over = self.open.load(Ordering::Acquire) == 0;
                if is_over {
                    return;
                }
                if queue.waiting.is_empty() {
                    drop(own.wake.wait(queue).expect("no worker panics"));
                }
            }
        }
    }

    /// One slice of `task`; what is left of it waits again.
    fn run(&self, own: &RunQueue<'v>, mut task: Task) {
        std::hint::black_box((0..20_000).fold(task.age.0, |work, step| work.rotate_left(3) ^ step));
        task.slices -= 1;
        let is_done = task.slices == 0;
        own.change(|queue| {
            queue.tally.slices += 1;
            queue.running = Priority::NORMAL;
            match is_done {
                true => queue.tally.finished.push(task.priority),
                false => queue.waiting.push(task),
            }
        });
        if is_done {
            self.close();
        }
    }

    /// One task less; the last one lets the workers go.
    fn close(&self) {
        // Release: what the task did, before a worker that sees the end leaves. Acquire: the same.
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            for (_, queue) in &self.queues {
                // Under the lock no worker is between its look and its sleep.
                let locked = queue.lock();
                queue.wake.notify_all();
                drop(locked);
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = Topology::current();
    // Every possible CPU, neighbours in the order side by side; those that we serve will be claimed.
    let cpus: PriorityVec = PriorityVec::with_topology(machine)?;
    let served: CpuMask =
        machine.allowed().iter().filter(|cpu| cpus.cpus().contains(*cpu)).take(8).collect();
    let dispatcher = Dispatcher::new(&cpus, served.clone());

    // Priorities 1 to 97 in a mixed order; two to four slices each.
    let tasks = (0..48_u32).map(|age| Task {
        priority: Priority::rt(1 + (age * 37 % 97) as u8),
        age: std::cmp::Reverse(age),
        slices: 2 + age % 3,
    });
    let (mut given, mut slices) = (0, 0);
    thread::scope(|scope| {
        for task in tasks {
            (given, slices) = (given + 1, slices + u64::from(task.slices));
            // Half of them where this thread happens to be, half as from a thread whose CPU is not
            // known. Both only choose where a task begins.
            let (lane, here) = dispatcher.queues.here();
            let queue = if given % 2 == 0 { here } else { dispatcher.queues.spill() };
            dispatcher.submit(queue, lane.cpu().unwrap_or(CpuId::new(0)), task);
            if given == 24 {
                for cpu in &served {
                    let dispatcher = &dispatcher;
                    scope.spawn(move || dispatcher.work(cpu));
                }
            }
        }
        dispatcher.close();
    });

    println!("{cpus:?}");
    println!("CPU   slices  tasks  pushed here  pulled here  the first ones' priorities");
    let mut ran = (0, 0);
    for (lane, queue) in &dispatcher.queues {
        let inside = queue.lock();
        assert!(inside.waiting.is_empty() && !inside.is_overloaded(), "a task was forgotten");
        let Tally { slices, finished, pushed_here, pulled_here } = &inside.tally;
        ran = (ran.0 + finished.len(), ran.1 + slices);
        if let (Some(cpu), Some(slot)) = (lane.cpu(), &inside.slot) {
            assert_eq!(slot.get(), Priority::NORMAL, "nothing runs there any more");
            let levels: Vec<String> = finished.iter().take(12).map(Priority::to_string).collect();
            let levels = levels.join(" ");
            println!(
                "{cpu:<4} {slices:7} {:6} {pushed_here:12} {pulled_here:12}  {levels}",
                finished.len()
            );
        }
    }
    assert_eq!(ran, (given, slices), "each task ran to its end, each slice once");
    assert_eq!(cpus.count(Priority::NORMAL), served.len());
    println!("{given} tasks, {slices} slices, each of them once");
    Ok(())
}

/// However the threads meet: `main` checks the end.
#[test]
fn every_slice_runs_once() {
    for _ in 0..20 {
        main().expect("this machine has CPUs, and memory for a vector of them");
    }
}
