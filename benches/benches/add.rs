//! Adding one to a counter: one counter and sixteen in turn, from one thread and from two.

fn main() {
    benches::bench("add");
}
