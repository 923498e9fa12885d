//! Co-location: layouts against hand-computed offsets, and the ways between part and whole.

#![allow(unsafe_code, reason = "the raw forms are part of what is tested")]

use std::cell::Cell;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::mem::{align_of, offset_of, size_of};
use std::ptr::NonNull;

use bytemuck::Zeroable;
use corelocal::colocated;
use corelocal::colocated::{CoLocated, HasPart, Part};
use corelocal::field;
use corelocal::field::Field;

/// A value of some size and alignment that can be told from others.
trait Sample: Copy + PartialEq + Debug {
    fn sample(seed: u8) -> Self;
}

macro_rules! samples {
    ($($name:ident $size:literal $align:literal)+) => { $(
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[repr(C, align($align))]
        struct $name([u8; $size]);
        impl Sample for $name {
            fn sample(seed: u8) -> Self {
                Self(std::array::from_fn(|i| seed.wrapping_mul(31).wrapping_add(i as u8)))
            }
        }
    )+ };
}
samples! {
    ZeroAligned 0 128 Byte 1 1 Three 3 1 Word 8 8 Line 65 64 Page 1 4096
}

impl Sample for () {
    fn sample(_: u8) {}
}

/// The layout rule of `repr(C)`, by hand.
fn layout<const N: usize>(parts: [(usize, usize); N]) -> ([usize; N], usize, usize) {
    let (mut end, mut align) = (0usize, 1);
    let offsets = parts.map(|(size, part_align)| {
        let offset = end.next_multiple_of(part_align);
        end = offset + size;
        align = align.max(part_align);
        offset
    });
    (offsets, end.next_multiple_of(align), align)
}

fn of<T>() -> (usize, usize) {
    (size_of::<T>(), align_of::<T>())
}

fn check<A: Sample, B: Sample, C: Sample>() {
    type All<A, B, C> = CoLocated<A, B, C>;
    let (offsets, size, align) = layout([of::<A>(), of::<B>(), of::<C>()]);
    let named = (All::<A, B, C>::OFFSET_A, All::<A, B, C>::OFFSET_B, All::<A, B, C>::OFFSET_C);
    assert_eq!(named, offsets.into());
    assert_eq!(of::<All<A, B, C>>(), (size, align));
    assert_eq!(All::<A, B, C>::PART_A.offset(), offsets[0]);
    assert_eq!(All::<A, B, C>::PART_B.offset(), offsets[1]);
    assert_eq!(All::<A, B, C>::PART_C.offset(), offsets[2]);

    let (a, b, c) = (A::sample(1), B::sample(2), C::sample(3));
    let mut all = CoLocated::new(A::sample(4), B::sample(5), C::sample(6));
    (*all.a_mut(), *all.b_mut(), *all.c_mut()) = (a, b, c);
    assert_eq!((*all.a(), *all.b(), *all.c()), (a, b, c));

    let base = &raw const all as usize;
    for part in [all.part_b().sibling::<0>(), all.part_a()] {
        assert_eq!(&raw const *part as usize, base);
        assert_eq!(&raw const *part.whole() as usize, base);
        assert_eq!(&raw const *part.sibling::<1>() as usize, base + offsets[1]);
        assert_eq!((*part, *part.sibling::<2>()), (a, c));
    }
    assert_eq!(&raw const *all.part_c().sibling::<1>().sibling::<2>() as usize, base + offsets[2]);
    check_raw(&mut all, (a, b, c));
    assert_eq!(all.into_parts(), (A::sample(7), B::sample(8), C::sample(9)));
}

/// Out to each part and back by raw pointers; the last write goes through one that came back.
fn check_raw<A: Sample, B: Sample, C: Sample>(all: &mut CoLocated<A, B, C>, (a, b, c): (A, B, C)) {
    let whole = NonNull::from(all);
    // There and back: what is in the part, and the whole that its pointer leads to.
    macro_rules! round_trip {
        ($there:ident, $back:ident) => {{
            // SAFETY: `whole` points to a live `CoLocated`, borrowed exclusively.
            let part = unsafe { CoLocated::<A, B, C>::$there(whole) };
            // SAFETY: the pointer is to a live, aligned, initialised part.
            let value = unsafe { part.read() };
            // SAFETY: the pointer was made from one to the whole.
            (value, unsafe { CoLocated::<A, B, C>::$back(part) })
        }};
    }
    assert_eq!(round_trip!(a_ptr, from_a), (a, whole));
    assert_eq!(round_trip!(c_ptr, from_c), (c, whole));
    let (value, back) = round_trip!(b_ptr, from_b);
    assert_eq!((value, back), (b, whole));
    // SAFETY: `back` has the provenance of `whole`: all of the `CoLocated`, exclusively.
    unsafe { back.write(CoLocated::new(A::sample(7), B::sample(8), C::sample(9))) };
}

