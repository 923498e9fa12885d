//! One scene for each rule.

use super::*;
use crate::structs::{CfsRqFields, LaterFields, SeFields};

/// A second has 10 or 11 refills; a debt of at most a tick a CPU is paid in the next period.
#[test]
fn a_busy_group_gets_its_quota_and_no_more() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, None), (1, Some((20, 100)))]), 2);
            let machine = busy(&model, semantics, 1000);
            for group in [0, 1, 2] {
                let used = machine.stat(group).usage;
                assert!((198 * MS..=222 * MS).contains(&used), "{semantics:?} {group}: {used}");
            }
            let stat = machine.stat(2);
            assert!((9..=10).contains(&stat.nr_periods), "{stat:?}");
            assert!((9..=10).contains(&stat.nr_throttled), "{stat:?}");
            // Two CPUs, each throttled for what it did not run.
            let waited = 2000 * MS - stat.usage;
            assert!(stat.throttled_time.abs_diff(waited) < 30 * MS, "{stat:?}");
            assert_eq!(stat.throttled_time, stat.throttled_self_time, "{stat:?}");
            assert!(machine.checks() >= 9 || !cfg!(debug_assertions));
        }
    });
}

#[test]
fn an_unlimited_group_is_never_throttled() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, None)]), 1);
            let stat = busy(&model, semantics, 300).stat(1);
            assert_eq!((stat.usage, stat.nr_periods, stat.throttled_time), (300 * MS, 0, 0));
        }
    });
}

/// The tightest of the limits from a group to the root holds.
#[test]
fn the_tightest_limit_of_the_ancestors_holds() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let limits = [(0, Some((10, 100))), (1, Some((50, 100))), (2, None)];
            let model = model::<L>(&tree(&limits), 2);
            let machine = busy(&model, semantics, 1000);
            let used = machine.stat(3).usage;
            assert!((98 * MS..=112 * MS).contains(&used), "{semantics:?}: {used}");
            assert_eq!(machine.stat(2).nr_throttled, 0);
        }
    });
}

#[test]
fn equal_runs_are_equal_and_another_seed_moves_the_phases() {
    let limits = [(0, Some((20, 100))), (0, Some((30, 100)))];
    let model_of = || model::<L2<V7_2>>(&tree(&limits), 2);
    let phases = |seed| {
        let model = model_of();
        let settings = Settings { seed, ..Settings::new(Semantics::TasksDeferred) };
        let began = model.rq(cpu(0)).clock.get();
        let machine = Machine::new(&model, settings);
        [1, 2].map(|group| {
            let held = machine.control().lock(cpu(0));
            let expires = held.at().pool(group).period_expires.get();
            assert!((began..=began + 100 * MS).contains(&expires), "within one period");
            expires
        })
    };
    assert_eq!(phases(1), phases(1));
    assert_ne!(phases(1), phases(2));
    assert_ne!(phases(1)[0], phases(1)[1], "groups do not refill together");
    let stats = || {
        let model = model_of();
        let machine = busy(&model, Semantics::TasksDeferred, 500);
        [0, 1, 2].map(|group| machine.stat(group))
    };
    assert_eq!(stats(), stats());
}

