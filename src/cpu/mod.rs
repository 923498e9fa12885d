//! CPUs as plain values: [`CpuId`], [`Lane`] and [`CpuMask`]. No system calls.

mod id;
mod lane;
mod list;
mod mask;
mod processor_groups;

pub use id::CpuId;
pub use lane::Lane;
#[cfg(feature = "std")]
pub(crate) use list::list_bound;
pub use list::{MAX_PARSED_ID, ParseCpuListError, ParseCpuListErrorKind};
pub(crate) use mask::clear_blocks;
pub use mask::{CpuMask, IntoIter, Iter};
pub use processor_groups::{ProcessorGroups, ProcessorGroupsError};
