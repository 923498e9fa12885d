//! What changes while tasks run: quotas, and the CPUs that are online.

use super::*;
use crate::structs::CfsRqFields;

#[test]
fn a_new_quota_counts_at_once() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((5, 100)))]), 1);
            let mut machine = busy(&model, semantics, 150);
            assert!(throttled(machine.control(), 0, 1));
            let quota = |quota| Quota { quota, period: 100_000, burst: 0 };
            machine.set_quota(1, quota(None)).unwrap();
            assert!(!throttled(machine.control(), 0, 1));
            let before = machine.stat(1).usage;
            machine.run(200 * MS).unwrap();
            assert_eq!(machine.stat(1).usage - before, 200 * MS);
            machine.set_quota(1, quota(Some(50_000))).unwrap();
            let before = machine.stat(1).usage;
            machine.run(1000 * MS).unwrap();
            let used = machine.stat(1).usage - before;
            assert!((498 * MS..=552 * MS).contains(&used), "{used}");
            check(machine.control()).unwrap();
        }
    });
}

#[test]
fn a_wrong_quota_is_refused_and_changes_nothing() {
    let model = model::<L2<V7_2>>(&tree(&[(0, Some((5, 100)))]), 1);
    let mut machine = busy(&model, Semantics::TasksDeferred, 50);
    let before = (machine.stat(1), pool(machine.control(), 1));
    let quota = |quota, period, burst| Quota { quota: Some(quota), period, burst };
    let cases = [
        (0, quota(5000, 10_000, 0), QuotaError::Root, "the root group has no quota"),
        (9, quota(5000, 10_000, 0), QuotaError::NoGroup, "no such group"),
        (1, quota(999, 10_000, 0), QuotaError::TooShort(1000), "1000 us at least"),
        (1, quota(5000, 999, 0), QuotaError::TooShort(1000), "1000 us at least"),
        (1, quota(5000, 1_000_001, 0), QuotaError::TooLong, "1000000 us at most"),
        (1, quota(5000, 10_000, 5001), QuotaError::Burst, "as large as the quota"),
    ];
    for (group, quota, expected, said) in cases {
        let error = machine.set_quota(group, quota).unwrap_err();
        assert_eq!(error, expected);
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!((machine.stat(1), pool(machine.control(), 1)), before);
    }
}

#[test]
fn a_cpu_that_goes_off_leaves_nothing_throttled_behind() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((5, 100))), (1, None)]), 2);
            let mut machine = busy(&model, semantics, 90);
            assert!(throttled(machine.control(), 1, 1));
            machine.offline(cpu(1));
            check(machine.control()).unwrap();
            assert_eq!((throttled(machine.control(), 1, 1), remaining(machine.control(), 1, 1)), (false, 1));
            {
                let held = machine.control().lock(cpu(1));
                assert_eq!(held.at().cfs(1).runtime_enabled().get(), 0);
                assert_eq!(held.at().cfs(0).h_nr_queued().get(), 0);
            }
            let before = machine.stat(1).usage;
            machine.run(1000 * MS).unwrap();
            let used = machine.stat(1).usage - before;
            assert!((48 * MS..=57 * MS).contains(&used), "both tasks on one CPU: {used}");
            machine.online(cpu(1));
            let enabled = machine.control().lock(cpu(1)).at().cfs(1).runtime_enabled().get();
            assert_eq!(enabled, 1);
            machine.spawn(cpu(1), 2, Behaviour::BUSY, 0);
            machine.run(200 * MS).unwrap();
            check(machine.control()).unwrap();
            machine.offline(cpu(0));
            machine.offline(cpu(1));
            assert!(machine.control().lock(cpu(1)).state().online, "the last one stays on");
            check(machine.control()).unwrap();
        }
    });
}
