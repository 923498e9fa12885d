//! A token does not get around privacy.
// fail: E0451 E0616
#![forbid(unsafe_code)]

use corelocal::field;

mod other {
    #[derive(Default)]
    pub struct Stats {
        #[cfg(pass)]
        pub reads: u64,
        #[cfg(fail)]
        reads: u64,
    }
}

pub const READS: usize = field!(other::Stats, reads).offset();
