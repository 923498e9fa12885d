//! Setting and searching the priorities of 8 and of 480 CPUs, hot and cold, alone and beside
//! another thread.

fn main() {
    benches::bench("priority");
}
