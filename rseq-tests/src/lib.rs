//! What tests the restartable sequences need: lanes of their own, disturbance, work whose
//! end state is known, and a way to run all of it over each implementation.
//!
//! The binaries: `stress` (the matrix), `exact` (one sum, many times over), `pool` (objects that go
//! round, and are drained meanwhile), `refcount` (references to values whose owners go), `ring`
//! (records, and their reader), `rwlock` (a reader lock, read and written), `abort-everywhere`
//! (a breakpoint at every instruction of every section), `elf-check` (for any binary with
//! sections) and `machine` (what a machine with many CPUs and nodes gives, also while its CPUs
//! go off and on).
#![allow(unsafe_code, reason = "raw lanes and system calls")]

pub mod check;
pub mod churn;
pub mod command;
pub mod disassembly;
pub mod elf;
pub mod exact;
pub mod expected;
pub mod implementation;
pub mod lanes;
pub mod pages;
pub mod pool;
pub mod refcount;
pub mod ring;
pub mod run;
pub mod rwlock;
pub mod subjects;
pub mod trace;
pub mod work;
