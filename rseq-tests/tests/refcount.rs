//! Shared values under disturbance: the quick version of the binary `refcount`.

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::refcount;

#[test]
fn values_are_dropped_under_their_readers_or_never() {
    let _ = (Entries::new(), sections());
    let found = refcount::run(500_000);
    eprintln!("{found}");
    assert!(found.is_good(), "{found}");
    assert!(found.operations >= 500_000);
}
