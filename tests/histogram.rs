//! Histograms against sorted values: buckets, quantiles, sums and merges.
#![cfg(feature = "std")]

use corelocal::histogram::{Buckets, Fixed, LogLinear, QuantileError, SnapshotError, WithSum};
use corelocal::{Area, BoundsError, HistogramSnapshot, PerCpuHistogram, StaticHistogram};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// Every value has one bucket: ranges follow one another from 0 to `u64::MAX`, and both ends of each
/// lead to it.
fn check_ranges<const N: usize, B: Buckets<N>>(buckets: &B) -> Vec<RangeInclusive<u64>> {
    let ranges: Vec<_> = (0..N).map(|index| buckets.range(index).unwrap()).collect();
    assert_eq!((*ranges[0].start(), *ranges[N - 1].end()), (0, u64::MAX), "{buckets:?}");
    assert!(ranges.windows(2).all(|pair| pair[0].end() + 1 == *pair[1].start()), "{ranges:?}");
    for (index, range) in ranges.iter().enumerate() {
        let inside = range.start() / 2 + range.end() / 2;
        for value in [*range.start(), inside.max(*range.start()), *range.end()] {
            assert_eq!(buckets.index(value), index, "{value}, in {buckets:?}");
        }
    }
    assert_eq!(buckets.range(N), None);
    ranges
}

/// Log-linear buckets of `BITS`, all of them and fewer.
fn check_log_linear<const BITS: u32, const ALL: usize, const FEWER: usize>() {
    assert_eq!(ALL, LogLinear::<BITS>::MOST);
    let all = check_ranges::<ALL, _>(&LogLinear::<BITS>);
    for range in &all {
        let exact = range.start() == range.end();
        let width = range.end() - range.start() + 1;
        assert!(exact || width <= range.start() >> BITS, "{range:?} with {BITS}");
        assert!(exact || *range.start() >= 2 << BITS, "{range:?} with {BITS}");
        // One more is needed for the next value, and one for the overflow; at the end, none.
        let index = Buckets::<ALL>::index(&LogLinear::<BITS>, *range.start());
        let needed = LogLinear::<BITS>::buckets_for(*range.end());
        assert_eq!(needed, (index + 2).min(ALL), "{range:?} with {BITS}");
    }
    let fewer = check_ranges::<FEWER, _>(&LogLinear::<BITS>);
    assert_eq!(fewer[..FEWER - 1], all[..FEWER - 1]);
}

#[test]
fn every_value_has_one_bucket_and_none_falls_between_two() {
    check_log_linear::<0, 65, 7>();
    check_log_linear::<1, 128, 2>();
    check_log_linear::<2, 252, 251>();
    check_log_linear::<3, 496, 100>();
    check_log_linear::<5, 1920, 64>();
    check_log_linear::<7, 7424, 1>();
    check_log_linear::<10, { 55 << 10 }, 3>();
}

/// What the page says of `LogLinear`.
#[test]
fn the_table_of_bucket_counts_is_right() {
    fn row<const BITS: u32>() -> [usize; 3] {
        let kind = LogLinear::<BITS>::buckets_for;
        [kind(1_000_000_000), kind(3_600_000_000_000), kind(u64::MAX)]
    }
    let rows = [row::<2>(), row::<3>(), row::<4>(), row::<5>(), row::<7>()];
    let page = include_str!("../src/histogram/log_linear.rs");
    for row in rows {
        let cells = format!("| {} | {} | {} |", row[0], row[1], row[2]);
        assert!(page.contains(&cells), "no row ends with {cells}");
    }
}

#[test]
fn wrong_bounds_are_an_error_that_says_what_is_right() {
    let check = |bounds: &[u64], error: BoundsError, text: &str| {
        assert_eq!(Fixed::<3>::try_new(bounds), Err(error));
        assert!(error.to_string().contains(text), "{error}");
    };
    check(&[], BoundsError::Count { given: 0, wanted: 2 }, "give 2");
    check(&[1, 2, 3], BoundsError::Count { given: 3, wanted: 2 }, "3 bounds for 3 buckets");
    let unsorted = BoundsError::NotAscending { at: 1, before: 5, bound: 4 };
    check(&[5, 4], unsorted, "bound 1 is 4, after 5; sort");
    check(&[4, 4], BoundsError::NotAscending { at: 1, before: 4, bound: 4 }, "once");
    check(&[4, u64::MAX], BoundsError::NothingBeyond { at: 1 }, "leave it out");
    assert_eq!(Fixed::<1>::try_new(&[]).map(|fixed| fixed.bounds().len()), Ok(0));
    check_ranges::<1, _>(&Fixed::<1>::new(&[]));
    check_ranges::<4, _>(&Fixed::<4>::new(&[0, 1, u64::MAX - 1]));
}

