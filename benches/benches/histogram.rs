//! Recording a latency in a histogram: one value again and again and a mixture, from one thread and
//! from two.

fn main() {
    benches::bench("histogram");
}
