//! Every layout of both kernels against the others, and against brute force.

use super::*;
use crate::layout::{L0, L1b, L2, L3, Order};
use crate::model::{ReleaseError, check};
use crate::rng::Rng;
use crate::structs::recorded::{Line, Recording};
use crate::structs::{Kernel, reorder::Reorder, v6_14::V6_14, v7_2::V7_2};
use crate::tree::Tree;
use corelocal::Area;
use crossbeam_epoch as epoch;
use std::sync::atomic::{AtomicBool, Ordering};

const CPUS: u32 = 5;
const ORDERS: [Order; 2] = [Order::Allocation, Order::Shuffled(3)];

fn build<L: Layout>(width: u64, depth: u64, order: Order) -> Model<L> {
    let machine = Area::global().lanes() as u32 - 1;
    let area = Area::builder().cpus(machine.max(CPUS)).build().unwrap();
    let tree = Tree::regular(width, depth).unwrap();
    Model::build(&tree, CPUS, order, &area).unwrap()
}

/// Calls `$body` with `L` being each layout of both kernels, and two whose accesses are recorded.
macro_rules! for_all_layouts {
    ($L:ident => $body:block) => {{
        fn case<$L: Layout>() $body
        case::<L0<V6_14>>();
        case::<L1b<V6_14>>();
        case::<L2<V6_14>>();
        case::<L0<V7_2>>();
        case::<L1b<V7_2>>();
        case::<L2<V7_2>>();
        case::<L3>();
        case::<L0<Recording<V6_14>>>();
        case::<L2<Recording<Reorder, Line>>>();
    }};
}

/// Everything that can be walked, in one list.
fn all_walks() -> Vec<(Operation, bool)> {
    let both = |op: Operation| [(op, false), (op, true)];
    let exists = |&(op, dependent): &(Operation, bool)| !dependent || op.has_dependent();
    Operation::ALL.into_iter().flat_map(both).filter(exists).collect()
}

fn sums<L: Layout>(order: Order) -> Vec<Visits> {
    let model = build::<L>(3, 3, order);
    let guard = &epoch::pin();
    let mut sums = Vec::new();
    for (operation, dependent) in all_walks() {
        for cpu in model.cpus() {
            sums.push(walk(&model, guard, operation, cpu, dependent));
        }
    }
    sums
}

#[test]
fn all_layouts_read_the_same_values() {
    fn kernel<K: Kernel>()
    where
        L0<K>: Layout,
        L1b<K>: Layout,
        L2<K>: Layout,
    {
        let expected = sums::<L0<K>>(Order::Allocation);
        for order in ORDERS {
            assert_eq!(sums::<L0<K>>(order), expected);
            assert_eq!(sums::<L1b<K>>(order), expected);
            assert_eq!(sums::<L2<K>>(order), expected);
        }
    }
    kernel::<V6_14>();
    kernel::<V7_2>();
    kernel::<Recording<V7_2>>();
    // No value depends on whose structures they are.
    let expected = sums::<L0<V6_14>>(Order::Allocation);
    assert_eq!(sums::<L3>(Order::Shuffled(3)), expected);
    assert_eq!(sums::<L1b<Recording<Reorder>>>(Order::Shuffled(3)), expected);
}

#[test]
fn walks_visit_every_group_once() {
    for_all_layouts!(L => {
        let model = build::<L>(3, 3, Order::Allocation);
        let guard = &epoch::pin();
        for (operation, dependent) in all_walks() {
            let visits = walk(&model, guard, operation, CpuId::new(1), dependent);
            let expected = match operation {
                Operation::CpuWalk | Operation::Blocked => 40,
                Operation::Throttle | Operation::Unthrottle => 39,
                Operation::GroupWalk => 39 * u64::from(CPUS),
            };
            assert_eq!(visits.count, expected, "{operation:?} {dependent}");
        }
        // The chain is the list: the sums of the group numbers and quotas agree.
        for op in [Operation::CpuWalk, Operation::Blocked] {
            let independent = walk(&model, guard, op, CpuId::new(2), false);
            assert_eq!(walk(&model, guard, op, CpuId::new(2), true), independent);
        }
    });
}

