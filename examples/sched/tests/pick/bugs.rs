//! Faults of the kernel's flat pick that were found in public, each as a test that the wrong line
//! fails.

use crate::wrong::{RequeueFirst, ThroughHCurr};
use sched::pick::entity::{NICE_0, SLICE};
use sched::pick::policy::CgroupMode;
use sched::pick::rules::{Rules, Sound};
use sched::pick::{Features, Flat, Groups, Picker, ROOT, World};

/// Two tasks in a group, queued; the first is set running.
fn two_in_a_group<R: Rules>() -> (Flat<R>, World, [u32; 2]) {
    let mut groups = Groups::new(CgroupMode::Up, 1);
    let group = groups.add(ROOT, NICE_0);
    let mut world = World::new(groups);
    let tasks = [(); 2].map(|()| world.add_task(group, NICE_0, None));
    let mut flat = Flat::<R>::new(2, Features::default());
    tasks.iter().for_each(|&task| flat.enqueue(0, task, &mut world));
    assert_eq!(flat.pick(0, &mut world), Some(tasks[0]));
    (flat, world, tasks)
}

/// Who a pick chooses after the first has run for a slice without a tick: the pick itself must
/// charge the running task, and the root queue's `h_curr` is not that task but its group.
fn after_a_slice<R: Rules>() -> bool {
    let (mut flat, mut world, tasks) = two_in_a_group::<R>();
    flat.pick(2 * SLICE, &mut world) == Some(tasks[1])
}

#[test]
fn a_pick_charges_the_running_task_though_the_root_sees_only_its_group() {
    assert!(after_a_slice::<Sound>());
    assert!(!after_a_slice::<ThroughHCurr>(), "the wrong line was not noticed");
}

/// What the first task is owed when it wakes after its delay while the other one ran on: the wait
/// has paid for what it had too much, and what it would be owed beyond is forfeit.
fn owed_after_delay<R: Rules>() -> i64 {
    let (mut flat, mut world, tasks) = two_in_a_group::<R>();
    let gone = flat.dequeue(SLICE, tasks[0], true, &mut world);
    assert!(!gone, "it has had more than its part, so it stays");
    assert_eq!(flat.pick(SLICE, &mut world), Some(tasks[1]));
    // Nothing charges the second before the first wakes.
    let now = 6 * SLICE;
    flat.enqueue(now, tasks[0], &mut world);
    flat.tick(now, &mut world);
    let of = |&slot: &u32| flat.queue().who(slot) == sched::pick::queue::Who::Task(tasks[0]);
    let slot = flat.queue().slots().find(of).expect("it is queued");
    flat.queue().average() - flat.queue().entity(slot).vruntime
}

#[test]
fn a_delayed_task_is_put_back_after_the_running_one_was_charged() {
    assert!(owed_after_delay::<Sound>() <= 1, "{}", owed_after_delay::<Sound>());
    let wrong = owed_after_delay::<RequeueFirst>();
    assert!(wrong > SLICE as i64, "the wrong line was not noticed: {wrong}");
}
