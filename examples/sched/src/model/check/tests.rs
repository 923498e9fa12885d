//! Each invariant is broken on purpose, and the check must say which.

#![allow(unsafe_code, reason = "links are bent")]

use super::*;
use crate::layout::{CoEnt, L0, L2, L3, Order, Plan, Rqs, Se};
use crate::link::Link;
use crate::model::{CLOCK_STANDS, Groups, THROTTLED, Throttle, init, leaf};
use crate::structs::v7_2::{self, V7_2};
use crate::structs::v7_3::{self, V7_3};
use crate::structs::{SchedStatistics, TaskGroup, v6_14::V6_14};
use crate::tree::Tree;
use bytemuck::allocation::zeroed_box;
use corelocal::colocated::Part;
use corelocal::{AllocError, Area, Field};
use std::sync::OnceLock;

const CPUS: u32 = 2;

/// A model without load of the groups 1, 2 below 1, 3 below 1, 4, 5 below 4, 6 below 4; nothing is
/// checked.
fn unchecked<L: Layout>() -> Model<L> {
    let machine = Area::global().lanes() as u32 - 1;
    let area = Area::builder().cpus(machine.max(CPUS)).build().unwrap();
    let tree = Tree::regular(2, 2).unwrap();
    let mut model = Model::allocate(&tree, CPUS, Order::Allocation, &area, 1).unwrap();
    model.accounts = true;
    init::init_idle(&model, &tree);
    model
}

/// A guard of no thread: no group of these tests is ever released, so references may be as old as
/// the model.
fn no_guard() -> &'static Guard {
    // SAFETY:
    // * nothing is retired while it is used.
    unsafe { epoch::unprotected() }
}

/// Points `link` elsewhere.
fn bend<T>(link: &Link<T>, to: &T) {
    // SAFETY:
    // * both ends are of one model, which drops none of its parts before all of them.
    unsafe { link.set(Some(to)) };
}

/// Group `index`'s queue on `cpu`.
fn cfs<L: Layout>(model: &Model<L>, index: usize, cpu: u32) -> &crate::layout::Cfs<L> {
    L::tg_cfs_rq(model.groups().get(index, no_guard()).unwrap(), CpuId::new(cpu)).plain()
}

fn se<L: Layout>(model: &Model<L>, index: usize, cpu: u32) -> &Se<L> {
    L::tg_se(model.groups().get(index, no_guard()).unwrap(), CpuId::new(cpu)).unwrap().plain()
}

fn tg<L: Layout>(model: &Model<L>, index: usize) -> &Tg<L> {
    model.groups().get(index, no_guard()).unwrap()
}

/// Breaks a model in each of three layouts and expects the check to say `what`.
macro_rules! plant {
    ($name:ident, $what:literal, |$model:ident| $break:block) => {
        #[test]
        fn $name() {
            fn case<L: Layout>() {
                let $model = &unchecked::<L>();
                check($model).unwrap();
                $break
                let said = check($model).unwrap_err();
                assert!(said.contains($what), "{said}");
            }
            case::<L0<V6_14>>();
            case::<L2<V7_3>>();
            case::<L3>();
        }
    };
}

