#![no_main]

use fuzz_bodies::memory::Counting;

#[global_allocator]
static HEAP: Counting = Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_bodies::cgroups::cgroups(input));
