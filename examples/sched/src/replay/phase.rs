//! [`Phase`]: what happens in a period, apart in time.

/// A part of a period. All CPUs are through with one before any begins the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// Every task wakes up: enqueue, hierarchical.
    Wake,
    /// Ticks, each of a task that may run: it is charged to the groups above that have a quota.
    Tick,
    /// Groups whose runtime is used up are throttled.
    Throttle,
    /// Decay of blocked load over the leaf list.
    Balance,
    /// The load of some tasks in the hierarchy.
    HLoad,
    /// The period's timer of each group with a quota: refill, and distribution to other CPUs' queues.
    Refill,
    /// What was given runtime is unthrottled.
    Unthrottle,
    /// Every task goes to sleep: dequeue, hierarchical.
    Sleep,
    /// One group gets other shares, on all CPUs.
    Shares,
    /// One CPU goes offline and looks at all groups.
    Offline,
}

impl Phase {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Wake,
        Self::Tick,
        Self::Throttle,
        Self::Balance,
        Self::HLoad,
        Self::Refill,
        Self::Unthrottle,
        Self::Sleep,
        Self::Shares,
        Self::Offline,
    ];

    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wake => "wake",
            Self::Tick => "tick",
            Self::Throttle => "throttle",
            Self::Balance => "balance",
            Self::HLoad => "h_load",
            Self::Refill => "refill",
            Self::Unthrottle => "unthrottle",
            Self::Sleep => "sleep",
            Self::Shares => "shares",
            Self::Offline => "offline",
        }
    }

    /// What one figure of it is about.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Wake | Self::Sleep | Self::HLoad => "task",
            Self::Tick => "tick",
            Self::Throttle | Self::Unthrottle => "queue",
            Self::Balance => "listed queue",
            Self::Refill => "pool",
            Self::Shares => "CPU",
            Self::Offline => "group",
        }
    }

    /// A period's phases in order, with `balances` rounds of ticks, throttling and balancing.
    pub fn period(balances: u32) -> impl Iterator<Item = Self> {
        let round = [Self::Tick, Self::Throttle, Self::Balance, Self::HLoad];
        let rounds = (0..balances).flat_map(move |_| round);
        let end = [Self::Refill, Self::Unthrottle, Self::Sleep, Self::Shares, Self::Offline];
        core::iter::once(Self::Wake).chain(rounds).chain(end)
    }
}

#[cfg(test)]
mod tests {
    use super::Phase;

    #[test]
    fn a_period_has_every_phase_and_none_twice_in_a_row() {
        for balances in 1..4 {
            let period: Vec<Phase> = Phase::period(balances).collect();
            assert!(Phase::ALL.iter().all(|phase| period.contains(phase)));
            assert!(period.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
