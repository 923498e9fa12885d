//! Which structs may be all zero bytes: those whose fields may.

#![allow(unsafe_code, reason = "the promise behind `Zeroable`, made where the proof is")]

use core::marker::PhantomData;

use bytemuck::Zeroable;
#[doc(hidden)]
pub use bytemuck::Zeroable as __Zeroable;

/// Carries the bound `T: Zeroable` into a `where` clause of a macro's impl.
///
/// A plain `where Concrete: Zeroable` must hold, or rustc refuses the impl; with a lifetime of a
/// `for<'a>` in it, it may fail, and then the impl is not there. That is what the macros want. `AT`
/// is the field's number: two bounds that differ in lifetimes only are one too many for rustc.
#[doc(hidden)]
#[derive(Debug)]
pub struct __Zeroed<'a, T, const AT: usize>(PhantomData<(&'a (), T)>);

// SAFETY: it has no bytes.
unsafe impl<T: Zeroable, const AT: usize> Zeroable for __Zeroed<'_, T, AT> {}

/// Implements `Zeroable` for a `repr(C)` struct with exactly these fields, if all have it.
#[doc(hidden)]
#[macro_export]
macro_rules! __zeroable {
    (
        $name:ident [$($impl:tt)*] [$($args:tt)*] [$($where:tt)*]
        $($field:ident [$ty:ty])*
    ) => {
        const _: () = {
            // Counts the fields: `Count::field as usize`.
            #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
            enum __Count { $($field),* }

            // SAFETY: zero bytes are a value of each field (each is asked for), the struct is
            // `repr(C)` and has no other fields with bytes, and any bytes are fine between them.
            #[allow(single_use_lifetimes)]
            unsafe impl $($impl)* $crate::zeroed::__Zeroable for $name $($args)*
            where
                $(for<'__zeroed>
                    $crate::zeroed::__Zeroed<'__zeroed, $ty, { __Count::$field as usize }>:
                        $crate::zeroed::__Zeroable,)*
                $($where)*
            {}
        };
    };
}
