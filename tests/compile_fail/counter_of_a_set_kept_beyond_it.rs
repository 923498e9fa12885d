//! A counter of a set lives as long as the set, and may go to other threads until then.
// fail: E0597
#![forbid(unsafe_code)]

use corelocal::{AllocError, CounterSet};

pub fn count() -> Result<u64, AllocError> {
    let set = CounterSet::try_new(3)?;
    let sum = std::thread::scope(|scope| {
        #[cfg(fail)]
        let set = CounterSet::try_new(3).unwrap();
        let Some(counter) = set.get(1) else { return 0 };
        scope.spawn(move || counter.inc());
        counter.sum()
    });
    Ok(sum)
}
