//! Load in a tree: propagation, reports, decay, load as seen from the root.

use super::*;
use crate::load::group;
use crate::load::queue::Leaving;
use crate::structs::LaterFields;
use core::ptr;

/// A task that runs on its CPU for `ticks` milliseconds.
fn run<L: Layout>(model: &Model<L>, task: &Task<'_, L>, ticks: usize) {
    let cpu = task.cpu().index() as u32;
    on(model, cpu, |locked| {
        enqueue_task(locked, task);
        for se in locked.chain(task.se()) {
            let cfs = se.cfs_rq().get().unwrap();
            cfs.h_curr().unwrap_or_else(|| cfs.curr()).set(ptr::from_ref(se).addr() as u64);
        }
    });
    for _ in 0..ticks {
        advance(model, MS);
        tick(model, core::slice::from_ref(task));
    }
}

/// It no longer runs.
fn stop<L: Layout>(model: &Model<L>, task: &Task<'_, L>) {
    on(model, task.cpu().index() as u32, |locked| {
        for se in locked.chain(task.se()) {
            let cfs = se.cfs_rq().get().unwrap();
            cfs.h_curr().unwrap_or_else(|| cfs.curr()).set(0);
        }
    });
}

#[test]
fn a_task_that_always_runs_is_worth_its_weight_at_every_level() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 3, 2, 0);
        let task = Task::new(&model, 3, CpuId::new(1), 1024).unwrap();
        run(&model, &task, 700);
        check(&model).unwrap();
        let near = |value: u64| (1000..=1030).contains(&value);
        on(&model, 1, |locked| {
            for se in locked.chain(task.se()) {
                assert!(near(se.avg().load_avg.get()), "{}", se.avg().load_avg.get());
                assert!(near(se.avg().util_avg.get()), "{}", se.avg().util_avg.get());
                let queue = se.cfs_rq().get().unwrap();
                assert!(near(queue.avg().load_avg.get()), "{}", queue.avg().load_avg.get());
                assert!(near(queue.avg().util_avg.get()), "{}", queue.avg().util_avg.get());
                assert!(near(queue.avg().runnable_avg.get()));
            }
            assert!(near(locked.tg(2).unwrap().load_avg.0.get()));
        });
        stop(&model, &task);
        on(&model, 1, |locked| dequeue_task(locked, &task, Leaving::Sleep));
    }
    in_every_layout!(case);
}

/// When a task moves, the queues up to the root follow at once, not after a half-life.
#[test]
fn load_that_moves_is_seen_at_the_root_of_both_cpus_at_once() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 3, 2, 0);
        let task = Task::new(&model, 3, CpuId::new(0), 1024).unwrap();
        run(&model, &task, 700);
        stop(&model, &task);
        let root = |cpu| {
            on(&model, cpu, |locked| {
                let avg = cfs(locked, 0).avg();
                (avg.load_avg.get(), avg.util_avg.get(), avg.runnable_avg.get())
            })
        };
        let before = root(0);
        assert!(before.0 > 1000 && before.1 > 1000 && before.2 > 1000, "{before:?}");
        on(&model, 0, |locked| dequeue_task(locked, &task, Leaving::Migrate));
        check(&model).unwrap();
        let left = root(0);
        assert!(left.0 < 50 && left.1 < 50 && left.2 < 50, "{left:?}");
        task.place(CpuId::new(1));
        on(&model, 1, |locked| enqueue_task(locked, &task));
        check(&model).unwrap();
        let arrived = root(1);
        assert!(arrived.1 > 950 && arrived.2 > 950, "{arrived:?}");
        // Its weight on the new CPU follows as soon as the old one's is reported away.
        for _ in 0..5 {
            advance(&model, MS);
            tick(&model, core::slice::from_ref(&task));
        }
        let arrived = root(1);
        assert!(arrived.0 > 900, "{arrived:?}");
        on(&model, 1, |locked| dequeue_task(locked, &task, Leaving::Sleep));
    }
    in_every_layout!(case);
}

#[test]
fn a_queue_reports_once_a_millisecond_and_only_more_than_a_64th() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 1, 1, 0);
        on(&model, 0, |locked| {
            let (queue, tg) = (cfs(locked, 1), locked.tg(1).unwrap());
            let report = |load: u64| {
                queue.avg().load_avg.set(load);
                group::update_tg_load_avg(locked, queue);
                (queue.tg_load_avg_contrib().get(), tg.load_avg.0.get())
            };
            assert_eq!(report(6400), (6400, 6400));
            locked.advance(MS - 1);
            assert_eq!(report(9000), (6400, 6400), "a millisecond has not passed");
            locked.advance(1);
            assert_eq!(report(6500), (6400, 6400), "100 is a 64th of 6400");
            assert_eq!(report(6300), (6400, 6400));
            assert_eq!(report(6501), (6501, 6501));
            assert_eq!(report(0), (6501, 6501), "again, a millisecond has not passed");
            locked.advance(MS);
            assert_eq!(report(0), (0, 0));
            if let Some(contrib) = queue.tg_runnable_avg_contrib() {
                locked.advance(MS);
                queue.avg().runnable_avg.set(2048);
                group::update_tg_load_avg(locked, queue);
                assert_eq!((contrib.get(), tg.load_avg.1.get()), (2048, 2048));
            }
            // The root reports to nobody.
            cfs(locked, 0).avg().load_avg.set(99);
            group::update_tg_load_avg(locked, cfs(locked, 0));
            assert_eq!(cfs(locked, 0).tg_load_avg_contrib().get(), 0);
            cfs(locked, 0).avg().load_avg.set(0);
            queue.avg().load_avg.set(0);
        });
        check(&model).unwrap();
    }
    in_every_layout!(case);
}