plant!(a_queue_of_another_group_is_found, "(c) the queue's group", |model| {
    cfs(model, 2, 1).tg().set(3);
});
plant!(a_queue_of_another_cpu_is_found, "(c) the queue's CPU", |model| {
    cfs(model, 2, 1).rq().set(cfs(model, 2, 0).rq().get());
});
plant!(an_entity_that_owns_another_queue_is_found, "(c) the entity owns", |model| {
    bend(se(model, 2, 1).my_q(), cfs(model, 3, 1));
});
plant!(an_entity_that_owns_nothing_is_found, "(c) the entity owns", |model| {
    se(model, 2, 1).my_q().clear();
});
plant!(an_entity_with_another_parent_is_found, "(f) the entity's parent", |model| {
    bend(se(model, 2, 1).parent(), se(model, 1, 0));
});
plant!(an_entity_below_the_root_with_a_parent_is_found, "(f) the entity's parent", |model| {
    bend(se(model, 1, 0).parent(), se(model, 4, 0));
});
plant!(a_wrong_depth_is_found, "(f) the depth", |model| {
    se(model, 2, 0).depth().set(0);
});
plant!(an_entity_in_another_queue_is_found, "(f) the entity waits", |model| {
    bend(se(model, 2, 0).cfs_rq(), cfs(model, 4, 0));
});
plant!(a_group_that_is_no_child_is_found, "is no child", |model| {
    tg(model, 1).links.child.set(tg(model, 2).links.sibling.get());
});
plant!(a_child_of_another_is_found, "is not its parent", |model| {
    tg(model, 2).links.parent.set(4);
});
plant!(a_throttle_that_is_not_counted_is_found, "throttle count", |model| {
    cfs(model, 1, 0).throttled().set(THROTTLED);
});
plant!(a_child_that_is_less_throttled_is_found, "a throttled parent", |model| {
    cfs(model, 1, 0).throttle_count().set(1);
});
plant!(a_clock_that_stands_for_nothing_is_found, "its clock stands", |model| {
    cfs(model, 5, 1).throttled().set(CLOCK_STANDS);
});
plant!(a_count_of_entities_is_found, "its weight is not the sum", |model| {
    cfs(model, 0, 1).nr_queued().set(1);
});
plant!(a_weight_without_entities_is_found, "its weight is not the sum", |model| {
    cfs(model, 0, 1).load().weight.set(1 << 20);
});
plant!(an_entity_that_is_queued_for_nothing_is_found, "its entity is queued", |model| {
    se(model, 2, 0).on_rq().set(1);
});
plant!(a_group_that_is_idle_on_one_cpu_is_found, "idle on some", |model| {
    cfs(model, 2, 0).idle().set(1);
});
plant!(a_report_that_is_lost_is_found, "its load is not what", |model| {
    cfs(model, 2, 0).tg_load_avg_contrib().set(7);
});
plant!(a_queue_that_is_marked_but_not_listed_is_found, "marked but not there", |model| {
    cfs(model, 2, 0).on_list().set(1);
});
plant!(a_queue_that_is_listed_but_not_marked_is_found, "is not marked", |model| {
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 2, 0));
    cfs(model, 2, 0).on_list().set(0);
});
plant!(a_parent_before_its_child_is_found, "stands behind its parent", |model| {
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 1, 0));
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 2, 0));
});
plant!(a_list_that_is_not_linked_back_is_found, "points back elsewhere", |model| {
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 2, 0));
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 1, 0));
    cfs(model, 1, 0).leaf_cfs_rq_list().prev.clear();
});
plant!(a_list_with_a_cycle_is_found, "points back elsewhere", |model| {
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 2, 0));
    bend(&cfs(model, 2, 0).leaf_cfs_rq_list().next, cfs(model, 2, 0));
});
plant!(an_end_that_is_elsewhere_is_found, "its end is elsewhere", |model| {
    leaf::push_back(model.rq(CpuId::new(0)), cfs(model, 2, 0));
    model.rq(CpuId::new(0)).leaf.prev.clear();
});
plant!(a_branch_that_is_left_open_is_found, "a branch is open", |model| {
    let cpu = CpuId::new(0);
    leaf::add(model, no_guard(), model.rq(cpu), tg(model, 2), cfs(model, 2, 0), cpu);
});

/// One task in group 2, counted by hand as it must be.
fn with_a_task<L: Layout>(model: &Model<L>) {
    let cpu = CpuId::new(0);
    for (index, weight) in [(2, 1 << 20), (1, 1 << 20), (0, 1 << 20)] {
        let queue = cfs(model, index, 0);
        queue.nr_queued().set(1);
        queue.load().weight.set(weight);
        queue.h_nr_queued().set(1);
        queue.h_nr_runnable().set(1);
        leaf::push_back(model.rq(cpu), queue);
    }
    se(model, 2, 0).on_rq().set(1);
    se(model, 1, 0).on_rq().set(1);
}

/// The same with that task.
macro_rules! plant_beside_a_task {
    ($name:ident, $what:literal, |$model:ident| $break:block) => {
        plant!($name, $what, |model| {
            with_a_task(model);
            check(model).unwrap();
            let $model = model;
            $break
        });
    };
}

plant_beside_a_task!(h_nr_queued_that_is_too_large_is_found, "h_nr_queued", |model| {
    cfs(model, 0, 0).h_nr_queued().set(2);
});
plant_beside_a_task!(h_nr_runnable_that_is_too_small_is_found, "h_nr_runnable", |model| {
    cfs(model, 0, 0).h_nr_runnable().set(0);
});
plant_beside_a_task!(h_nr_idle_that_is_too_large_is_found, "h_nr_idle", |model| {
    cfs(model, 0, 0).h_nr_idle().set(1);
});
plant_beside_a_task!(a_weight_that_is_too_large_is_found, "its weight is not", |model| {
    cfs(model, 1, 0).load().weight.add(1);
});
plant_beside_a_task!(a_weight_that_is_too_small_is_found, "weigh more", |model| {
    cfs(model, 1, 0).load().weight.set(1);
});
plant_beside_a_task!(more_groups_than_entities_are_found, "its entity is queued", |model| {
    cfs(model, 1, 0).nr_queued().set(0);
});
plant_beside_a_task!(more_groups_at_the_root_are_found, "more groups", |model| {
    cfs(model, 0, 0).nr_queued().set(0);
});
plant_beside_a_task!(a_busy_queue_off_the_list_is_found, "is on no leaf list", |model| {
    leaf::remove(model.rq(CpuId::new(0)), cfs(model, 2, 0));
});

#[test]
fn a_runnable_average_that_is_lost_is_found() {
    let model = &unchecked::<L2<V7_3>>();
    let contrib = crate::structs::LaterFields::tg_runnable_avg_contrib(cfs(model, 2, 0));
    contrib.unwrap().set(7);
    assert!(check(model).unwrap_err().contains("its runnable average is not"));
}

