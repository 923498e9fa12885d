//! A user-space model of the kernel's group scheduler state.
pub mod cli;
pub mod layout;
pub mod link;
pub mod measure;
pub mod model;
pub mod ops;
pub mod report;
pub mod rng;
pub mod structs;
pub mod tree;
pub mod word;