#[test]
fn invariants_hold_in_every_order() {
    for_all_layouts!(L => {
        for order in ORDERS {
            check(&build::<L>(4, 3, order)).unwrap();
            check(&build::<L>(1, 9, order)).unwrap();
        }
    });
}

#[test]
fn a_throttled_subtree_leaves_the_leaf_list_and_comes_back() {
    for_all_layouts!(L => {
        let model = build::<L>(3, 3, Order::Allocation);
        let guard = &epoch::pin();
        let cpu = CpuId::new(0);
        let listed = |model: &Model<L>, cpu| {
            let mut listed = 0;
            let mut link = &model.rq(cpu).leaf.next;
            while let Some(cfs) = link.get() {
                listed += 1;
                link = &cfs.leaf_cfs_rq_list().next;
            }
            listed
        };
        for _ in 0..3 {
            walk(&model, guard, Operation::Throttle, cpu, false);
            assert_eq!(listed(&model, cpu), 1, "only the root is left");
            assert_eq!(listed(&model, CpuId::new(1)), 40, "another CPU is not concerned");
            check(&model).unwrap();
            walk(&model, guard, Operation::Throttle, cpu, false);
            check(&model).unwrap();
            walk(&model, guard, Operation::Unthrottle, cpu, false);
            assert_eq!(listed(&model, cpu), 1, "throttled twice, unthrottled once");
            walk(&model, guard, Operation::Unthrottle, cpu, false);
            assert_eq!(listed(&model, cpu), 40);
            check(&model).unwrap();
        }
    });
}

#[test]
fn the_tree_walk_meets_a_parent_before_and_after_its_children() {
    let model = build::<L2<V7_2>>(2, 4, Order::Allocation);
    let guard = &epoch::pin();
    let index = |tg: &Tg<L2<V7_2>>| L2::tg_cfs_rq(tg, CpuId::new(0)).plain().tg().get() as usize;
    for from in 0..model.groups().len() as u32 {
        let (mut open, mut met, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let open = std::cell::RefCell::new(&mut open);
        model.walk_tg_tree_from(
            guard,
            from,
            |tg| {
                let parent = tg.links.parent.get();
                let above = open.borrow().last().copied();
                assert!(index(tg) as u32 == from || above == Some(parent));
                open.borrow_mut().push(index(tg) as u32);
                met.push(index(tg));
            },
            |tg| {
                assert_eq!(open.borrow_mut().pop(), Some(index(tg) as u32));
                left.push(index(tg));
            },
        );
        assert!(open.borrow().is_empty());
        // Brute force: all groups that have `from` among themselves and their ancestors.
        let below = |mut at: u32| loop {
            match (at == from, at) {
                (true, _) => return true,
                (_, TreeLinks::NONE) => return false,
                _ => at = model.groups().get(at as usize, guard).unwrap().links.parent.get(),
            }
        };
        let expected: Vec<usize> = (0..model.groups().len()).filter(|&i| below(i as u32)).collect();
        assert_eq!(met, expected);
        left.sort_unstable();
        assert_eq!(left, expected);
    }
}

#[test]
fn a_group_is_released_only_without_children_and_by_no_reader() {
    for_all_layouts!(L => {
        let model = build::<L>(2, 2, Order::Allocation);
        assert_eq!(model.release(0), Err(ReleaseError::Root));
        assert_eq!(model.release(1), Err(ReleaseError::HasChildren));
        assert_eq!(model.release(99), Err(ReleaseError::NotThere));
        {
            let _reader = epoch::pin();
            assert_eq!(model.release(2), Err(ReleaseError::Pinned));
        }
        for index in [3, 2, 1, 6] {
            model.release(index).unwrap();
            check(&model).unwrap();
            assert_eq!(model.release(index), Err(ReleaseError::NotThere));
        }
        let guard = &epoch::pin();
        let visits = walk(&model, guard, Operation::CpuWalk, CpuId::new(0), true);
        assert_eq!(visits.count, 3, "root, 4 and 5 are left");
    });
}

/// Walks of all kinds go on while all groups are released one by one.
#[test]
fn walks_go_on_while_groups_are_released() {
    for_all_layouts!(L => {
        let model = &build::<L>(2, 2, Order::Shuffled(5));
        let done = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // Acquire: pairs with the Release below.
                while !done.load(Ordering::Acquire) {
                    let guard = &epoch::pin();
                    for (operation, dependent) in all_walks() {
                        walk(model, guard, operation, CpuId::new(1), dependent);
                    }
                }
            });
            release_all(model, |_| {});
            // Release: pairs with the Acquire above.
            done.store(true, Ordering::Release);
        });
        assert_eq!(model.groups().iter(&epoch::pin()).count(), 1);
        check(model).unwrap();
    });
}

