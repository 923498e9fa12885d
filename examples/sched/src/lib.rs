//! A user-space model of the kernel's group scheduler state.
pub mod layout;
pub mod link;
pub mod model;
pub mod ops;
pub mod rng;
pub mod structs;
pub mod tree;
pub mod word;
