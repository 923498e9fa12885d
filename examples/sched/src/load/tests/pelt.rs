//! The sums of one entity against the closed form in `f64`.

use crate::load::pelt::*;
use crate::structs::SchedAvg;
use proptest::prelude::*;

/// y.
fn y() -> f64 {
    0.5_f64.powf(1.0 / HALF_LIFE as f64)
}

#[test]
fn the_powers_are_those_of_the_32nd_root_of_a_half() {
    for (n, &power) in Y_TO_THE_N.iter().enumerate() {
        let exact = y().powi(n as i32) * f64::from(u32::MAX);
        assert!((f64::from(power) - exact).abs() < 1.0, "{n}: {power} and {exact}");
    }
    // From the kernel's documentation: the first, the second, and the root of 1/2.
    assert_eq!((Y_TO_THE_N[0], Y_TO_THE_N[1]), (0xffff_ffff, 0xfa83_b2da));
    assert_eq!(Y_TO_THE_N[16], 0xb504_f333);
}

#[test]
fn the_largest_sum_is_the_kernels() {
    assert_eq!(LOAD_AVG_MAX, 47_742);
    // Without rounding it were a little more.
    let exact = SEGMENT as f64 / (1.0 - y());
    assert!(exact - 50.0 < LOAD_AVG_MAX as f64 && (LOAD_AVG_MAX as f64) < exact);
}

/// What the present one, and those before it, are worth: microseconds in which something was, the
/// newest segment last.
fn closed_form(segments: &[f64]) -> f64 {
    segments.iter().rev().enumerate().map(|(ago, us)| us * y().powi(ago as i32)).sum()
}

/// How far integers may be off: each of the sum's decays rounds down once, and so do the two of an
/// addition; what each loses decays too, so that the sum of it is at most that of an endless
/// series; and the largest sum is 46 less than the series.
const SLACK: f64 = 3.0 / (1.0 - 0.978_572) + 50.0;

/// A stretch of time: kernel microseconds, and whether the entity was queued, runnable, running.
type Stretch = (u64, bool, bool);

fn stretches() -> impl Strategy<Value = Vec<Stretch>> {
    let length = prop_oneof![0_u64..40, 0_u64..3000, 0_u64..200_000, 0_u64..4_000_000];
    proptest::collection::vec((length, any::<bool>(), any::<bool>()), 1..30)
}

/// Splits the stretches into segments that begin at 0, as microseconds in which `is` held.
fn segments(stretches: &[Stretch], is: impl Fn(&Stretch) -> bool) -> Vec<f64> {
    let mut segments = vec![0.0];
    let mut into = 0;
    for stretch in stretches {
        let mut left = stretch.0;
        while left > 0 {
            let part = left.min(SEGMENT - into);
            if is(stretch) {
                *segments.last_mut().unwrap() += part as f64;
            }
            (left, into) = (left - part, into + part);
            if into == SEGMENT {
                segments.push(0.0);
                into = 0;
            }
        }
    }
    // More than 64 half-lives ago nothing counts.
    segments.split_off(segments.len().saturating_sub(64 * HALF_LIFE as usize))
}

/// Replays `stretches`; each is cut into updates of `step` nanoseconds and a rest.
fn replay(stretches: &[Stretch], load: u64, runnable: u64, step: u64) -> SchedAvg {
    let avg: SchedAvg = bytemuck::Zeroable::zeroed();
    let mut now = 0;
    for &(us, queued, running) in stretches {
        let activity = Activity { load: if queued { load } else { 0 }, runnable, running };
        let end = now + (us << 10);
        while now < end {
            now = end.min(now + step);
            update_sum(now, &avg, activity);
        }
    }
    avg
}

