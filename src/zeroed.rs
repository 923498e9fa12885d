//! Which structs may be all zero bytes: those whose fields may.

#![allow(unsafe_code, reason = "the promise behind `Zeroable`, made where the proof is")]

use core::marker::PhantomData;

use bytemuck::Zeroable;
#[doc(hidden)]
pub use bytemuck::Zeroable as __Zeroable;

/// Carries the bound `T: Zeroable` into a `where` clause of a macro's impl.
///
/// A plain `where Concrete: Zeroable` must hold, or rustc refuses the impl; with a lifetime of a
/// `for<'a>` in it, it may fail, and then the impl is not there. That is what the macros want.
#[doc(hidden)]
#[derive(Debug)]
pub struct __Zeroed<'a, T>(PhantomData<(&'a (), T)>);

// SAFETY: it has no bytes.
unsafe impl<T: Zeroable> Zeroable for __Zeroed<'_, T> {}

/// A list of types, for one bound instead of one a field: of two bounds that differ in lifetimes
/// only, rustc does not know which to take.
#[doc(hidden)]
#[derive(Debug)]
pub struct __Types<A, B, C, D, Rest>(PhantomData<(A, B, C, D, Rest)>);

// SAFETY: it has no bytes.
unsafe impl<A, B, C, D, Rest> Zeroable for __Types<A, B, C, D, Rest>
where
    A: Zeroable,
    B: Zeroable,
    C: Zeroable,
    D: Zeroable,
    Rest: Zeroable,
{
}

/// All zero bytes; the build fails where a check of `W`'s does.
///
/// # Safety
///
/// Zero bytes must be a `W`.
#[doc(hidden)]
#[inline]
pub unsafe fn __zero<W>() -> W {
    // SAFETY: the caller's promise.
    unsafe { core::mem::zeroed() }
}

/// Fails the build unless a struct has these fields, of these types, and no others: an attribute on
/// it may be a macro that writes another struct than it read.
///
/// In brackets a field that the struct has beside them.
#[doc(hidden)]
#[macro_export]
macro_rules! __exactly {
    (
        $name:ident [$($impl:tt)*] [$($args:tt)*] [$($where:tt)*] [$($proof:ident)?]
        $( $(#[$attr:meta])* $vis:vis $field:ident : $ty:ty, )*
    ) => {
        #[allow(single_use_lifetimes, unused_doc_comments, dead_code, unused_variables)]
        impl $($impl)* $name $($args)* where $($where)* {
            #[doc(hidden)]
            fn __corelocal_fields(&self) {
                // A field that is not listed fails this pattern.
                let Self { $( $(#[$attr])* $field: _, )* $($proof: _)? } = self;
                $(
                    $(#[$attr])*
                    {
                        let Self { $field: __corelocal_field, .. } = self;
                        // The slice, made before its type is asked for: a `&Box<X>` would be
                        // coerced to a `&X`.
                        let __corelocal_slice = ::core::slice::from_ref(__corelocal_field);
                        let __corelocal_exact: &[$ty] = __corelocal_slice;
                    }
                )*
            }
        }
    };
}

/// Implements `Zeroable` for a `repr(C)` struct with exactly these types of fields (see
/// [`__exactly!`](crate::__exactly!)), if all have it.
///
/// `CHECK` is a constant to evaluate wherever zero bytes are made into such a struct.
#[doc(hidden)]
#[macro_export]
macro_rules! __zeroable {
    (
        $name:ident [$($impl:tt)*] [$($args:tt)*] [$($where:tt)*] [$($check:expr)?] $([$ty:ty])*
    ) => {
        // SAFETY: zero bytes are a value of each field (each is asked for), the struct is `repr(C)`
        // and has no other fields with bytes, and any bytes are fine between the fields.
        #[allow(single_use_lifetimes)]
        unsafe impl $($impl)* $crate::zeroed::__Zeroable for $name $($args)*
        where
            for<'__zeroed> $crate::zeroed::__Zeroed<'__zeroed, $crate::__zeroable!(@types $($ty,)*)>:
                $crate::zeroed::__Zeroable,
            $($where)*
        {
            $(
                #[inline]
                fn zeroed() -> Self {
                    const { $check }
                    // SAFETY: that is what this impl says.
                    unsafe { $crate::zeroed::__zero() }
                }
            )?
        }
    };
    (@types $a:ty, $b:ty, $c:ty, $d:ty, $($rest:ty,)*) => {
        $crate::zeroed::__Types<$a, $b, $c, $d, $crate::__zeroable!(@types $($rest,)*)>
    };
    (@types $a:ty, $($rest:ty,)*) => {
        $crate::zeroed::__Types<$a, (), (), (), $crate::__zeroable!(@types $($rest,)*)>
    };
    (@types) => { () };
}
