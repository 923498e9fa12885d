//! CPUs as plain values: [`CpuId`], [`Lane`] and [`CpuMask`]. No system calls.

mod id;
mod lane;
mod list;

pub use id::CpuId;
pub use lane::Lane;
pub(crate) use list::parse_runs;
pub use list::{MAX_PARSED_ID, ParseCpuListError, ParseCpuListErrorKind};