/// <https://github.com/rust-lang/nomicon/issues/120>: parts without bytes.
#[test]
fn offsets_are_those_of_repr_c_for_all_sizes_and_alignments() {
    struct Checked(usize);
    let mut checked = Checked(0);
    macro_rules! third {
        ($a:ty, $b:ty; $($c:ty)+) => { $( check::<$a, $b, $c>(); checked.0 += 1; )+ };
    }
    macro_rules! second {
        ($a:ty; $($b:ty)+) => { $(
            third!($a, $b; () ZeroAligned Three Word Line Page);
        )+ };
    }
    macro_rules! first {
        ($($a:ty)+) => { $(
            second!($a; () ZeroAligned Three Word Line Page);
        )+ };
    }
    first!(() ZeroAligned Three Word Line Page);
    assert_eq!(checked.0, 6 * 6 * 6);
    assert_eq!(size_of::<CoLocated<(), (), ()>>(), 0);
}

#[test]
fn a_part_is_one_word() {
    assert_eq!(size_of::<Part<'static, CoLocated<Page, Byte>, Byte, 1>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Part<'static, CoLocated<()>, ()>>>(), size_of::<usize>());
}

#[test]
fn debug_prints_sizes_and_no_values() {
    let all = CoLocated::new(7u8, 42u64, ());
    assert_eq!(format!("{all:?}"), "CoLocated { size: 16, a: 1, b: 8, c: 0 }");
    assert_eq!(format!("{:?}", all.part_b()), "Part { index: 1, size: 8, whole: 16 }");
}

#[test]
fn a_zeroed_whole_has_zeroed_parts() {
    let all: CoLocated<u8, u64, [u16; 3]> = Zeroable::zeroed();
    assert_eq!(all, CoLocated::default());
    let boxed: Box<Numbers> = Box::new(Zeroable::zeroed());
    assert_eq!((boxed.first, boxed.second, boxed.third), (0, 0, [0; 3]));
}

colocated! {
    /// Numbers.
    #[derive(Clone, Copy, Default, Debug, PartialEq)]
    struct Numbers { first: u32, second: u64, third: [u8; 3] }
}

#[derive(Default)]
struct CfsRq {
    running: Cell<u32>,
}

#[derive(Default)]
#[repr(align(64))]
struct SchedEntity {
    weight: Cell<u64>,
    depth: u32,
}

struct SchedStatistics<'a, T> {
    name: &'a str,
    extra: T,
}

colocated! {
    /// A group's state on one CPU; `Drop`, generics, attributes, all at once.
    #[must_use]
    pub(crate) struct CfsTgState<'a, T: Debug> where T: Clone, Vec<T>: Debug {
        /// The group's queue.
        pub(self) cfs_rq: CfsRq,
        se: SchedEntity,
        stats: SchedStatistics<'a, T>,
        #[cfg(any())]
        absent: u64,
        r#type: u8,
    }
}

impl<T: Debug + Clone> Drop for CfsTgState<'_, T>
where
    Vec<T>: Debug,
{
    fn drop(&mut self) {
        self.cfs_rq.running.set(0);
    }
}

colocated! { struct Single { only: String } }

fn state(name: &str, depth: u32) -> CfsTgState<'_, Vec<u8>> {
    CfsTgState {
        cfs_rq: CfsRq { running: Cell::new(depth + 1) },
        se: SchedEntity { weight: Cell::new(1024), depth },
        stats: SchedStatistics { name, extra: vec![1, 2] },
        r#type: 9,
    }
}

