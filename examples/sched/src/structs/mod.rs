//! The kernel's structures, byte for byte.
//!
//! The tables give each field's offset and the 64-byte line it is in, as counted on x86-64 with
//! all scheduler options on; the compiler checks every number. A pointer that the model never
//! follows is a [`U64`](crate::word::U64) of the same size, which may hold an address or an index.

#![allow(unsafe_code, reason = "Zeroable is implemented beside the field tables that prove it")]

mod access;
mod common;
pub mod exchanged;
mod group;
pub mod operations;
pub mod recorded;
pub mod reorder;
pub mod v6_14;
pub mod v7_2;
pub mod v7_3;

pub use access::{CfsRqFields, InQueue, LaterFields, SeFields, VirtualTime, Watched};
pub use common::{ListHead, LoadWeight, RbNode, RbRoot, Removed, Rq, SchedAvg, SchedStatistics};
pub use group::{Bandwidth, TaskGroup, TreeLinks};

use bytemuck::Zeroable;
use corelocal::colocated::HasPart;

/// Defines a `repr(C)` structure from a table of `offset (line) field: type` and asserts every
/// number of the table at compile time.
macro_rules! table {
    ($(#[$meta:meta])* pub struct $name:ident, $size:literal bytes {
        $($offset:literal ($line:literal) $field:ident: $ty:ty,)*
    }) => {
        $(#[$meta])*
        #[repr(C)]
        pub struct $name {
            $(
                #[doc = concat!("Offset ", $offset, ", line ", $line, ".")]
                pub $field: $ty,
            )*
        }

        const _: () = {
            assert!(size_of::<$name>() == $size, concat!(stringify!($name), " is not ", $size, " bytes"));
            $(
                assert!(
                    core::mem::offset_of!($name, $field) == $offset && $offset / 64 == $line,
                    concat!(stringify!($name), ".", stringify!($field), " is not at ", $offset, " (", $line, ")"),
                );
                const fn $field() where $ty: bytemuck::Zeroable {}
                $field();
            )*
        };

        impl $name {
            /// Where each byte lies.
            pub const LAYOUT: corelocal::cacheline::Layout<'static> =
                corelocal::cacheline::Layout::new(
                    stringify!($name),
                    size_of::<$name>(),
                    align_of::<$name>(),
                    const { &[$(corelocal::cacheline::LayoutField::new(
                        stringify!($field),
                        core::mem::offset_of!($name, $field),
                        size_of::<$ty>(),
                        align_of::<$ty>(),
                    )),*] },
                    &[],
                    &[],
                );

            /// Each field's type, as it is written.
            pub const TYPES: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), stringify!($ty))),*];
        }

        // SAFETY:
        // * every field is `Zeroable` (the function of its name in the assertions says so).
        unsafe impl bytemuck::Zeroable for $name {}

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use table;

/// Asserts the size and every `offset (line) field` of structures that are defined elsewhere.
macro_rules! offsets {
    ($($name:ident, $size:literal bytes { $($offset:literal ($line:literal) $field:ident,)* })*) => {$(
        const _: () = {
            assert!(size_of::<$name>() == $size, concat!(stringify!($name), " is not ", $size, " bytes"));
            $(assert!(
                core::mem::offset_of!($name, $field) == $offset && $offset / 64 == $line,
                concat!(stringify!($name), ".", stringify!($field), " is not at ", $offset, " (", $line, ")"),
            );)*
            assert!([$($offset),*].len() == $name::LAYOUT.fields().len(), "a field is not listed");
        };

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
pub(crate) use offsets;

macro_rules! zeroable {
    ($($word:ty),*) => {$(
        // SAFETY:
        // * the word is a transparent wrapper of an atomic integer, valid for every bit pattern.
        unsafe impl Zeroable for $word {}
    )*};
}

use crate::word;
zeroable!(word::U64, word::I64, word::U32, word::I32, word::U8);

/// One kernel's structures.
pub trait Kernel: Sized + Send + Sync + core::fmt::Debug + 'static {
    /// The version, as printed.
    const NAME: &'static str;
    /// What its structures' layout in per-CPU memory is called.
    const PER_CPU: &'static str = "L2";
    /// The run queue of one group on one CPU.
    type CfsRq: CfsRqFields + LaterFields + Zeroable + Send + Sync + core::fmt::Debug + 'static;
    /// The entity that stands for one group in its parent's run queue.
    type Se: SeFields
        + InQueue<CfsRq = Self::CfsRq>
        + Zeroable
        + Send
        + Sync
        + core::fmt::Debug
        + 'static;
    /// The co-located three: the queue at offset 0, then the entity, then the statistics.
    type State: HasPart<0, Part = Self::CfsRq>
        + HasPart<1, Part = Self::Se>
        + HasPart<2, Part = SchedStatistics>
        + Zeroable
        + Send
        + Sync
        + core::fmt::Debug
        + 'static;
}

/// What the kernel allocated beside a `cfs_rq` before co-location: the entity first, then its
/// statistics.
#[derive(Debug)]
#[repr(C)]
pub struct SeStats<K: Kernel> {
    /// The entity, at offset 0.
    pub se: K::Se,
    /// Its statistics, on lines of their own.
    pub stats: SchedStatistics,
}

// SAFETY:
// * both fields are `Zeroable`; padding may hold anything.
unsafe impl<K: Kernel> Zeroable for SeStats<K> {}

const _: () = {
    assert!(size_of::<SeStats<v6_14::V6_14>>() == 512);
    assert!(size_of::<SeStats<v7_2::V7_2>>() == 576);
};
