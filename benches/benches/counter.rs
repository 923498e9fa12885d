//! The crate's counters beside others: adds from one thread and from two, and reads.

fn main() {
    benches::bench("counter");
}
