//! Per-CPU objects that are replaced while they are used.

fn main() {
    benches::bench("reclaim");
}
