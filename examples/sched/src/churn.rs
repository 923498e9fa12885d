//! Groups that come and go, from one thread and from two: what it costs to find room for a group's
//! state on every CPU and to give it back, with a lock and without.
//!
//! The kernel's per-CPU allocator finds room under one lock for the whole machine; creation of many
//! groups waits for it. Here the same area is used as it is, without a lock on the way that
//! finds room, and behind a lock; beside both stands what the global allocator does.

use crate::measure::machine::{Machine, pin, preemptions};
use crate::measure::stats::{Estimate, estimate, median};
use crate::rng::Rng;
use crate::structs::{Kernel, v7_2::V7_2};
use bytemuck::allocation::{zeroed_box, zeroed_slice_box};
use core::hint::black_box;
use corelocal::{Area, CpuId, PerCpu};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

type State = <V7_2 as Kernel>::State;

/// How room is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The area's own.
    Area,
    /// The same again, under another name: the null pair.
    Null,
    /// The same area behind a lock.
    Locked,
    /// An array and a box for each lane, of the global allocator.
    Boxes,
    /// One block of the global allocator for all lanes.
    Block,
}

impl Way {
    const ALL: [Self; 5] = [Self::Area, Self::Null, Self::Locked, Self::Boxes, Self::Block];

    const fn name(self) -> &'static str {
        match self {
            Self::Area => "area",
            Self::Null => "area, null",
            Self::Locked => "area, mutex",
            Self::Boxes => "boxes",
            Self::Block => "one block",
        }
    }
}

/// A group's state on all lanes.
enum Group<'a> {
    InArea { _lanes: PerCpu<State> },
    Locked(Option<PerCpu<State>>, &'a Mutex<()>),
    Boxes { _lanes: Box<[Box<State>]> },
    Block { _lanes: Box<[State]> },
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if let Self::Locked(state, lock) = self {
            let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
            drop(state.take());
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// CPUs of the memory layout.
    pub lanes: u32,
    /// Groups that each thread keeps.
    pub kept: usize,
    /// Groups that come and go in a sample.
    pub groups: usize,
    /// Samples of each way, whose median is a run's value.
    pub samples: u32,
    /// Independent repetitions.
    pub runs: u32,
    /// Where shuffles start.
    pub seed: u64,
}

/// One way on so many threads.
#[derive(Clone, Debug)]
pub struct Row {
    /// The way.
    pub way: &'static str,
    /// Threads at once.
    pub threads: usize,
    /// Nanoseconds for a group that goes and one that comes.
    pub ns: Estimate,
    /// Against the area without a lock, in the same run.
    pub change: Estimate,
    /// Samples left out because a thread was switched out though it could have gone on.
    pub rejected: u32,
    /// Samples kept all the same, a run having no other.
    pub disturbed: u32,
    /// How often threads slept, in a thousand groups: for a lock.
    pub waits: f64,
}

/// One sample of one thread.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    ns: f64,
    disturbed: bool,
    waits: i64,
}

/// The samples of one way.
#[derive(Clone, Default, Debug)]
struct Series {
    /// One value a run.
    ns: Vec<f64>,
    rejected: u32,
    disturbed: u32,
    waits: i64,
    samples: usize,
}

impl Series {
    /// Takes the median of a run's undisturbed samples; of all, where there is no other.
    fn take_run(&mut self, samples: &[Sample]) {
        let all: Vec<f64> = samples.iter().map(|sample| sample.ns).collect();
        let kept = samples.iter().filter(|sample| !sample.disturbed);
        let kept: Vec<f64> = kept.map(|sample| sample.ns).collect();
        let lost = (all.len() - kept.len()) as u32;
        *(if kept.is_empty() { &mut self.disturbed } else { &mut self.rejected }) += lost;
        self.ns.push(median(if kept.is_empty() { &all } else { &kept }));
        self.waits += samples.iter().map(|sample| sample.waits).sum::<i64>();
        self.samples += samples.len();
    }
}

/// Measures all ways on one thread and on two, if there are two CPUs.
///
/// # Errors
///
/// What the system refused, as text.
pub fn churn(
    config: &Config,
    machine: &Machine,
    mut progress: impl FnMut(&str),
) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for threads in (1..=machine.allowed.len()).take(2) {
        let mut series = vec![Series::default(); Way::ALL.len()];
        for run in 0..config.runs {
            progress(&format!("{threads} threads: run {} of {}", run + 1, config.runs));
            let area = Area::builder().cpus(config.lanes.max(machine.cpus)).build();
            let area = area.map_err(|error| error.to_string())?;
            let samples = one_run(config, &area, &machine.allowed[..threads], run)?;
            series.iter_mut().zip(&samples).for_each(|(of, samples)| of.take_run(samples));
        }
        for (way, of) in Way::ALL.into_iter().zip(&series) {
            let pairs = of.ns.iter().zip(&series[0].ns);
            rows.push(Row {
                way: way.name(),
                threads,
                ns: estimate(&of.ns),
                change: estimate(&pairs.map(|(ns, base)| ns / base - 1.0).collect::<Vec<f64>>()),
                rejected: of.rejected,
                disturbed: of.disturbed,
                waits: of.waits as f64 * 1000.0 / (of.samples * config.groups) as f64,
            });
        }
    }
    Ok(rows)
}

