//! [`Timing`]: the directory with a clock.

use super::directory::lines_of;
use super::random::Random;
use super::{Access, Directory, Event, Kind, Latencies, Params};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Picoseconds of a nanosecond: the clock counts picoseconds, in integers.
const PS: u64 = 1000;

/// One operation of a CPU: a list of accesses under a tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// The tag its accesses are counted under.
    pub tag: u32,
    /// Whether loads that follow each other go out together. Where each load decides whether there
    /// is a next one, or its address, they wait for each other.
    pub overlap: bool,
}

/// Says what each CPU does next.
pub trait Workload {
    /// The next operation of `cpu`: its accesses, appended to the empty `accesses`.
    ///
    /// It is called when the operation begins. What it does to the structure whose accesses it
    /// records happens at that instant; the accesses then take their time.
    fn next(&mut self, cpu: usize, accesses: &mut Vec<Access>) -> Operation;
}

/// A line's queue.
#[derive(Clone, Debug)]
struct Queue {
    /// When the last transfer that was asked for is over.
    free: u64,
    /// All transfers together.
    booked: u64,
    /// For each core, when its last transfer is over.
    arrives: Vec<u64>,
}

/// What a CPU is doing.
#[derive(Clone, Default, Debug)]
struct Running {
    accesses: Vec<Access>,
    /// The first of them that is still to be done.
    next: usize,
    began: u64,
    /// `None` while it thinks.
    operation: Option<Operation>,
}

/// Operations of CPUs over time.
///
/// Each CPU thinks, for an exponentially distributed time of the given mean, does its next
/// operation, and thinks again. An access to a line that the core holds takes
/// [`hit`](Latencies::hit). Any other joins the line's queue: transfers and upgrades of one line
/// are done one after the other, in the order in which they were asked for, each within the socket
/// or across, as [`Outcome::across`](super::Outcome::across) says. Lines do not wait for each
/// other: there is no other limit to what the machine moves.
///
/// A line counts as given away from when another core asks for it, not from when the transfer
/// begins, so under a queue its last holder has slightly fewer hits than it would have.
///
/// ```
/// use model::coherence::{Access, Kind, Operation, Params, Timing, Workload};
///
/// /// Everybody adds to one counter.
/// struct OneCounter;
///
/// impl Workload for OneCounter {
///     fn next(&mut self, _cpu: usize, accesses: &mut Vec<Access>) -> Operation {
///         accesses.push(Access { address: 0x40, size: 8, kind: Kind::Rmw });
///         Operation { tag: 0, overlap: false }
///     }
/// }
///
/// let params = Params::parse("sockets 1\ncores 8\nthreads 1")?;
/// let mut timing = Timing::new(&params, 0, 1);
/// timing.run(&mut OneCounter, 1_000); // warming up
/// let report = timing.run(&mut OneCounter, 10_000);
/// // The line's queue never empties: one operation each 70 ns, and each waits for seven others.
/// assert!((report.throughput() - 1000.0 / 70.0).abs() < 0.01);
/// assert!((report.tags[0].mean_ns() - 8.0 * 70.0).abs() < 1.0);
/// # Ok::<(), model::ParamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timing {
    directory: Directory,
    latencies: Latencies,
    think: u64,
    random: Random,
    /// By the directory's place of the line.
    queues: Vec<Queue>,
    cpus: Vec<Running>,
    /// When each CPU goes on, earliest first, those of one instant in the order they were put in.
    agenda: BinaryHeap<Reverse<(u64, u64, usize)>>,
    put_in: u64,
    now: u64,
}

impl Timing {
    /// A machine with empty caches, whose CPUs think for `think` nanoseconds on average. The seed
    /// fixes the think times.
    ///
    /// # Panics
    ///
    /// If the mean is more than a second.
    pub fn new(params: &Params, think: u64, seed: u64) -> Self {
        assert!(think <= 1_000_000_000, "think times of {think} ns: at most a second");
        let directory = Directory::new(params.machine);
        let cpus = directory.machine().cpus();
        let mut timing = Self {
            directory,
            latencies: params.latencies,
            think: think * PS,
            random: Random::new(seed),
            queues: Vec::new(),
            cpus: vec![Running::default(); cpus],
            agenda: BinaryHeap::new(),
            put_in: 0,
            now: 0,
        };
        (0..cpus).for_each(|cpu| timing.think(cpu));
        timing
    }

    /// What the accesses met so far, or since [`Timing::reset_counts`].
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// As [`Directory::reset_counts`].
    pub fn reset_counts(&mut self) {
        self.directory.reset_counts();
    }

    /// Goes on until so many operations were finished, by all CPUs together, and reports on those.
    ///
    /// The first run begins with empty caches, all CPUs thinking; the next goes on where the last
    /// one ended. So a run whose report is thrown away is the way to warm up.
    pub fn run(&mut self, workload: &mut impl Workload, operations: u64) -> TimingReport {
        let (began, moved) = (self.now, self.moved());
        let mut tags = BTreeMap::new();
        let mut finished = 0;
        while finished < operations {
            let Some(Reverse((time, _, cpu))) = self.agenda.pop() else {
                unreachable!("every CPU is in the agenda")
            };
            self.now = time;
            finished += u64::from(self.go_on(cpu, workload, &mut tags));
        }
        let busiest = self.busiest(began, &moved);
        let tags = tags.into_values().collect();
        TimingReport { operations, picoseconds: self.now - began, tags, busiest }
    }

