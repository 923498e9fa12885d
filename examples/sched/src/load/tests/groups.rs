//! Groups are created, come online, and are released, memory and load included.

use super::*;
use crate::layout::Plan;
use crate::load::queue::Leaving;
use crate::model::{CreateError, JoinError, NICE_0_LOAD, ReleaseError, THROTTLED};
use crate::structs::TaskGroup;

#[test]
fn a_group_is_created_whole_or_not_at_all() {
    fn case<L: Layout>(allocations: u32) {
        const CPUS: u32 = 3;
        let area = area(CPUS);
        let tree = Tree::regular(2, 1).unwrap();
        let model = Model::<L>::build_idle(&tree, CPUS, Order::Allocation, &area, 1).unwrap();
        let before = area.stats().live;
        // Every allocation is refused once.
        for refused in 0..allocations {
            let gate = Gate::after(refused);
            let result = create_group(&model, 1, Limits::default(), &area, gate);
            assert_eq!(result, Err(CreateError::Memory(None)), "{refused}");
            assert_eq!(area.stats().live, before, "{refused}");
            assert_eq!(model.groups().iter(&epoch::pin()).count(), 3);
            check(&model).unwrap();
        }
        let gate = Gate::after(allocations);
        // The one free slot was given back each time.
        assert_eq!(create_group(&model, 1, Limits::default(), &area, gate), Ok(3));
        check(&model).unwrap();
        let result = create_group(&model, 1, Limits::default(), &area, Gate::OPEN);
        assert_eq!(result, Err(CreateError::Full));
        assert_eq!(release_group(&model, 1), Err(ReleaseError::HasChildren));
        release_group(&model, 3).unwrap();
        release_group(&model, 1).unwrap();
        let result = create_group(&model, 1, Limits::default(), &area, Gate::OPEN);
        assert_eq!(result, Err(CreateError::NoParent));
        check(&model).unwrap();
    }
    case::<L0<V6_14>>(2 + 2 * 3);
    case::<L1b<V6_14>>(1 + 3);
    case::<L2<V7_2>>(1);
    case::<L2<V7_3>>(1);
    case::<L3>(1);
}

/// The kernel's `free_fair_sched_group` took every partial state; here that is `Drop`.
#[test]
fn what_an_allocation_leaves_behind_is_what_there_was_of_it() {
    #[allow(unsafe_code, reason = "allocates as the model does")]
    fn left<L: Layout>(refused: u32) -> Option<usize> {
        const CPUS: u32 = 2;
        let area = area(CPUS);
        let rqs = area.try_alloc_zeroed().unwrap();
        let plan = Plan { groups: 1, cpus: CPUS, order: Order::Allocation, area: &area };
        // SAFETY:
        // * `rqs` outlives the group, which is dropped here.
        let refused = unsafe { L::allocate_one(&plan, &rqs, &mut Gate::after(refused)) };
        let refs = refused.unwrap_err().refs?;
        Some(L::pieces(&TaskGroup::new(refs)).len())
    }
    // Two arrays, of which one or none has entries yet, and pairs; a half of a pair is not left.
    let pairs: Vec<_> = (0..6).map(left::<L0<V6_14>>).collect();
    assert_eq!(pairs, [Some(2), Some(2), Some(2), Some(2), Some(4), Some(4)]);
    let objects: Vec<_> = (0..3).map(left::<L1b<V6_14>>).collect();
    assert_eq!(objects, [Some(1), Some(1), Some(2)]);
    assert_eq!(left::<L2<V7_2>>(0), None);
}

