//! Summing one word over every lane.

fn main() {
    benches::bench("sum");
}