/// Throttled twice, inside and outside, a queue runs when both have ended, in either order.
#[test]
fn nested_throttles_count() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            for inner_first in [true, false] {
                let limits = [(0, Some((1, 100))), (1, None), (2, Some((1, 100))), (3, None)];
                let model = model::<L>(&tree(&limits), 1);
                let control = Control::new(&model, patient(semantics));
                let count = |control: &Control<'_, L>| {
                    let held = control.lock(cpu(0));
                    [1, 2, 3, 4].map(|group| held.at().cfs(group).throttle_count().get())
                };
                for group in [3, 1] {
                    control.lock(cpu(0)).charge(group, 8 * MS);
                    control.lock(cpu(0)).throttle(group);
                    check(&control).unwrap();
                }
                assert_eq!(count(&control), [1, 1, 2, 2]);
                let order = if inner_first { [3, 1] } else { [1, 3] };
                for group in order {
                    let mut held = control.lock(cpu(0));
                    // What distribution would give.
                    let lacks = 1 - held.at().cfs(group).runtime_remaining().get();
                    held.at().cfs(group).runtime_remaining().add(lacks);
                    held.at().pool(group).ledger.given += lacks;
                    held.unthrottle(group);
                    drop(held);
                    check(&control).unwrap();
                    let left = if group == 3 { [1, 1, 1, 1] } else { [0, 0, 1, 1] };
                    let is_last = group == order[1];
                    assert_eq!(count(&control), if is_last { [0; 4] } else { left });
                }
            }
        }
    });
}

#[test]
fn a_throttled_groups_entity_is_removed_or_its_task_waits_in_limbo() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((2, 100))), (1, None)]), 1);
            let mut machine = Machine::new(&model, Settings::new(semantics));
            let task = machine.spawn(cpu(0), 2, Behaviour { stay: 4 * MS, ..Behaviour::BUSY }, 0);
            let look = |machine: &Machine<'_, L>| {
                // The lock is taken again in `throttled`.
                let is = throttled(machine.control(), 0, 1);
                let held = machine.control().lock(cpu(0));
                let on = held.at().se(1).unwrap().on_rq().get();
                (is, on, held.task(task).unwrap().place)
            };
            while !look(&machine).0 {
                machine.run(MS / 2).unwrap();
            }
            let removed = semantics == Semantics::EntityRemoved;
            let running = machine.control().lock(cpu(0)).running();
            assert_eq!(look(&machine), (true, u8::from(!removed), task::Place::Queued));
            assert_eq!(running, if removed { None } else { Some(task) });
            machine.run(5 * MS).unwrap();
            check(machine.control()).unwrap();
            let place = if removed { task::Place::Queued } else { task::Place::Limbo };
            assert_eq!(look(&machine), (true, 0, place));
            let before = machine.stat(1);
            machine.run(5 * MS).unwrap();
            assert_eq!(machine.stat(1).usage, before.usage, "it runs though it is throttled");
        }
    });
}

/// It holds the limit up for others of its group all the same.
#[test]
fn a_kernel_thread_is_throttled_only_with_the_entity() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((10, 100)))]), 2);
            let mut machine = Machine::new(&model, Settings::new(semantics));
            machine.spawn_kernel_thread(cpu(0), 1, Behaviour::BUSY, 0);
            let user = machine.spawn(cpu(1), 1, Behaviour::BUSY, 0);
            machine.run(1000 * MS).unwrap();
            check(machine.control()).unwrap();
            let user = machine.control().lock(cpu(1)).task(user).unwrap().ran;
            let kernel = machine.stat(1).usage - user;
            match semantics {
                Semantics::EntityRemoved => assert!(kernel < 80 * MS, "{kernel}"),
                Semantics::TasksDeferred => assert_eq!(kernel, 1000 * MS),
            }
            assert!(user < 80 * MS, "{user}");
        }
    });
}

/// Time in the kernel after the throttle is run, but it is owed, and paid in later periods.
#[test]
fn time_in_the_kernel_is_paid_for_later() {
    for_all_layouts!(L => {
        let model = model::<L>(&tree(&[(0, Some((10, 50)))]), 1);
        let mut machine = Machine::new(&model, Settings::new(Semantics::TasksDeferred));
        machine.spawn(cpu(0), 1, Behaviour { stay: 30 * MS, ..Behaviour::BUSY }, 0);
        let (mut least, mut most) = (i64::MAX, 0);
        for _ in 0..2000 {
            machine.run(MS).unwrap();
            least = least.min(remaining(machine.control(), 0, 1));
            most = most.max(machine.stat(1).usage);
        }
        assert!(least < -25 * MS as i64, "{least}");
        // 40 or 41 periods and one stay.
        assert!(most <= 41 * 10 * MS + 31 * MS, "{most}");
    });
}

