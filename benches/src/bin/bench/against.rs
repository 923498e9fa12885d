//! Us against the best peer, case by case, and what chance does.

use crate::result::{Case, Group, Role};
use benches::stats::{self, Interval};

/// A case of ours beside the fastest peer of its scene.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Against<'a> {
    pub(crate) own: &'a Case,
    pub(crate) peer: &'a Case,
    /// Our time in the peer's, round by round.
    pub(crate) ratio: Interval,
}

/// Who is faster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    Ahead,
    Level,
    Behind,
}

impl Against<'_> {
    /// Level where the interval holds 1.
    pub(crate) fn standing(&self) -> Standing {
        match self.ratio {
            Interval { hi, .. } if hi < 1.0 => Standing::Ahead,
            Interval { lo, .. } if lo > 1.0 => Standing::Behind,
            _ => Standing::Level,
        }
    }
}

impl Standing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ahead => "ahead",
            Self::Level => "level",
            Self::Behind => "behind",
        }
    }
}

/// Every case of ours that has a peer, in order.
pub(crate) fn all(group: &Group) -> Vec<Against<'_>> {
    let against = |own| {
        let peer = best_peer(group, own)?;
        Some(Against { own, peer, ratio: ratio(own, peer)? })
    };
    group.cases.iter().filter(|case| case.role == Role::Ours).filter_map(against).collect()
}

/// The fastest of a scene, by the median.
fn best_peer<'a>(group: &'a Group, own: &'a Case) -> Option<&'a Case> {
    let peers = group.of_scene(&own.scene).filter(|case| case.role == Role::Peer);
    peers.min_by(|one, other| one.ns.median.total_cmp(&other.ns.median))
}

/// The samples of a round are compared with each other.
fn ratio(own: &Case, than: &Case) -> Option<Interval> {
    stats::interval(own.samples.iter().zip(&than.samples).map(|(own, than)| own / than).collect())
}

/// What a case and its twin differ by: nothing, but for chance.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct NullPair<'a> {
    pub(crate) twin: &'a Case,
    pub(crate) ratio: Interval,
}

impl NullPair<'_> {
    /// How far the median is from 1.
    pub(crate) fn off(&self) -> f64 {
        (self.ratio.median - 1.0).abs()
    }
}

/// The null pairs of a group. A twin is called as its case, and `again`.
pub(crate) fn null_pairs(group: &Group) -> Vec<NullPair<'_>> {
    group
        .cases
        .iter()
        .filter(|case| case.role == Role::Null)
        .filter_map(|twin| null_pair(group, twin))
        .collect()
}

fn null_pair<'a>(group: &'a Group, twin: &'a Case) -> Option<NullPair<'a>> {
    let name = twin.peer.strip_suffix("again")?.trim_end_matches([' ', ',']);
    // Where the baseline stands for the case, it has another name.
    let case = group.case(&twin.scene, name).or_else(|| group.case(&twin.scene, &group.baseline));
    Some(NullPair { twin, ratio: ratio(twin, case?)? })
}

/// The largest difference of a group's null pairs; `None` without one.
pub(crate) fn chance(group: &Group) -> Option<f64> {
    null_pairs(group).iter().map(NullPair::off).max_by(f64::total_cmp)
}

/// A scene on one thread and the same on two: peer, time on one, time on two.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scaling<'a> {
    pub(crate) scene: &'a str,
    pub(crate) peers: Vec<(&'a Case, &'a Case)>,
}

/// The scenes that are there on one thread and on two.
pub(crate) fn scaling(group: &Group) -> Vec<Scaling<'_>> {
    group.scenes().into_iter().filter_map(|scene| from_one_to_two(group, scene)).collect()
}

fn from_one_to_two<'a>(group: &'a Group, one: &'a str) -> Option<Scaling<'a>> {
    let scene = one.strip_suffix("1 thread")?;
    let two = format!("{scene}2 threads");
    let with_two = |case: &'a Case| Some((case, group.case(&two, &case.peer)?));
    let peers: Vec<_> = group.of_scene(one).filter_map(with_two).collect();
    let scene = scene.trim_end_matches([' ', ',']);
    (!peers.is_empty()).then_some(Scaling { scene, peers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn the_best_peer_is_the_fastest_one_and_neither_a_floor_nor_a_twin() {
        let report = fixture::report();
        let add = all(&report.groups[0]);
        let told: Vec<_> = add
            .iter()
            .map(|a| {
                (a.own.scene.as_str(), a.own.peer.as_str(), a.peer.peer.as_str(), a.standing())
            })
            .collect();
        assert_eq!(
            told,
            [
                ("1 counter, 1 thread", "PerCpu", "ThreadLocal", Standing::Ahead),
                ("1 counter, 2 threads", "PerCpu", "ThreadLocal", Standing::Level),
                ("<odd> & scene", "PerCpu", "shared AtomicU64", Standing::Behind),
            ]
        );
        assert!((add[0].ratio.median - 0.5).abs() < 1e-9);
        // Nothing but floors beside us.
        assert_eq!(all(&report.groups[1]), []);
    }

    #[test]
    fn a_twin_finds_its_case() {
        let report = fixture::report();
        let pairs = null_pairs(&report.groups[0]);
        assert_eq!(pairs.len(), 1);
        assert!((pairs[0].off() - 0.02).abs() < 1e-9);
        assert_eq!(chance(&report.groups[1]), None);
    }

    #[test]
    fn one_thread_and_two_are_paired_by_scene_and_peer() {
        let report = fixture::report();
        let found = scaling(&report.groups[0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].scene, "1 counter");
        let peers: Vec<_> = found[0].peers.iter().map(|(one, _)| one.peer.as_str()).collect();
        assert_eq!(peers, ["PerCpu", "ThreadLocal", "shared AtomicU64"]);
    }
}
