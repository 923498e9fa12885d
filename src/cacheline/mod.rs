//! Cache lines.
