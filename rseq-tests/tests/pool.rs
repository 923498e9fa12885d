//! A pool's objects under disturbance: the quick version of the binary `pool`.

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::pool;

#[test]
fn objects_that_go_round_are_lost_or_have_two_users() {
    let _ = (Entries::new(), sections());
    let found = pool::run(1_000_000);
    eprintln!("{found}");
    assert!(found.is_good(), "{found}");
    assert!(found.operations >= 1_000_000);
}