#[test]
fn nobody_finds_a_group_before_it_is_published() {
    fn case<L: Layout>() {
        let area = area(2);
        let model = idle::<L>(1, 1, 2, 2);
        let limits = Limits { shares: 512, quota: Some(100), period: 1000 };
        let live = area.stats().live;
        let new = model.create(1, limits, &area, Gate::OPEN).unwrap();
        let index = new.index();
        assert!(model.groups().get(index, &epoch::pin()).is_none());
        check(&model).unwrap();
        // It keeps its parent.
        assert_eq!(release_group(&model, 1), Err(ReleaseError::HasTasks));
        drop(new);
        assert_eq!(area.stats().live, live, "its memory was not given back");
        let new = model.create(1, limits, &area, Gate::OPEN).unwrap();
        assert_eq!(new.index(), index, "the slot was given back");
        let mut attached = Vec::new();
        assert_eq!(new.publish(|locked, _| attached.push(locked.cpu.index())), index);
        assert_eq!(attached, [0, 1], "every possible CPU");
        check(&model).unwrap();
        let guard = &epoch::pin();
        let tg = model.groups().get(index, guard).unwrap();
        assert_eq!(tg.shares.get(), 512 << 10);
        assert_eq!((tg.bandwidth.quota.get(), tg.bandwidth.period.get()), (100, 1000));
        for cpu in model.cpus() {
            let queue = L::tg_cfs_rq(tg, cpu).plain();
            assert_eq!((queue.runtime_enabled().get(), queue.on_list().get()), (1, 0));
        }
        // The kernel's defaults.
        let tg = model.groups().get(1, guard).unwrap();
        assert_eq!(tg.shares.get(), NICE_0_LOAD);
    }
    case::<L0<V6_14>>();
    case::<L2<V7_3>>();
}

#[test]
fn a_group_below_a_throttled_one_is_born_throttled() {
    let area = area(2);
    let model = idle::<L2<V7_2>>(1, 1, 2, 1);
    on(&model, 1, |locked| {
        let queue = locked.cfs(1).unwrap();
        queue.throttled().set(THROTTLED);
        queue.throttle_count().set(1);
        locked.stop_clock(queue);
    });
    check(&model).unwrap();
    let index = create_group(&model, 1, Limits::default(), &area, Gate::OPEN).unwrap();
    check(&model).unwrap();
    advance(&model, MS);
    let states = [0, 1].map(|cpu| {
        on(&model, cpu, |locked| {
            let queue = locked.cfs(index).unwrap();
            let stood = locked.rq.clock_pelt.get() - locked.clock_pelt(queue);
            (queue.throttle_count().get(), stood)
        })
    });
    assert_eq!(states, [(0, 0), (1, MS)]);
    on(&model, 1, |locked| {
        let queue = locked.cfs(index).unwrap();
        locked.start_clock(queue);
        assert_eq!(locked.rq.clock_pelt.get() - locked.clock_pelt(queue), MS);
        locked.advance(MS);
        assert_eq!(locked.rq.clock_pelt.get() - locked.clock_pelt(queue), MS);
    });
}

#[test]
fn a_group_with_tasks_stays_and_one_that_goes_takes_its_load_along() {
    fn case<L: Layout>() {
        let area = area(2);
        let model = idle::<L>(1, 1, 2, 1);
        let index = create_group(&model, 1, Limits::default(), &area, Gate::OPEN).unwrap();
        let task = Task::new(&model, index, CpuId::new(0), 1024).unwrap();
        on(&model, 0, |locked| enqueue_task(locked, &task));
        for _ in 0..200 {
            advance(&model, MS);
            tick(&model, core::slice::from_ref(&task));
        }
        let load = |group: usize| on(&model, 0, |l| l.cfs(group).unwrap().avg().load_avg.get());
        assert!(load(1) > 900 && load(0) > 900);
        assert_eq!(release_group(&model, index), Err(ReleaseError::HasTasks));
        on(&model, 0, |locked| dequeue_task(locked, &task, Leaving::Sleep));
        assert_eq!(release_group(&model, index), Err(ReleaseError::HasTasks));
        drop(task);
        let before = load(1);
        release_group(&model, index).unwrap();
        check(&model).unwrap();
        assert_eq!(load(1), before, "it is removed at the next update");
        advance(&model, MS);
        on(&model, 0, update_blocked_averages);
        assert!(load(1) < before / 20, "{before} and then {}", load(1));
        assert!(load(0) < before / 20, "the root does not know: {}", load(0));
        check(&model).unwrap();
        let gone = Task::new(&model, index, CpuId::new(0), 1024).unwrap_err();
        assert_eq!(gone, JoinError::NotThere);
        assert_eq!(Task::new(&model, 1, CpuId::new(0), 1).unwrap_err(), JoinError::Weight(1));
    }
    case::<L0<V6_14>>();
    case::<L2<V7_2>>();
    case::<L2<V7_3>>();
    case::<L3>();
}

