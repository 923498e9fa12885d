//! Sections beside the same work without what makes it right, and beside locked instructions.

fn main() {
    benches::bench("sections");
}
