//! What competes in a queue, and the two clocks.

/// A weight of nice 0: `1 << 20`, as the kernel scales weights on 64-bit machines.
pub const NICE_0: u64 = 1 << 20;
/// The least weight that a division may leave (the kernel's `MIN_SHARES`).
pub const LEAST_WEIGHT: u64 = 2;
/// Nanoseconds between ticks.
pub const TICK: u64 = 1_000_000;
/// The slice of who does not ask for one, nanoseconds.
pub const SLICE: u64 = 3_000_000;

/// Virtual time that `ns` nanoseconds of service take at `weight`, rounded down.
///
/// Virtual time goes as fast as real time at [`NICE_0`]. The product is computed in 128 bits where
/// 64 do not hold it; the result fits while `ns / weight` is below 2^43: a run of two and a half
/// hours at weight 1, and the sum of all runs of a task at weight 2 fits for five hours.
///
/// # Panics
///
/// If `weight` is 0; in debug builds, if the result does not fit.
#[inline]
pub fn virtual_time(ns: u64, weight: u64) -> i64 {
    virtual_time_and_rest(ns, weight, 0).0
}

/// [`virtual_time`], going on from the `rest` of a division and with what this one leaves.
///
/// # Panics
///
/// As [`virtual_time`].
#[inline]
pub fn virtual_time_and_rest(ns: u64, weight: u64, rest: u64) -> (i64, u64) {
    // Runs are short, so nearly always 64 bits hold the product, and a division of 128 bits is slow.
    let product = ns.checked_mul(NICE_0).and_then(|product| product.checked_add(rest));
    let (time, rest) = match product {
        Some(product) => (u128::from(product / weight), product % weight),
        None => {
            let (product, by) = (u128::from(ns) * u128::from(NICE_0), u128::from(weight));
            let product = product + u128::from(rest);
            (product / by, (product % by) as u64)
        }
    };
    debug_assert!(time < 1 << 63, "{ns} ns at weight {weight} are too long a virtual time");
    (time as i64, rest)
}

/// `value * old / new`, rounded towards 0: what keeps `value * weight` when the weight changes.
///
/// # Panics
///
/// If `new` is 0.
#[inline]
pub fn rescaled(value: i64, old: u64, new: u64) -> i64 {
    (i128::from(value) * i128::from(old) / i128::from(new)) as i64
}

/// One that competes for service: a task, or in the hierarchical pick a group.
///
/// While it is in no queue, `vlag` and (where `relative`) `deadline` are distances and the rest of
/// the virtual times means nothing. `weight * vlag` is what it is owed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entity {
    /// Its weight, [`NICE_0`] for nice 0.
    pub weight: u64,
    /// Nanoseconds of service that it asks for at a time.
    pub slice: u64,
    /// The virtual time up to which it has been served.
    pub vruntime: i64,
    /// The virtual time by which its slice should have been served.
    pub deadline: i64,
    /// How far the queue's virtual time was ahead of its own when it left: what it is owed.
    pub vlag: i64,
    /// What the division left of its service at the last charge, so that three charges of a tick are
    /// exactly one of three ticks: a slice would end a tick late otherwise.
    pub rest: u64,
    /// Whether `deadline` counts from `vruntime`: it left in the middle of a slice and shall go on.
    pub relative: bool,
    /// Whether it sleeps, and stays queued until it has paid back what it got too much.
    pub delayed: bool,
}

impl Entity {
    /// One that has not run.
    pub fn new(weight: u64, slice: u64) -> Self {
        let (vruntime, deadline, vlag, rest) = (0, 0, 0, 0);
        Self { weight, slice, vruntime, deadline, vlag, rest, relative: false, delayed: false }
    }

    /// The deadline of a slice that begins now.
    #[inline]
    pub(super) fn renewed(&self) -> i64 {
        self.vruntime + virtual_time(self.slice, self.weight)
    }

    /// Takes a new weight while it is in no queue: what it is owed stays the same.
    pub(super) fn reweigh_away(&mut self, weight: u64) {
        if self.weight != weight {
            self.vlag = rescaled(self.vlag, self.weight, weight);
            if self.relative {
                self.deadline = rescaled(self.deadline, self.weight, weight);
            }
            self.weight = weight;
        }
    }
}

/// The weight of a nice value: 1024 / 1.25^nice, scaled. The kernel's table holds the same powers
/// rounded by hand, up to 2 % off.
///
/// # Panics
///
/// If `nice` is not in -20..=19.
pub fn nice_weight(nice: i32) -> u64 {
    assert!((-20..=19).contains(&nice), "nice {nice} is not in -20..=19");
    // Multiplied up step by step: `powi` may round differently elsewhere.
    let step = if nice < 0 { 1.25_f64 } else { 0.8 };
    let power = (0..nice.unsigned_abs()).fold(1.0, |power, _| power * step);
    ((1024.0 * power).round() as u64) << 10
}
