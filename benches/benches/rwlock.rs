//! Reader locks, to read and to write.

fn main() {
    benches::bench("rwlock");
}
