//! A reader lock under disturbance: the quick version of the binary `rwlock`.

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::rwlock;

#[test]
fn a_disturbed_reader_sees_half_of_a_write_or_a_write_is_lost() {
    let _ = (Entries::new(), sections());
    let found = rwlock::run(100_000);
    eprintln!("{found}");
    assert!(found.is_good(), "{found}");
    assert!(found.operations >= 100_000);
}
