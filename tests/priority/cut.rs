//! Every operation cut in two before each of its accesses, with another one in between: what two
//! CPUs can do to each other, without leaving it to luck.

use crate::common::alone;
use crate::history::{Paths, Question};
use crate::{claimed, each_layout, level, mask};
use corelocal::priority::Layout;
use corelocal::priority::observed::{Access, Observed, observe};
use corelocal::{CpuId, CpuMask, Priority, PriorityVec};
use std::cell::RefCell;
use std::sync::Arc;

/// What happens before an access, and before which one.
type Cut = (usize, Box<dyn FnOnce()>);

thread_local! {
    static CUT: RefCell<Option<Cut>> = const { RefCell::new(None) };
}

fn before_each_access(_: Access) {
    let job = CUT.with_borrow_mut(|cut| match cut {
        Some((0, _)) => cut.take().map(|(_, job)| job),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    });
    if let Some(job) = job {
        let observer = observe(None);
        job();
        observe(observer);
    }
}

/// Runs `whole`, and `job` before its access number `at`; says whether there was one.
fn cut<R>(at: usize, job: impl FnOnce() + 'static, whole: impl FnOnce() -> R) -> (R, bool) {
    CUT.set(Some((at, Box::new(job))));
    let before = observe(Some(before_each_access));
    let result = whole();
    observe(before);
    (result, CUT.take().is_none())
}

const LEVELS: usize = 5;
type Observable<L> = PriorityVec<L, LEVELS, Observed>;

fn levels() -> impl Iterator<Item = Priority> + Clone {
    [Priority::INVALID].into_iter().chain((0..LEVELS as u8).map(level))
}

/// CPU 0 moves `from` one level `to` another, CPU 1 stays, CPU 2 is low and forbidden.
#[derive(Clone, Copy, Debug)]
struct Scene {
    from: Priority,
    to: Priority,
    stays: Priority,
    asked: Priority,
}

impl Scene {
    fn each(mut play: impl FnMut(Self)) {
        for from in levels() {
            for to in levels() {
                for stays in [Priority::INVALID, level(2)] {
                    for asked in [level(1), level(2), level(4)] {
                        play(Self { from, to, stays, asked });
                    }
                }
            }
        }
    }

    fn paths(&self) -> Paths {
        let paths = [vec![self.from, self.to], vec![self.stays], vec![level(0)]];
        (0..).map(CpuId::new).zip(paths).collect()
    }
}

fn search<L: Layout>(vector: &Observable<L>, scene: &Scene) -> Result<(), String> {
    let allowed = mask("0-1,9");
    let asked = scene.asked;
    let question =
        Question { priority: asked, allowed: &allowed, sees_fallers: L::NAME == "ByCpu" };
    let mut found = mask("3");
    let at = vector.find(asked, &allowed, &mut found);
    if let Some(fault) = question.fault_of_all(&scene.paths(), at, &found) {
        return Err(format!("find: {fault}"));
    }
    let one = vector.find_any(asked, &allowed, CpuId::new(1));
    if let Some(fault) = question.fault_of_one(&scene.paths(), one) {
        return Err(format!("find_any: {fault}"));
    }
    let fits = mask("1");
    let at = vector.find_fit(asked, &allowed, &fits, &mut found);
    match question.fault_of_one(&scene.paths(), found.first().zip(at)) {
        // It may prefer CPU 1 to a lower one.
        Some(fault) if at != Some(scene.stays) => Err(format!("find_fit: {fault}")),
        _ if at.is_none() != found.is_empty() => Err("find_fit: CPUs without a level".into()),
        _ => Ok(()),
    }
}

/// K2, <https://github.com/torvalds/linux/blob/master/kernel/sched/cpupri.c>: the level that was
/// counted is empty when its mask is read, because its last CPU went to another level in between.
#[test]
fn a_level_that_empties_under_a_search_gives_nobody_who_is_not_there() {
    each_layout!(L => {
        Scene::each(|scene| {
            for at in 0.. {
                let (vector, mut slots) = claimed::<L, LEVELS, Observed>(&[0, 1, 2]);
                slots[0].set(scene.from).unwrap();
                slots[1].set(scene.stays).unwrap();
                slots[2].set(level(0)).unwrap();
                let mut mover = slots.remove(0);
                let job = move || {
                    mover.set(scene.to).unwrap();
                    std::mem::forget(mover); // It stays there.
                };
                let (result, was_cut) = cut(at, job, || search(&vector, &scene));
                if let Err(fault) = result {
                    panic!("{scene:?}, moved before access {at}: {fault}");
                }
                if !was_cut {
                    break;
                }
            }
        });
    });
}

/// K2, K6, from the other side: whoever searches in the middle of a change sees one of the two levels.
#[test]
fn a_search_in_the_middle_of_a_change_misses_nobody_who_rises() {
    each_layout!(L => {
        Scene::each(|scene| {
            for at in 0.. {
                let (vector, mut slots) = claimed::<L, LEVELS, Observed>(&[0, 1, 2]);
                slots[0].set(scene.from).unwrap();
                slots[1].set(scene.stays).unwrap();
                slots[2].set(level(0)).unwrap();
                let searched = Arc::clone(&vector);
                let job = move || {
                    if let Err(fault) = search(&searched, &scene) {
                        panic!("{scene:?}, searched before access {at}: {fault}");
                    }
                };
                let ((), was_cut) = cut(at, job, || slots[0].set(scene.to).unwrap());
                if !was_cut {
                    break;
                }
            }
        });
    });
}

/// K4, <https://lkml.org/lkml/2008/11/3/297>: a lock a level. A thread that stops in the middle of a
/// change would keep everybody waiting who comes to its levels; here all get through.
#[test]
fn a_writer_that_stops_anywhere_keeps_nobody_waiting() {
    // In a process of its own: with a lock it would hang, and is killed.
    alone("cut::a_writer_that_stops_anywhere_keeps_nobody_waiting", stop_anywhere);
}

fn stop_anywhere() {
    each_layout!(L => {
        let (from, to) = (level(3), level(1));
        for at in 0.. {
            let (vector, mut slots) = claimed::<L, LEVELS, Observed>(&[0, 1, 64, 65]);
            for slot in &mut slots {
                slot.set(from).unwrap();
            }
            let mut stopped = slots.remove(0);
            let others = Arc::clone(&vector);
            let job = move || {
                for _ in 0..3 {
                    for slot in &mut slots {
                        slot.set(to).unwrap();
                        slot.set(from).unwrap();
                        slot.set(to).unwrap();
                    }
                    let mut found = CpuMask::new();
                    assert_eq!(others.find(level(4), &mask("1-99"), &mut found), Some(to));
                    assert_eq!(found, mask("1,64-65"));
                    assert!(others.find_any(level(4), &mask("0-99"), CpuId::new(0)).is_some());
                    assert!((3..=4).contains(&others.count(to)));
                }
                drop(slots.pop());
                let again = PriorityVec::claim(Arc::clone(&others), CpuId::new(65)).unwrap();
                std::mem::forget((slots, again));
            };
            let ((), was_cut) = cut(at, job, || stopped.set(to).unwrap());
            if !was_cut {
                break;
            }
            let counts = [vector.count(to), vector.count(from), vector.count(Priority::INVALID)];
            assert_eq!(counts, [3, 0, 1], "stopped before access {at}");
            let mut found = CpuMask::new();
            assert_eq!(vector.find(level(4), &mask("0-99"), &mut found), Some(to));
            assert_eq!(found, mask("0-1,64"), "stopped before access {at}");
        }
    });
}
