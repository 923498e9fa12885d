#![no_main]

use fuzz_bodies::memory::Counting;

#[global_allocator]
static HEAP: Counting = Counting;

// Made-up ids decide the lane only where no section asks for the real one.
libfuzzer_sys::fuzz_target!(
    init: {
        corelocal::testing::force_backend(corelocal::Backend::Getcpu).expect("before the first object");
    },
    |input: &[u8]| fuzz_bodies::sequences::rings(input)
);
