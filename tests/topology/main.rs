//! The machine as it is described, and as people's machines were: each test is
//! named by the symptom that somebody reported, and cites the report.
#![cfg(feature = "std")]

mod fixture;
#[cfg(feature = "testing")]
mod ids;
mod lists;
mod nodes;
#[cfg(target_os = "linux")]
mod sandbox;
