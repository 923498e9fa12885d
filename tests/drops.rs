//! Every value that was made is dropped once, and its memory comes back, whatever panics.
#![cfg(feature = "std")]
#![allow(unsafe_code, reason = "raw handles are part of what is tested")]

use corelocal::{Area, InitError, Lane, PerCpu};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

/// What happened to the values of one test: how often each lane's was made and dropped.
struct Log {
    made: RefCell<Vec<u32>>,
    dropped: RefCell<Vec<u32>>,
    /// The lane whose drop panics.
    bad_drop: Option<usize>,
}

impl Log {
    fn new(area: &Area, bad_drop: Option<usize>) -> Rc<Self> {
        let zeros = || RefCell::new(vec![0; area.lanes()]);
        Rc::new(Self { made: zeros(), dropped: zeros(), bad_drop })
    }

    fn value(self: &Rc<Self>, lane: Lane) -> Value {
        self.made.borrow_mut()[lane.index()] += 1;
        Value { log: Rc::clone(self), lane: lane.index() }
    }

    /// Asserts that `lanes` lanes, from 0 on, had a value, and that each was dropped once.
    #[track_caller]
    fn all_dropped(&self, lanes: usize) {
        let want: Vec<u32> = (0..self.made.borrow().len()).map(|i| u32::from(i < lanes)).collect();
        assert_eq!((&*self.made.borrow(), &*self.dropped.borrow()), (&want, &want));
    }
}

struct Value {
    log: Rc<Log>,
    lane: usize,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.log.dropped.borrow_mut()[self.lane] += 1;
        if self.log.bad_drop == Some(self.lane) {
            // Not `panic!`: expected panics need no report on the terminal.
            resume_unwind(Box::new("drop"));
        }
    }
}

/// Runs `body`, which must panic with this payload.
#[track_caller]
fn panics<R>(payload: &str, body: impl FnOnce() -> R) {
    let caught = catch_unwind(AssertUnwindSafe(|| drop(body()))).expect_err("it does not panic");
    assert_eq!(caught.downcast_ref::<&str>(), Some(&payload));
}

/// Areas of 8 and 240 CPU lanes (or as many as the machine has).
fn areas() -> impl Iterator<Item = Area> {
    [8, 240].into_iter().map(|cpus| {
        let asked = Area::builder().cpus(cpus).build();
        asked.unwrap_or_else(|_| Area::builder().build().expect("the machine's own number"))
    })
}

/// Nothing is taken, and at most one chunk is kept.
#[track_caller]
fn is_empty(area: &Area) {
    let stats = area.stats();
    assert!(stats.live == 0 && stats.chunks <= 1, "{stats:?}");
    assert!(stats.chunks == 1 || stats.reserved == 0, "{stats:?}");
}

