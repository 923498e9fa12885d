//! [`colocated!`](crate::colocated!): a co-located struct whose parts have names.

/// Defines a struct whose parts lie side by side in the order written, the first at offset 0.
///
/// ```
/// use corelocal::colocated;
/// use corelocal::colocated::{HasPart, Part};
/// use corelocal::field;
///
/// colocated! {
///     /// What a group has on one CPU.
///     #[derive(Debug, Default)]
///     pub struct State {
///         /// How many run.
///         pub running: u32,
///         pub weight: u64,
///     }
/// }
///
/// let mut state = State { running: 1, weight: 1024 };
/// state.running += 1;                                     // the parts are the fields
/// let weight: Part<'_, State, u64, 1> = state.weight();   // and each has a method of its name
/// assert_eq!((*weight, weight.whole().running), (1024, 2));
/// assert_eq!(field!(State, weight).offset(), 8);
/// assert_eq!(<State as HasPart<0>>::PART.offset(), 0);
/// ```
///
/// The struct is `repr(C)`. Beside it the macro writes, for each part, a method of the part's name
/// and visibility that returns a [`Part`](crate::colocated::Part), and
/// [`HasPart`](crate::colocated::HasPart)`<I>` with the parts counted from 0; and
/// `bytemuck::Zeroable` if all parts have it.
///
/// It takes attributes and a visibility on the struct and on each part, lifetimes, type parameters
/// (each with one bound at most) and a `where` clause (one bound an item; an item can be repeated).
/// A part's attributes are copied to its method, so they have to make sense there: documentation,
/// `cfg`, `allow`. The type of a part under a `cfg` has to exist also without it.
///
/// ```
/// # use corelocal::colocated;
/// # use std::fmt::Debug;
/// colocated! {
///     pub(crate) struct Named<'a, T: Debug> where T: Send { name: &'a str, value: T }
/// }
/// let named = Named { name: "x", value: 3 };
/// assert_eq!(*named.value().sibling::<0>(), "x");
/// ```
#[macro_export]
macro_rules! colocated {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<
            $($life:lifetime $(: $outlives:lifetime)?),* $(,)?
            $($param:ident $(: $bound:path)?),* $(,)?
        >)?
        $(where $($item:ty : $itemb:path),+ $(,)?)?
        {
            $( $(#[$attr:meta])* $pvis:vis $part:ident : $ty:ty ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[repr(C)]
        $vis struct $name $(<
            $($life $(: $outlives)?,)*
            $($param $(: $bound)?,)*
        >)?
        $(where $($item : $itemb),+)?
        {
            $( $(#[$attr])* $pvis $part: $ty ),+
        }

        const _: () = {
            // Counts the parts: `Index::part as usize`.
            #[allow(non_camel_case_types, dead_code, clippy::upper_case_acronyms)]
            enum __Index { $( $(#[$attr])* $part ),+ }

            $crate::colocated! {
                @parts $name
                [$(< $($life $(: $outlives)?,)* $($param $(: $bound)?,)* >)?]
                [$(< $($life,)* $($param,)* >)?]
                [$($($item : $itemb,)+)?]
                { $( [$(#[$attr])*] [$pvis] $part [$ty] )+ }
            }
            $crate::__exactly! {
                $name
                [$(< $($life $(: $outlives)?,)* $($param $(: $bound)?,)* >)?]
                [$(< $($life,)* $($param,)* >)?]
                [$($($item : $itemb,)+)?]
                []
                $( $(#[$attr])* $pvis $part: $ty, )+
            }
        };
    };

    // Hands the struct's generics, each a token tree by now, on to each of its parts.
    (
        @parts $name:ident $impl:tt $args:tt $where:tt
        { $( $attrs:tt $pvis:tt $part:ident $ty:tt )+ }
    ) => {
        $( $crate::colocated! {
            @part $name $impl $args $where $attrs $pvis $part $ty
        } )+
        $crate::__zeroable! { $name $impl $args $where [] $($ty)+ }
    };

    (
        @part $name:ident [$($impl:tt)*] [$($args:tt)*] [$($where:tt)*]
        [$($attr:tt)*] [$pvis:vis] $part:ident [$ty:ty]
    ) => {
        $($attr)*
        #[allow(single_use_lifetimes)]
        impl $($impl)* $crate::colocated::HasPart<{ __Index::$part as usize }>
            for $name $($args)* where $($where)*
        {
            type Part = $ty;
            const PART: $crate::field::Field<Self, $ty> = {
                let part = $crate::field!(Self, $part);
                assert!(
                    __Index::$part as usize != 0 || part.offset() == 0,
                    "the first part must lie at offset 0",
                );
                part
            };
        }

        #[allow(single_use_lifetimes)]
        impl $($impl)* $name $($args)* where $($where)* {
            #[doc = concat!("The part `", stringify!($part), "`, by a pointer that knows the whole.")]
            #[doc = ""]
            $($attr)*
            #[allow(dead_code)]
            #[inline]
            $pvis fn $part(
                &self,
            ) -> $crate::colocated::Part<'_, Self, $ty, { __Index::$part as usize }> {
                $crate::colocated::Part::new(self)
            }
        }
    };
}
