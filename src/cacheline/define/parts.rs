//! The grammar that the macros share: groups, their promises, and operations.

/// Reads the items of a struct or a map one by one, and writes it all out at the end.
///
/// `@items MODE HEAD POOL DECL MEMBERS GROUPS` is followed by what has not been read yet. `HEAD` is
/// what stands outside the braces. `POOL` has the names for the edges of aligned groups: a macro
/// cannot make names up. `DECL` are the fields as they will be declared, `MEMBERS` each field with
/// its attributes, type and group, `GROUPS` each group with its rules.
#[doc(hidden)]
#[macro_export]
macro_rules! __cacheline {
    // The end, and a comma that was left over.
    (@items struct $head:tt $pool:tt $decl:tt $members:tt $groups:tt) => {
        $crate::__cacheline_struct! { $head $decl $members $groups }
    };
    (@items map $head:tt $pool:tt $decl:tt $members:tt $groups:tt) => {
        $crate::__cacheline_map! { $head [] $members $groups }
    };
    (@items map $head:tt $pool:tt $decl:tt $members:tt $groups:tt ..) => {
        $crate::__cacheline_map! { $head [..] $members $groups }
    };
    (
        @items $mode:ident $head:tt $pool:tt $decl:tt $members:tt $groups:tt
        , $($rest:tt)*
    ) => {
        $crate::__cacheline! { @items $mode $head $pool $decl $members $groups $($rest)* }
    };

    // A group.
    (
        @items $mode:ident $head:tt $pool:tt $decl:tt $members:tt $groups:tt
        $(#[doc = $doc:expr])* group $group:ident ( $($option:tt)* ) { $($inner:tt)* } $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($option)* } [] []
            { $mode $head $pool $decl $members $groups $group { $($inner)* } } $($rest)*
        }
    };
    (
        @items $mode:ident $head:tt $pool:tt $decl:tt $members:tt $groups:tt
        $(#[doc = $doc:expr])* group $group:ident { $($inner:tt)* } $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @group [] []
            { $mode $head $pool $decl $members $groups $group { $($inner)* } } $($rest)*
        }
    };

    // Fields outside of groups: four at once, so that long structs stay within rustc's limit of
    // macros in macros.
    (
        @items struct $head:tt $pool:tt [$($decl:tt)*] [$($member:tt)*] $groups:tt
        $(#[$a0:meta])* $v0:vis $f0:ident : $t0:ty,
        $(#[$a1:meta])* $v1:vis $f1:ident : $t1:ty,
        $(#[$a2:meta])* $v2:vis $f2:ident : $t2:ty,
        $(#[$a3:meta])* $v3:vis $f3:ident : $t3:ty,
        $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @items struct $head $pool
            [
                $($decl)*
                $(#[$a0])* $v0 $f0: $t0,
                $(#[$a1])* $v1 $f1: $t1,
                $(#[$a2])* $v2 $f2: $t2,
                $(#[$a3])* $v3 $f3: $t3,
            ]
            [
                $($member)*
                { [$(#[$a0])*] $f0 [$t0] [] }
                { [$(#[$a1])*] $f1 [$t1] [] }
                { [$(#[$a2])*] $f2 [$t2] [] }
                { [$(#[$a3])*] $f3 [$t3] [] }
            ]
            $groups $($rest)*
        }
    };
    (
        @items struct $head:tt $pool:tt [$($decl:tt)*] [$($member:tt)*] $groups:tt
        $(#[$attr:meta])* $vis:vis $field:ident : $ty:ty $(, $($rest:tt)*)?
    ) => {
        $crate::__cacheline! {
            @items struct $head $pool
            [ $($decl)* $(#[$attr])* $vis $field: $ty, ]
            [ $($member)* { [$(#[$attr])*] $field [$ty] [] } ]
            $groups $($($rest)*)?
        }
    };
    (
        @items map $head:tt $pool:tt $decl:tt [$($member:tt)*] $groups:tt
        $(#[$attr:meta])* $field:ident $(, $($rest:tt)*)?
    ) => {
        $crate::__cacheline! {
            @items map $head $pool $decl
            [ $($member)* { [$(#[$attr])*] $field [] [] } ]
            $groups $($($rest)*)?
        }
    };

    // A group's options, one by one: `@option { not read } [alignment] [rules] { the group } rest`.
    (@option { } $align:tt $rules:tt $group:tt $($rest:tt)*) => {
        $crate::__cacheline! { @group $align $rules $group $($rest)* }
    };
    (
        @option { lines <= $n:expr $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Lines($crate::cacheline::Limit::AtMost($n))]] $group $($rest)*
        }
    };
    (
        @option { lines == $n:expr $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Lines($crate::cacheline::Limit::Exactly($n))]] $group $($rest)*
        }
    };
    (
        @option { bytes <= $n:expr $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Bytes($crate::cacheline::Limit::AtMost($n))]] $group $($rest)*
        }
    };
    (
        @option { bytes == $n:expr $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Bytes($crate::cacheline::Limit::Exactly($n))]] $group $($rest)*
        }
    };
    (
        @option { aligned $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } [$crate::cacheline::CACHE_LINE]
            [$($rule)* [Aligned]] $group $($rest)*
        }
    };
    (
        @option { aligned_if($n:expr) $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } [$crate::cacheline::__edge_if($n)]
            [$($rule)* [AlignedIf($n)]] $group $($rest)*
        }
    };
    (
        @option { exclusive $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align [$($rule)* [Exclusive]] $group $($rest)*
        }
    };
    (
        @option { apart($($other:ident),+ $(,)?) $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* $([Apart(stringify!($other))])+] $group $($rest)*
        }
    };
    (
        @option { holds($($field:ident),* $(,)?) $(, $($more:tt)*)? } $align:tt [$($rule:tt)*]
        $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Holds(const { &[$(stringify!($field)),*] })]] $group $($rest)*
        }
    };
    (
        @option { within($first:ident ..= $last:ident) $(, $($more:tt)*)? } $align:tt
        [$($rule:tt)*] $group:tt $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @option { $($($more)*)? } $align
            [$($rule)* [Within(stringify!($first), stringify!($last))]] $group $($rest)*
        }
    };
    (@option { $($bad:tt)* } $align:tt $rules:tt $group:tt $($rest:tt)*) => {
        compile_error!(concat!(
            "no such promise: ", stringify!($($bad)*), "; there are lines <= N, lines == N, ",
            "bytes <= N, bytes == N, aligned, aligned_if(N), exclusive, apart(group, ..), ",
            "holds(field, ..) and within(field ..= field)"
        ));
    };

    // A group whose options are known: its members, between two edges if it is to be aligned.
    (
        @group [] [$([$($rule:tt)*])*]
        {
            struct $head:tt $pool:tt [$($decl:tt)*] [$($member:tt)*] [$($group:tt)*] $name:ident
            { $($(#[$attr:meta])* $vis:vis $field:ident : $ty:ty),* $(,)? }
        }
        $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @items struct $head $pool
            [ $($decl)* $($(#[$attr])* $vis $field: $ty,)* ]
            [ $($member)* $({ [$(#[$attr])*] $field [$ty] [$name] })* ]
            [ $($group)* { $name [$($crate::cacheline::Rule::$($rule)*),*] } ]
            $($rest)*
        }
    };
    (
        @group [$($align:tt)+] [$([$($rule:tt)*])*]
        {
            struct $head:tt [$vis0:vis $edge0:ident $edge1:ident $($pool:ident)*]
            [$($decl:tt)*] [$($member:tt)*] [$($group:tt)*] $name:ident
            { $($(#[$attr:meta])* $vis:vis $field:ident : $ty:ty),* $(,)? }
        }
        $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @items struct $head [$vis0 $($pool)*]
            [
                $($decl)*
                #[doc(hidden)]
                $vis0 $edge0: $crate::cacheline::Edge<{ $($align)+ }>,
                $($(#[$attr])* $vis $field: $ty,)*
                #[doc(hidden)]
                $vis0 $edge1: $crate::cacheline::Edge<{ $($align)+ }>,
            ]
            [ $($member)* $({ [$(#[$attr])*] $field [$ty] [$name] })* ]
            [ $($group)* { $name [$($crate::cacheline::Rule::$($rule)*),*] } ]
            $($rest)*
        }
    };
    (
        @group $align:tt [$([$($rule:tt)*])*]
        {
            map $head:tt $pool:tt $decl:tt [$($member:tt)*] [$($group:tt)*] $name:ident
            { $($(#[$attr:meta])* $field:ident),* $(,)? }
        }
        $($rest:tt)*
    ) => {
        $crate::__cacheline! {
            @items map $head $pool $decl
            [ $($member)* $({ [$(#[$attr])*] $field [] [$name] })* ]
            [ $($group)* { $name [$($crate::cacheline::Rule::$($rule)*),*] } ]
            $($rest)*
        }
    };

    // An operation, as a value.
    (@access $name:ident $set:tt [<= $n:tt]) => {
        $crate::__cacheline!(@access $name $set [])
            .in_lines($crate::cacheline::Limit::AtMost($n))
    };
    (@access $name:ident $set:tt [== $n:tt]) => {
        $crate::__cacheline!(@access $name $set [])
            .in_lines($crate::cacheline::Limit::Exactly($n))
    };
    (@access $name:ident { $($($word:ident)+),* $(,)? } []) => {
        $crate::cacheline::Access::new(
            stringify!($name),
            const { &[$($crate::__cacheline!(@touch $($word)+)),*] },
        )
    };
    (@touch mut $field:ident) => {
        $crate::cacheline::Touch::write(stringify!($field))
    };
    (@touch $field:ident) => {
        $crate::cacheline::Touch::read(stringify!($field))
    };
}
