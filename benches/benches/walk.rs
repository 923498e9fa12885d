//! A thousand objects over 64 lanes, one lane of each visited.

fn main() {
    benches::bench("walk");
}