#[test]
fn a_queue_is_given_exactly_what_it_lacks() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((20, 100)))]), 4);
            let control = Control::new(&model, patient(semantics));
            // All of the first pool and debts of 3, 7 and 12 ms; CPU 0 is the distributor.
            for (on, debt) in [(1, 23), (2, 7), (3, 12)] {
                control.lock(cpu(on)).charge(1, debt * MS);
                assert!(control.lock(cpu(on)).throttle(1));
            }
            let debts = [1, 2, 3].map(|on| remaining(&control, on, 1));
            let owed: i64 = debts.iter().sum();
            assert_eq!(owed, 20 * MS as i64 + 3 - 42 * MS as i64);
            check(&control).unwrap();
            for on in 0..4 {
                let expires = control.lock(cpu(0)).at().pool(1).period_expires.get();
                control.lock(cpu(on)).set_clock(expires);
            }
            assert!(control.period(1, cpu(0)));
            // 20 ms for 22 ms: first come, first served; CPU 3 was last.
            assert_eq!([1, 2].map(|on| remaining(&control, on, 1)), [1, 1]);
            let last = debts[2] + 20 * MS as i64 + debts[0] + debts[1] - 2;
            assert_eq!((remaining(&control, 3, 1), pool(&control, 1)), (last, 0));
            for on in 1..4 {
                // Not unthrottled yet: that is for the other CPU to do.
                assert!(throttled(&control, on, 1));
                assert_eq!(control.lock(cpu(on)).state().interrupted, on != 3);
                check(&control).unwrap();
                control.lock(cpu(on)).unthrottle_given();
                assert_eq!(throttled(&control, on, 1), on == 3);
            }
            check(&control).unwrap();
        }
    });
}

#[test]
fn a_queue_waits_for_its_interrupt_and_is_not_given_to_twice() {
    for_all_layouts!(L => {
        let model = model::<L>(&tree(&[(0, Some((20, 100)))]), 2);
        let control = Control::new(&model, Settings::new(Semantics::TasksDeferred));
        control.lock(cpu(1)).charge(1, 25 * MS);
        control.lock(cpu(1)).throttle(1);
        {
            let held = control.lock(cpu(0));
            held.at().pool(1).refill(held.at());
        }
        assert!(!control.distribute(1, cpu(0)));
        let left = pool(&control, 1);
        assert!(!control.distribute(1, cpu(0)));
        assert_eq!((pool(&control, 1), remaining(&control, 1, 1)), (left, 1));
        check(&control).unwrap();
    });
}

/// What sleepers bring back wakes a throttled queue before the period ends.
#[test]
fn the_slack_timer_hands_out_what_came_back() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((20, 100)))]), 4);
            let mut machine = Machine::new(&model, Settings::new(semantics));
            let (expires, now) = {
                let held = machine.control().lock(cpu(0));
                (held.at().pool(1).period_expires.get(), held.at().now())
            };
            machine.run(expires - now + MS).unwrap();
            // One runs and has twice a slice by the time that two come, which leave nothing in the
            // pool, and go and bring most of it back.
            machine.spawn(cpu(3), 1, Behaviour::BUSY, 0);
            let brief = Behaviour { on: 1_200_000, off: 1000 * MS, stay: 0 };
            for on in [0, 1] {
                machine.spawn(cpu(on), 1, brief, 9 * MS);
            }
            let mut seen = Vec::new();
            for _ in 0..100 {
                machine.run(MS / 4).unwrap();
                check(machine.control()).unwrap();
                let started = machine.control().lock(cpu(0)).at().pool(1).slack_started.get();
                seen.push((throttled(machine.control(), 3, 1), started != 0));
            }
            seen.dedup();
            let expected = [(false, false), (true, true), (false, false)];
            assert!(seen.starts_with(&expected), "{semantics:?}: {seen:?}");
        }
    });
}

