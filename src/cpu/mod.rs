//! CPUs as plain values: [`CpuId`], [`Lane`] and [`CpuMask`]. No system calls.

mod id;
mod lane;
mod list;
mod mask;

pub use id::CpuId;
pub use lane::Lane;
#[allow(unused_imports, reason = "the room that reads files is not in every build")]
pub(crate) use list::parse_runs;
pub use list::{MAX_PARSED_ID, ParseCpuListError, ParseCpuListErrorKind};
pub use mask::{CpuMask, IntoIter, Iter};
