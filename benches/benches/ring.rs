//! Getting an object and giving it back.

fn main() {
    benches::bench("ring");
}
