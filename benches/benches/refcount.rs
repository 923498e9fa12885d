//! Cloning and dropping a shared value.

fn main() {
    benches::bench("refcount");
}
