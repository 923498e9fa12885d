//! Which of so many sorted values a quantile means.

/// The place of the quantile `q` among `count` values in ascending order, from 1: the nearest rank,
/// `ceil(q * count)`, at least 1. `q` is from 0 to 1, and there is a value.
///
/// In floating point `0.07 * 100` is 7.000000000000001, of which the next whole number is 8. The
/// number nearest to 0.07 is above it, too, so an exact product does not help either. So what is
/// multiplied, exactly, is the number just below `q`: below every fraction that `q` is nearest to.
pub(super) fn rank(q: f64, count: u128) -> u128 {
    const MANTISSA: u32 = f64::MANTISSA_DIGITS - 1;
    /// What an exponent of 0 or 1 stands for: `2^-LOWEST` times the mantissa as a whole number.
    const LOWEST: u32 = 1074;
    if q >= 1.0 {
        return count;
    }
    if q <= 0.0 {
        return 1; // also for -0.0, whose bits are no small number
    }
    let below = q.to_bits() - 1;
    let exponent = (below >> MANTISSA) as u32;
    let fraction = below & ((1 << MANTISSA) - 1);
    let (mantissa, shift) = match exponent {
        0 => (fraction, LOWEST),
        _ => (fraction | 1 << MANTISSA, LOWEST - (exponent - 1)),
    };
    // 53 bits times a count of 64 (or a little more, with as many buckets) are below 2^127.
    let product = u128::from(mantissa).saturating_mul(count);
    // The smallest shift, of the number below 1, is 53.
    let whole = product.checked_shr(shift).unwrap_or(0);
    let rest = if shift < u128::BITS { product & ((1 << shift) - 1) } else { product };
    (whole + u128::from(rest > 0)).clamp(1, count)
}

#[cfg(test)]
mod tests {
    use super::rank;

    /// Whatever `k / n` is as an `f64`, it means the k-th of n.
    #[test]
    fn a_fraction_that_cannot_be_written_is_not_one_rank_off() {
        for n in 1..=1000_u32 {
            for k in 1..=n {
                let q = f64::from(k) / f64::from(n);
                assert_eq!(rank(q, n.into()), k.into(), "{k} of {n}");
            }
        }
        for count in [1, 7, 100, 12_345, 1 << 40] {
            for k in 0..=1000_u32 {
                let nearest = (u128::from(k) * count).div_ceil(1000).max(1);
                assert_eq!(rank(f64::from(k) / 1000.0, count), nearest, "{k} of 1000, of {count}");
            }
        }
    }

    #[test]
    fn the_ends_are_the_first_and_the_last_value() {
        for count in [1, 2, 1000, u128::from(u64::MAX), u128::from(u64::MAX) << 9] {
            for least in [0.0, -0.0, f64::from_bits(1), f64::MIN_POSITIVE] {
                assert_eq!(rank(least, count), 1);
            }
            assert_eq!(rank(1.0, count), count);
            let half = rank(0.5, count);
            assert!(half <= count / 2 + 1 && half >= (count / 2).saturating_sub(count >> 52));
        }
    }
}