/// Values of many kinds: small, of all sizes, equal, two humps, and beyond any bound.
fn values() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![
        0..40_u64,
        0..5_000_u64,
        Just(777_u64),
        (0..64_u32, any::<u64>()).prop_map(|(shift, bits)| bits >> shift),
        any::<u64>().prop_map(|bits| 1_000_000 + (bits % 1000)),
    ];
    let narrow = proptest::collection::vec(0..3_000_u64, 1..300);
    prop_oneof![proptest::collection::vec(one, 1..300), narrow]
}

/// Five bounds that ascend.
fn bounds() -> impl Strategy<Value = [u64; 5]> {
    proptest::collection::btree_set(0..6_000_u64, 5)
        .prop_map(|set| set.into_iter().collect::<Vec<_>>().try_into().expect("five"))
}

fn record<const N: usize, B: Buckets<N>>(buckets: B, values: &[u64]) -> HistogramSnapshot<N, B> {
    let histogram = PerCpuHistogram::new(buckets);
    values.iter().for_each(|&value| histogram.record(value));
    histogram.snapshot()
}

/// Every answer of a snapshot against the values themselves.
fn check_answers<const N: usize, B: Buckets<N>>(buckets: B, values: &[u64]) {
    let snapshot = record(WithSum(buckets.clone()), values);
    let plain = record(buckets.clone(), values);
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let count = sorted.len();

    let mut by_bucket = BTreeMap::new();
    for value in values {
        let index = (0..N).find(|&index| buckets.range(index).unwrap().contains(value)).unwrap();
        *by_bucket.entry(index).or_insert(0) += 1;
    }
    for (index, &found) in snapshot.counts().iter().enumerate() {
        assert_eq!(found, by_bucket.get(&index).copied().unwrap_or(0), "bucket {index}");
    }
    assert_eq!((plain.counts(), plain.count()), (snapshot.counts(), count as u64));

    // The nearest rank, in whole numbers.
    for of_thousand in [0, 1, 10, 70, 250, 500, 700, 900, 990, 999, 1000] {
        let rank = (of_thousand * count).div_ceil(1000).max(1);
        let range = snapshot.quantile(of_thousand as f64 / 1000.0).unwrap();
        assert!(range.contains(&sorted[rank - 1]), "{of_thousand} of 1000: {range:?}, {sorted:?}");
        assert_eq!(plain.quantile(of_thousand as f64 / 1000.0), Ok(range));
    }
    assert_eq!(snapshot.min(), snapshot.quantile(0.0).ok());
    assert_eq!(snapshot.max(), snapshot.quantile(1.0).ok());

    for (end, so_far) in snapshot.cumulative() {
        assert_eq!(so_far, sorted.partition_point(|&value| value <= end) as u64, "up to {end}");
    }
    let ends: Vec<u64> = (0..N).map(|index| *buckets.range(index).unwrap().end()).collect();
    assert!(snapshot.iter().map(|(end, _)| end).eq(ends));

    let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
    assert_eq!((snapshot.sum(), plain.sum()), (Some(sum as u64), None));
    assert!(plain.sum_bounds().contains(&sum));
    check_mean(&snapshot, &plain, sum, count);
}

fn check_mean<const N: usize, B: Buckets<N>>(
    snapshot: &HistogramSnapshot<N, WithSum<B>>,
    plain: &HistogramSnapshot<N, B>,
    sum: u128,
    count: usize,
) {
    let mean = sum as f64 / count as f64;
    if sum <= u128::from(u64::MAX) {
        assert_eq!(snapshot.mean(), Some(sum as u64 as f64 / count as f64));
    }
    let bounds = plain.sum_bounds();
    let off = (*bounds.end() - *bounds.start()) as f64 / 2.0 / count as f64;
    match plain.mean() {
        Some(estimate) => assert!((estimate - mean).abs() <= off * 1.0001, "{estimate}, {mean}"),
        None => assert_ne!(plain.counts()[N - 1], 0, "no mean, and no value in the overflow"),
    }
}

