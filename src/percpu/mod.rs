//! PerCpu
