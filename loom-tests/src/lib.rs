//! loom-tests
