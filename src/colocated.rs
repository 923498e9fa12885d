//! CoLocated
