//! Field tokens: the offsets are the compiler's, whatever the struct looks like.
#![forbid(unsafe_code)]

use std::mem::{offset_of, size_of};

use corelocal::field;
use corelocal::field::Field;

#[derive(Default)]
struct Stats {
    reads: u8,
    writes: u64,
    last: [u16; 3],
}

impl Stats {
    const LAST: Field<Self, [u16; 3]> = field!(Self, last);
}

struct Generic<T, U = u8> {
    tag: U,
    value: T,
}

struct Tuple(u8, u32);

struct Borrowed<'a, T: ?Sized> {
    length: u8,
    text: &'a T,
}

#[repr(C, align(64))]
struct Deep {
    pad: u8,
    middle: Middle,
}

#[repr(C)]
struct Middle {
    pad: u16,
    inner: Tuple,
}

/// `packed` that misaligns nothing is no reason to refuse.
#[repr(C, packed)]
struct Bytes {
    tag: u8,
    text: [u8; 3],
}

mod other {
    pub(super) struct Public {
        pub(super) value: u32,
    }
}

type Alias = Generic<u64, u16>;

const WRITES: Field<Stats, u64> = field!(Stats, writes);
static LATER: Field<Tuple, u32> = field!(Tuple, 1);

/// Tokens in a generic function, whose types are the caller's.
fn generic<T>() -> Field<Generic<T>, T> {
    const { field!(Generic<T>, value) }
}

/// A token of a struct with a lifetime that is not `'static`.
fn borrowed<'a>(_: &'a str) -> Field<Borrowed<'a, str>, &'a str> {
    field!(Borrowed<'a, str>, text)
}

#[test]
fn a_token_has_the_offset_of_its_field() {
    assert_eq!(field!(Stats, reads).offset(), offset_of!(Stats, reads));
    assert_eq!(WRITES.offset(), offset_of!(Stats, writes));
    assert_eq!(Stats::LAST.offset(), offset_of!(Stats, last));
    assert_eq!(LATER.offset(), offset_of!(Tuple, 1));
    assert_eq!(field!(Tuple, 0).offset(), offset_of!(Tuple, 0));
    assert_eq!(field!(Bytes, text).offset(), 1);
    assert_eq!(field!(Bytes, tag).offset(), 0);
}

#[test]
fn generics_lifetimes_aliases_and_paths_are_fine() {
    assert_eq!(field!(Generic<u64>, value).offset(), offset_of!(Generic<u64>, value));
    assert_eq!(
        field!(Generic::<u8, [u32; 2]>, tag).offset(),
        offset_of!(Generic<u8, [u32; 2]>, tag)
    );
    assert_eq!(field!(Alias, tag).offset(), offset_of!(Alias, tag));
    assert_eq!(field!(other::Public, value).offset(), 0);
    assert_eq!(field!(Borrowed<'_, [u8]>, length).offset(), offset_of!(Borrowed<'_, [u8]>, length));
    assert_eq!(generic::<u128>().offset(), offset_of!(Generic<u128>, value));
    assert_eq!(borrowed("").offset(), offset_of!(Borrowed<'static, str>, text));
}

#[test]
fn tokens_compose_to_nested_fields() {
    const DEEP: Field<Deep, u32> =
        field!(Deep, middle).then(field!(Middle, inner)).then(field!(Tuple, 1));
    assert_eq!(DEEP.offset(), offset_of!(Deep, middle.inner.1));
    assert_eq!(field!(Deep, pad).offset(), offset_of!(Deep, pad));
    assert_eq!(field!(Middle, pad).offset(), offset_of!(Middle, pad));
}

/// The macro brings names of its own; a user's constants of any name must not capture them.
#[test]
fn names_around_the_macro_do_not_get_into_it() {
    #[allow(non_upper_case_globals, dead_code)]
    const offset: usize = 99;
    #[allow(non_upper_case_globals, dead_code)]
    const f: u64 = 99;
    assert_eq!(field!(Stats, writes).offset(), offset_of!(Stats, writes));
}

#[test]
fn a_token_is_one_word_and_prints_its_offset() {
    assert_eq!(size_of::<Field<Stats, u64>>(), size_of::<usize>());
    assert_eq!(format!("{:?}", LATER), format!("Field {{ offset: {} }}", offset_of!(Tuple, 1)));
    let copy = LATER;
    assert_eq!(copy.offset(), LATER.offset());
}
