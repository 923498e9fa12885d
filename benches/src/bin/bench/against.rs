//! Us against the best peer, case by case, and what chance does.

use crate::result::{Case, Group, Report, Role};
use benches::cases::named::Named;
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

/// A scene on one thread, and the same on more.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scaling<'a> {
    pub(crate) scene: &'a str,
    /// The numbers of threads, ascending, from 1 on.
    pub(crate) threads: Vec<usize>,
    /// Each peer's cases, as many as numbers.
    pub(crate) peers: Vec<Vec<&'a Case>>,
}

/// The scenes that are there on one thread and on more.
pub(crate) fn scaling(group: &Group) -> Vec<Scaling<'_>> {
    group.scenes().into_iter().filter_map(|scene| from_one_on(group, scene)).collect()
}

fn from_one_on<'a>(group: &'a Group, one: &'a str) -> Option<Scaling<'a>> {
    let scene = one.strip_suffix("1 thread")?;
    let number = |name: &str| -> Option<usize> {
        name.strip_prefix(scene)?.strip_suffix(" threads")?.parse().ok()
    };
    let mut threads: Vec<usize> = group.scenes().into_iter().filter_map(number).collect();
    threads.sort_unstable();
    let more: Vec<String> = threads.iter().map(|n| format!("{scene}{n} threads")).collect();
    threads.insert(0, 1);
    let all = |case: &'a Case| -> Option<Vec<&'a Case>> {
        let others = more.iter().map(|name| group.case(name, &case.peer));
        std::iter::once(Some(case)).chain(others).collect()
    };
    let peers: Vec<_> = group.of_scene(one).filter_map(all).collect();
    let scene = scene.trim_end_matches([' ', ',']);
    (!peers.is_empty() && threads.len() > 1).then_some(Scaling { scene, threads, peers })
}

/// A peer that was named in advance, in one group: what all cases of ours take beside it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Beside<'a> {
    pub(crate) group: &'a str,
    pub(crate) peer: &'static str,
    /// Every case of ours of every scene that it is in.
    pub(crate) rows: Vec<Against<'a>>,
}

impl Beside<'_> {
    /// The smallest and the largest ratio; `None` if nothing of ours is beside it.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        let medians = || self.rows.iter().map(|row| row.ratio.median);
        let least = medians().min_by(f64::total_cmp)?;
        Some((least, medians().max_by(f64::total_cmp)?))
    }

    pub(crate) fn count(&self, standing: Standing) -> usize {
        self.rows.iter().filter(|row| row.standing() == standing).count()
    }
}

/// A named peer in every group of this report that it is measured in.
pub(crate) fn beside(report: &Report, named: Named) -> Vec<Beside<'_>> {
    let of = |(group, peer): &(&str, &'static str)| {
        let group = report.groups.iter().find(|one| one.name == *group)?;
        Some(Beside { group: &group.name, peer, rows: beside_one(group, peer) })
    };
    named.measured.iter().filter_map(of).collect()
}

fn beside_one<'a>(group: &'a Group, peer: &str) -> Vec<Against<'a>> {
    let ours = group.cases.iter().filter(|case| case.role == Role::Ours);
    let against = |own: &'a Case| {
        let peer = group.case(&own.scene, peer)?;
        Some(Against { own, peer, ratio: ratio(own, peer)? })
    };
    ours.filter_map(against).collect()
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
    fn one_thread_and_more_are_paired_by_scene_and_peer() {
        let report = fixture::report();
        let found = scaling(&report.groups[0]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].scene, "1 counter");
        let peers: Vec<_> = found[0].peers.iter().map(|cases| cases[0].peer.as_str()).collect();
        assert_eq!(peers, ["PerCpu", "ThreadLocal", "shared AtomicU64"]);
        assert_eq!(found[0].threads, [1, 2]);
        // Numbers, not names, are in order; and whoever is not in all scenes is left out.
        let mut more = report.groups[0].clone();
        for (threads, peers) in [(16, 3), (4, 2)] {
            let of_two = more.of_scene("1 counter, 2 threads").take(peers).cloned();
            let scene = format!("1 counter, {threads} threads");
            let of_more: Vec<_> =
                of_two.map(|case| Case { scene: scene.clone(), ..case }).collect();
            more.cases.extend(of_more);
        }
        let found = scaling(&more);
        assert_eq!((found[0].threads.as_slice(), found[0].peers.len()), (&[1, 2, 4, 16][..], 2));
        let scenes: Vec<_> = found[0].peers[1].iter().map(|case| case.scene.as_str()).collect();
        let ends = ["1 thread", "2 threads", "4 threads", "16 threads"];
        assert_eq!(scenes, ends.map(|end| format!("1 counter, {end}")));
    }

    #[test]
    fn a_named_peer_has_every_case_of_ours_beside_it() {
        let report = fixture::report();
        let measured = &[("add", "shared AtomicU64"), ("walk", "boxes"), ("sections", "nobody")];
        let found = beside(&report, Named { name: "shared", measured, reason: "" });
        // A group that was not measured is left out; a peer that is not there is not.
        let groups: Vec<_> = found.iter().map(|one| (one.group, one.rows.len())).collect();
        assert_eq!(groups, [("add", 3), ("sections", 0)]);
        let counts =
            [Standing::Ahead, Standing::Level, Standing::Behind].map(|s| found[0].count(s));
        assert_eq!((counts, found[1].range()), ([2, 0, 1], None));
        let (least, most) = found[0].range().expect("three");
        assert!((least - 1.0 / 120.0).abs() < 1e-9 && (most - 30.0).abs() < 1e-9);
    }
}
