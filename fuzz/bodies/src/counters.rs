//! Cells, counters and histograms on CPUs that are made up, and the numbers they should say.

use crate::choices::{Bytes, Choices};
use corelocal::histogram::LogLinear;
use corelocal::testing::{Config, with};
use corelocal::{
    Area, BatchedCounter, Lane, PerCpu, PerCpuCell, PerCpuCounter, PerCpuGauge, PerCpuHistogram,
};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Values up to 2^20 have a bucket of their own kind; larger ones share the last.
const BUCKETS: usize = LogLinear::<2>::buckets_for(1 << 20);

/// Ours and theirs.
struct Pairs {
    cells: (PerCpu<PerCpuCell<u64>>, BTreeMap<Lane, u64>),
    counter: (PerCpuCounter, u64),
    gauge: (PerCpuGauge, i64),
    batched: (BatchedCounter, i64),
    /// With a limit that every increase keeps to.
    limited: (BatchedCounter, i128, i64),
    histogram: (PerCpuHistogram<BUCKETS>, Vec<u64>),
}

/// The first bytes choose the CPUs, a batch and a limit; what follows is operations, each on a CPU that
/// is made up, until it is used up.
///
/// # Panics
///
/// If a cell, a counter or a histogram says something else than the numbers do.
pub fn counters(input: &[u8]) {
    let mut bytes = Bytes(input);
    let cpus = [1, 3, 17, 64][bytes.below(4)];
    // More lanes than the machine has are not refused, fewer may be.
    let Ok(area) = Area::builder().cpus(cpus).build() else { return };
    let batch = 1 << bytes.below(33);
    let limit = size(&mut bytes) as i64;
    let mut pairs = Pairs {
        cells: (area.try_alloc_zeroed().expect("memory"), BTreeMap::new()),
        counter: (PerCpuCounter::in_area(&area).expect("memory"), 0),
        gauge: (PerCpuGauge::in_area(&area).expect("memory"), 0),
        batched: (BatchedCounter::in_area(&area, batch).expect("memory"), 0),
        limited: (BatchedCounter::in_area(&area, batch).expect("memory"), 0, limit),
        histogram: (PerCpuHistogram::in_area(&area, LogLinear).expect("memory"), Vec::new()),
    };
    let cpu = Cell::new(None);
    with(Config::new().cpu_ids_from(|| cpu.get()), || {
        while !bytes.is_empty() {
            cpu.set(match bytes.below(8) {
                0 => None,
                1 => Some(u32::MAX - bytes.below(2) as u32),
                2 => Some(cpus),
                _ => Some(bytes.below(cpus as usize) as u32),
            });
            pairs.step(&mut bytes);
        }
        pairs.check_all();
    });
}

/// Small numbers as often as large ones.
fn size(bytes: &mut Bytes<'_>) -> u64 {
    let bits = bytes.below(48);
    bytes.word() & ((1 << bits) - 1)
}

impl Pairs {
    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(12) {
            0 => {
                let value = bytes.word();
                let (lane, old) = self.cells.0.fetch_add(value);
                let word = self.cells.1.entry(lane).or_default();
                assert_eq!(old, *word, "{lane:?}");
                *word = word.wrapping_add(value);
            }
            1 => {
                let value = bytes.word();
                let (lane, old) = self.cells.0.swap(value);
                assert_eq!(old, self.cells.1.insert(lane, value).unwrap_or(0), "{lane:?}");
            }
            2 => {
                let known = self.cells.1.values().nth(bytes.below(4)).copied().unwrap_or(0);
                let value = size(bytes);
                let (lane, done) = self.cells.0.compare_exchange(known, value);
                let word = self.cells.1.entry(lane).or_default();
                let right = if *word == known { Ok(known) } else { Err(*word) };
                assert_eq!(done, right, "{lane:?}");
                if done.is_ok() {
                    *word = value;
                }
            }
            3 => {
                let value = bytes.word();
                self.counter.0.add(value);
                self.counter.1 = self.counter.1.wrapping_add(value);
            }
            4 => assert_eq!(self.counter.0.take(), std::mem::take(&mut self.counter.1)),
            5 => {
                let value = bytes.word() as i64;
                self.gauge.0.sub(value);
                self.gauge.1 = self.gauge.1.wrapping_sub(value);
            }
            6 => {
                let value = bytes.word() as i64;
                self.batched.0.add(value);
                self.batched.1 = self.batched.1.wrapping_add(value);
            }
            7 => {
                let value = size(bytes) as i64;
                self.batched.0.sub(value);
                self.batched.1 = self.batched.1.wrapping_sub(value);
            }
            8 => {
                let other = self.batched.1.wrapping_add(size(bytes) as i64 - (1 << 20));
                assert_eq!(self.batched.0.compare(other), self.batched.1.cmp(&other), "{other}");
            }
            9 => {
                let (counter, count, limit) = &mut self.limited;
                let value = size(bytes);
                let fits = *count + i128::from(value) <= i128::from(*limit);
                assert_eq!(counter.limited_add(value, *limit).is_ok(), fits, "{count} + {value}");
                *count += if fits { i128::from(value) } else { 0 };
            }
            10 => {
                // Never more than there is: the count stays far from the ends.
                let (counter, count, _) = &mut self.limited;
                let value = size(bytes).min(u64::try_from(*count).unwrap_or(0));
                counter.sub(value as i64);
                *count -= i128::from(value);
            }
            _ => {
                let (histogram, values) = &mut self.histogram;
                let (value, times) = (size(bytes), bytes.below(4));
                histogram.record_n(value, times as u64);
                values.extend(std::iter::repeat_n(value, times));
            }
        }
        let (batched, right) = &self.batched;
        let off = batched.read().wrapping_sub(*right).unsigned_abs();
        assert!(off <= batched.error_bound(), "off by {off}, not {}", batched.error_bound());
    }

    fn check_all(&mut self) {
        for (lane, cell) in &self.cells.0 {
            assert_eq!(cell.load(), self.cells.1.get(&lane).copied().unwrap_or(0), "{lane:?}");
        }
        assert_eq!(self.counter.0.sum(), self.counter.1);
        assert_eq!(self.gauge.0.sum(), self.gauge.1);
        assert_eq!(self.batched.0.sum(), self.batched.1);
        assert_eq!(i128::from(self.limited.0.sum()), self.limited.1);
        let (snapshot, values) = (self.histogram.0.snapshot(), &mut self.histogram.1);
        values.sort_unstable();
        assert_eq!(snapshot.count(), values.len() as u64);
        for (at, value) in values.iter().enumerate() {
            let share = (at + 1) as f64 / values.len() as f64;
            let range = snapshot.quantile(share).expect("a share of what is there");
            // A share is rounded: its rank is this one or the next.
            let next = values.get(at + 1).unwrap_or(value);
            assert!(range.contains(value) || range.contains(next), "{share}: {range:?}");
        }
    }
}
