//! A read guard on another thread is a `&T` there.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::rwlock::ReadGuard;

#[cfg(pass)]
type Value = u32;
#[cfg(fail)]
type Value = std::cell::Cell<u32>;

fn send<T: Send>(_: T) {}

pub fn test(guard: ReadGuard<'_, Value>) {
    send(guard);
}