#[test]
fn a_cpu_that_goes_offline_reports_no_load() {
    fn case<L: Layout>() {
        let model = idle::<L>(1, 1, 2, 0);
        let tasks: Vec<_> =
            [0, 1].map(|cpu| Task::new(&model, 1, CpuId::new(cpu), 1024).unwrap()).into();
        for task in &tasks {
            on(&model, task.cpu().index() as u32, |locked| enqueue_task(locked, task));
        }
        for _ in 0..300 {
            advance(&model, MS);
            tick(&model, &tasks);
        }
        let reported = || model.groups().get(1, &epoch::pin()).unwrap().load_avg.0.get();
        let both = reported();
        on(&model, 1, |locked| dequeue_task(locked, &tasks[1], Leaving::Sleep));
        set_cpu_online(&model, CpuId::new(1), false);
        check(&model).unwrap();
        assert!(reported().abs_diff(both / 2) < 20, "{both} and then {}", reported());
        set_cpu_online(&model, CpuId::new(1), true);
        check(&model).unwrap();
        on(&model, 0, |locked| dequeue_task(locked, &tasks[0], Leaving::Sleep));
    }
    case::<L0<V6_14>>();
    case::<L2<V7_3>>();
}

/// One CPU, all groups; and who asks for possible CPUs is not told of online ones.
#[test]
fn a_cpu_that_goes_offline_visits_every_group_and_loses_its_limits() {
    fn case<L: Layout>() {
        let area = area(3);
        let model = idle::<L>(2, 2, 3, 2);
        let cpu = CpuId::new(1);
        let enabled = |cpu: CpuId| {
            let guard = &epoch::pin();
            let queues = model.groups().iter(guard).map(|tg| L::tg_cfs_rq(tg, cpu).plain());
            queues.map(|queue| queue.runtime_enabled().get()).sum::<i32>()
        };
        assert_eq!(enabled(cpu), 4, "the leaves have quotas");
        let mut visited = Vec::new();
        model.set_online(cpu, false, |locked, tg| {
            assert_eq!(locked.cpu, cpu);
            visited.push(L::tg_cfs_rq(tg, cpu).plain().tg().get());
        });
        assert_eq!(visited, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!((enabled(cpu), enabled(CpuId::new(0))), (0, 4));
        let online: Vec<_> = model.online_cpus().map(CpuId::index).collect();
        assert_eq!(online, [0, 2]);
        assert_eq!(model.cpus().count(), 3);
        // A group that comes meanwhile has state on the CPU that is away.
        let index = create_group(&model, 4, Limits::default(), &area, Gate::OPEN).unwrap();
        release_group(&model, 2).unwrap();
        check(&model).unwrap();
        let mut visited = Vec::new();
        model.set_online(cpu, true, |_, tg| {
            visited.push(L::tg_cfs_rq(tg, cpu).plain().tg().get() as usize);
        });
        assert_eq!(visited, [0, 1, 3, 4, 5, 6, index]);
        assert_eq!(enabled(cpu), 3);
        assert!(model.is_online(cpu));
    }
    case::<L0<V6_14>>();
    case::<L1b<V6_14>>();
    case::<L2<V7_3>>();
    case::<L3>();
}