    /// One step of a CPU. Whether it finished an operation.
    fn go_on(
        &mut self,
        cpu: usize,
        workload: &mut impl Workload,
        tags: &mut BTreeMap<u32, TagLatency>,
    ) -> bool {
        let running = &mut self.cpus[cpu];
        let Some(operation) = running.operation else {
            running.accesses.clear();
            let operation = workload.next(cpu, &mut running.accesses);
            (running.operation, running.next, running.began) = (Some(operation), 0, self.now);
            self.directory.begin(cpu, operation.tag);
            self.go_on_at(cpu, self.now);
            return false;
        };
        if running.next < running.accesses.len() {
            let done = self.issue(cpu, operation);
            self.go_on_at(cpu, done);
            return false;
        }
        running.operation = None;
        let took = self.now - running.began;
        let tag = operation.tag;
        let latency = tags.entry(tag).or_insert(TagLatency { tag, ..TagLatency::default() });
        latency.operations += 1;
        latency.sum_ps += u128::from(took);
        latency.max_ps = latency.max_ps.max(took);
        self.think(cpu);
        true
    }

    /// Sends out what can go out together; when all of it is there.
    fn issue(&mut self, cpu: usize, operation: Operation) -> u64 {
        let mut done = self.now;
        loop {
            let running = &mut self.cpus[cpu];
            let access = running.accesses[running.next];
            running.next += 1;
            let is_last = !operation.overlap
                || access.kind.writes()
                || running.accesses.get(running.next).is_none_or(|next| next.kind.writes());
            for line in lines_of(access.address, access.size) {
                done = done.max(self.touch(cpu, line, access.kind, operation.tag));
            }
            if is_last {
                return done;
            }
        }
    }

    /// One access to one line; when it is done.
    fn touch(&mut self, cpu: usize, line: u64, kind: Kind, tag: u32) -> u64 {
        let at = self.directory.line(line);
        let machine = self.directory.machine();
        let (core, cores) = (machine.core_of(cpu), machine.cores());
        let outcome = self.directory.touch_at(cpu, at, kind, tag);
        if at == self.queues.len() {
            // The directory numbers lines in the order of their first touch.
            self.queues.push(Queue { free: 0, booked: 0, arrives: vec![0; cores] });
        }
        let queue = &mut self.queues[at];
        let takes = PS
            * match outcome.event {
                // The line may still be on its way, asked for by the core's other thread.
                Event::Hit | Event::Silent => {
                    return self.now.max(queue.arrives[core]) + PS * self.latencies.hit;
                }
                Event::FirstTouch => self.latencies.memory,
                _ if outcome.across => self.latencies.across,
                _ => self.latencies.within,
            };
        queue.free = self.now.max(queue.free) + takes;
        queue.booked += takes;
        queue.arrives[core] = queue.free;
        queue.free
    }

    fn think(&mut self, cpu: usize) {
        let time = self.now + self.random.exponential(self.think);
        self.go_on_at(cpu, time);
    }

    fn go_on_at(&mut self, cpu: usize, time: u64) {
        self.agenda.push(Reverse((time, self.put_in, cpu)));
        self.put_in += 1;
    }

    /// For each line, how long it was in transfer until now: a queue that reaches beyond now has
    /// no gap from now on.
    fn moved(&self) -> Vec<u64> {
        let until_now = |queue: &Queue| queue.booked - queue.free.saturating_sub(self.now);
        self.queues.iter().map(until_now).collect()
    }

    /// The line that was in transfer for the longest part of the time; of equal ones, the first in
    /// memory.
    fn busiest(&self, began: u64, before: &[u64]) -> Option<BusyLine> {
        let busy = self.moved().into_iter().enumerate().map(|(at, moved)| {
            let picoseconds = moved - before.get(at).unwrap_or(&0);
            (picoseconds, Reverse(self.directory.address_at(at)))
        });
        let (busy, Reverse(address)) = busy.max()?;
        let share = busy as f64 / (self.now - began).max(1) as f64;
        Some(BusyLine { address, share })
    }
}

/// How long the operations of one tag took.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TagLatency {
    /// The tag.
    pub tag: u32,
    /// Operations that were finished.
    pub operations: u64,
    sum_ps: u128,
    max_ps: u64,
}

impl TagLatency {
    /// The mean, in nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        self.sum_ps as f64 / self.operations as f64 / PS as f64
    }

    /// The longest, in nanoseconds.
    pub fn max_ns(&self) -> f64 {
        self.max_ps as f64 / PS as f64
    }
}

/// The line that limits the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BusyLine {
    /// The address of its first byte.
    pub address: u64,
    /// The part of the time in which it was being moved: at 1, its queue never emptied.
    pub share: f64,
}

/// What one [`Timing::run`] saw.
#[derive(Clone, PartialEq, Debug)]
pub struct TimingReport {
    /// Operations that were finished.
    pub operations: u64,
    /// The time in which they were.
    pub picoseconds: u64,
    /// Every tag of which an operation was finished, ascending.
    pub tags: Vec<TagLatency>,
    /// The line that was in transfer for the longest part of the time.
    pub busiest: Option<BusyLine>,
}

impl TimingReport {
    /// Operations a microsecond, of the whole machine.
    ///
    /// At a think time of 0 this is the ceiling: no CPU ever does anything else.
    pub fn throughput(&self) -> f64 {
        self.operations as f64 * (1000 * PS) as f64 / self.picoseconds as f64
    }
}
