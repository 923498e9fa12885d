//! The decaying sums of one entity or queue (`___update_load_sum`, `___update_load_avg`).
//!
//! Time is cut into segments of 1024 us. What happened `n` segments ago counts `y^n`, with
//! `y^32 = 1/2`. A sum takes one unit for each microsecond; it is at most [`LOAD_AVG_MAX`], which
//! an entity reaches that never stopped. All arithmetic is in integers, as in the kernel, and so
//! are its roundings: the sums can be compared bit by bit.

use crate::structs::SchedAvg;

/// Segments after which something counts half (`LOAD_AVG_PERIOD`).
pub const HALF_LIFE: u64 = 32;
/// Microseconds of a segment. The kernel's microsecond is 1024 ns.
pub const SEGMENT: u64 = 1024;
/// Steps of the utilisation of one CPU.
pub const CAPACITY_SHIFT: u32 = 10;

/// `y^n` for `n < 32`, in units of 2^-32 (`runnable_avg_yN_inv`).
pub const Y_TO_THE_N: [u32; HALF_LIFE as usize] = powers();

/// The largest sum: what a series of full segments comes to when its roundings stop its growth
/// (`LOAD_AVG_MAX`, 47742).
pub const LOAD_AVG_MAX: u64 = max_sum();

/// The least that a sum is divided by (`PELT_MIN_DIVIDER`).
pub const MIN_DIVIDER: u64 = LOAD_AVG_MAX - SEGMENT;

/// Powers of the 32nd root of 1/2, from five square roots in units of 2^-63.
const fn powers() -> [u32; HALF_LIFE as usize] {
    const ONE: u128 = 1 << 63;
    let mut y = ONE / 2;
    let mut roots = 0;
    while roots < HALF_LIFE.ilog2() {
        y = (y * ONE).isqrt();
        roots += 1;
    }
    let mut table = [0; HALF_LIFE as usize];
    let (mut n, mut power) = (0, ONE);
    while n < table.len() {
        table[n] = ((power * u32::MAX as u128) >> 63) as u32;
        power = (power * y) >> 63;
        n += 1;
    }
    table
}

const fn max_sum() -> u64 {
    let (mut sum, mut last) = (SEGMENT, 0);
    while sum != last {
        last = sum;
        sum = ((sum * Y_TO_THE_N[1] as u64) >> 32) + SEGMENT;
    }
    sum
}

/// `value * y^n`, rounded down (`decay_load`).
pub const fn decay_load(value: u64, n: u64) -> u64 {
    if n > HALF_LIFE * 63 {
        return 0;
    }
    let halved = value >> (n / HALF_LIFE);
    let y = Y_TO_THE_N[(n % HALF_LIFE) as usize];
    ((halved as u128 * y as u128) >> 32) as u64
}

/// What a stretch of time is worth that ends now: `first` microseconds of the segment in which it
/// began, `periods - 1` whole ones, and `last` of the present one (`__accumulate_pelt_segments`).
pub const fn accumulate_segments(periods: u64, first: u64, last: u64) -> u64 {
    let whole = LOAD_AVG_MAX - decay_load(LOAD_AVG_MAX, periods) - SEGMENT;
    decay_load(first, periods) + whole + last
}

/// What sums are divided by to become averages: the sum of one that never stopped, at this point
/// of its segment (`get_pelt_divider`).
pub fn divider(avg: &SchedAvg) -> u64 {
    MIN_DIVIDER + u64::from(avg.period_contrib.get())
}

/// What an entity was doing since its last update.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Activity {
    /// Its load: 1 or 0 for an entity, a queue's weight for a queue.
    pub load: u64,
    /// How many tasks of it could run.
    pub runnable: u64,
    /// Whether it ran.
    pub running: bool,
}

/// Adds the time up to `now` to the sums. Whether a segment ended, and the averages want to be
/// [computed anew](update_avg). Nothing happens before a whole microsecond has passed, and a clock
/// that went back only sets the time.
pub fn update_sum(now: u64, avg: &SchedAvg, activity: Activity) -> bool {
    let passed = now.wrapping_sub(avg.last_update_time.get());
    if (passed as i64) < 0 {
        avg.last_update_time.set(now);
        return false;
    }
    let micros = passed >> 10;
    if micros == 0 {
        return false;
    }
    avg.last_update_time.add(micros << 10);
    // An entity without load was in no queue, whatever was said of the rest.
    let idle = Activity::default();
    accumulate(micros, avg, if activity.load == 0 { idle } else { activity }) != 0
}

/// The sums after `micros` more, and how many segments ended (`accumulate_sum`).
fn accumulate(micros: u64, avg: &SchedAvg, activity: Activity) -> u64 {
    let begun = u64::from(avg.period_contrib.get());
    let (periods, last) = ((begun + micros) / SEGMENT, (begun + micros) % SEGMENT);
    let mut worth = micros;
    if periods != 0 {
        avg.load_sum.set(decay_load(avg.load_sum.get(), periods));
        avg.runnable_sum.set(decay_load(avg.runnable_sum.get(), periods));
        avg.util_sum.set(decay_load(avg.util_sum.get().into(), periods) as u32);
        worth = accumulate_segments(periods, SEGMENT - begun, last);
    }
    avg.period_contrib.set(last as u32);
    avg.load_sum.add(activity.load * worth);
    avg.runnable_sum.add((activity.runnable * worth) << CAPACITY_SHIFT);
    if activity.running {
        avg.util_sum.add((worth << CAPACITY_SHIFT) as u32);
    }
    periods
}

/// The averages of the sums: `weight` is that of the entity, 1 for a queue, whose sum has it
/// already.
pub fn update_avg(avg: &SchedAvg, weight: u64) {
    let divider = divider(avg);
    avg.load_avg.set(weight * avg.load_sum.get() / divider);
    avg.runnable_avg.set(avg.runnable_sum.get() / divider);
    avg.util_avg.set(u64::from(avg.util_sum.get()) / divider);
}
