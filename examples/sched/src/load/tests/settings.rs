//! What can be set of a group, and the policies in a model that runs.

use super::*;
use crate::load::group::{self, group_load, set_cgroup_mode};
use crate::load::queue::Leaving;
use crate::model::{Entity, entity_is_task, is_root};
use core::ptr;

#[test]
fn shares_are_set_on_every_possible_cpu_and_refused_for_the_root() {
    fn case<L: Layout>() {
        let model = idle::<L>(2, 2, 3, 0);
        model.set_online(CpuId::new(2), false, |_, _| ());
        let tasks: Vec<_> =
            (0..3).map(|cpu| Task::new(&model, 2, CpuId::new(cpu), 1024).unwrap()).collect();
        for task in &tasks {
            on(&model, task.cpu().index() as u32, |locked| enqueue_task(locked, task));
        }
        let weights = || -> u64 {
            (0..3)
                .map(|cpu| {
                    let of = |locked: &Locked<'_, L>| {
                        locked.se_of(cfs(locked, 2)).unwrap().load().weight.get()
                    };
                    on(&model, cpu, of)
                })
                .sum()
        };
        let settle = || {
            for _ in 0..500 {
                advance(&model, MS);
                tick(&model, &tasks);
            }
        };
        let mode = group::cgroup_mode(&model);
        settle();
        let before = weights();
        assert_eq!(set_shares(&model, 2, 4096), Ok(()));
        // At once, on all three.
        assert!(weights().abs_diff(4 * before) < before / 50, "{before} {}", weights());
        settle();
        check(&model).unwrap();
        let times = if mode == CgroupMode::Concur { 2 } else { 1 };
        let sum = weights();
        assert!(sum.abs_diff((times * 4096) << 10) < 300_000, "{mode}: {sum}");
        assert_eq!(set_shares(&model, 0, 4096), Err(SetError::Root));
        assert_eq!(set_shares(&model, 99, 4096), Err(SetError::NotThere));
        assert_eq!(set_shares(&model, 2, 1), Err(SetError::Shares(1)));
        assert_eq!(set_shares(&model, 2, 262_145), Err(SetError::Shares(262_145)));
        for task in &tasks {
            on(&model, task.cpu().index() as u32, |l| dequeue_task(l, task, Leaving::Sleep));
        }
        check(&model).unwrap();
    }
    in_every_layout!(case);
}

#[test]
fn an_idle_group_counts_as_idle_above_it_and_weighs_as_an_idle_task() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 3, 2, 0);
        let cpu = CpuId::new(1);
        let tasks = [
            Task::new(&model, 3, cpu, 1024).unwrap(),
            Task::new(&model, 3, cpu, 1024).unwrap().idle(),
            Task::new(&model, 1, cpu, 1024).unwrap(),
        ];
        let idle_counts = || {
            on(&model, 1, |locked| [3, 2, 1, 0].map(|index| cfs(locked, index).h_nr_idle().get()))
        };
        on(&model, 1, |locked| enqueue_task(locked, &tasks[0]));
        assert_eq!(set_idle(&model, 2, true), Ok(()));
        assert_eq!(idle_counts(), [0, 0, 1, 1]);
        assert_eq!(model.groups().get(2, &epoch::pin()).unwrap().shares.get(), 3 << 10);
        on(&model, 1, |locked| enqueue_task(locked, &tasks[1]));
        on(&model, 1, |locked| enqueue_task(locked, &tasks[2]));
        assert_eq!(idle_counts(), [1, 1, 2, 2]);
        check(&model).unwrap();
        assert_eq!(set_idle(&model, 1, true), Ok(()));
        assert_eq!(idle_counts(), [1, 1, 2, 3]);
        assert_eq!(set_idle(&model, 2, false), Ok(()));
        assert_eq!(idle_counts(), [1, 1, 1, 3]);
        check(&model).unwrap();
        on(&model, 1, |locked| dequeue_task(locked, &tasks[0], Leaving::Sleep));
        assert_eq!(idle_counts(), [1, 1, 1, 2]);
        assert_eq!(set_idle(&model, 1, false), Ok(()));
        assert_eq!(idle_counts(), [1, 1, 1, 1]);
        check(&model).unwrap();
        assert_eq!(set_idle(&model, 0, true), Err(SetError::Root));
        assert_eq!(set_idle(&model, 7, true), Err(SetError::NotThere));
        for task in &tasks[1..] {
            on(&model, 1, |locked| dequeue_task(locked, task, Leaving::Sleep));
        }
    }
    in_every_layout!(case);
}