#[test]
fn named_parts_lie_where_repr_c_puts_them() {
    type State = CfsTgState<'static, u32>;
    type Stats = SchedStatistics<'static, u32>;
    let (offsets, size, align) =
        layout([of::<CfsRq>(), of::<SchedEntity>(), of::<Stats>(), (1, 1)]);
    assert_eq!(of::<State>(), (size, align));
    assert_eq!(<State as HasPart<0>>::PART.offset(), offsets[0]);
    assert_eq!(<State as HasPart<1>>::PART.offset(), offsets[1]);
    assert_eq!(<State as HasPart<2>>::PART.offset(), offsets[2]);
    assert_eq!(<State as HasPart<3>>::PART.offset(), offsets[3]);
    const SE: Field<CfsTgState<'static, u32>, SchedEntity> = field!(CfsTgState<'static, u32>, se);
    assert_eq!(SE.offset(), offset_of!(CfsTgState<'static, u32>, se));
    assert_eq!(<Numbers as HasPart<2>>::PART.offset(), 16);
}

#[test]
fn named_parts_know_each_other() {
    let mut state = state("a", 0);
    state.se.depth = 5;
    let part: Part<'_, CfsTgState<'_, Vec<u8>>, SchedEntity, 1> = state.se();
    part.sibling::<0>().running.set(8);
    assert_eq!((part.depth, part.weight.get()), (5, 1024));
    assert_eq!(part.whole().cfs_rq().running.get(), 8);
    assert_eq!(part.whole().stats().extra, [1, 2]);
    assert_eq!((part.whole().stats().name, *part.whole().r#type()), ("a", 9));
    let single = Single { only: "x".into() };
    assert_eq!(single.only().get(), &single.only().whole().only);
}

/// The walk that co-location is for: from an entity to the queue that lies with its parent.
#[test]
fn entities_reach_their_parents_queues() {
    type Entity<'s> = Part<'s, CfsTgState<'static, Vec<u8>>, SchedEntity, 1>;
    struct Link<'s> {
        entity: Entity<'s>,
        parent: Option<usize>,
    }
    let states: Vec<_> = (0..64).map(|depth| state("", depth)).collect();
    let links: Vec<Link<'_>> = states
        .iter()
        .enumerate()
        .map(|(i, state)| Link { entity: state.se(), parent: i.checked_sub(1) })
        .collect();
    let (mut sum, mut at) = (0, Some(63));
    while let Some(i) = at {
        let queue = links[i].entity.sibling::<0>();
        queue.running.set(queue.running.get() + 1);
        sum += links[i].entity.whole().cfs_rq.running.get();
        at = links[i].parent;
    }
    assert_eq!(sum, (0..64).map(|depth| depth + 2).sum::<u32>());
}

#[test]
fn a_part_can_be_sent_to_a_scoped_thread() {
    let numbers = Numbers { first: 1, second: 2, third: [3; 3] };
    let part = numbers.second();
    let sum = std::thread::scope(|scope| {
        scope.spawn(move || *part + u64::from(part.whole().first)).join().expect("no panic")
    });
    assert_eq!(sum, 3);
}

/// A raw list through the second parts, as a kernel would link them: no reference to a part alone
/// is ever made into a link, and every node is freed through the pointer that came back.
#[test]
fn raw_links_through_a_part_lead_back_to_the_whole() {
    struct Node {
        next: Option<NonNull<Node>>,
    }
    type Item = CoLocated<u64, Node, String>;

    let mut head: Option<NonNull<Node>> = None;
    for i in 0..100u64 {
        let item = Box::new(Item::new(i, Node { next: head }, i.to_string()));
        let whole = NonNull::from(Box::leak(item));
        // SAFETY: `whole` points to a live item.
        head = Some(unsafe { Item::b_ptr(whole) });
    }
    let mut seen = Vec::new();
    while let Some(node) = head {
        // SAFETY: each link was made by `b_ptr` from a pointer to the whole item, which is live.
        let whole = unsafe { Item::from_b(node) };
        // SAFETY: `whole` is the pointer that `Box::leak` gave, and is met once.
        let item = unsafe { Box::from_raw(whole.as_ptr()) };
        assert_eq!(item.c(), &item.a().to_string());
        seen.push(*item.a());
        head = item.b().next;
    }
    assert_eq!(seen, (0..100).rev().collect::<Vec<_>>());
}

#[test]
fn a_part_s_raw_pointer_is_fit_for_the_raw_forms() {
    let all = CoLocated::new(Cell::new(1u8), Cell::new(2u64), ());
    let a = all.part_a().as_non_null();
    // SAFETY: `as_non_null` keeps the whole's provenance, and `all` is live.
    let whole = unsafe { CoLocated::<Cell<u8>, Cell<u64>>::from_a(a) };
    // SAFETY: the whole is live and only shared.
    unsafe { whole.as_ref() }.b().set(7);
    assert_eq!(all.b().get(), 7);
}

/// <https://github.com/rust-lang/rust/issues/25894>: what may be sent and shared, may; the
/// counterparts that must not compile are in `tests/compile_fail`.
#[test]
fn send_and_sync_follow_the_parts() {
    fn send<T: Send>(_: PhantomData<T>) {}
    fn sync<T: Sync>(_: PhantomData<T>) {}
    send(PhantomData::<CoLocated<Cell<u8>, String>>);
    sync(PhantomData::<CoLocated<u8, String>>);
    send(PhantomData::<Part<'static, CoLocated<u8, String>, String, 1>>);
    sync(PhantomData::<Part<'static, CoLocated<u8, String>, String, 1>>);
}