/// Types of every class of size: small, second, a mapping of its own.
#[repr(C, align(256))]
struct Second(#[allow(dead_code)] Value);
#[repr(C, align(8192))]
struct Own(#[allow(dead_code)] Value);

/// G4, <https://github.com/Amanieu/thread_local-rs/pull/30>: also of lanes of CPUs that this
/// machine does not have.
#[test]
fn every_lane_is_dropped_once() {
    for area in areas() {
        let lanes = area.lanes();
        let logs = [(); 3].map(|()| Log::new(&area, None));
        let small = area.try_alloc(|lane| logs[0].value(lane)).unwrap();
        let second = area.try_alloc(|lane| Second(logs[1].value(lane))).unwrap();
        let own = area.try_alloc(|lane| Own(logs[2].value(lane))).unwrap();
        assert!(logs.iter().all(|log| log.dropped.borrow().iter().all(|drops| *drops == 0)));
        drop((small, second, own));
        logs.iter().for_each(|log| log.all_dropped(lanes));
        let log = Log::new(&area, None);
        let raw = PerCpu::into_raw(area.try_alloc(|lane| log.value(lane)).unwrap());
        assert!(log.dropped.borrow().iter().all(|drops| *drops == 0));
        // SAFETY: given back once.
        drop(unsafe { PerCpu::from_raw(raw) });
        log.all_dropped(lanes);
        is_empty(&area);
    }
}

/// G11, <https://github.com/fizyk20/generic-array/issues/8>.
#[test]
fn an_initialiser_that_panics_leaves_nothing_behind() {
    for area in areas() {
        for bad in [0, 1, 4, area.lanes() - 1] {
            let log = Log::new(&area, None);
            let value = |lane: Lane| {
                if lane.index() == bad {
                    resume_unwind(Box::new("init"));
                }
                log.value(lane)
            };
            panics("init", || area.try_alloc(value));
            log.all_dropped(bad);
            is_empty(&area);
            let log = Log::new(&area, None);
            let value = |lane: Lane| {
                if lane.index() == bad {
                    resume_unwind(Box::new("init"));
                }
                Own(log.value(lane))
            };
            panics("init", || area.try_alloc(value));
            log.all_dropped(bad);
            is_empty(&area);
        }
    }
}

/// G11, <https://github.com/Manishearth/array-init/pull/14>.
#[test]
fn an_initialiser_that_fails_leaves_nothing_behind() {
    for area in areas() {
        for bad in [0, 1, 4, area.lanes() - 1] {
            let log = Log::new(&area, None);
            let value =
                |lane: Lane| if lane.index() == bad { Err(bad) } else { Ok(log.value(lane)) };
            let error = area.try_alloc_with(value).map(drop).unwrap_err();
            let InitError::Init { lane, error } = error else { panic!("no memory") };
            assert_eq!((lane.index(), error), (bad, bad));
            log.all_dropped(bad);
            is_empty(&area);
        }
    }
}

#[test]
fn a_drop_that_panics_on_one_lane_lets_every_other_lane_drop() {
    for area in areas() {
        for bad in [0, 3, area.lanes() - 1] {
            let log = Log::new(&area, Some(bad));
            let object = area.try_alloc(|lane| log.value(lane)).unwrap();
            panics("drop", || drop(object));
            log.all_dropped(area.lanes());
            is_empty(&area);
        }
    }
}

/// What was made before an initialiser failed is dropped too, and one of those drops panics.
#[test]
fn a_drop_that_panics_after_a_failed_initialiser_lets_every_other_lane_drop() {
    for area in areas() {
        let log = Log::new(&area, Some(1));
        let value = |lane: Lane| if lane.index() == 5 { Err(()) } else { Ok(log.value(lane)) };
        panics("drop", || area.try_alloc_with(value));
        log.all_dropped(5);
        is_empty(&area);
    }
}

#[test]
fn values_that_an_iterator_did_not_hand_out_are_dropped_with_it() {
    for area in areas() {
        let lanes = area.lanes();
        for taken in [0, 1, lanes / 2, lanes] {
            let log = Log::new(&area, None);
            let mut values = area.try_alloc(|lane| log.value(lane)).unwrap().into_iter();
            let kept: Vec<(Lane, Value)> = values.by_ref().take(taken).collect();
            assert_eq!((kept.len(), values.len()), (taken, lanes - taken));
            drop(values);
            is_empty(&area);
            let dropped = log.dropped.borrow().clone();
            let want: Vec<u32> = (0..lanes).map(|lane| u32::from(lane >= taken)).collect();
            assert_eq!(dropped, want);
            drop(kept);
            log.all_dropped(lanes);
        }
        // One of those that are left panics.
        let log = Log::new(&area, Some(lanes - 2));
        let mut values = area.try_alloc(|lane| log.value(lane)).unwrap().into_iter();
        drop(values.next());
        panics("drop", || drop(values));
        log.all_dropped(lanes);
        is_empty(&area);
    }
}

#[test]
fn an_object_outlives_its_area() {
    for area in areas() {
        let lanes = area.lanes();
        let logs = [(); 3].map(|()| Log::new(&area, None));
        let small = area.try_alloc(|lane| logs[0].value(lane)).unwrap();
        let own = area.try_alloc(|lane| Own(logs[1].value(lane))).unwrap();
        let values = area.try_alloc(|lane| logs[2].value(lane)).unwrap().into_iter();
        drop(area);
        assert!(small.iter().all(|(lane, value)| value.lane == lane.index()));
        assert_eq!((small.lanes(), own.lanes(), values.len()), (lanes, lanes, lanes));
        drop(small);
        drop(values);
        assert!(own.iter().all(|(lane, value)| value.0.lane == lane.index()));
        drop(own);
        logs.iter().for_each(|log| log.all_dropped(lanes));
    }
}

#[test]
fn an_initialiser_may_make_and_drop_objects_of_the_same_area() {
    for area in areas() {
        let outer = area
            .try_alloc(|lane| {
                let inner = area.try_alloc(|inner| (lane.index(), inner.index())).unwrap();
                drop(area.try_alloc(|_| 1_u64).unwrap());
                inner
            })
            .unwrap();
        for (lane, inner) in &outer {
            assert!(inner.iter().all(|(at, pair)| *pair == (lane.index(), at.index())));
        }
        drop(outer);
        is_empty(&area);
    }
}
