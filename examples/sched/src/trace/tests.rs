//! The lists against lines counted by hand, the caches against arithmetic, the table against a
//! file.

use super::*;
use crate::layout::Held;
use crate::report::caches;
use crate::structs::operations::{KERNELS, Maps, OPERATIONS};
use corelocal::{CACHE_LINE, CpuId};
use std::collections::BTreeSet;

fn config(machine: &str) -> Config {
    let machine = Params::parse(machine).unwrap();
    let least_lanes = Area::global().lanes() as u32 - 1;
    Config { machine, kernels: Kernels::Both, least_lanes, seed: 1 }
}

/// Two cores with small caches, which even a small tree overflows.
const SMALL: &str = "cores 2\nl1 512 2\nl2 2K 4\nshared 8K 4";

fn small(width: u64, depth: u64) -> Vec<Row> {
    let tree = Tree::regular(width, depth).unwrap();
    trace(&config(SMALL), &tree, |_| ()).unwrap()
}

#[test]
fn the_machine_in_the_repository_is_read() {
    let machine = Params::parse(MACHINE).unwrap();
    assert_eq!((machine.cores, machine.l1.line()), (64, 64));
    let sizes = [machine.l1, machine.l2, machine.shared].map(|level| level.size() >> 10);
    assert_eq!(sizes, [32, 1024, 32 << 10]);
}

/// Lines of state, of all 40 groups' visits together: of the root, which has no entity and no
/// parent, and of each of the 39 others.
#[test]
fn each_visit_uses_the_lines_that_were_counted_by_hand() {
    if CACHE_LINE != 64 {
        return;
    }
    // Own queue, entity, parent's queue: 6 + 4 + 6 lines of 6.14, 5 + 2 + 5 in the RFC's order,
    // 6 + 5 + 6 of 7.2. L0 reads the queue's group to find the entity, on one line more; it is the
    // line of `tg`, which the root's visit reads too.
    let blocked = [("L0", 7, 17), ("L1b", 6, 16), ("L2", 6, 16), ("L3", 5, 12), ("L3x", 5, 12)];
    let blocked_7_2 = [("L0", 7, 18), ("L1b", 6, 17), ("L2", 6, 17)];
    // What is switched off with a CPU: `tg`, `runtime_enabled`, `runtime_remaining`, `throttled`.
    // The RFC has the first two on a line for all walks, and the others on two; with one exchange of
    // fields the last is on the first line.
    let offline = [("L0", 2, 2), ("L1b", 2, 2), ("L2", 2, 2), ("L3", 3, 3), ("L3x", 2, 2)];
    let rows = small(3, 3);
    let check = |structs, operation, layout, root: u64, other: u64| {
        let is_asked =
            |row: &&Row| (row.structs, row.operation, row.layout) == (structs, operation, layout);
        let found: Vec<&Row> = rows.iter().filter(is_asked).collect();
        assert!(found.len() >= 3, "{structs} {layout}");
        for row in found {
            let lines = (row.lines.state * 40.0).round() as u64;
            assert_eq!(lines, root + 39 * other, "{structs} {operation:?} {layout}");
        }
    };
    for (layout, root, other) in blocked {
        check("6.14", Operation::Blocked, layout, root, other);
    }
    for (layout, root, other) in blocked_7_2 {
        check("7.2", Operation::Blocked, layout, root, other);
    }
    for (layout, root, other) in offline {
        check("6.14", Operation::CpuWalk, layout, root, other);
    }
}

/// The walks are what the kernel's functions are taken to do: of the group's own queue and entity
/// they use the lines of the operation's set; a decay leaves out the list and the group, which the
/// kernel's looks at as well.
#[test]
fn a_walk_uses_the_lines_of_the_kernels_operation() {
    fn own<K: Kernel>(operation: Operation) -> BTreeSet<usize> {
        let Config { least_lanes, .. } = config(SMALL);
        let area = Area::builder().cpus(least_lanes).build().unwrap();
        let tree = Tree::regular(1, 1).unwrap();
        let model = Model::<L2<K>>::build(&tree, 1, Order::Allocation, &area).unwrap();
        let (guard, cpu) = (&epoch::pin(), CpuId::new(0));
        let queue = L2::tg_cfs_rq(model.groups().get(1, guard).unwrap(), cpu).plain();
        let start = std::ptr::from_ref(queue).addr();
        if operation == Operation::Unthrottle {
            walk(&model, guard, Operation::Throttle, cpu, false);
        }
        let (_, log) = record(|| walk(&model, guard, operation, cpu, false));
        let touches = log.touches.iter().map(|&(at, _)| at.wrapping_sub(start));
        touches.filter(|at| *at < size_of::<K::State>()).map(|at| at / 64).collect()
    }
    fn of(maps: &Maps, name: &str) -> BTreeSet<usize> {
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).unwrap();
        let entity = maps.cfs_rq.size() / 64;
        let queue = maps.cfs_rq.lines_of_access(&operation.cfs_rq).iter();
        queue
            .chain(maps.se.lines_of_access(&operation.se).iter().map(|line| entity + line))
            .collect()
    }
    fn kernel<K: Kernel>(without: &[usize]) {
        let maps = KERNELS.iter().find(|maps| maps.name == K::NAME).unwrap();
        assert_eq!(own::<K>(Operation::Throttle), of(maps, "throttle_down_first"), "{}", K::NAME);
        assert_eq!(own::<K>(Operation::Unthrottle), of(maps, "unthrottle_up_last"), "{}", K::NAME);
        let mut decay = of(maps, "blocked_own");
        assert!(without.iter().all(|line| decay.remove(line)));
        assert_eq!(own::<K>(Operation::Blocked), decay, "{}", K::NAME);
    }
    kernel::<Recording<V6_14>>(&[5]);
    kernel::<Recording<Reorder>>(&[1]);
    kernel::<Recording<V7_2>>(&[5]);
}

