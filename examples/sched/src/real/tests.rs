//! What needs no kernel: fixtures; and what needs one: the groups are gone afterwards.

use super::place::{Missing, Version, cgroups, find};
use super::*;
use crate::bandwidth::Semantics;
use std::fs;
use std::path::Path;

#[test]
fn mounts_are_searched_for_a_hierarchy_with_the_controller() {
    let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n\
                  cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n\
                  cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n\
                  cgroup2 /odd\\040name cgroup2 rw,nsdelegate 0 0\nshort\n";
    let expected = ["/sys/fs/cgroup/cpu,cpuacct", "/odd name"].map(Into::into);
    assert_eq!(cgroups(mounts), expected.to_vec() as Vec<std::path::PathBuf>);
}

#[test]
fn the_own_group_is_found_in_either_version() {
    let text = "4:memory:/m\n2:cpuset:/s\n1:cpu,cpuacct:/a/b:c\n0::/user.slice\n";
    assert_eq!(place::own(text, Version::V1), Some("a/b:c"));
    assert_eq!(place::own(text, Version::V2), Some("user.slice"));
    assert_eq!(place::own("2:cpuset:/s\n", Version::V1), None);
}

#[test]
fn what_is_missing_is_said_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let said = |found: Result<place::Place, Missing>| found.unwrap_err().to_string();
    let none = file("mounts", "proc /proc proc rw 0 0\n");
    let missing = said(find(None, Some(&none)));
    assert_eq!(missing, "no mounted cgroup hierarchy has the cpu controller");
    let missing = said(find(None, Some(Path::new("/missing"))));
    assert!(missing.starts_with("/missing: No such file"), "{missing}");
    let missing = said(find(Some(root.path()), None));
    assert!(missing.ends_with("not a cgroup with the cpu controller"), "{missing}");
    // A v2 hierarchy is taken only if the controller is there.
    let controllers = file("v2/cgroup.controllers", "memory io\n");
    let dir = controllers.parent().unwrap();
    assert!(find(Some(dir), None).is_err());
    file("v2/cgroup.controllers", "cpuset cpu io\n");
    assert_eq!(find(Some(dir), None).unwrap().version, Version::V2);
    let shares = file("v1/cpu.shares", "1024\n");
    let mounts = format!("cgroup {} cgroup rw,cpu 0 0\n", shares.parent().unwrap().display());
    let place = find(None, Some(&file("mounts", &mounts))).unwrap();
    assert_eq!((place.version, place.dir.as_path()), (Version::V1, shares.parent().unwrap()));
}

#[test]
fn a_refused_group_is_named_and_nothing_is_left() {
    let root = tempfile::tempdir().unwrap();
    let plan = Plan::small(2, 1024);
    let taken = root.path().join(format!("sched-model-{}", std::process::id()));
    fs::create_dir(&taken).unwrap();
    let place = Place { dir: root.path().to_owned(), version: Version::V1, home: None };
    let said = Groups::make(&place, &plan).unwrap_err().to_string();
    assert!(said.contains("sched-model-") && said.contains("File exists"), "{said}");
    assert!(said.contains("root and a writable cgroup are needed"), "{said}");
    assert!(taken.exists(), "somebody else's group was removed");
}

#[test]
fn the_statistics_of_both_versions_are_read() {
    let one =
        "nr_periods 120\nnr_throttled 60\nthrottled_time 2500000000\nnr_bursts 3\nburst_time 7\n";
    let expected = Stat {
        nr_periods: 120,
        nr_throttled: 60,
        throttled_time: 2_500_000_000,
        nr_bursts: 3,
        burst_time: 7,
        ..Stat::default()
    };
    assert_eq!(stat::parse(Version::V1, one), Ok(expected));
    let two = "usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\nnice_usec 0\nnr_periods 120\n\
               nr_throttled 60\nthrottled_usec 2500000\nnr_bursts 3\nburst_usec 7\n";
    let expected = Stat { usage: 5_000_000, burst_time: 7000, ..expected };
    assert_eq!(stat::parse(Version::V2, two), Ok(expected));
    let said = stat::parse(Version::V2, "usage_usec 5\n").unwrap_err();
    assert!(said.contains("no nr_periods"), "{said}");
    let said = stat::parse(Version::V1, "nr_periods 12x\n").unwrap_err();
    assert_eq!(said, "nr_periods '12x' is no number");
    assert_eq!(stat::ran("5997371284 1063520 61\n"), Ok(5_997_371_284));
    assert!(stat::ran("").is_err());
}

#[test]
fn a_release_has_its_semantics() {
    for (release, expected) in [
        ("6.17.3-foo", Semantics::EntityRemoved),
        ("5.10.0", Semantics::EntityRemoved),
        ("6.18.44-fc-v669", Semantics::TasksDeferred),
        ("7.2.0-rc1", Semantics::TasksDeferred),
        ("", Semantics::TasksDeferred),
    ] {
        assert_eq!(predict::semantics(release), expected, "{release}");
    }
}

/// The closed form: each limited group gets its quota, the rest goes to who has none.
#[test]
fn the_model_gives_the_plan_what_can_be_said_beforehand() {
    let plan = Plan::small(2, 1024);
    assert!((plan.demand() - 1.0).abs() < 1e-9);
    let second = Duration::from_secs(1);
    for semantics in [Semantics::EntityRemoved, Semantics::TasksDeferred] {
        let settings = crate::bandwidth::Settings::new(semantics);
        let groups = predict::predict(&plan, &settings, second, 5 * second, 2).unwrap();
        let ms = |group: usize| groups[group].iter().map(|s| s.usage).sum::<u64>() as f64 / 2e6;
        // 30 ms in 100, 40 in 50, of 10 s on two CPUs.
        for (group, expected) in [(0, 10_000.0), (2, 1500.0), (4, 4000.0), (3, 4500.0)] {
            let apart = ms(group) / expected - 1.0;
            assert!(apart.abs() < 0.02, "{semantics:?} {group}: {}, not {expected}", ms(group));
        }
    }
}

#[test]
fn the_groups_are_gone_after_a_panic() {
    let Ok(place) = find(None, None) else { return };
    let plan = Plan::small(1, 1024);
    let made = std::sync::Mutex::new(None);
    let panicked = std::panic::catch_unwind(|| {
        let Ok(groups) = Groups::make(&place, &plan) else { return };
        assert!(groups.top().join("b/b1").is_dir());
        *made.lock().unwrap() = Some(groups.top().to_owned());
        panic!("on purpose");
    });
    let top = made.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    // Where no group can be made, nothing panicked.
    assert_eq!(panicked.is_err(), top.is_some());
    assert!(top.is_none_or(|top| !top.exists()), "a group is left behind");
}
