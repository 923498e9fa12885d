//! What the padding crates promise, beside ours.

use corelocal::CacheLine;
use crossbeam_utils::CachePadded;

/// The design card names `cache-padded`, which deprecates itself in favour of `crossbeam-utils`:
/// a user of either loses nothing by ours.
#[test]
#[allow(deprecated, reason = "the crate deprecates itself; its layout is what is compared")]
fn a_padded_value_has_one_layout_by_whichever_crate() {
    fn all<T>() -> [(usize, usize); 3] {
        type Old<T> = cache_padded::CachePadded<T>;
        // Two lines: what both crates pad to where the prefetcher fetches pairs of them.
        type Ours<T> = CacheLine<T, { 128 / corelocal::CACHE_LINE }>;
        [
            (size_of::<Old<T>>(), align_of::<Old<T>>()),
            (size_of::<CachePadded<T>>(), align_of::<CachePadded<T>>()),
            (size_of::<Ours<T>>(), align_of::<Ours<T>>()),
        ]
    }
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        assert_eq!(all::<u8>(), [(128, 128); 3]);
        assert_eq!(all::<[u64; 8]>(), [(128, 128); 3]);
        assert_eq!(all::<[u64; 17]>(), [(256, 128); 3]);
        assert_eq!(all::<[u64; 136]>(), [(1152, 128); 3]);
    }
}
