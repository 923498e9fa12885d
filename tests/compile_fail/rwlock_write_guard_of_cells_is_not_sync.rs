//! A shared write guard is a `&T` on many threads; sent, it is a `&mut T` on one.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::rwlock::WriteGuard;

fn send<T: Send>(_: &T) {}
#[cfg(fail)]
fn sync<T: Sync>(_: &T) {}

pub fn test(guard: WriteGuard<'_, std::cell::Cell<u32>>) {
    send(&guard);
    #[cfg(fail)]
    sync(&guard);
}
