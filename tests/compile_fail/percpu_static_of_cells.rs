//! A static is shared by all threads.
// fail: E0277
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::sync::atomic::AtomicU8;

use corelocal::per_cpu;

per_cpu! {
    #[cfg(pass)]
    static FLAGS: AtomicU8 = |_| AtomicU8::new(0);
    #[cfg(fail)]
    static FLAGS: Cell<u8> = |_| Cell::new(0);
}
