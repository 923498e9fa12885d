//! Groups come and go on real threads while others walk the tree.

use super::*;
use crate::layout::Se;
use crate::load::queue::Leaving;
use crate::model::{ReleaseError, Tg, leaf};
use crate::rng::Rng;
use crate::structs::TreeLinks;
use core::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

/// How much a test shall do: `CORELOCAL_STRESS` times as much as usual.
fn stress() -> usize {
    match std::env::var("CORELOCAL_STRESS") {
        Ok(times) => times.parse().expect("CORELOCAL_STRESS is a whole number"),
        Err(_) => 1,
    }
}

/// What a reader may rely on of a group that it reached: its state on a CPU is its own, whole, and
/// not that of another group which came later.
fn is_sound<L: Layout>(locked: &Locked<'_, L>, tg: &Tg<L>) {
    let queue = L::tg_cfs_rq(tg, locked.cpu).plain();
    assert_eq!(queue.rq().get(), ptr::from_ref(locked.rq).addr() as u64);
    let found = locked.tg(queue.tg().get() as usize);
    assert!(found.is_some_and(|found| ptr::eq(found, tg)), "a queue of another group");
    if let Some(se) = L::tg_se(tg, locked.cpu).map(Held::plain) {
        assert!(se.my_q().is(Some(queue)));
        assert_eq!(se.parent().get().map_or(0, |above| above.depth().get() + 1), se.depth().get());
    }
}

/// Throttles and unthrottles everything below the root on one CPU: every queue leaves the leaf
/// list and is put back on it, whatever becomes of its group meanwhile.
fn throttle_walk<L: Layout>(locked: &Locked<'_, L>) -> usize {
    let mut visited = 0;
    let down = |tg: &Tg<L>| {
        is_sound(locked, tg);
        leaf::remove(locked.rq, L::tg_cfs_rq(tg, locked.cpu).plain());
        visited += 1;
    };
    let up = |tg: &Tg<L>| {
        let queue = L::tg_cfs_rq(tg, locked.cpu).plain();
        leaf::add(locked.model, locked.guard, locked.rq, tg, queue, locked.cpu);
    };
    locked.model.walk_tg_tree_from(locked.guard, 0, down, up);
    visited
}

/// A reader that came before the unlinking puts the dying group's queue back on the leaf list, as
/// the throttle walk does; the release takes it off, and frees nothing before the reader is gone.
#[test]
fn a_dying_queue_that_a_walk_lists_again_is_taken_off() {
    fn case<L: Layout>() {
        let model = &idle::<L>(2, 1, 2, 0);
        let freed = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            let guard = epoch::pin();
            let dying = model.groups().get(1, &guard).unwrap();
            assert_eq!(model.root().links.child.get(), 1);
            scope.spawn(|| {
                release_group(model, 1).unwrap();
                // Release: pairs with the Acquire below.
                freed.store(true, Ordering::Release);
            });
            while model.root().links.child.get() == 1 {
                std::thread::yield_now();
            }
            // Unlinked; the release waits for this thread.
            for cpu in model.cpus() {
                let locked = Locked::new(model, &guard, cpu);
                let queue = L::tg_cfs_rq(dying, cpu).plain();
                leaf::add(model, &guard, locked.rq, model.root(), locked.cfs(0).unwrap(), cpu);
                leaf::add(model, &guard, locked.rq, dying, queue, cpu);
                assert_eq!(queue.on_list().get(), 1);
                is_sound(&locked, dying);
            }
            for _ in 0..1000 {
                std::thread::yield_now();
                // Acquire: pairs with the Release above.
                assert!(!freed.load(Ordering::Acquire), "freed under a reader");
            }
            for cpu in model.cpus() {
                is_sound(&Locked::new(model, &guard, cpu), dying);
            }
        });
        check(model).unwrap();
        for cpu in 0..2 {
            on(model, cpu, |locked| {
                assert!(locked.rq.leaf.next.is(locked.cfs(0)), "only the root's queue is left");
                assert!(locked.rq.leaf.prev.is(locked.cfs(0)));
            });
        }
    }
    case::<L0<V6_14>>();
    case::<L1b<V6_14>>();
    case::<L2<V7_3>>();
    case::<L3>();
}

/// A reader that finds the group in the table after its queues left the leaf lists may still use
/// it, but not list it again: nobody would take it off.
#[test]
fn a_queue_that_left_for_good_is_not_listed_again() {
    fn case<L: Layout>() {
        let model = &idle::<L>(2, 1, 1, 0);
        let (cpu, freed) = (CpuId::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let (unregistering, seen) = mpsc::channel::<()>();
            let (found, proceed) = mpsc::channel::<()>();
            let freed = &freed;
            scope.spawn(move || {
                let last = |_: &Locked<'_, L>, _: &Tg<L>| {
                    unregistering.send(()).unwrap();
                    proceed.recv().unwrap();
                };
                model.release_with(1, last).unwrap();
                // Release: pairs with the Acquire below.
                freed.store(true, Ordering::Release);
            });
            // The first grace period is over; this guard is the second one's concern.
            seen.recv().unwrap();
            let guard = epoch::pin();
            let dying = model.groups().get(1, &guard).unwrap();
            found.send(()).unwrap();
            while model.groups().get(1, &guard).is_some() {
                std::thread::yield_now();
            }
            for _ in 0..1000 {
                std::thread::yield_now();
                // Acquire: pairs with the Release above.
                assert!(!freed.load(Ordering::Acquire), "freed under a reader");
            }
            let locked = Locked::new(model, &guard, cpu);
            let queue = L::tg_cfs_rq(dying, cpu).plain();
            leaf::add(model, &guard, locked.rq, dying, queue, cpu);
            assert_eq!(queue.on_list().get(), 0, "it would be on the list when it is freed");
            assert!(locked.rq.leaf.next.is(None) && locked.rq.tmp_alone_branch.is(None));
        });
        check(model).unwrap();
    }
    case::<L0<V6_14>>();
    case::<L2<V7_3>>();
    case::<L3>();
}

