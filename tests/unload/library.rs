//! A library that uses the crate and is loaded and unloaded by `tests/threads.rs`, which builds it.

use corelocal::{PerCpu, PerCpuCell, per_cpu};

per_cpu! { static CALLS: PerCpuCell<u64>; }

/// Uses a static, a value and a field token of the library's own; returns how often it was called.
#[unsafe(no_mangle)]
pub extern "C" fn corelocal_test_call() -> u64 {
    let names = PerCpu::new(|lane| [lane.index(); 40]);
    assert!(names.iter().all(|(lane, name)| name[39] == lane.index()));
    let cell = PerCpu::<[PerCpuCell<u32>; 4]>::zeroed();
    cell.index(3).map(|cell| cell.add(2));
    CALLS.inc();
    CALLS.sum()
}
