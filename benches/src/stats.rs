//! Medians and what is known about them.

use serde::{Deserialize, Serialize};

/// A median, and a 95 % interval for it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// The median of the samples.
    pub median: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

/// The fewest samples whose extremes hold the median with 95 %.
pub const FEWEST: usize = 6;
/// The most samples that the binomial probabilities are computed for.
pub const MOST: usize = 1000;

/// The median of `samples` with its 95 % interval by order statistics: no distribution is assumed.
/// `None` with fewer than [`FEWEST`] samples, or more than [`MOST`].
pub fn interval(mut samples: Vec<f64>) -> Option<Interval> {
    let n = samples.len();
    if !(FEWEST..=MOST).contains(&n) {
        return None;
    }
    samples.sort_by(f64::total_cmp);
    let median = (samples[(n - 1) / 2] + samples[n / 2]) / 2.0;
    let rank = rank(n);
    Some(Interval { median, lo: samples[rank], hi: samples[n - 1 - rank] })
}

/// How many samples may be cut off at each end: the largest `k` for which at most `k` of `n` fair
/// coins show heads with a probability of 2.5 % at most.
fn rank(n: usize) -> usize {
    let mut exactly = 0.5_f64.powi(n as i32);
    let mut at_most = exactly;
    let mut k = 0;
    loop {
        exactly *= (n - k) as f64 / (k + 1) as f64;
        at_most += exactly;
        if at_most > 0.025 {
            return k;
        }
        k += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ranks from tables of the sign test at 5 %, counted from 1 there.
    #[test]
    fn ranks_are_those_of_the_sign_test() {
        for (n, table) in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5), (25, 7), (100, 39)] {
            assert_eq!(rank(n), table, "{n} samples");
        }
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut random = crate::paired::Random::new(1);
        let mut held = 0;
        for _ in 0..4000 {
            let samples = (0..31).map(|_| (random.next() >> 11) as f64).collect();
            let interval = interval(samples).unwrap();
            let middle = (1_u64 << 52) as f64;
            held += u32::from(interval.lo <= middle && middle <= interval.hi);
        }
        // 95 % or more, by construction 97.1 % at 31 samples; four standard deviations are 1.1 %.
        assert!((3838..=3930).contains(&held), "{held} of 4000");
    }

    #[test]
    fn too_few_samples_have_no_interval() {
        assert_eq!(interval(vec![1.0; 5]), None);
        let six = interval(vec![3.0, 1.0, 2.0, 6.0, 5.0, 4.0]).unwrap();
        assert_eq!(six, Interval { median: 3.5, lo: 1.0, hi: 6.0 });
    }
}
