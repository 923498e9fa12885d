//! Load tracking: sums that decay by half in 32 segments of 1024 microseconds.

use crate::structs::SchedAvg;

/// What a sum comes to that always ran.
pub(super) const FULL: u64 = 47_742;

/// `0.5^(i / 32)` in units of 2^-32.
const DECAY: [u64; 32] = {
    // The 32nd root of a half; each product is rounded down.
    const ROOT: u64 = 4_202_935_003;
    let mut table = [u32::MAX as u64; 32];
    let mut i = 1;
    while i < 32 {
        table[i] = (table[i - 1] * ROOT) >> 32;
        i += 1;
    }
    table
};

/// `value` after so many segments.
fn decayed(value: u64, segments: u64) -> u64 {
    if segments >= 32 * 64 {
        return 0;
    }
    let halved = value >> (segments / 32);
    ((u128::from(halved) * u128::from(DECAY[(segments % 32) as usize])) >> 32) as u64
}

/// What counts from the last update to now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    /// The weight, of 1024 for an ordinary task.
    pub(super) load: u64,
    /// Tasks that run or wait.
    pub(super) runnable: u64,
    /// Whether one ran.
    pub(super) running: bool,
}

/// Brings `avg` to `now` (nanoseconds); nothing happens within a segment's fraction.
#[inline]
pub(super) fn update(avg: &SchedAvg, now: u64, counted: Counted) {
    let last = avg.last_update_time.get();
    let segments = now.saturating_sub(last) >> 20;
    // A queue that starts has no past.
    if last == 0 || segments == 0 {
        if last == 0 {
            avg.last_update_time.set(now);
        }
        return;
    }
    avg.last_update_time.set(last + (segments << 20));
    let ran = FULL - decayed(FULL, segments);
    let sum = |old: u64, what: u64| decayed(old, segments) + what * ran;
    avg.load_sum.set(sum(avg.load_sum.get(), counted.load));
    avg.runnable_sum.set(sum(avg.runnable_sum.get(), counted.runnable << 10));
    let util = sum(u64::from(avg.util_sum.get()), u64::from(counted.running) << 10);
    avg.util_sum.set(u32::try_from(util).unwrap_or(u32::MAX));
    avg.load_avg.set(avg.load_sum.get() / FULL);
    avg.runnable_avg.set(avg.runnable_sum.get() / FULL);
    avg.util_avg.set(u64::from(avg.util_sum.get()) / FULL);
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::allocation::zeroed_box;

    #[test]
    fn a_sum_halves_in_32_segments_and_rises_to_what_always_runs() {
        let avg = zeroed_box::<SchedAvg>();
        let all = Counted { load: 1024, runnable: 1, running: true };
        let none = Counted { load: 0, runnable: 0, running: false };
        let mut now = 1;
        for _ in 0..1000 {
            now += 1 << 20;
            update(&avg, now, all);
        }
        let [load, runnable, util] =
            [&avg.load_avg, &avg.runnable_avg, &avg.util_avg].map(|a| a.get());
        assert!([load, runnable, util].iter().all(|avg| (1000..=1024).contains(avg)), "{load}");
        now += 32 << 20;
        update(&avg, now, none);
        assert!(avg.load_avg.get().abs_diff(load / 2) <= 2, "{}", avg.load_avg.get());
        // At once or step by step.
        for _ in 0..32 {
            now += 1 << 20;
            update(&avg, now, none);
        }
        assert!(avg.load_avg.get().abs_diff(load / 4) <= 4, "{}", avg.load_avg.get());
        now += 4000 << 20;
        update(&avg, now, none);
        assert_eq!(avg.load_sum.get(), 0);
    }
}
