//! The priority vector: all layouts against a map that says where each CPU is.

#[path = "priority/oracle.rs"]
mod oracle;
