//! What is made good, one thing each.

use super::*;

fn schedule(lines: &[&str]) -> Schedule {
    Schedule::of(&Recording::read(lines.join("\n").as_bytes(), 0))
}

fn on(cpu: usize, task: u32) -> Seen {
    Seen::Switch { cpu, task: Some(task), sleeps: false }
}

fn off(cpu: usize) -> Seen {
    Seen::Switch { cpu, task: None, sleeps: true }
}

fn idle(cpu: usize) -> Seen {
    Seen::Switch { cpu, task: None, sleeps: false }
}

#[test]
fn who_runs_first_ran_since_the_beginning() {
    let read = schedule(&[
        "x 1 [5] 1.0: sched_wakeup: y:2 [120] CPU:7",
        "x 1 [7] 1.000000002: sched_switch: swapper/7:0 [120] R ==> y:2 [120]",
        "x 1 [5] 1.000000009: sched_switch: x:1 [130] S ==> swapper/5:0 [120]",
    ]);
    let wake = Seen::Wake { task: 0, cpu: 1 };
    assert_eq!(read.seen, [(0, on(0, 1)), (0, wake), (2, on(1, 0)), (9, off(0))]);
    assert_eq!((read.span, read.cpus, read.by_waking), (9, 2, false));
    assert_eq!(read.repairs, Repairs::default());
    assert_eq!(read.tasks[0].weight, NICE_0);
    assert_eq!(read.tasks[1].weight, nice_weight(10));
}

#[test]
fn a_move_right_after_a_waking_is_where_the_task_woke() {
    let wake = "x 1 [0] 1.0: sched_waking: comm=y pid=2 prio=120 target_cpu=000";
    let other = "x 1 [0] 1.0: sched_waking: comm=z pid=3 prio=120 target_cpu=000";
    let moved = "x 1 [0] 1.0: sched_migrate_task: comm=y pid=2 prio=120 orig_cpu=0 dest_cpu=1";
    let woke = |task, cpu| (0, Seen::Wake { task, cpu });
    assert_eq!(schedule(&[wake, moved]).seen, [woke(0, 1)]);
    let later = (0, Seen::Migrate { task: 0, cpu: 1 });
    assert_eq!(schedule(&[wake, other, moved]).seen, [woke(0, 0), woke(1, 0), later]);
}

#[test]
fn a_waker_that_began_before_the_sleep_is_not_forgotten() {
    let lines = [
        "x 1 [0] 1.0: sched_switch: swapper/0:0 [120] R ==> y:2 [120]",
        "x 1 [1] 1.000000003: sched_waking: comm=y pid=2 prio=120 target_cpu=000",
        "x 1 [0] 1.000000004: sched_switch: y:2 [120] S ==> swapper/0:0 [120]",
        "x 1 [0] 1.000000009: sched_switch: swapper/0:0 [120] R ==> y:2 [120]",
    ];
    let read = schedule(&lines);
    let woke = (4, Seen::Wake { task: 0, cpu: 0 });
    assert_eq!(read.seen, [(0, on(0, 0)), (4, off(0)), woke, (9, on(0, 0))]);
    assert_eq!(read.repairs.unseen_wakeups, 0);
    let without = schedule(&[lines[0], lines[2], lines[3]]);
    assert_eq!((without.seen.len(), without.repairs.unseen_wakeups), (3, 1));
}

#[test]
fn real_time_tasks_are_nobodys_time_and_a_pid_can_come_back() {
    let read = schedule(&[
        "x 1 [0] 1.0: sched_switch: y:2 [120] R ==> migration/0:3 [0]",
        "x 1 [0] 1.000000005: sched_switch: migration/0:3 [0] S ==> y:2 [120]",
        "x 1 [0] 1.000000006: sched_switch: y:2 [120] X ==> swapper/0:0 [120]",
        "x 1 [0] 1.000000007: sched_wakeup_new: z:2 [120] CPU:0",
    ]);
    let woke = (7, Seen::Wake { task: 1, cpu: 0 });
    assert_eq!(
        read.seen,
        [
            (0, on(0, 0)),
            (0, idle(0)),
            (5, { Seen::Switch { cpu: 0, task: Some(0), sleeps: true } }),
            (6, off(0)),
            woke
        ]
    );
    assert_eq!((read.repairs.real_time, read.repairs.real_time_ns), (1, 5));
    assert_eq!(read.tasks.iter().map(|task| task.comm.as_str()).collect::<Vec<_>>(), ["y", "z"]);
}
