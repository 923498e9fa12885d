//! A ring's records under disturbance: the quick version of the binary `ring`.

use rseq_tests::implementation::{Entries, sections};
use rseq_tests::ring;

#[test]
fn records_of_disturbed_threads_are_torn_or_lost() {
    let _ = (Entries::new(), sections());
    let found = ring::run(300_000);
    eprintln!("{found}");
    assert!(found.is_good(), "{found}");
    assert!(found.tried >= 300_000);
}