/// Releases a group that others put tasks into meanwhile.
fn release<L: Layout>(model: &Model<L>, group: usize) {
    while let Err(error) = release_group(model, group) {
        assert_eq!(error, ReleaseError::HasTasks);
        std::thread::yield_now();
    }
}

/// Two threads create and release groups; one throttles and unthrottles the whole tree, one moves
/// tasks and lets load decay. What is freed is at once wanted for the next group.
#[test]
fn groups_come_and_go_under_walks_of_all_kinds() {
    fn case<L: Layout>() {
        const CPUS: u32 = 2;
        let area = &area(CPUS);
        let tree = Tree::regular(2, 2).unwrap();
        let model = &Model::<L>::build_idle(&tree, CPUS, Order::Allocation, area, 12).unwrap();
        let done = &AtomicBool::new(false);
        // The root's queue is on the list, as it is where there is load.
        for cpu in 0..CPUS {
            on(model, cpu, |l| {
                leaf::add(model, l.guard, l.rq, model.root(), l.cfs(0).unwrap(), l.cpu);
            });
        }
        let come_and_go = |seed| {
            let mut rng = Rng::new(seed);
            let (mut own, mut made) = (Vec::<usize>::new(), 0);
            while made < 10 * stress() {
                if own.len() < 5 && rng.below(2) == 0 {
                    let below = own.last().copied().unwrap_or(1 + rng.below(6));
                    let new = create_group(model, below, Limits::default(), area, Gate::OPEN);
                    own.push(new.expect("there is room for 12"));
                    made += 1;
                } else if let Some(last) = own.pop() {
                    release(model, last);
                }
            }
            own.into_iter().rev().for_each(|group| release(model, group));
        };
        std::thread::scope(|scope| {
            let walks = scope.spawn(|| {
                let mut visited = 0;
                // Once at least, also when the others are done before this thread begins.
                loop {
                    for cpu in 0..CPUS {
                        visited = visited.max(on(model, cpu, throttle_walk));
                    }
                    // Acquire: pairs with the Release below.
                    if done.load(Ordering::Acquire) {
                        break visited;
                    }
                }
            });
            let tasks = scope.spawn(|| {
                let mut tasks: Vec<Task<'_, L>> = Vec::new();
                // Acquire: pairs with the Release below.
                while !done.load(Ordering::Acquire) {
                    // A group that is there now may be gone when it is joined, or has room.
                    for group in 0..model.groups().len() {
                        let cpu = CpuId::new(group as u32 % CPUS);
                        tasks.extend(Task::new(model, group, cpu, 1024));
                    }
                    for task in tasks.drain(..) {
                        on(model, task.cpu().index() as u32, |locked| {
                            locked.advance(MS);
                            enqueue_task(locked, &task);
                            update_blocked_averages(locked);
                            task_h_load(locked, &task);
                            dequeue_task(locked, &task, Leaving::Migrate);
                        });
                    }
                }
            });
            let makers = [1, 2].map(|seed| scope.spawn(move || come_and_go(seed)));
            let results = makers.map(|maker| maker.join());
            // Release: pairs with the Acquires above.
            done.store(true, Ordering::Release);
            tasks.join().unwrap();
            assert!(walks.join().unwrap() >= 7);
            for result in results {
                result.unwrap();
            }
        });
        check(model).unwrap();
        assert_eq!(model.groups().iter(&epoch::pin()).count(), 7);
        assert_eq!(model.root().links.parent.get(), TreeLinks::NONE);
    }
    case::<L0<V6_14>>();
    case::<L2<V7_3>>();
}

/// Not a walk, but what a walk's callers may hold: an entity reached by its child's link.
#[test]
fn an_ancestor_outlives_the_entities_below_it() {
    let model = idle::<L2<V7_3>>(1, 3, 1, 0);
    let task = Task::new(&model, 3, CpuId::new(0), 1024).unwrap();
    for group in [1, 2, 3] {
        assert!(release_group(&model, group).is_err(), "{group}");
    }
    let chain = core::iter::successors(Some(task.se()), |se| se.parent().get());
    assert_eq!(chain.map(|se: &Se<L2<V7_3>>| se.depth().get()).collect::<Vec<_>>(), [3, 2, 1, 0]);
}
