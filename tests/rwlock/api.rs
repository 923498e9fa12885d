//! What users of `std::sync::RwLock` expect, one thread at a time.

use corelocal::rwlock::{ReadGuard, WriteGuard};
use corelocal::{Area, PerCpuRwLock};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock, RwLock, TryLockError};
use std::thread;

fn would_block<G>(tried: Result<G, TryLockError<G>>) -> bool {
    matches!(tried, Err(TryLockError::WouldBlock))
}

#[test]
fn readers_keep_readers_out() {
    let lock = PerCpuRwLock::new(7);
    let (one, two) = (lock.read().unwrap(), lock.try_read().unwrap());
    assert_eq!((*one, *two), (7, 7));
    assert!(would_block(lock.try_write()));
    drop(one);
    assert!(would_block(lock.try_write()));
    drop(two);
    *lock.try_write().unwrap() += 1;
    assert_eq!(*lock.read().unwrap(), 8);
}

#[test]
fn a_writer_is_not_alone() {
    let mut lock = PerCpuRwLock::new(vec![1]);
    let mut writer = lock.write().unwrap();
    assert!(would_block(lock.try_read()));
    assert!(would_block(lock.try_write()));
    writer.push(2);
    drop(writer);
    lock.get_mut().unwrap().push(3);
    assert_eq!(*lock.read().unwrap(), [1, 2, 3]);
    assert_eq!(lock.into_inner().unwrap(), [1, 2, 3]);
}

#[test]
fn a_panic_of_a_writer_is_not_announced() {
    let lock = PerCpuRwLock::new(0);
    let panics = catch_unwind(|| {
        *lock.write().unwrap() = 1;
        let _guard = lock.write().unwrap();
        panic!("on purpose");
    });
    assert!(panics.is_err() && lock.is_poisoned());
    assert_eq!(*lock.read().unwrap_err().into_inner(), 1);
    assert_eq!(**lock.write().unwrap_err().get_ref(), 1);
    assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    lock.clear_poison();
    assert!(!lock.is_poisoned());
    assert!(lock.read().is_ok() && lock.write().is_ok());
}

#[test]
fn a_poisoned_value_cannot_be_taken_out() {
    let mut lock = PerCpuRwLock::new(5);
    let write = AssertUnwindSafe(|| {
        let _guard = lock.write();
        panic!("on purpose");
    });
    assert!(catch_unwind(write).is_err());
    assert_eq!(**lock.get_mut().unwrap_err().get_ref(), 5);
    assert_eq!(lock.into_inner().unwrap_err().into_inner(), 5);
}

#[test]
fn a_panic_of_a_reader_poisons_or_keeps_it_inside() {
    let lock = PerCpuRwLock::new(0);
    let panics = catch_unwind(|| {
        let _guard = lock.read().unwrap();
        panic!("on purpose");
    });
    assert!(panics.is_err() && !lock.is_poisoned());
    assert!(lock.try_write().is_ok());
}

/// A lock that is used while its thread unwinds for another reason, as a destructor may.
#[test]
fn a_writer_in_a_destructor_during_a_panic_poisons() {
    struct Writes<'a>(&'a PerCpuRwLock<u32>);
    impl Drop for Writes<'_> {
        fn drop(&mut self) {
            *self.0.write().unwrap() += 1;
        }
    }
    let lock = PerCpuRwLock::new(0);
    let panics = catch_unwind(|| {
        let _writes = Writes(&lock);
        panic!("on purpose");
    });
    assert!(panics.is_err() && !lock.is_poisoned());
    assert_eq!(*lock.read().unwrap(), 1);
}

#[test]
fn a_part_of_the_value_lets_go_of_the_whole() {
    let lock = PerCpuRwLock::new((1, [2, 3]));
    let part = ReadGuard::map(lock.read().unwrap(), |value| &value.1[1]);
    assert_eq!((*part, format!("{part} {part:?}")), (3, "3 3".to_owned()));
    assert!(would_block(lock.try_write()));
    drop(part);
    let mut part = WriteGuard::map(lock.write().unwrap(), |value| &mut value.1[..]);
    part[0] = 9;
    assert!(would_block(lock.try_read()));
    drop(part);
    assert_eq!(*lock.read().unwrap(), (1, [9, 3]));
    // Poison goes with the part.
    let panics = catch_unwind(|| {
        let _part = WriteGuard::map(lock.write().unwrap(), |value| &mut value.0);
        panic!("on purpose");
    });
    assert!(panics.is_err() && lock.is_poisoned());
}

