//! [`Timing`]: the directory with a clock.

use super::directory::lines_of;
use super::latency::{BusyLine, PS, TagLatency, TimingReport};
use super::random::Random;
use super::{Access, Directory, Event, Kind, Outcome, Params};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

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

/// An access that waits for its line.
#[derive(Clone, Copy, Debug)]
struct Request {
    cpu: usize,
    core: usize,
    kind: Kind,
    tag: u32,
}

/// A line's queue. The first request is being served.
#[derive(Clone, Default, Debug)]
struct Queue {
    requests: VecDeque<Request>,
    /// Since when the first one is.
    since: u64,
    /// All transfers before it together.
    moved: u64,
}

impl Queue {
    fn is_moving_to(&self, core: usize) -> bool {
        self.requests.front().is_some_and(|first| first.core == core)
    }
}

/// What a CPU is doing.
#[derive(Clone, Default, Debug)]
struct Running {
    accesses: Vec<Access>,
    /// The first of them that was not sent out.
    next: usize,
    began: u64,
    /// `None` while it thinks.
    operation: Option<Operation>,
    /// Requests in queues.
    pending: usize,
    /// When the last of its hits is over.
    ready: u64,
}

/// What happens at an instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Happens {
    /// A CPU goes on.
    Cpu(usize),
    /// A line has come to who is first in its queue.
    Line(usize),
}

/// Operations of CPUs over time.
///
/// Each CPU thinks, for an exponentially distributed time of the given mean, does its next
/// operation, and thinks again. An access to a line that the core holds takes
/// [`hit`](super::Latencies::hit). Any other joins the line's queue: transfers and upgrades of one line
/// are done one after the other, in the order in which they were asked for, each within the socket
/// or across, as [`Outcome::across`](super::Outcome::across) says. The former holders lose the line
/// when its transfer begins. When it arrives, it answers all that its CPU has asked of it, and what
/// the core's other CPUs have, if [`siblings_share`](Params::siblings_share). Lines do not wait for
/// each other: there is no other limit to what the machine moves.
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
    params: Params,
    think: u64,
    random: Random,
    /// By the directory's place of the line.
    queues: Vec<Queue>,
    cpus: Vec<Running>,
    /// What happens when, earliest first, what happens at one instant in the order of putting in.
    agenda: BinaryHeap<Reverse<(u64, u64, Happens)>>,
    /// How much was put in.
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
            params: *params,
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
            let Some(Reverse((time, _, what))) = self.agenda.pop() else {
                unreachable!("every CPU is in the agenda or waits for a line that is in it")
            };
            self.now = time;
            match what {
                Happens::Cpu(cpu) => finished += u64::from(self.go_on(cpu, workload, &mut tags)),
                Happens::Line(at) => self.arrive(at),
            }
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
            self.put_in(self.now, Happens::Cpu(cpu));
            return false;
        };
        if running.next < running.accesses.len() {
            self.issue(cpu, operation);
            return false;
        }
        running.operation = None;
        let took = self.now - running.began;
        let tag = operation.tag;
        tags.entry(tag).or_insert(TagLatency::of(tag)).count(took);
        self.think(cpu);
        true
    }

    /// Sends out what can go out together.
    fn issue(&mut self, cpu: usize, operation: Operation) {
        self.cpus[cpu].ready = self.now;
        loop {
            let running = &mut self.cpus[cpu];
            let access = running.accesses[running.next];
            running.next += 1;
            let next = running.accesses.get(running.next);
            let is_last = !operation.overlap
                || access.kind.writes()
                || next.is_none_or(|next| next.kind.writes());
            for line in lines_of(access.address, access.size) {
                self.ask(cpu, line, access.kind, operation.tag);
            }
            if is_last {
                break;
            }
        }
        self.go_on_if_ready(cpu);
    }

    /// One access to one line: done at once, or put into the line's queue.
    fn ask(&mut self, cpu: usize, line: u64, kind: Kind, tag: u32) {
        let at = self.directory.line(line);
        if at == self.queues.len() {
            // The directory numbers lines as they come.
            self.queues.push(Queue::default());
        }
        let request = Request { cpu, core: self.directory.machine().core_of(cpu), kind, tag };
        if self.is_hit(at, &request) && !self.queues[at].is_moving_to(request.core) {
            return self.hit(at, &request);
        }
        self.cpus[cpu].pending += 1;
        let requests = &mut self.queues[at].requests;
        requests.push_back(request);
        if requests.len() == 1 {
            self.serve(at);
        }
    }

    fn is_hit(&self, at: usize, request: &Request) -> bool {
        let event = self.directory.foresee(request.cpu, at, request.kind).event;
        matches!(event, Event::Hit | Event::Silent)
    }

    /// An access takes effect, and its CPU has to wait for as long as a hit takes.
    fn hit(&mut self, at: usize, request: &Request) {
        self.touch(at, request);
        let running = &mut self.cpus[request.cpu];
        running.ready = running.ready.max(self.now + self.params.latencies.hit * PS);
    }

    fn touch(&mut self, at: usize, request: &Request) -> Outcome {
        self.directory.touch_at(request.cpu, at, request.kind, request.tag)
    }

    /// Begins the transfer for the first request of a queue.
    fn serve(&mut self, at: usize) {
        let first = self.queues[at].requests[0];
        let outcome = self.touch(at, &first);
        let latencies = &self.params.latencies;
        let ns = match outcome.event {
            Event::FirstTouch => latencies.memory,
            _ if outcome.across => latencies.across,
            // Also where another CPU of the core has the line by now, and siblings do not share.
            _ => latencies.within,
        };
        self.queues[at].since = self.now;
        self.put_in(self.now + ns * PS, Happens::Line(at));
    }

    /// A transfer is over.
    fn arrive(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.moved += self.now - queue.since;
        let Some(first) = queue.requests.pop_front() else { unreachable!("somebody asked") };
        self.answered(first.cpu);
        let mut place = 0;
        while let Some(&request) = self.queues[at].requests.get(place) {
            let share = self.params.siblings_share && request.core == first.core;
            if (share || request.cpu == first.cpu) && self.is_hit(at, &request) {
                self.queues[at].requests.remove(place);
                self.hit(at, &request);
                self.answered(request.cpu);
            } else {
                place += 1;
            }
        }
        if !self.queues[at].requests.is_empty() {
            self.serve(at);
        }
    }

    fn answered(&mut self, cpu: usize) {
        self.cpus[cpu].pending -= 1;
        self.go_on_if_ready(cpu);
    }

    /// Puts a CPU into the agenda if it waits for no line.
    fn go_on_if_ready(&mut self, cpu: usize) {
        if self.cpus[cpu].pending == 0 {
            self.put_in(self.cpus[cpu].ready.max(self.now), Happens::Cpu(cpu));
        }
    }

    fn think(&mut self, cpu: usize) {
        let time = self.now + self.random.exponential(self.think);
        self.put_in(time, Happens::Cpu(cpu));
    }

    fn put_in(&mut self, time: u64, what: Happens) {
        self.agenda.push(Reverse((time, self.put_in, what)));
        self.put_in += 1;
    }

    /// For each line, how long it was in transfer until now.
    fn moved(&self) -> Vec<u64> {
        let until_now = |queue: &Queue| {
            let under_way = if queue.requests.is_empty() { 0 } else { self.now - queue.since };
            queue.moved + under_way
        };
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