/// Merging is adding: in any order, as if one histogram had had all values; and can be undone.
fn check_merges<const N: usize, B: Buckets<N> + Debug>(buckets: B, parts: [&[u64]; 3]) {
    let snapshots = parts.map(|values| record(buckets.clone(), values));
    let together = record(buckets.clone(), &parts.concat());
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let [a, b, c] = order.map(|index: usize| &snapshots[index]);
        let mut left = a.clone();
        left.merge(b).unwrap();
        left.merge(c).unwrap();
        let mut right = b.clone();
        right.merge(c).unwrap();
        let mut sum = a.clone();
        sum.merge(&right).unwrap();
        assert_eq!((&left, &sum), (&together, &together));
        assert_eq!(sum.since(a).as_ref(), Ok(&right));
    }
    let mut nothing = HistogramSnapshot::empty(buckets);
    nothing.merge(&together).unwrap();
    assert_eq!(nothing, together);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn answers_are_those_of_the_sorted_values(values in values(), bounds in bounds()) {
        check_answers::<496, _>(LogLinear::<3>, &values);
        check_answers::<40, _>(LogLinear::<2>, &values);
        check_answers::<1000, _>(LogLinear::<5>, &values);
        check_answers::<6, _>(Fixed::new(&bounds), &values);
        check_answers::<1, _>(Fixed::new(&[]), &values);
    }

    #[test]
    fn merging_is_adding_in_any_order(
        values in values(), cut in (0..300_usize, 0..300_usize), bounds in bounds()
    ) {
        let (begin, end) = (cut.0.min(cut.1).min(values.len()), cut.0.max(cut.1).min(values.len()));
        let parts = [&values[..begin], &values[begin..end], &values[end..]];
        check_merges::<100, _>(LogLinear::<3>, parts);
        check_merges::<6, _>(WithSum(Fixed::new(&bounds)), parts);
    }
}

/// A quantile within the promised relative error of the value that it stands for.
#[test]
fn a_quantile_is_within_its_relative_error() {
    fn check<const BITS: u32, const N: usize>(sorted: &[u64], name: &str) {
        let snapshot = record::<N, _>(LogLinear::<BITS>, sorted);
        for step in 0..=1000 {
            let exact = sorted[(step * sorted.len()).div_ceil(1000).max(1) - 1];
            let range = snapshot.quantile(step as f64 / 1000.0).unwrap();
            for told in [*range.start(), *range.end()] {
                let off = told.abs_diff(exact) as f64;
                let most = LogLinear::<BITS>::RELATIVE_ERROR * exact as f64;
                assert!(off <= most, "{name}: {told} for {exact}, {step} of 1000");
            }
        }
    }
    // xorshift: the same in every run.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let uniform = |random: u64| random % 1_000_000;
    let by_size = |random: u64| random >> (random % 60);
    let exponential =
        |random: u64| (-50_000.0 * ((random | 1) as f64 / 2_f64.powi(64)).ln()) as u64;
    let humps = |random: u64| if random % 10 == 0 { 900_000 + random % 999 } else { random % 2000 };
    let kinds: [(&str, &dyn Fn(u64) -> u64); 4] = [
        ("uniform", &uniform),
        ("of all sizes", &by_size),
        ("exponential", &exponential),
        ("two humps", &humps),
    ];
    for (name, kind) in kinds {
        let mut sorted: Vec<u64> = (0..7001).map(|_| kind(random())).collect();
        sorted.sort_unstable();
        check::<3, 496>(&sorted, name);
        check::<5, 1920>(&sorted, name);
        check::<7, 7424>(&sorted, name);
    }
}

#[test]
fn a_quantile_that_is_none_is_an_error() {
    let empty = HistogramSnapshot::<8>::empty(LogLinear);
    assert_eq!(empty.quantile(0.5), Err(QuantileError::Empty));
    assert_eq!((empty.min(), empty.max(), empty.mean()), (None, None, None));
    let one = record::<8, _>(LogLinear::<3>, &[3]);
    for q in [-0.1, 1.000_001, 99.0, f64::INFINITY] {
        assert_eq!(one.quantile(q), Err(QuantileError::NotAShare(q)));
    }
    let error = one.quantile(f64::NAN).unwrap_err();
    assert!(error.to_string().starts_with("NaN is not a share"), "{error}");
    assert_eq!(one.quantile(-0.0), Ok(3..=3));
}

#[test]
fn snapshots_that_do_not_fit_are_refused_unchanged() {
    let mut one = record(Fixed::<3>::new(&[10, 20]), &[5, 15]);
    let before = one.clone();
    let other = record(Fixed::<3>::new(&[10, 25]), &[5]);
    let differs = SnapshotError::OtherBuckets { bucket: 1, here: 20, there: 25 };
    assert_eq!((one.merge(&other), one.since(&other)), (Err(differs), Err(differs)));
    assert!(differs.to_string().contains("bucket 1 ends at 20 here and at 25 there"));

    let later = record(Fixed::<3>::new(&[10, 20]), &[5, 5, 15]);
    let backwards = SnapshotError::NotEarlier { bucket: 0, before: 2, now: 1 };
    assert_eq!(one.since(&later), Err(backwards));

    let histogram = PerCpuHistogram::<3, _>::new(Fixed::new(&[10, 20]));
    histogram.record_n(30, u64::MAX - 1);
    let full = histogram.snapshot();
    assert_eq!(one.merge(&full), Err(SnapshotError::TooMany));
    assert_eq!(one, before);
    // Answers of a full one do not overflow.
    assert_eq!((full.quantile(1.0), full.count()), (Ok(21..=u64::MAX), u64::MAX - 1));
    histogram.record_n(7, u64::MAX);
    let beyond = histogram.snapshot();
    assert_eq!((beyond.quantile(0.0), beyond.quantile(1.0)), (Ok(0..=10), Ok(21..=u64::MAX)));
    assert_eq!(beyond.count(), u64::MAX - 2, "wrapped");
    assert!(beyond.sum_bounds().contains(&(u128::from(u64::MAX) * 40)));
}

