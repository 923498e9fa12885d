//! The example `scrape`, as a test: its server, its exporter and its client in this process.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "what test files share asks libc")]

mod common;
#[allow(dead_code, reason = "its `main`")]
#[path = "../examples/scrape.rs"]
mod scrape;

/// M5: a million requests by several threads, scraped meanwhile.
#[test]
fn the_last_scrape_tells_exactly_what_was_served() {
    let told = scrape::run(1_000_000).unwrap();
    assert!(told.contains("1000000 requests by 4 threads") && told.contains("is exact"), "{told}");
}
