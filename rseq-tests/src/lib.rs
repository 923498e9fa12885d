//! What tests the restartable sequences need: lanes of their own, disturbance, work whose
//! end state is known, and a way to run all of it over each implementation.
//!
//! The binaries: `stress` (the matrix), `abort-everywhere` (a breakpoint at every
//! instruction of every section) and `elf-check` (for any binary with sections).
#![allow(unsafe_code, reason = "raw lanes and system calls")]

pub mod check;
pub mod churn;
pub mod disassembly;
pub mod elf;
pub mod implementation;
pub mod lanes;
pub mod run;
pub mod subjects;
pub mod trace;
pub mod work;