#[test]
fn a_queue_that_a_throttle_took_off_the_list_is_none_that_is_lost() {
    for (throttle, holds) in [(Throttle::Removes, true), (Throttle::Defers, false)] {
        let model = &unchecked::<L2<V7_3>>().with_throttle(throttle);
        with_a_task(model);
        for index in [0, 1, 2] {
            leaf::remove(model.rq(CpuId::new(0)), cfs(model, index, 0));
        }
        for index in 0..7 {
            cfs(model, index, 0).throttle_count().set(1);
        }
        assert_eq!(check(model).is_ok(), holds);
    }
}

/// A layout that goes astray in one place.
#[derive(Debug)]
struct Astray<const FAULT: char>;

/// State of no group.
fn stray() -> &'static v7_2::CfsTgState {
    static STRAY: OnceLock<Box<v7_2::CfsTgState>> = OnceLock::new();
    STRAY.get_or_init(zeroed_box)
}

impl<const FAULT: char> Layout for Astray<FAULT> {
    type K = V7_2;
    type Refs = <L2<V7_2> as Layout>::Refs;
    type Cfs<'g> = <L2<V7_2> as Layout>::Cfs<'g>;
    type Ent<'g> = CoEnt<'g, V7_2>;
    const NAME: &'static str = "astray";

    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<V7_2>) -> Result<Vec<Self::Refs>, AllocError> {
        // SAFETY:
        // * what the caller promises.
        unsafe { L2::<V7_2>::allocate(plan, rqs) }
    }

    fn tg_cfs_rq(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Self::Cfs<'_> {
        L2::<V7_2>::tg_cfs_rq(tg, cpu)
    }

    fn tg_se(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Option<Self::Ent<'_>> {
        let right = L2::<V7_2>::tg_se(tg, cpu);
        if FAULT == 'a' { right.or_else(|| Some(Part::new(stray()))) } else { right }
    }

    fn cfs_rq_se<'g>(
        groups: &'g Groups<Self>,
        guard: &'g Guard,
        cfs: Self::Cfs<'g>,
        cpu: CpuId,
    ) -> Option<Self::Ent<'g>> {
        let right = L2::<V7_2>::tg_se(groups.get(cfs.plain().tg().get() as usize, guard)?, cpu);
        match (FAULT, right) {
            ('A', None) | ('b', Some(_)) => Some(Part::new(stray())),
            (_, right) => right,
        }
    }

    fn stats_of<'g>(ent: Self::Ent<'g>) -> &'g SchedStatistics {
        if FAULT == 'e' { &stray().stats } else { L2::<V7_2>::stats_of(ent) }
    }

    fn tg_stats(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Option<&SchedStatistics> {
        let right = L2::<V7_2>::tg_stats(tg, cpu);
        if FAULT == 'E' { right.or(Some(&stray().stats)) } else { right }
    }

    fn pieces(tg: &TaskGroup<Self::Refs>) -> Vec<crate::layout::Piece> {
        L2::<V7_2>::pieces(tg)
    }

    fn group_bytes(cpus: usize) -> u64 {
        L2::<V7_2>::group_bytes(cpus)
    }
}

#[test]
fn accessors_that_go_astray_are_found() {
    fn said<const FAULT: char>() -> String {
        check(&unchecked::<Astray<FAULT>>()).err().unwrap_or_default()
    }
    assert_eq!(said::<' '>(), "");
    assert!(said::<'a'>().contains("(a) the root has an entity"));
    assert!(said::<'A'>().contains("(a) the root's queue has an entity"));
    assert!(said::<'b'>().contains("(b) group and queue lead"));
    assert!(said::<'e'>().contains("(e) entity and group lead"));
    assert!(said::<'E'>().contains("the root has statistics"));
}

/// A co-located object whose entity comes first.
#[repr(C)]
#[derive(Debug)]
struct EntityFirst {
    se: v7_3::SchedEntity,
    cfs_rq: v7_3::CfsRq,
    stats: SchedStatistics,
}

// SAFETY:
// * all three are `Zeroable`; padding may hold anything.
unsafe impl bytemuck::Zeroable for EntityFirst {}

impl HasPart<0> for EntityFirst {
    type Part = v7_3::CfsRq;
    const PART: Field<Self, v7_3::CfsRq> = corelocal::field!(EntityFirst, cfs_rq);
}

impl HasPart<1> for EntityFirst {
    type Part = v7_3::SchedEntity;
    const PART: Field<Self, v7_3::SchedEntity> = corelocal::field!(EntityFirst, se);
}

impl HasPart<2> for EntityFirst {
    type Part = SchedStatistics;
    const PART: Field<Self, SchedStatistics> = corelocal::field!(EntityFirst, stats);
}

#[derive(Debug)]
enum Reversed {}

impl Kernel for Reversed {
    const NAME: &'static str = "reversed";
    type CfsRq = v7_3::CfsRq;
    type Se = v7_3::SchedEntity;
    type State = EntityFirst;
}

#[test]
fn a_queue_that_is_not_at_the_beginning_is_found() {
    let said = check(&unchecked::<L2<Reversed>>()).unwrap_err();
    assert!(said.contains("(d) the queue is not at the beginning"), "{said}");
}
