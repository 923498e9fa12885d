//! How a process reaches its copies: which backend it has, why, and that all of them count alike.
#![cfg(all(feature = "std", target_os = "linux"))]
#![allow(unsafe_code, reason = "asks libc and the kernel about the thread area")]

#[path = "../common/mod.rs"]
mod common;

mod binary;
mod registered;
mod report;
mod without;
