//! The protocol: what one access does to one line.

use super::CoreSet;

/// What a core's cache holds of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum State {
    /// Nothing: never there, or taken away by another core's write.
    Invalid,
    /// A copy that others may have too, equal to memory.
    Shared,
    /// The only copy, equal to memory.
    Exclusive,
    /// The only copy, and memory is out of date.
    Modified,
}

/// What an access met.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// The core had what it needed.
    Hit,
    /// A write to a line held exclusively: E becomes M, and nobody learns of it. A hit.
    Silent,
    /// Nobody had ever touched the line. It comes from memory and is no coherence miss.
    FirstTouch,
    /// A read of a line that another core had modified (a *HITM*). Both share it afterwards.
    ReadModified,
    /// A read of a line that others hold unmodified: taken away from this core earlier, or never
    /// there.
    ReadClean,
    /// A write to a line of which the core holds nothing (a *read for ownership*). All other
    /// copies go.
    WriteMiss,
    /// A write to a line that the core shares: it has the bytes, and all other copies go.
    Upgrade,
}

impl Event {
    /// Whether it is a coherence miss: something that would not be with one core.
    pub fn is_miss(self) -> bool {
        match self {
            Self::Hit | Self::Silent | Self::FirstTouch => false,
            Self::ReadModified | Self::ReadClean | Self::WriteMiss | Self::Upgrade => true,
        }
    }

    /// Whether another core's cache sends the line's bytes: every miss but an upgrade.
    pub fn is_transfer(self) -> bool {
        self.is_miss() && self != Self::Upgrade
    }

    /// Whether all other copies go.
    pub fn takes_away(self) -> bool {
        matches!(self, Self::WriteMiss | Self::Upgrade)
    }
}

/// One line, as the directory knows it.
///
/// Either nobody holds it (it was never touched), or one core in state E or M, or several in
/// state S. There are no evictions, so a line that was ever touched is held by somebody.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    holders: CoreSet,
    /// What every holder has.
    state: State,
}

impl Line {
    /// A line that nobody has touched.
    pub(super) const UNTOUCHED: Self = Self { holders: CoreSet::EMPTY, state: State::Invalid };

    /// The cores that hold it.
    pub(super) fn holders(&self) -> &CoreSet {
        &self.holders
    }

    /// What one core holds of it.
    pub(super) fn state_in(&self, core: usize) -> State {
        if self.holders.contains(core) { self.state } else { State::Invalid }
    }

    /// The state that an access of one core leaves which meets `event`.
    pub(super) fn apply(&mut self, core: usize, writes: bool, event: Event) {
        match event {
            Event::Hit => {}
            Event::Silent => self.state = State::Modified,
            Event::FirstTouch if !writes => {
                *self = Self { holders: CoreSet::only(core), state: State::Exclusive };
            }
            Event::FirstTouch | Event::WriteMiss | Event::Upgrade => {
                *self = Self { holders: CoreSet::only(core), state: State::Modified };
            }
            Event::ReadModified | Event::ReadClean => {
                self.holders.insert(core);
                self.state = State::Shared;
            }
        }
    }

    /// What an access of one core meets.
    pub(super) fn event(&self, core: usize, writes: bool) -> Event {
        match (self.state_in(core), writes) {
            (State::Modified, _) | (State::Exclusive | State::Shared, false) => Event::Hit,
            (State::Exclusive, true) => Event::Silent,
            (State::Shared, true) => Event::Upgrade,
            (State::Invalid, _) if self.state == State::Invalid => Event::FirstTouch,
            (State::Invalid, true) => Event::WriteMiss,
            (State::Invalid, false) if self.state == State::Modified => Event::ReadModified,
            (State::Invalid, false) => Event::ReadClean,
        }
    }
}