#[test]
fn what_sleeps_decays_to_nothing_and_leaves_the_leaf_list_children_first() {
    fn case<L: Layout>() {
        let model = idle::<L>(2, 2, 1, 0);
        let tasks: Vec<_> =
            [2, 3, 5].map(|g| Task::new(&model, g, CpuId::new(0), 1024).unwrap()).into();
        on(&model, 0, |locked| tasks.iter().for_each(|task| enqueue_task(locked, task)));
        for _ in 0..300 {
            advance(&model, MS);
            tick(&model, &tasks);
        }
        check(&model).unwrap();
        on(&model, 0, |locked| {
            tasks.iter().for_each(|task| dequeue_task(locked, task, Leaving::Sleep));
        });
        let visit = || on(&model, 0, update_blocked_averages);
        // Groups 1 to 5 and the root: 6 has never had anything.
        let mut before = visit();
        assert_eq!(before, 6);
        let mut rounds = 0;
        while before != 0 {
            advance(&model, 32 * MS);
            let now = visit();
            check(&model).unwrap();
            assert!(now <= before, "a decayed queue came back");
            (before, rounds) = (now, rounds + 1);
            assert!(rounds < 200, "{now} queues never decay");
        }
        assert!(rounds > 16, "load is halved in each round, but was gone after {rounds}");
        on(&model, 0, |locked| {
            for index in 0..7 {
                let avg = cfs(locked, index).avg();
                assert_eq!((avg.load_avg.get(), avg.load_sum.get(), avg.util_sum.get()), (0, 0, 0));
            }
        });
    }
    in_every_layout!(case);
}

/// Found by the random sequences. A parent that is decayed has a child on the list which is not its
/// neighbour; it must not leave, or it would come back in front of the child.
#[test]
fn a_parent_does_not_leave_the_leaf_list_before_a_child_that_is_not_its_neighbour() {
    fn case<L: Layout>() {
        let model = idle::<L>(2, 2, 1, 0);
        let [low, other] = [2, 4].map(|g| Task::new(&model, g, CpuId::new(0), 15).unwrap());
        let wake = |task| on(&model, 0, |locked| enqueue_task(locked, task));
        let leave = |task, how| on(&model, 0, |locked| dequeue_task(locked, task, how));
        let decay = || {
            on(&model, 0, update_blocked_averages);
            check(&model).unwrap();
        };
        wake(&other);
        leave(&other, Leaving::Sleep);
        // The list is now 2, 4, 1, root: what `low` adds is in the queue of 2 only, too little to
        // be seen above.
        wake(&low);
        leave(&low, Leaving::Sleep);
        decay();
        wake(&other);
        leave(&other, Leaving::Migrate);
        decay();
        wake(&low);
        check(&model).unwrap();
        leave(&low, Leaving::Sleep);
    }
    in_every_layout!(case);
}

#[test]
fn h_load_is_the_product_of_the_parts_and_new_once_a_jiffy() {
    fn case<L: Layout>() {
        let model = idle::<L>(2, 3, 1, 0);
        let groups = model.groups().len();
        let tasks: Vec<_> = (0..groups)
            .map(|g| Task::new(&model, g, CpuId::new(0), 512 + 100 * g as u64).unwrap())
            .collect();
        on(&model, 0, |locked| tasks.iter().for_each(|task| enqueue_task(locked, task)));
        for _ in 0..100 {
            advance(&model, MS);
            tick(&model, &tasks);
        }
        on(&model, 0, |locked| {
            // Brute force: from the root down, each level divided as the kernel does.
            let product = |task: &Task<'_, L>| {
                let mut chain: Vec<_> = locked.chain(task.se()).collect();
                let mut load = cfs(locked, 0).avg().load_avg.get();
                while let Some(se) = chain.pop() {
                    let whole = se.cfs_rq().get().unwrap().avg().load_avg.get() + 1;
                    load = load * se.avg().load_avg.get() / whole;
                }
                load
            };
            for task in tasks.iter().rev() {
                assert_eq!(task_h_load(locked, task), product(task), "{task:?}");
            }
            // All tasks together have what the root has, but for a part in the + 1.
            let sum: u64 = tasks.iter().map(|task| task_h_load(locked, task)).sum();
            let root = cfs(locked, 0).avg().load_avg.get();
            assert!(sum <= root && sum > root - root / 20, "{sum} of {root}");
            // Within the jiffy nothing is looked at again; in the next one it is.
            let entity = locked.se_of(cfs(locked, 3)).unwrap().avg();
            let old = cfs(locked, 3).h_load().get();
            entity.load_avg.set(10 * entity.load_avg.get());
            update_cfs_rq_h_load(locked, cfs(locked, 3));
            assert_eq!(cfs(locked, 3).h_load().get(), old);
            locked.advance(MS);
            update_cfs_rq_h_load(locked, cfs(locked, 3));
            assert!(cfs(locked, 3).h_load().get().abs_diff(10 * old) < 10, "{old}");
            entity.load_avg.set(entity.load_avg.get() / 10);
            // A sibling's path in the same jiffy begins at the first queue that is up to date.
            cfs(locked, 0).avg().load_avg.set(10 * root);
            update_cfs_rq_h_load(locked, cfs(locked, 4));
            assert_eq!(cfs(locked, 0).h_load().get(), root);
            assert_ne!(cfs(locked, 4).h_load().get(), 0);
            cfs(locked, 0).avg().load_avg.set(root);
            tasks.iter().for_each(|task| dequeue_task(locked, task, Leaving::Sleep));
        });
    }
    in_every_layout!(case);
}