#[test]
fn values_too_large_for_the_buckets_are_not_lost() {
    const N: usize = LogLinear::<3>::buckets_for(1000);
    let snapshot = record::<N, _>(LogLinear::<3>, &[1000, 1023, 1024, u64::MAX, 1 << 40]);
    assert_eq!(snapshot.counts()[N - 2..], [2, 3]);
    assert_eq!(snapshot.quantile(1.0), Ok(1024..=u64::MAX));
    assert_eq!(snapshot.mean(), None);
    let with_sum = record::<N, _>(WithSum(LogLinear::<3>), &[2000, 3000]);
    assert_eq!((with_sum.mean(), with_sum.sum()), (Some(2500.0), Some(5000)));
}

#[test]
fn many_values_at_once_are_as_many_values() {
    let histogram = PerCpuHistogram::<9, _>::new(WithSum(LogLinear::<2>));
    histogram.record_n(5, 1000);
    histogram.record_n(6, 0);
    let once = histogram.snapshot();
    (0..1000).for_each(|_| histogram.record(5));
    let mut again = HistogramSnapshot::empty(*histogram.buckets());
    histogram.snapshot_into(&mut again);
    assert_eq!((once.count(), once.sum()), (1000, Some(5000)));
    assert_eq!(again.since(&once), Ok(once));
    histogram.record_n(u64::MAX, 2); // the sum wraps
    let wrapped = histogram.snapshot();
    assert_eq!(wrapped.since(&again).map(|two| two.sum()), Ok(Some(u64::MAX - 1)));
}

static SIZES: StaticHistogram<60, WithSum<LogLinear<2>>> =
    StaticHistogram::new(WithSum(LogLinear::<2>));

#[test]
fn a_static_histogram_does_what_an_object_does() {
    assert_eq!(SIZES.try_as_ref().map(|handle| handle.snapshot().count()), Ok(0));
    SIZES.record(12);
    SIZES.as_ref().record_n(13, 2);
    let mut snapshot = SIZES.snapshot();
    assert_eq!((snapshot.count(), snapshot.sum()), (3, Some(38)));
    SIZES.record(1);
    SIZES.snapshot_into(&mut snapshot);
    assert_eq!((snapshot.count(), snapshot.min()), (4, Some(1..=1)));
    assert_eq!(SIZES.buckets(), &WithSum(LogLinear::<2>));
}

/// 8 bytes a bucket a lane, and 8 for the sum; a handle's word, and no more where the buckets are
/// known at compile time.
#[test]
fn a_histogram_takes_eight_bytes_a_bucket_a_lane() {
    fn bytes<const N: usize, B: Buckets<N>>(buckets: B) -> usize {
        let area = Area::builder().cpus(63).odd_lines(false).build().unwrap();
        let _histogram = PerCpuHistogram::in_area(&area, buckets).unwrap();
        area.stats().live / area.lanes()
    }
    assert_eq!(bytes::<24, _>(LogLinear::<3>), 8 * 24);
    assert_eq!(bytes::<23, _>(WithSum(LogLinear::<3>)), 8 * 24);
    assert_eq!(bytes::<5, _>(Fixed::new(&[1, 2, 3, 4])), 8 * 5);
    assert_eq!(size_of::<PerCpuHistogram<496>>(), size_of::<usize>());
}

#[test]
fn debug_prints_sizes_and_no_lane() {
    let histogram = PerCpuHistogram::<50, _>::new(WithSum(LogLinear::<3>));
    histogram.record_n(424_242, 424_242);
    static STATIC: StaticHistogram<4, Fixed<4>> = StaticHistogram::new(Fixed::new(&[1, 2, 3]));
    STATIC.record_n(2, 424_242);
    let text = format!("{histogram:?} {:?} {STATIC:?}", histogram.as_ref());
    assert!(text.contains("PerCpuHistogram { buckets: 50, lanes: ") && !text.contains("4242"));
    let text = format!("{:?}", record(Fixed::<2>::new(&[8]), &[1, 2]));
    assert!(text.contains("HistogramSnapshot { buckets: 2, count: 2, sum: None"), "{text}");
}
