//! Making and freeing an object, in memory that was never used and in memory that was.

fn main() {
    benches::bench("allocate");
}