#[test]
fn a_panic_while_a_part_is_chosen_keeps_the_lock() {
    let lock = PerCpuRwLock::new(0);
    let reads =
        || drop(ReadGuard::map(lock.read().unwrap(), |_: &i32| -> &i32 { panic!("no part") }));
    assert!(catch_unwind(reads).is_err());
    assert!(lock.try_write().is_ok() && !lock.is_poisoned());
    let writes = || {
        drop(WriteGuard::map(lock.write().unwrap(), |_: &mut i32| -> &mut i32 {
            panic!("no part")
        }))
    };
    assert!(catch_unwind(writes).is_err());
    assert!(lock.is_poisoned() && !would_block(lock.try_read()));
}

/// A leaked guard keeps its lock, and nothing else.
#[test]
fn a_leaked_guard_breaks_more_than_its_lock() {
    let (mut lock, other) = (PerCpuRwLock::new(1), PerCpuRwLock::new(2));
    std::mem::forget(lock.read().unwrap());
    assert!(would_block(lock.try_write()));
    assert_eq!(*lock.read().unwrap(), 1);
    assert_eq!(*other.write().unwrap(), 2);
    *lock.get_mut().unwrap() = 3;
    std::mem::forget(other.write().unwrap());
    assert!(would_block(other.try_read()) && would_block(other.try_write()));
    assert_eq!((lock.into_inner().unwrap(), other.into_inner().unwrap()), (3, 2));
}

/// Entries and exits are summed over all lanes: a guard may go anywhere.
#[test]
fn a_guard_that_is_dropped_on_another_thread_is_never_left() {
    let lock = PerCpuRwLock::new(0);
    thread::scope(|scope| {
        let (one, two) = (lock.read().unwrap(), lock.read().unwrap());
        scope.spawn(move || drop(one));
        scope.spawn(move || drop(two));
    });
    let mut writer = lock.try_write().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || *writer += 1);
    });
    assert_eq!(*lock.try_read().unwrap(), 1);
}

static TABLE: LazyLock<PerCpuRwLock<Vec<u32>>> = LazyLock::new(PerCpuRwLock::default);

#[test]
fn what_std_takes_is_refused() {
    // In a static, in an `Arc`, of what has no size; from a value; printed.
    TABLE.write().unwrap().push(1);
    assert_eq!(TABLE.read().unwrap().len(), 1);
    let slice: Arc<PerCpuRwLock<[u32]>> = Arc::new(PerCpuRwLock::new([1, 2, 3]));
    slice.write().unwrap()[0] = 9;
    assert_eq!(slice.read().unwrap().iter().sum::<u32>(), 14);
    let shown: Box<PerCpuRwLock<dyn std::fmt::Debug + Send + Sync>> =
        Box::new(PerCpuRwLock::from(5));
    assert_eq!(format!("{:?}", shown.read().unwrap()), "5");
    assert!(!format!("{TABLE:?}").contains('['), "{TABLE:?}: shows the value");
    let lanes = Area::global().lanes();
    assert!(format!("{:?}", *TABLE).contains(&format!("lanes: {lanes}")), "{:?}", *TABLE);
    fn same<T: Send + Sync + std::panic::UnwindSafe + std::panic::RefUnwindSafe>(_: &T) {}
    same(&RwLock::new(0));
    same(&PerCpuRwLock::new(0));
}

#[test]
fn the_value_is_dropped_twice_or_never() {
    let value = Arc::new(());
    let lock = PerCpuRwLock::new(Arc::clone(&value));
    drop(lock.write());
    drop(lock);
    let lock = PerCpuRwLock::new(Arc::clone(&value));
    drop(lock.into_inner());
    let area = Area::builder().capacity(1 << 12).build().unwrap();
    assert!(PerCpuRwLock::in_area(&area, Arc::clone(&value)).is_err(), "no room for lanes");
    assert_eq!(Arc::strong_count(&value), 1);
}

/// A reader finds the word on a line that nobody else writes.
#[test]
fn the_counts_of_an_arc_share_the_readers_line() {
    let lock = Arc::new(PerCpuRwLock::new(0_u8));
    assert_eq!(Arc::as_ptr(&lock).addr() % corelocal::CACHE_LINE, 0);
    assert_eq!(size_of::<PerCpuRwLock<u8>>() % corelocal::CACHE_LINE, 0);
}