/// An idle group saves up to its burst, and uses it in one period.
#[test]
fn a_burst_is_saved_up_once() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((10, 50)))]), 1);
            let mut machine = Machine::new(&model, Settings::new(semantics));
            machine.set_quota(1, Quota { quota: Some(10_000), period: 50_000, burst: 8000 }).unwrap();
            // Short turns keep the timer going, so that the pool fills.
            machine.spawn(cpu(0), 1, Behaviour { on: 50_000, off: 20 * MS, stay: 0 }, 0);
            machine.run(300 * MS).unwrap();
            let before = machine.stat(1);
            assert_eq!(before.nr_throttled, 0, "{before:?}");
            let (quota, local) = (18 * MS as i64, 6 * MS as i64);
            assert!((12 * MS as i64..=quota).contains(&pool(machine.control(), 1)));
            machine.spawn(cpu(0), 1, Behaviour::BUSY, 0);
            machine.run(400 * MS).unwrap();
            let used = machine.stat(1).usage - before.usage;
            // Eight refills, or nine, and what was saved, and a slice that was taken before.
            let most = 9 * 10 * MS as i64 + 8 * MS as i64 + local;
            assert!((80 * MS as i64..=most).contains(&(used as i64)), "{used}");
            assert!(machine.stat(1).nr_bursts >= 1 && machine.stat(1).burst_time > 0);
            check(machine.control()).unwrap();
        }
    });
}

/// `curr` at every level, or with the flat pick `h_curr` there and `curr` at the root alone.
#[test]
fn the_running_path_is_marked_where_the_kernel_looks() {
    for_all_layouts!(L => {
        let model = model::<L>(&tree(&[(0, None), (1, None)]), 1);
        let machine = busy(&model, Semantics::TasksDeferred, 5);
        let held = machine.control().lock(cpu(0));
        let words = |word: fn(&crate::layout::Cfs<L>) -> Option<u64>| {
            [0, 1, 2].map(|group| word(held.at().cfs(group)))
        };
        let (task, groups) = (control::Entity::Task(0).word(), [4, 2]);
        let curr = words(|cfs| Some(cfs.curr().get())).map(Option::unwrap);
        match words(|cfs| cfs.h_curr().map(|word| word.get())) {
            [Some(root), Some(one), Some(two)] => {
                assert_eq!([one, root], groups.map(|group| group));
                assert_eq!((two, curr), (task, [task, 0, 0]));
            }
            _ => assert_eq!(curr, [2, 4, task]),
        }
    });
}

/// Each thread has a CPU, another one the timers: what `Control` promises to threads.
#[test]
fn runtime_is_conserved_when_threads_share_a_pool() {
    for_all_layouts!(L => {
        for semantics in BOTH {
            let model = model::<L>(&tree(&[(0, Some((4, 10))), (1, Some((3, 10)))]), 3);
            let control = &Control::new(&model, Settings::new(semantics));
            std::thread::scope(|scope| {
                for on in 0..3 {
                    scope.spawn(move || {
                        let id = on;
                        control.lock(cpu(on)).place(id, Task::new(2, Behaviour::BUSY, 0));
                        control.lock(cpu(on)).wake(id);
                        let mut now = control.lock(cpu(on)).at().now();
                        for _ in 0..60 {
                            now += MS / 2;
                            let mut held = control.lock(cpu(on));
                            held.set_clock(now);
                            held.tick();
                            held.return_to_user();
                            held.unthrottle_given();
                            held.schedule();
                            drop(held);
                            if on == 0 {
                                for group in [1, 2] {
                                    control.period(group, cpu(on));
                                }
                            }
                        }
                    });
                }
            });
            check(control).map_err(|what| format!("{semantics:?}: {what}")).unwrap();
        }
    });
}
