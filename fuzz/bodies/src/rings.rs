//! A ring on made-up CPUs, and a deque a lane.

use corelocal::PerCpuRing;
use corelocal::ring::{Reader, WriteError};
use corelocal::testing::{Config, with};
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};

/// What is done to a ring.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// So many bytes, full of their number.
    Write(usize),
    /// As many of what there is.
    Read(usize),
    /// What was read.
    GiveBack,
    /// What was not.
    Skip,
    /// Another reader.
    Renew,
    /// The thread is on another CPU from here on; or nobody knows on which.
    Move(Option<u32>),
}

const CAPACITY: usize = 512;

/// What is in a lane.
#[derive(Debug, Default)]
struct Lane {
    records: VecDeque<(u64, usize)>,
    /// Units of what was read and not given back, and of all.
    read: usize,
    used: usize,
}

#[derive(Debug, Default)]
struct Oracle {
    lanes: BTreeMap<usize, Lane>,
    dropped: u64,
}

fn units(len: usize) -> usize {
    (16 + len).div_ceil(8)
}

impl Oracle {
    fn give_back(&mut self) {
        for lane in self.lanes.values_mut() {
            lane.used -= std::mem::take(&mut lane.read);
        }
    }

    /// The record that comes next.
    fn next(&mut self) -> Option<(usize, u64, usize)> {
        let (at, lane) = self.lanes.iter_mut().find(|(_, lane)| !lane.records.is_empty())?;
        let (number, len) = lane.records.pop_front()?;
        lane.read += units(len);
        Some((*at, number, len))
    }
}

/// Does all that, on this thread, which stays on its CPU or whose CPU is always made up.
///
/// # Panics
///
/// If the ring says something else than the deques do.
pub fn run(steps: &[Step]) {
    let ring = PerCpuRing::new(CAPACITY);
    let mut held: Option<Reader<'_>> = ring.reader().ok();
    let mut oracle = Oracle::default();
    let id = Cell::new(corelocal::CpuId::current().map(corelocal::CpuId::get));
    with(Config::new().cpu_ids_from(|| id.get()), || {
        for (number, step) in (0_u64..).zip(steps) {
            let reader = held.as_mut().expect("made again at once");
            match *step {
                Step::Move(to) => id.set(to),
                Step::Write(len) => match ring.write_at(number, &vec![number as u8; len]) {
                    Ok(lane) => {
                        let at = lane.index();
                        let lane = oracle.lanes.entry(at).or_default();
                        lane.records.push_back((number, len));
                        lane.used += units(len);
                        assert!(lane.used <= CAPACITY / 8, "step {number}");
                    }
                    Err(WriteError::Full) => {
                        oracle.dropped += 1;
                        // Which lane it was depends on whether a section was cut off.
                        let fullest = oracle.lanes.values().map(|lane| lane.used).max();
                        let used = fullest.unwrap_or(0);
                        assert!(used + units(len) > CAPACITY / 8, "step {number}");
                    }
                    Err(error) => panic!("step {number}: {error}"),
                },
                Step::Read(some) => {
                    oracle.give_back();
                    for record in reader.drain().take(some) {
                        let (lane, number, len) = oracle.next().expect("one that was written");
                        assert_eq!(record.bytes(), vec![number as u8; len]);
                        assert_eq!((record.time(), record.lane().index()), (Some(number), lane));
                    }
                    let more = oracle.lanes.values().any(|lane| !lane.records.is_empty());
                    let read: usize = oracle.lanes.values().map(|lane| lane.read).sum();
                    assert!(!more || some == 0 || read > 0, "step {number}: there is more");
                }
                Step::GiveBack => {
                    reader.give_back();
                    oracle.give_back();
                }
                Step::Skip => {
                    let rest = std::iter::from_fn(|| oracle.next()).count();
                    assert_eq!(reader.skip(), rest);
                    oracle.give_back();
                }
                Step::Renew => {
                    assert!(ring.reader().is_err());
                    drop(held.take());
                    held = ring.reader().ok();
                    oracle.give_back();
                }
            }
        }
    });
    assert_eq!(ring.dropped(), oracle.dropped);
    let mut reader = held.expect("made again at once");
    let rest: Vec<_> = reader.drain().map(|record| record.time()).collect();
    let others: Vec<_> = std::iter::from_fn(|| oracle.next()).map(|next| Some(next.1)).collect();
    assert_eq!(rest, others);
}
