//! [`cacheline_struct!`](crate::cacheline_struct!): a struct with groups of one's own.

/// Defines a `repr(C)` struct whose fields lie in named groups, and proves what is promised of
/// their cache lines: a broken promise fails the build.
///
/// ```
/// use corelocal::cacheline_struct;
///
/// #[derive(Default)]
/// #[repr(align(64))]
/// pub struct SchedAvg([u64; 24]);
///
/// cacheline_struct! {
///     /// What a CPU runs.
///     #[derive(Default)]
///     pub struct CfsRq {
///         group hot(lines <= 2) {
///             pub nr_queued: u32,
///             throttle_count: i32,
///         }
///         avg: SchedAvg,
///         /// Used when the quota is spent.
///         group throttle(lines <= 1, aligned_if(64), apart(hot)) {
///             throttled: i32,
///             on_list: i32,
///         }
///     }
///     touches throttle_down { mut throttle_count, on_list, mut throttled } in <= 2 lines;
/// }
///
/// let mut queue = CfsRq { nr_queued: 1, ..Default::default() };
/// queue.throttled += 1;                         // the fields are the struct's own
/// println!("{}", CfsRq::LAYOUT);                // a table of every byte
/// # let _ = (queue.throttle_count, queue.avg, queue.on_list);
/// ```
///
/// Beside the struct stand the constants `LAYOUT`, its map (a
/// [`Layout`](crate::cacheline::Layout)), and `CHECKED`, whose naming makes the checks fire; and
/// `bytemuck::Zeroable` if all fields have it.
///
/// # Promises
///
/// | of a group | holds if |
/// |---|---|
/// | `lines <= N`, `lines == N` | its members lie on so many lines |
/// | `bytes <= N`, `bytes == N` | so many bytes lie from its first member to the end of its last |
/// | `aligned` | it begins on a line, and what follows it begins on another: made so |
/// | `aligned_if(64)` | the same where a line has 64 bytes; elsewhere its members only lie together |
/// | `exclusive` | no other field lies on its lines, nor anything beside the struct |
/// | `apart(other, ..)` | it shares no line with those groups |
/// | `holds(a, b, ..)` | those are members |
/// | `within(a ..= b)` | its members lie from the first byte of `a` to the last of `b` |
///
/// `aligned` and `aligned_if` place bytes, the others prove. (In a map of someone else's struct
/// these two prove only that the group begins on a line; `exclusive` says what may follow it.) A group of 64 bytes that is `aligned`
/// wastes half a line where lines have 128 bytes; `aligned_if(64)` does not.
///
/// `touches name { a, mut b } in <= N lines;` promises that the operation's fields lie on so many
/// lines; `mut` says which it writes. Without `in ..` it only tells
/// [`Layout::accesses`](crate::cacheline::Layout::accesses) which fields are used together.
///
/// A struct that is aligned to less than a line may begin anywhere in one, and then a promise must
/// hold for every place. `#[repr(align(64))]`, an `aligned` group or a field that is aligned so
/// gives it a place. Lines have [`CACHE_LINE`](crate::CACHE_LINE) bytes.
///
/// # When the checks fire
///
/// Without type parameters and lifetimes: always, `cargo check` included. With them, as soon as
/// code is generated that builds such a struct, in debug and in release: it has one more field,
/// `_proof`, whose only value is [`Proof::new()`](crate::cacheline::Proof::new). `cargo check`
/// generates no code, but it evaluates constants: `const _: () = Foo::<u64>::CHECKED;` makes the
/// checks of `Foo<u64>` fire there. `Zeroable::zeroed` and `PerCpu::zeroed` make them fire too; zero
/// bytes that `unsafe` code makes into a struct do not.
///
/// Under loom (`--cfg corelocal_loom`) no check fires, because its atomics are larger.
///
/// # Fields without bytes
///
/// An `aligned` group stands between two fields `_edge0` and `_edge1` (the next one between `_edge2`
/// and `_edge3`) of the type [`Edge`](crate::cacheline::Edge). A struct that is written out in full
/// names them; `..Default::default()` does it too.
///
/// ```
/// use corelocal::cacheline::{CACHE_LINE, Edge, Proof};
/// use corelocal::cacheline_struct;
///
/// cacheline_struct! {
///     struct Slot<T> {
///         group head(aligned, exclusive, lines <= 1) { head: T }
///         tail: T,
///     }
/// }
/// let slot = Slot { _edge0: Edge::new(), head: 1u64, _edge1: Edge::new(), tail: 2, _proof: Proof::new() };
/// assert_eq!(Slot::<u64>::LAYOUT.field("tail").unwrap().offset, CACHE_LINE);
/// # let _ = (slot.head, slot.tail);
/// ```
///
/// # Grammar
///
/// Attributes and a visibility on the struct and on each field; lifetimes, type parameters (each
/// with one bound at most) and a `where` clause (one bound an item), as in
/// [`colocated!`](crate::colocated!). A field's attributes are copied to an expression, so they
/// have to make sense there: documentation, `cfg`, `allow`. A promise about a field under a `cfg`
/// holds where the field is not there. A group takes documentation only. Up to 16 groups can be
/// aligned.
#[macro_export]
macro_rules! cacheline_struct {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<
            $($life:lifetime $(: $outlives:lifetime)?),* $(,)?
            $($param:ident $(: $bound:path)?),* $(,)?
        >)?
        $(where $($item:ty : $itemb:path),+ $(,)?)?
        { $($body:tt)* }
        $( touches $access:ident $set:tt $(in $compare:tt $limit:tt lines)? ; )*
    ) => {
        $crate::__cacheline! {
            @items struct
            {
                [$(#[$meta])*] [$vis] $name
                [$(< $($life $(: $outlives)?,)* $($param $(: $bound)?,)* >)?]
                [$(< $($life,)* $($param,)* >)?]
                [$($($item : $itemb,)+)?]
                [$({ $access $set [$($compare $limit)?] })*]
            }
            [
                $vis
                _edge0 _edge1 _edge2 _edge3 _edge4 _edge5 _edge6 _edge7
                _edge8 _edge9 _edge10 _edge11 _edge12 _edge13 _edge14 _edge15
                _edge16 _edge17 _edge18 _edge19 _edge20 _edge21 _edge22 _edge23
                _edge24 _edge25 _edge26 _edge27 _edge28 _edge29 _edge30 _edge31
            ]
            [] [] [] $($body)*
        }
    };
}

/// Writes out what [`__cacheline!`](crate::__cacheline!) has read of a struct.
#[doc(hidden)]
#[macro_export]
macro_rules! __cacheline_struct {
    // Without generics the layout is known at once, and so are its faults. (rustc looks at such a
    // constant anyway, but does not promise to.)
    (
        { [$($meta:tt)*] [$vis:vis] $name:ident [] [] [$($where:tt)*] $accesses:tt }
        [$($decl:tt)*] $members:tt $groups:tt
    ) => {
        $($meta)*
        #[repr(C)]
        $vis struct $name where $($where)* { $($decl)* }

        $crate::__cacheline_struct! {
            @impls [$vis] $name [] [] [$($where)*] $accesses $members $groups
        }
        $crate::__exactly! { $name [] [] [$($where)*] [] $($decl)* }
        const _: () = <$name>::CHECKED;
    };
    (
        {
            [$($meta:tt)*] [$vis:vis] $name:ident [$($impl:tt)+] [$($args:tt)+] [$($where:tt)*]
            $accesses:tt
        }
        [$($decl:tt)*] $members:tt $groups:tt
    ) => {
        $($meta)*
        #[repr(C)]
        $vis struct $name $($impl)+ where $($where)* {
            $($decl)*
            #[doc(hidden)]
            $vis _proof: $crate::cacheline::Proof<$name $($args)+>,
        }

        $crate::__cacheline_struct! {
            @impls [$vis] $name [$($impl)+] [$($args)+] [$($where)*] $accesses $members $groups
        }
        $crate::__exactly! { $name [$($impl)+] [$($args)+] [$($where)*] [_proof] $($decl)* }
    };

    (
        @impls [$vis:vis] $name:ident [$($impl:tt)*] [$($args:tt)*] [$($where:tt)*]
        [$({ $access:ident $set:tt $limit:tt })*]
        [$({ [$($attr:tt)*] $field:ident [$ty:ty] [$($group:ident)?] })*]
        [$({ $named:ident $rules:tt })*]
    ) => {
        #[allow(single_use_lifetimes, unused_doc_comments, dead_code)]
        impl $($impl)* $name $($args)* where $($where)* {
            /// The struct's map: where each byte lies.
            $vis const LAYOUT: $crate::cacheline::Layout<'static> = $crate::cacheline::Layout::new(
                stringify!($name),
                ::core::mem::size_of::<Self>(),
                ::core::mem::align_of::<Self>(),
                const { &[$(
                    $($attr)*
                    $crate::cacheline::LayoutField::new(
                        stringify!($field),
                        ::core::mem::offset_of!(Self, $field),
                        ::core::mem::size_of::<$ty>(),
                        ::core::mem::align_of::<$ty>(),
                    )
                    $(.in_group(stringify!($group)))?
                ),*] },
                const { &[$($crate::cacheline::Group::new(
                    stringify!($named),
                    const { &$rules },
                )),*] },
                const { &[$($crate::__cacheline!(@access $access $set $limit)),*] },
            )
            .declaring(const { &[$(stringify!($field)),*] });

            /// Naming it makes the checks of the struct's promises fire.
            $vis const CHECKED: () = Self::LAYOUT.__check();
        }

        #[allow(single_use_lifetimes)]
        impl $($impl)* $crate::cacheline::Checked for $name $($args)* where $($where)* {
            const CHECKED: () = Self::CHECKED;
        }

        $crate::__zeroable! {
            $name [$($impl)*] [$($args)*] [$($where)*] [Self::CHECKED] $([$ty])*
        }
    };
}
