//! Groups of fields: where the macros put them, and what is promised of them.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::mem::{align_of, offset_of, size_of};
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Zeroable;
use corelocal::cacheline::{
    CACHE_LINE, Checked, Edge, Group, Layout, LayoutField, Limit, LineWarning, Proof, Rule, Touch,
};
use corelocal::{PerCpu, cacheline_group, cacheline_struct, layout_map};

cacheline_struct! {
    /// What a CPU runs.
    #[derive(Clone, Copy, Default, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct Queue {
        /// A field before all groups.
        pub id: u16,
        group hot(lines <= 2, bytes <= 2 * size_of::<u64>(), holds(running, count, absent)) {
            /// How many run.
            pub(crate) running: u32,
            #[cfg(not(any()))]
            count: i32,
            #[cfg(any())]
            absent: i32,
        }
        /// A group's documentation.
        group own(aligned, exclusive, lines == 1, bytes == 8, apart(hot, gone)) {
            weight: u64,
        },
        group: u8, // a field may be called so
        group gone(lines == 0, aligned_if(1)) {
            #[cfg(any())]
            never: u8,
        }
        #[cfg(any())]
        neither: u64,
        r#type: u8, after: [u8; 3], more: u32, still_more: u32, last: u8
    }
    touches wake { mut running, mut count, absent } in <= 2 lines;
    touches tick { weight, mut r#type };
}

