//! [`layout_map!`](crate::layout_map!) and [`cacheline_group!`](crate::cacheline_group!): groups of
//! a struct that someone else defined.

use crate::cacheline::LayoutField;
use crate::field::Field;

/// A field of someone else's struct. The token knows its offset and its type.
#[doc(hidden)]
pub const fn __mapped<'a, W, F>(name: &'a str, token: Field<W, F>) -> LayoutField<'a> {
    LayoutField::new(name, token.offset(), size_of::<F>(), align_of::<F>())
}

/// Defines the map of a struct that someone else defined, and proves what is promised of it.
///
/// ```
/// use corelocal::layout_map;
///
/// mod someone_else {
///     #[repr(C)]
///     pub struct Queue { pub head: u64, pub tail: u64, pub name: [u8; 300], pub dropped: u64 }
/// }
///
/// layout_map! {
///     /// Where its bytes lie.
///     pub const QUEUE: someone_else::Queue {
///         group ends(bytes <= 16) { head, tail }
///         name,
///         dropped,
///     }
///     touches push { mut tail, head } in <= 2 lines;
/// }
/// assert_eq!(QUEUE.field("dropped").unwrap().offset, 320);
/// println!("{QUEUE}");
/// ```
///
/// The struct is named by its path, with type arguments if it has any. All fields must be listed,
/// or `..` must stand at the end: a field that was added later does not go unseen. Fields have to
/// be visible, and as for [`field!`](crate::field!) the struct must not be packed.
///
/// Groups, promises and operations are those of [`cacheline_struct!`](crate::cacheline_struct!),
/// where all of them prove: `aligned` cannot place what is already there. The checks fire in
/// `cargo check`.
#[macro_export]
macro_rules! layout_map {
    (
        $(#[$meta:meta])*
        $vis:vis const $name:ident : $whole:path { $($body:tt)* }
        $( touches $access:ident $set:tt $(in $compare:tt $limit:tt lines)? ; )*
    ) => {
        $crate::__cacheline! {
            @items map
            {
                [$(#[$meta])*] [$vis] $name $whole;
                [$({ $access $set [$($compare $limit)?] })*]
            }
            [] [] [] [] $($body)*
        }
    };
}

/// Proves promises about some fields of a struct that someone else defined.
///
/// ```
/// use corelocal::cacheline_group;
/// use std::net::SocketAddrV6;
///
/// #[repr(C, align(64))]
/// struct Queue { start: [u8; 0], head: u64, tail: u64, end: [u8; 0], name: [u8; 300] }
///
/// cacheline_group! {
///     Queue {
///         // The kernel's checks: these lie between the markers, and there is room for no more.
///         group ends(within(start ..= end), bytes <= 64) { head, tail }
///         start, end,
///     }
///     touches push { mut tail, head } in <= 1 lines;
/// }
/// # let _ = |q: Queue| (q.start, q.head, q.tail, q.end, q.name);
/// ```
///
/// It is [`layout_map!`](crate::layout_map!) without a name and without the fields that nothing is
/// promised of.
#[macro_export]
macro_rules! cacheline_group {
    (
        $whole:path { $($body:tt)* }
        $( touches $access:ident $set:tt $(in $compare:tt $limit:tt lines)? ; )*
    ) => {
        const _: () = {
            $crate::__cacheline! {
                @items map
                {
                    [] [] GROUPS $whole;
                    [$({ $access $set [$($compare $limit)?] })*]
                }
                [] [] [] [] $($body)* , ..
            }
        };
    };
}

/// Writes out what [`__cacheline!`](crate::__cacheline!) has read of a map.
#[doc(hidden)]
#[macro_export]
macro_rules! __cacheline_map {
    (
        {
            [$($meta:tt)*] [$($vis:tt)*] $name:ident $whole:path;
            [$({ $access:ident $set:tt $limit:tt })*]
        }
        [$($partial:tt)?]
        [$({ [$($attr:tt)*] $field:ident [] [$($group:ident)?] })*]
        [$({ $named:ident $rules:tt })*]
    ) => {
        $($meta)*
        #[allow(unused_doc_comments)]
        $($vis)* const $name: $crate::cacheline::Layout<'static> = $crate::cacheline::Layout::new(
            stringify!($whole),
            ::core::mem::size_of::<$whole>(),
            ::core::mem::align_of::<$whole>(),
            const { &[$(
                $($attr)*
                $crate::cacheline::__mapped(stringify!($field), $crate::field!($whole, $field))
                $(.in_group(stringify!($group)))?
            ),*] },
            const { &[$($crate::cacheline::Group::new(
                stringify!($named),
                const { &$rules },
            )),*] },
            const { &[$($crate::__cacheline!(@access $access $set $limit)),*] },
        )
        .declaring(const { &[$(stringify!($field)),*] })
        .__partial_if(!stringify!($($partial)?).is_empty());

        const _: () = $name.__check();

        // A field that is not listed fails this pattern.
        const _: fn(&$whole) = |__corelocal_whole| {
            let $whole { $($($attr)* $field: _,)* $($partial)? } = __corelocal_whole;
        };
    };
}