/// Releases all groups in a random order that the tree allows.
fn release_all<L: Layout>(model: &Model<L>, mut released: impl FnMut(usize)) {
    let mut rng = Rng::new(11);
    let mut left: Vec<usize> = (1..model.groups().len()).collect();
    while !left.is_empty() {
        let at = rng.below(left.len());
        match model.release(left[at]) {
            Ok(()) => released(left.swap_remove(at)),
            Err(error) => assert_eq!(error, ReleaseError::HasChildren),
        }
    }
}

/// A group stays in the table, and its state where it is, as long as a reader from before is there.
#[test]
fn a_release_waits_for_a_reader_that_came_before() {
    let model = &build::<L2<V7_2>>(2, 1, Order::Allocation);
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let guard = epoch::pin();
        let root = model.groups().get(0, &guard).unwrap();
        scope.spawn(move || {
            model.release(1).unwrap();
            // Release: pairs with the Acquire below.
            done.store(true, Ordering::Release);
        });
        while root.links.child.get() == 1 {
            std::thread::yield_now();
        }
        // Unlinked. A release that did not wait would be over long before this loop is.
        for _ in 0..20_000 {
            std::thread::yield_now();
            assert!(model.groups().get(1, &guard).is_some(), "unregistered under a reader");
            // Acquire: pairs with the Release above.
            assert!(!done.load(Ordering::Acquire), "freed under a reader");
        }
    });
    assert!(model.groups().get(1, &epoch::pin()).is_none());
}

/// A reader that came after the unlinking still finds the group in the table: it must be able to
/// use it, though the memory is wanted for something else at once.
#[test]
fn no_reader_meets_state_that_was_given_to_someone_else() {
    let area = Area::builder().cpus(Area::global().lanes() as u32 - 1).build().unwrap();
    let tree = Tree::regular(40, 1).unwrap();
    let model = &Model::<L2<V7_2>>::build(&tree, 1, Order::Allocation, &area).unwrap();
    let done = &AtomicBool::new(false);
    let cpu = CpuId::new(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Acquire: pairs with the Release below.
            while !done.load(Ordering::Acquire) {
                let guard = &epoch::pin();
                let held: Vec<_> =
                    model.groups().iter(guard).map(|tg| L2::tg_cfs_rq(tg, cpu).plain()).collect();
                let before: Vec<u64> = held.iter().map(|cfs| cfs.tg().get()).collect();
                for _ in 0..20 {
                    std::thread::yield_now();
                }
                let after: Vec<u64> = held.iter().map(|cfs| cfs.tg().get()).collect();
                assert_eq!(after, before);
            }
        });
        let mut poison = Vec::new();
        release_all(model, |_| {
            poison.push(area.try_alloc(|_| [u64::MAX; 1088 / 8]).unwrap());
        });
        // Release: pairs with the Acquire above.
        done.store(true, Ordering::Release);
    });
}

#[test]
fn the_bytes_of_per_cpu_memory_are_those_that_the_area_gives_out() {
    fn kernel<K: Kernel>()
    where
        L2<K>: Layout,
    {
        let machine = Area::global().lanes() as u32 - 1;
        let area = Area::builder().cpus(machine.max(CPUS)).build().unwrap();
        let cpus = area.lanes() as u32 - 1;
        let one = Tree::regular(1, 1).unwrap();
        let many = Tree::regular(6, 2).unwrap();
        let live = |tree| {
            let _model = Model::<L2<K>>::build(tree, cpus, Order::Allocation, &area).unwrap();
            area.stats().live as u64
        };
        // The run queues are in both.
        assert_eq!(live(&many) - live(&one), 41 * L2::<K>::group_bytes(cpus as usize));
    }
    kernel::<V6_14>();
    kernel::<V7_2>();
    kernel::<Reorder>();
}