proptest! {
    #![proptest_config(super::config(256))]

    #[test]
    fn sums_are_the_closed_form_within_their_roundings(
        stretches in stretches(),
        load in 1_u64..5000,
        runnable in 1_u64..50,
    ) {
        let avg = replay(&stretches, load, runnable, u64::MAX / 2);
        let queued = closed_form(&segments(&stretches, |s| s.1));
        let ran = closed_form(&segments(&stretches, |s| s.1 && s.2));
        let per_unit = avg.load_sum.get() as f64 / load as f64;
        prop_assert!((per_unit - queued).abs() <= SLACK, "{per_unit} and {queued}");
        let per_task = avg.runnable_sum.get() as f64 / (runnable << CAPACITY_SHIFT) as f64;
        prop_assert!((per_task - queued).abs() <= SLACK, "{per_task} and {queued}");
        let util = f64::from(avg.util_sum.get()) / 1024.0;
        prop_assert!((util - ran).abs() <= SLACK, "{util} and {ran}");
    }

    #[test]
    fn no_sum_exceeds_the_largest(stretches in stretches(), step in 1000_u64..10_000_000) {
        let avg = replay(&stretches, 1, 1, step.max(stretches.iter().map(|s| s.0).sum::<u64>()));
        prop_assert!(avg.load_sum.get() <= MIN_DIVIDER + u64::from(avg.period_contrib.get()));
        update_avg(&avg, 1024);
        prop_assert!(avg.load_avg.get() <= 1024 && avg.util_avg.get() <= 1024);
    }

    /// Where a stretch is cut changes its roundings only.
    #[test]
    fn many_updates_are_one(stretches in stretches(), step in 1_u64..200) {
        let whole = replay(&stretches, 1, 1, u64::MAX / 2);
        let cut = replay(&stretches, 1, 1, step << 20);
        prop_assert_eq!(cut.last_update_time.get(), whole.last_update_time.get());
        prop_assert_eq!(cut.period_contrib.get(), whole.period_contrib.get());
        prop_assert!(cut.load_sum.get().abs_diff(whole.load_sum.get()) as f64 <= 2.0 * SLACK);
    }

    #[test]
    fn decay_is_the_power_rounded_down(value in 0_u64..1 << 45, n in 0_u64..3000) {
        let exact = value as f64 * y().powi(n as i32);
        let decayed = decay_load(value, n) as f64;
        // The power is one in 2^32 short at most, and the value is cut twice.
        prop_assert!(decayed <= exact + 1e-3, "{decayed} and {exact}");
        prop_assert!(decayed >= exact - 2.0 - exact / f64::from(1 << 30), "{decayed} and {exact}");
    }
}

#[test]
fn nothing_happens_before_a_microsecond_has_passed() {
    let avg: SchedAvg = bytemuck::Zeroable::zeroed();
    let busy = Activity { load: 1, runnable: 1, running: true };
    assert!(!update_sum(1023, &avg, busy));
    assert_eq!((avg.last_update_time.get(), avg.load_sum.get()), (0, 0));
    assert!(!update_sum(1024 * 3 + 1000, &avg, busy), "no segment has ended");
    // The rest of a microsecond is not lost: the time is that of the last whole one.
    assert_eq!((avg.last_update_time.get(), avg.load_sum.get()), (3072, 3));
    assert!(!update_sum(1000, &avg, busy), "the clock went back");
    assert_eq!((avg.last_update_time.get(), avg.load_sum.get()), (1000, 3));
}

#[test]
fn what_always_runs_has_its_weight_and_what_stopped_half_of_it_after_32_segments() {
    let avg: SchedAvg = bytemuck::Zeroable::zeroed();
    let busy = Activity { load: 1, runnable: 1, running: true };
    assert!(update_sum(1 << 40, &avg, busy));
    update_avg(&avg, 3 * 1024);
    assert_eq!(avg.load_avg.get(), 3 * 1024);
    assert!((1023..=1024).contains(&avg.util_avg.get()));
    let before = avg.load_sum.get();
    assert!(update_sum((1 << 40) + ((HALF_LIFE * SEGMENT) << 10), &avg, Activity::default()));
    assert_eq!(avg.load_sum.get(), before / 2 - u64::from(before % 2 == 0));
}