/// What is found beside the state: in L2 an entry of the table and a line of the group, in L1b the
/// array besides, in L0 for the entity the entry and the group again and another array.
#[test]
fn each_layout_pays_for_its_references() {
    if CACHE_LINE != 64 {
        return;
    }
    // Sixteen pointers are two lines, so that two arrays are not on one.
    let rows = trace(&config("cores 16"), &Tree::regular(3, 3).unwrap(), |_| ()).unwrap();
    let around = |layout, operation| {
        let row = rows.iter().find(|row| (row.layout, row.operation) == (layout, operation));
        row.unwrap().lines.around
    };
    for (layout, walk, blocked) in [("L2", 2.0, 3.0), ("L1b", 3.0, 4.0), ("L0", 3.0, 4.975)] {
        assert_eq!(around(layout, Operation::CpuWalk), walk, "{layout}");
        // The run queue's clocks are one line more; the root has no entity to find.
        assert!((around(layout, Operation::Blocked) - blocked).abs() < 0.05, "{layout}");
    }
}

#[test]
fn the_figures_are_the_same_every_time() {
    let text = |rows: &[Row]| format!("{rows:?}");
    // The heap and the area lie elsewhere the second time.
    let first = small(3, 2);
    let _hole = vec![vec![0_u8; 5000]; 100];
    assert_eq!(text(&small(3, 2)), text(&first));
}

/// What is listed is a round that comes again and again, on every CPU: a leaf list that was never
/// taken apart has another order than one that was.
#[test]
fn the_listed_round_is_the_one_that_comes_again() {
    let Config { least_lanes, .. } = config(SMALL);
    let area = Area::builder().cpus(least_lanes.max(2)).build().unwrap();
    let tree = Tree::regular(3, 3).unwrap();
    let model = Model::<L2<Recording<V7_2>>>::build(&tree, 2, Order::Allocation, &area).unwrap();
    let places = Places::new(&model, Order::Allocation);
    for cycle in CYCLES {
        let first = listed(&model, &places, cycle, 64);
        assert_eq!(listed(&model, &places, cycle, 64), first);
    }
    let covered = CYCLES.concat();
    assert_eq!(covered, Operation::ALL);
}

/// 1110 groups and one core: at 16 lines a step, line `i` of the objects has 64 of 1024 sets, or in
/// pages anywhere the 16 that its place in a page allows: 17 objects in 16 ways. An odd step takes
/// all sets.
#[test]
fn steps_of_an_even_number_of_lines_miss_where_odd_ones_do_not() {
    let tree = Tree::regular(10, 3).unwrap();
    let config = config("cores 1");
    let mut setting =
        Setting { config: &config, tree: &tree, order: Order::Allocation, rows: Vec::new() };
    setting.trace::<L2<Recording<V6_14>>>("6.14", Some(16)).unwrap();
    setting.trace::<L2<Recording<V6_14>>>("6.14", Some(17)).unwrap();
    setting.trace::<L2<Recording<Reorder, Line>>>("6.14", Some(16)).unwrap();
    setting.trace::<L2<Recording<Reorder>>>("6.14", Some(15)).unwrap();
    let warm = |layout: &str, step, operation| {
        let is_asked = |row: &&Row| {
            (row.layout, row.step, row.operation) == (layout, Some(step), operation)
                && row.pages == Pages::Scattered
        };
        setting.rows.iter().find(is_asked).unwrap().warm.l2
    };
    for operation in [Operation::Blocked, Operation::Throttle, Operation::Unthrottle] {
        for (layout, even, odd) in [("L2", 16, 17), ("L3", 16, 15)] {
            let (even, odd) = (warm(layout, even, operation), warm(layout, odd, operation));
            assert!(even > 1.0 && even > 3.0 * odd, "{layout} {operation:?}: {even}, {odd}");
        }
        // And fields in the RFC's order miss less than the others at either kind of step.
        assert!(warm("L3", 15, operation) < warm("L2", 17, operation), "{operation:?}");
        assert!(warm("L3", 16, operation) < warm("L2", 16, operation), "{operation:?}");
    }
}

/// A warm walk over what fits misses nothing; a swept one misses each line once in the private
/// levels, and in the last level nothing.
#[test]
fn what_fits_is_found_where_it_was_left() {
    let tree = Tree::regular(3, 1).unwrap();
    for row in trace(&config("cores 2"), &tree, |_| ()).unwrap() {
        let name = format!("{} {:?} {}", row.layout, row.operation, row.pages.name());
        assert_eq!(row.warm, Misses::default(), "{name}");
        assert_eq!((row.swept.l1, row.swept.shared), (row.swept.l2, 0.0), "{name}");
        assert!(row.swept.l1 > 1.0, "{name}");
    }
}

/// The whole text, of a machine whose caches are too small for anything. Run with `PASTE=1` to write
/// the file anew.
#[test]
fn the_table_is_the_one_in_the_folder() {
    if CACHE_LINE != 64 {
        return;
    }
    let mut text = Vec::new();
    let config = Config { kernels: Kernels::V6_14, ..config(SMALL) };
    let rows = trace(&config, &Tree::regular(3, 2).unwrap(), |_| ()).unwrap();
    caches(&config, &rows, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/caches.txt");
    if std::env::var_os("PASTE").is_some() {
        std::fs::write(file, &text).unwrap();
        return;
    }
    let there = std::fs::read_to_string(file).expect("the table is there");
    assert!(text == there, "{file} differs from\n{text}");
}