#[test]
fn four_tasks_on_two_cpus_settle_at_the_closed_form_of_every_policy() {
    let model = idle::<L2<V7_3>>(1, 1, 2, 0);
    let tasks: Vec<_> =
        [0, 1, 1, 1].map(|cpu| Task::new(&model, 1, CpuId::new(cpu), 1024).unwrap()).into();
    for task in &tasks {
        on(&model, task.cpu().index() as u32, |locked| enqueue_task(locked, task));
    }
    let weight =
        |cpu| on(&model, cpu, |locked| locked.se_of(cfs(locked, 1)).unwrap().load().weight.get());
    let one = f64::from(1 << 20);
    // Reports that grow end within a 64th of their goal, so that four tasks that always run count
    // as three: what `tasks` and `concur` multiply by is rounded down.
    let counted = 3.0;
    for (mode, here, there) in [
        (CgroupMode::Up, 1.0, 1.0),
        (CgroupMode::Smp, 0.25, 0.75),
        (CgroupMode::Concur, 0.5, 1.5),
        (CgroupMode::Max, 0.5, 1.5),
        (CgroupMode::Tasks, counted * 0.25, counted * 0.75),
        (CgroupMode::Smp, 0.25, 0.75),
    ] {
        set_cgroup_mode(&model, mode).unwrap();
        for _ in 0..700 {
            advance(&model, MS);
            tick(&model, &tasks);
        }
        check(&model).unwrap();
        let found = (weight(0) as f64 / one, weight(1) as f64 / one);
        let near = |a: f64, b: f64| (a - b).abs() < 0.03 * b;
        assert!(near(found.0, here) && near(found.1, there), "{mode}: {found:?}");
        on(&model, 0, |locked| {
            let load = group_load(locked, cfs(locked, 1));
            assert_eq!(
                mode.shares(&load),
                locked.se_of(cfs(locked, 1)).unwrap().load().weight.get()
            );
        });
    }
    for task in &tasks {
        on(&model, task.cpu().index() as u32, |l| dequeue_task(l, task, Leaving::Sleep));
    }
}

#[test]
fn policies_that_count_tasks_need_a_kernel_that_does() {
    fn case<L: Layout>(counts: bool) {
        let model = idle::<L>(1, 1, 1, 0);
        for mode in CgroupMode::ALL {
            let asks = matches!(mode, CgroupMode::Concur | CgroupMode::Tasks);
            let refused = Err(SetError::NotInKernel(mode));
            let expected = if asks && !counts { refused } else { Ok(()) };
            assert_eq!(set_cgroup_mode(&model, mode), expected);
        }
        let default = if counts { CgroupMode::Concur } else { CgroupMode::Smp };
        assert_eq!(group::cgroup_mode(&idle::<L>(1, 1, 1, 0)), default);
    }
    case::<L2<V7_2>>(false);
    case::<L2<V7_3>>(true);
}

#[test]
fn statistics_are_found_from_a_task_from_a_group_and_never_from_the_root() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 1, 2, 0);
        let guard = &epoch::pin();
        let cpu = CpuId::new(1);
        let (root, tg) = (model.root(), model.groups().get(1, guard).unwrap());
        assert!(is_root(&model, root) && !is_root(&model, tg));
        assert!(ptr::eq(root, model.groups().get(0, guard).unwrap()));
        assert!(L::tg_se(root, cpu).is_none() && L::tg_stats(root, cpu).is_none());
        let root_queue = L::tg_cfs_rq(root, cpu);
        assert!(L::cfs_rq_se(model.groups(), guard, root_queue, cpu).is_none());
        let group = Entity::<L>::Group(L::tg_se(tg, cpu).unwrap());
        let task = Task::new(&model, 1, cpu, 1024).unwrap();
        assert!(entity_is_task::<L>(task.se()) && !entity_is_task::<L>(group.plain()));
        assert!(ptr::eq(group.stats(), L::tg_stats(tg, cpu).unwrap()));
        task.entity().stats().wait_sum.set(5);
        assert_eq!(group.stats().wait_sum.get(), 0, "a task's statistics are its own");
        assert!(ptr::eq(task.entity().plain(), task.se()));
        assert_eq!((task.se().depth().get(), task.group(), task.cpu()), (1, 1, cpu));
        assert!(task.se().parent().is(Some(group.plain())));
    }
    in_every_layout!(case);
}
