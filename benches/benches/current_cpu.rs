//! What it costs to know this thread's CPU, or to find a place that is this thread's.

fn main() {
    benches::bench("current_cpu");
}