/// The samples of each way, all ways taking turns.
fn one_run(
    config: &Config,
    area: &Area,
    cpus: &[u32],
    run: u32,
) -> Result<Vec<Vec<Sample>>, String> {
    let mut rng = Rng::new(config.seed ^ u64::from(run) << 32);
    let mut samples = vec![Vec::new(); Way::ALL.len()];
    let mut turn: Vec<usize> = (0..Way::ALL.len()).collect();
    for _ in 0..config.samples {
        rng.shuffle(&mut turn);
        for &at in &turn {
            samples[at].extend(sample(config, area, Way::ALL[at], cpus)?);
        }
    }
    Ok(samples)
}

/// One sample of each thread, at once.
fn sample(config: &Config, area: &Area, way: Way, cpus: &[u32]) -> Result<Vec<Sample>, String> {
    let (lock, barrier) = (Mutex::new(()), Barrier::new(cpus.len()));
    thread::scope(|scope| {
        let threads: Vec<_> = cpus
            .iter()
            .map(|&cpu| {
                let (lock, barrier) = (&lock, &barrier);
                scope.spawn(move || {
                    let pinned = pin(CpuId::new(cpu));
                    let sample = on_one_thread(config, area, way, lock, barrier);
                    pinned.and(sample)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn on_one_thread(
    config: &Config,
    area: &Area,
    way: Way,
    lock: &Mutex<()>,
    barrier: &Barrier,
) -> Result<Sample, String> {
    let lanes = area.lanes();
    let in_area = || area.try_alloc_zeroed::<State>().map_err(|error| error.to_string());
    let group = || -> Result<Group<'_>, String> {
        Ok(match way {
            Way::Area | Way::Null => Group::InArea { _lanes: in_area()? },
            Way::Locked => {
                let _held = lock.lock().unwrap_or_else(PoisonError::into_inner);
                Group::Locked(Some(in_area()?), lock)
            }
            Way::Boxes => Group::Boxes { _lanes: (0..lanes).map(|_| zeroed_box()).collect() },
            Way::Block => Group::Block { _lanes: zeroed_slice_box(lanes) },
        })
    };
    let kept: Result<VecDeque<Group<'_>>, String> = (0..config.kept).map(|_| group()).collect();
    barrier.wait();
    let mut kept = kept?;
    let (before, slept, start) = (preemptions(), waits(), Instant::now());
    for _ in 0..config.groups {
        drop(kept.pop_front());
        kept.push_back(black_box(group()?));
    }
    let ns = start.elapsed().as_secs_f64() * 1e9 / config.groups as f64;
    let (disturbed, waits) = (preemptions() != before, waits() - slept);
    // Nobody frees while another one still measures.
    barrier.wait();
    Ok(Sample { ns, disturbed, waits })
}

/// How often the calling thread gave up its CPU to wait for something.
fn waits() -> i64 {
    use nix::sys::resource::{UsageWho, getrusage};
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.voluntary_context_switches())
}

/// Writes the rows for people.
///
/// # Errors
///
/// Those of `out`.
pub fn print(
    config: &Config,
    machine: &Machine,
    rows: &[Row],
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(
        out,
        "Groups that come and go: state of {} bytes on each of {} lanes, each thread keeps {} groups; \
         a group goes and one comes. {}, Linux {}. Median of {} runs [interval]; all ways take turns; \
         change against the area without a lock in the same run. Nothing is initialised but to zero.",
        size_of::<State>(),
        config.lanes.max(machine.cpus),
        config.kept,
        machine.model,
        machine.kernel,
        config.runs,
    )?;
    writeln!(
        out,
        "{:<12} {:>7} {:>26} {:>24} {:>13} {:>9} {:>9}",
        "room from", "threads", "ns", "change %", "waits / 1000", "rejected", "disturbed"
    )?;
    for row in rows {
        let ns = row.ns;
        let change = row.change;
        let [median, lo, hi] = [change.median, change.lo, change.hi].map(|x| x * 100.0);
        writeln!(
            out,
            "{:<12} {:>7} {:>26} {:>24} {:>13.3} {:>9} {:>9}",
            row.way,
            row.threads,
            format!("{:.0} [{:.0}, {:.0}]", ns.median, ns.lo, ns.hi),
            format!("{median:+.1} [{lo:+.1}, {hi:+.1}]"),
            row.waits,
            row.rejected,
            row.disturbed,
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_and_gives_all_room_back() {
        let config = Config { lanes: 3, kept: 3, groups: 10, samples: 2, runs: 2, seed: 1 };
        let machine = Machine::current();
        let rows = churn(&config, &machine, |_| ()).unwrap();
        let threads = machine.allowed.len().min(2);
        assert_eq!(rows.len(), threads * Way::ALL.len());
        assert!(rows.iter().all(|row| row.ns.median > 0.0));
        assert_eq!((rows[0].change.median, rows[0].way), (0.0, "area"));
        let area = Area::builder().cpus(machine.cpus).build().unwrap();
        for way in Way::ALL {
            sample(&config, &area, way, &machine.allowed[..threads]).unwrap();
            assert_eq!(area.stats().live, 0, "{way:?}");
        }
        let mut text = Vec::new();
        print(&config, &machine, &rows, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(Way::ALL.iter().all(|way| text.contains(way.name())), "{text}");
    }
}