#[test]
fn fields_lie_where_repr_c_puts_them_and_the_map_says_so() {
    let map = Queue::LAYOUT;
    assert_eq!(
        (map.name(), map.size(), map.align()),
        ("Queue", size_of::<Queue>(), align_of::<Queue>(),)
    );
    assert_eq!(map.line(), CACHE_LINE);
    let told: Vec<_> = map.fields().iter().map(|f| (f.name, f.offset, f.size, f.group)).collect();
    macro_rules! field {
        ($name:ident $ty:ty, $group:expr) => {
            (stringify!($name), offset_of!(Queue, $name), size_of::<$ty>(), $group)
        };
    }
    let found = [
        field!(id u16, None),
        field!(running u32, Some("hot")),
        field!(count i32, Some("hot")),
        field!(weight u64, Some("own")),
        field!(group u8, None),
        field!(r#type u8, None),
        field!(after [u8; 3], None),
        field!(more u32, None),
        field!(still_more u32, None),
        field!(last u8, None),
    ];
    assert_eq!(told, found);
    assert!(map.fields().windows(2).all(|pair| pair[0].end() <= pair[1].offset));
}

/// <https://github.com/crossbeam-rs/crossbeam/pull/641>: nothing here is 64.
#[test]
fn an_aligned_group_begins_on_a_line_and_what_follows_begins_on_another() {
    assert_eq!(offset_of!(Queue, weight), CACHE_LINE);
    assert_eq!(offset_of!(Queue, group), 2 * CACHE_LINE);
    assert_eq!(align_of::<Queue>() % CACHE_LINE, 0);
    // And only an aligned one: the rest is as C has it.
    assert_eq!((offset_of!(Queue, id), offset_of!(Queue, running)), (0, 4));
    assert_eq!(offset_of!(Queue, r#type), 2 * CACHE_LINE + 1);
}

#[test]
fn the_map_repeats_what_was_promised() {
    let map = Queue::LAYOUT;
    let rules: Vec<(&str, &[Rule<'_>])> = map.groups().iter().map(|g| (g.name, g.rules)).collect();
    assert_eq!(rules[0].0, "hot");
    assert_eq!(
        rules[0].1,
        [
            Rule::Lines(Limit::AtMost(2)),
            Rule::Bytes(Limit::AtMost(16)),
            Rule::Holds(&["running", "count", "absent"]),
        ]
    );
    assert_eq!(
        rules[1].1,
        [
            Rule::Aligned,
            Rule::Exclusive,
            Rule::Lines(Limit::Exactly(1)),
            Rule::Bytes(Limit::Exactly(8)),
            Rule::Apart("hot"),
            Rule::Apart("gone"),
        ]
    );
    let [wake, tick] = map.accesses() else { panic!("two operations") };
    assert_eq!((wake.name, wake.lines), ("wake", Some(Limit::AtMost(2))));
    assert_eq!(
        wake.touches,
        [Touch::write("running"), Touch::write("count"), Touch::read("absent"),]
    );
    assert_eq!((tick.lines, tick.touches[1]), (None, Touch::write("r#type")));
    assert_eq!(map.broken(), None);
}

#[test]
fn structs_with_aligned_groups_are_built_in_three_ways() {
    let by_default = Queue { weight: 9, ..Default::default() };
    let in_full = Queue {
        id: 0,
        running: 0,
        count: 0,
        _edge0: Edge::new(),
        weight: 9,
        _edge1: Edge::new(),
        group: 0,
        _edge2: Edge::new(),
        _edge3: Edge::new(),
        r#type: 0,
        after: [0; 3],
        more: 0,
        still_more: 0,
        last: 0,
    };
    assert_eq!(by_default, in_full);
    assert_eq!(Queue { weight: 9, ..Zeroable::zeroed() }, in_full);
    assert!(Queue::default() < in_full);
}

cacheline_struct! {
    struct Named<'a, 'b: 'a, T: Debug, U> where T: Clone, Vec<T>: Debug {
        group own(aligned, exclusive, lines <= 2) { value: T, count: AtomicU64 }
        group rest { name: &'a str, other: &'b str, last: U }
    }
    touches look { value, name } in == 2 lines;
}

#[test]
fn generic_structs_are_checked_and_built() {
    let named = Named {
        _edge0: Edge::new(),
        value: 3u8,
        count: AtomicU64::new(1),
        _edge1: Edge::new(),
        name: "x",
        other: "y",
        last: String::new(),
        _proof: Proof::new(),
    };
    named.count.fetch_add(1, Ordering::Relaxed);
    assert_eq!((named.value, named.count.into_inner(), named.name), (3, 2, "x"));
    assert_eq!((named.other, named.last.len()), ("y", 0));
    // A value can be moved out: nothing here has a destructor of its own.
    assert_eq!(size_of::<(Edge<1>, Proof<Named<'static, 'static, u8, u8>>)>(), 0);
    let map = Named::<'static, 'static, [u64; 3], u8>::LAYOUT;
    assert_eq!(map.field("value").map(|f| (f.offset, f.size)), Some((0, 24)));
    fn checked<T: Checked>() {
        let () = T::CHECKED;
    }
    checked::<Named<'static, 'static, u16, u32>>();
    checked::<Queue>();
}

/// What may be sent and shared depends on the fields alone.
#[test]
fn proofs_and_edges_are_sent_and_shared_with_anything() {
    fn is_both<T: Send + Sync + Unpin + Copy>() {}
    is_both::<Proof<*const u8>>();
    is_both::<Edge<CACHE_LINE>>();
}

#[test]
fn a_struct_of_zeroable_fields_lives_in_per_cpu_memory() {
    let queues = PerCpu::<Queue>::zeroed();
    assert!(queues.iter().all(|(_, queue)| *queue == Queue::default()));
    let generic = PerCpu::<Slot<u32>>::zeroed();
    assert_eq!(generic.iter().map(|(_, slot)| slot.value).sum::<u32>(), 0);
    let _ = Slot { value: (), _proof: Proof::new() };
}

cacheline_struct! { struct Slot<T> { value: T } }
cacheline_struct! { struct Empty {} }
cacheline_struct! { struct OnlyEmptyGroup { group none(lines == 0, exclusive, aligned) {} } }

#[test]
fn structs_without_bytes_have_maps_without_rows() {
    let _ = (Empty {}, OnlyEmptyGroup { _edge0: Edge::new(), _edge1: Edge::new() });
    assert_eq!((Empty::LAYOUT.lines(), Empty::LAYOUT.gaps().count()), (0, 0));
    assert_eq!(OnlyEmptyGroup::LAYOUT.lines_of_group("none").count(), 0);
}

cacheline_struct! {
    /// A field that a configuration moves.
    #[derive(Default)]
    #[repr(align(64))]
    struct Moved {
        group hot { running: u32, #[cfg(any())] waiting: u32 }
        group cold { created: [u64; 20], #[cfg(not(any()))] waiting: u32 }
    }
    touches wake { mut running, mut waiting } in <= 15 lines;
}

#[test]
fn a_field_stands_where_its_cfg_says() {
    let field = Moved::LAYOUT.field("waiting").expect("one of the two");
    assert_eq!((field.offset, field.group), (168, Some("cold")));
    let moved = Moved { created: [0; 20], ..Zeroable::zeroed() };
    assert_eq!(moved.running + moved.waiting + moved.created[0] as u32, 0);
}

mod someone_else {
    #[repr(C, align(1024))]
    pub(super) struct Theirs<T> {
        pub(super) begin: [u8; 0],
        pub(super) head: u64,
        pub(super) tail: T,
        pub(super) end: [u8; 0],
        #[cfg(not(any()))]
        pub(super) name: [u8; 1000],
    }
}
use someone_else::Theirs;

layout_map! {
    /// Where its bytes lie.
    const THEIRS: Theirs<u32> {
        group ends(within(begin ..= end), bytes <= 12, aligned, holds(head, tail)) { head, tail },
        begin,
        end,
        #[cfg(not(any()))]
        name,
        #[cfg(any())]
        absent,
    }
    touches push { mut tail, head, absent } in <= 1 lines;
}

cacheline_group! { someone_else::Theirs<u64> { group head(aligned, bytes == 8) { head } } }
cacheline_group! {
    Theirs<u128> { group tail { tail }, head }
    touches both { head, tail } in <= 2 lines;
}

#[test]
fn a_struct_that_someone_else_defined_has_a_map() {
    assert_eq!(THEIRS.name(), "Theirs<u32>");
    assert_eq!(THEIRS.field("tail").map(|f| (f.offset, f.size, f.align)), Some((8, 4, 4)));
    assert_eq!(THEIRS.field("name").map(|f| f.offset), Some(12));
    assert_eq!(THEIRS.fields().len(), 5);
    assert!(!THEIRS.is_partial());
    let theirs = Theirs { begin: [], head: 1, tail: 2u8, end: [], name: [0; 1000] };
    let sum = theirs.head + u64::from(theirs.tail) + u64::from(theirs.name[0]);
    assert_eq!((sum, theirs.begin.len() + theirs.end.len()), (3, 0));
}

#[test]
fn a_machine_with_larger_lines_is_warned_of() {
    assert_eq!(LineWarning::for_line(CACHE_LINE), None);
    assert_eq!(LineWarning::for_line(1), None);
    let twice = 2 * CACHE_LINE;
    let warning = LineWarning::for_line(twice).expect("a warning").to_string();
    assert!(warning.contains(&format!("have {twice} bytes")), "{warning}");
    assert!(warning.ends_with(&format!("CORELOCAL_CACHE_LINE={twice}")), "{warning}");
}

/// As many fields as nobody writes, within rustc's limits of macros and of constants.
#[test]
fn long_structs_are_checked_in_time() {
    macro_rules! long {
        ($($field:ident)+) => {
            cacheline_struct! {
                #[repr(align(64))]
                struct Long {
                    group all(lines <= 1000, holds($($field),+)) { $($field: u8),+ }
                    plain0: u8, plain1: u8, plain2: u8, plain3: u8, plain4: u8, plain5: u8,
                }
                touches everything { $($field),+ } in <= 1000 lines;
            }
            let long = Long {
                $($field: 1,)+
                plain0: 0, plain1: 0, plain2: 0, plain3: 0, plain4: 0, plain5: 0,
            };
            let sum = [$(long.$field),+].iter().map(|byte| u32::from(*byte)).sum::<u32>();
            let plain = [long.plain0, long.plain1, long.plain2, long.plain3, long.plain4];
            assert_eq!((sum, plain, long.plain5), (120, [0; 5], 0));
        };
    }
    long! {
        a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 b0 b1 b2 b3 b4 b5 b6 b7 b8 b9 c0 c1 c2 c3 c4 c5 c6 c7 c8 c9
        d0 d1 d2 d3 d4 d5 d6 d7 d8 d9 e0 e1 e2 e3 e4 e5 e6 e7 e8 e9 f0 f1 f2 f3 f4 f5 f6 f7 f8 f9
        g0 g1 g2 g3 g4 g5 g6 g7 g8 g9 h0 h1 h2 h3 h4 h5 h6 h7 h8 h9 i0 i1 i2 i3 i4 i5 i6 i7 i8 i9
        j0 j1 j2 j3 j4 j5 j6 j7 j8 j9 k0 k1 k2 k3 k4 k5 k6 k7 k8 k9 l0 l1 l2 l3 l4 l5 l6 l7 l8 l9
    }
    assert_eq!(Long::LAYOUT.fields().len(), 126);
}

/// Checks at run time are the same as those of the compiler, on any line.
#[test]
fn a_map_tells_which_promise_other_lines_break() {
    let fields = [
        LayoutField::new("a", 0, 8, 8).in_group("one"),
        LayoutField::new("b", 64, 8, 8).in_group("two"),
    ];
    let rules = [Rule::Apart("two"), Rule::Aligned, Rule::Exclusive];
    let groups = [Group::new("one", &rules), Group::new("two", &[])];
    let map = Layout::new("S", 256, 256, &fields, &groups, &[]);
    assert_eq!(map.with_line(64).broken(), None);
    let broken = map.with_line(128).broken().expect("they share a line");
    assert_eq!((broken.structure(), broken.of()), ("S", "one"));
    assert_eq!(broken.field(), Some(fields[0]));
    assert!(map.with_line(512).broken().is_some());
}
