//! Think times: random numbers that are the same everywhere.

/// `SplitMix64`.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let once = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let twice = (once ^ (once >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        twice ^ (twice >> 31)
    }

    /// An exponentially distributed time of the given mean.
    ///
    /// By von Neumann's method ("Various techniques used in connection with random digits", 1951),
    /// which only compares uniform numbers: no logarithm, whose last bit differs between machines.
    /// Draw while the numbers fall; a run of odd length gives its first number as the fraction, a
    /// run of even length adds one whole mean and is drawn again.
    pub(super) fn exponential(&mut self, mean: u64) -> u64 {
        let mut whole = 0_u128;
        loop {
            let first = self.bits();
            let (mut last, mut length) = (first, 1);
            loop {
                let next = self.bits();
                if next >= last {
                    break;
                }
                (last, length) = (next, length + 1);
            }
            if length % 2 == 1 {
                // A fixed-point number of means, 64 bits of it behind the point.
                let means = (whole << 64) + u128::from(first);
                let time = (u128::from(mean) * means) >> 64;
                return u64::try_from(time).unwrap_or(u64::MAX);
            }
            whole += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_are_exponential() {
        let mut random = Random::new(1);
        let times: Vec<u64> = (0..100_000).map(|_| random.exponential(1_000_000)).collect();
        let mean = times.iter().sum::<u64>() / 100_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        // Shares beyond 1, 2 and 3 means: exp(-1), exp(-2), exp(-3).
        for (means, share) in [(1, 36_788), (2, 13_534), (3, 4_979)] {
            let beyond = times.iter().filter(|&&time| time > means * 1_000_000).count();
            assert!(beyond.abs_diff(share) < 600, "{beyond} beyond {means} means, not {share}");
        }
        assert_eq!(random.exponential(0), 0);
    }
}
