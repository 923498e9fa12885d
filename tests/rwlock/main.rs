//! `PerCpuRwLock` as its users see it.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "what test files share asks libc")]

#[path = "../common/mod.rs"]
mod common;

mod api;
#[cfg(feature = "testing")]
mod disturbed;
#[cfg(feature = "testing")]
mod oracle;
mod processes;
mod threads;
