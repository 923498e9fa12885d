//! Medians and their intervals, without assumptions about the distribution.

use serde::Serialize;

/// A median with an interval that holds the true median with 95 % confidence.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The median.
    pub median: f64,
    /// The interval's lower end.
    pub lo: f64,
    /// The interval's upper end.
    pub hi: f64,
}

/// The median: the middle value, or the mean of the two in the middle.
///
/// # Panics
///
/// If there is no value, or one that is not a number.
pub fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let (half, odd) = (sorted.len() / 2, sorted.len() % 2 == 1);
    if odd { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

/// The median of independent values and its order-statistic interval: the narrowest pair of
/// equally placed values, `k`-th smallest and `k`-th largest, between which the true median lies
/// with at least 95 % (see [`coverage`]). With fewer than 6 values no pair reaches 95 %; then it
/// is the smallest and the largest.
///
/// # Panics
///
/// As [`median`].
pub fn estimate(values: &[f64]) -> Estimate {
    let sorted = sorted(values);
    let rank = rank(sorted.len());
    Estimate { median: median(values), lo: sorted[rank - 1], hi: sorted[sorted.len() - rank] }
}

/// The largest `k` for which the interval of `n` values still covers 95 %; at least 1.
pub fn rank(n: usize) -> usize {
    (1..=n.div_ceil(2)).take_while(|&k| coverage(n, k) >= 0.95).last().unwrap_or(1)
}

/// The probability that the true median of a continuous distribution lies between the `k`-th
/// smallest and the `k`-th largest of `n` values: `1 - 2 P(X < k)`, `X` binomial with `n` and 1/2.
pub fn coverage(n: usize, k: usize) -> f64 {
    let mut term = 0.5_f64.powi(i32::try_from(n).expect("few runs"));
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    1.0 - 2.0 * below
}

fn sorted(values: &[f64]) -> Vec<f64> {
    assert!(!values.is_empty(), "a median needs a value");
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("a number"));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn a_median_is_the_middle() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
    }

    #[test]
    fn coverage_has_its_closed_forms() {
        // 1 - 2 (1/2)^n, 1 - 2 (n + 1) (1/2)^n, and the published value for 10 and 2.
        for n in 1..60 {
            let all = 0.5_f64.powi(n as i32);
            assert!((coverage(n, 1) - (1.0 - 2.0 * all)).abs() < 1e-12);
            assert!((coverage(n, 2) - (1.0 - 2.0 * (n + 1) as f64 * all)).abs() < 1e-12);
        }
        assert!((coverage(10, 2) - 0.978_515_625).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_ten_runs_leaves_out_one_at_each_end() {
        assert_eq!([3, 5, 6, 8, 9, 10, 12, 20].map(rank), [1, 1, 1, 1, 2, 2, 3, 6]);
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(estimate(&ten), Estimate { median: 5.5, lo: 2.0, hi: 9.0 });
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_it_says() {
        let mut rng = Rng::new(1);
        let mut covered = 0;
        for _ in 0..20_000 {
            let values: Vec<f64> = (0..10).map(|_| rng.below(1_000_000) as f64).collect();
            let Estimate { lo, hi, .. } = estimate(&values);
            covered += usize::from(lo <= 500_000.0 && 500_000.0 <= hi);
        }
        // 97.85 % of 20000 is 19570; five standard deviations are 103.
        assert!((19_467..=19_673).contains(&covered), "{covered}");
    }
}
