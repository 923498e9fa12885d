//! Random sequences on made-up CPUs, against a number of readers and a flag.

use corelocal::rwlock::{ReadGuard, WriteGuard};
use corelocal::testing::{Config, with};
use corelocal::{Area, PerCpuRwLock};
use proptest::prelude::*;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read,
    TryRead,
    Write,
    TryWrite,
    /// The writer inside changes the value.
    Change(u64),
    /// This one of the readers inside leaves; or it turns into a guard of a part, and leaves.
    Leave(usize),
    LeavePart(usize),
    /// It leaves on another thread.
    LeaveElsewhere(usize),
    LeaveWriter,
    /// A writer panics.
    Panic,
    ClearPoison,
    /// The thread is on another CPU from here on; or nobody knows on which.
    Move(Option<u32>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Read),
        6 => Just(Step::TryRead),
        2 => Just(Step::Write),
        3 => Just(Step::TryWrite),
        2 => any::<u64>().prop_map(Step::Change),
        8 => any::<usize>().prop_map(Step::Leave),
        2 => any::<usize>().prop_map(Step::LeavePart),
        1 => any::<usize>().prop_map(Step::LeaveElsewhere),
        4 => Just(Step::LeaveWriter),
        1 => Just(Step::Panic),
        1 => Just(Step::ClearPoison),
        4 => prop_oneof![Just(None), (0..5_u32).prop_map(Some)].prop_map(Step::Move),
    ]
}

struct Oracle<'a> {
    lock: &'a PerCpuRwLock<[u64; 2]>,
    readers: Vec<ReadGuard<'a, [u64; 2]>>,
    writer: Option<WriteGuard<'a, [u64; 2]>>,
    value: u64,
    poisoned: bool,
}

/// The guard, and whether it came as an error.
fn taken<G>(result: LockResult<G>) -> (G, bool) {
    let poisoned = result.is_err();
    (result.unwrap_or_else(PoisonError::into_inner), poisoned)
}

fn tried<G>(result: TryLockResult<G>) -> Option<(G, bool)> {
    match result {
        Ok(guard) => Some((guard, false)),
        Err(TryLockError::Poisoned(error)) => Some((error.into_inner(), true)),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<'a> Oracle<'a> {
    fn is_free(&self) -> bool {
        self.readers.is_empty() && self.writer.is_none()
    }

    fn entered(&mut self, (guard, poisoned): (ReadGuard<'a, [u64; 2]>, bool)) {
        assert_eq!((*guard, poisoned), ([self.value, !self.value], self.poisoned));
        self.readers.push(guard);
    }

    fn closed(&mut self, (guard, poisoned): (WriteGuard<'a, [u64; 2]>, bool)) {
        assert_eq!((*guard, poisoned), ([self.value, !self.value], self.poisoned));
        self.writer = Some(guard);
    }

    fn step(&mut self, step: Step) {
        let lock = self.lock;
        match step {
            // What would wait for this thread is not asked for.
            Step::Read if self.writer.is_none() => self.entered(taken(lock.read())),
            Step::Write if self.is_free() => self.closed(taken(lock.write())),
            Step::TryRead => match tried(lock.try_read()) {
                Some(entered) => {
                    assert!(self.writer.is_none());
                    self.entered(entered);
                }
                None => assert!(self.writer.is_some()),
            },
            Step::TryWrite => match tried(lock.try_write()) {
                Some(closed) => {
                    assert!(self.is_free());
                    self.closed(closed);
                }
                None => assert!(!self.is_free()),
            },
            Step::Change(value) => {
                if let Some(writer) = &mut self.writer {
                    **writer = [value, !value];
                    self.value = value;
                }
            }
            Step::Leave(which) if !self.readers.is_empty() => {
                drop(self.readers.swap_remove(which % self.readers.len()));
            }
            Step::LeavePart(which) if !self.readers.is_empty() => {
                let whole = self.readers.swap_remove(which % self.readers.len());
                let part = ReadGuard::map(whole, |pair| &pair[1]);
                assert_eq!(*part, !self.value);
            }
            Step::LeaveElsewhere(which) if !self.readers.is_empty() => {
                let guard = self.readers.swap_remove(which % self.readers.len());
                thread::scope(|scope| scope.spawn(move || drop(guard)).join().unwrap());
            }
            Step::LeaveWriter => self.writer = None,
            Step::Panic if self.is_free() => {
                let panics = AssertUnwindSafe(|| {
                    let _guard = lock.write();
                    std::panic::resume_unwind(Box::new("on purpose"));
                });
                assert!(catch_unwind(panics).is_err());
                self.poisoned = true;
            }
            Step::ClearPoison => {
                lock.clear_poison();
                self.poisoned = false;
            }
            _ => {}
        }
        assert_eq!(lock.is_poisoned(), self.poisoned);
    }
}

fn compare(steps: &[Step]) {
    let area = Area::builder().cpus(64).build().unwrap();
    let mut lock = PerCpuRwLock::in_area(&area, [0, !0]).unwrap();
    let cpu = Cell::new(Some(0));
    with(Config::new().cpu_ids_from(|| cpu.get()), || {
        let (readers, writer) = (Vec::new(), None);
        let mut oracle = Oracle { lock: &lock, readers, writer, value: 0, poisoned: false };
        for step in steps {
            if let Step::Move(to) = step {
                cpu.set(*to);
            }
            oracle.step(*step);
        }
        let (value, poisoned) = (oracle.value, oracle.poisoned);
        drop(oracle);
        assert_eq!((*taken(lock.get_mut()).0, lock.is_poisoned()), ([value, !value], poisoned));
        assert!(tried(lock.try_write()).is_some(), "somebody is inside still");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..<_>::default() })]

    #[test]
    fn a_random_sequence_does_not_do_what_a_number_and_a_flag_do(
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        compare(&steps);
    }
}
