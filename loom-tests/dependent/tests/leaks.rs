//! What the leak sanitizer says of pointers that lie in lanes alone.
#![cfg(not(loom))]

use corelocal::PerCpu;

/// Under it, without `--cfg corelocal_asan`, the process fails after this test has passed.
#[test]
fn boxes_in_lanes_that_live_for_ever_are_called_a_leak() {
    let kept = PerCpu::leak(PerCpu::new(|lane| Box::new([lane.index(); 16])));
    assert!(kept.iter().all(|(lane, words)| words[3] == lane.index()));
}
