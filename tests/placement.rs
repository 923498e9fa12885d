//! How the parts of a `CoLocated` are placed: against offsets computed by hand.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::mem::{align_of, size_of};

use bytemuck::Zeroable;
use corelocal::CACHE_LINE;
use corelocal::colocated::{Apart, CoLocated, Odd, Placement, Together, odd_padding};
use corelocal::{PerCpu, field};

#[derive(Clone, Copy, Default, PartialEq, Debug)]
#[repr(align(2048))]
struct Page([u8; 3]);

#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct Three([u8; 3]);

/// Where the three parts begin, and the size, by the rule in the documentation.
fn by_hand(parts: [(usize, usize); 3], is_apart: bool, is_odd: bool) -> ([usize; 3], usize) {
    let whole_align = parts.iter().map(|(_, align)| *align).max().unwrap_or(1);
    let whole_align = if is_apart || is_odd { whole_align.max(CACHE_LINE) } else { whole_align };
    let mut end = 0usize;
    let offsets = parts.map(|(size, align)| {
        let align = if is_apart && end > 0 { align.max(CACHE_LINE) } else { align };
        let offset = end.next_multiple_of(align);
        end = offset + size;
        offset
    });
    let mut size = end.next_multiple_of(whole_align);
    if is_odd && size / CACHE_LINE % 2 == 0 {
        size += CACHE_LINE;
    }
    (offsets, size)
}

fn check<A, B, C, P>(a: A, b: B, c: C, is_apart: bool, is_odd: bool)
where
    A: Copy + PartialEq + Debug,
    B: Copy + PartialEq + Debug,
    C: Copy + PartialEq + Debug,
    P: Placement,
{
    let of = [
        (size_of::<A>(), align_of::<A>()),
        (size_of::<B>(), align_of::<B>()),
        (size_of::<C>(), align_of::<C>()),
    ];
    let (offsets, size) = by_hand(of, is_apart, is_odd);
    let [at_a, at_b, at_c] = offsets;
    let told = [
        CoLocated::<A, B, C, P>::OFFSET_A,
        CoLocated::<A, B, C, P>::OFFSET_B,
        CoLocated::<A, B, C, P>::OFFSET_C,
    ];
    assert_eq!(told, offsets);
    assert_eq!(size_of::<CoLocated<A, B, C, P>>(), size);

    let all = CoLocated::<A, B, C, P>::placed(a, b, c);
    assert_eq!((*all.a(), *all.b(), *all.c()), (a, b, c));
    let base = &raw const all as usize;
    assert_eq!(&raw const *all.a() as usize, base + at_a);
    assert_eq!(&raw const *all.b() as usize, base + at_b);
    assert_eq!(&raw const *all.part_a().sibling::<2>() as usize, base + at_c);
    if is_apart || is_odd {
        assert_eq!(base % CACHE_LINE, 0);
    }
    let lines = |at: usize, size: usize| at / CACHE_LINE..(at + size).div_ceil(CACHE_LINE);
    if is_apart {
        let spans = [lines(at_a, of[0].0), lines(at_b, of[1].0), lines(at_c, of[2].0)];
        assert!(spans[0].end <= spans[1].start && spans[1].end <= spans[2].start, "{spans:?}");
    }
}

/// <https://github.com/crossbeam-rs/crossbeam/pull/331>: for any size and alignment of the parts,
/// and any line.
#[test]
fn parts_lie_together_or_apart_on_odd_or_any_lines() {
    macro_rules! check_all {
        ($([$a:expr, $b:expr, $c:expr => $ta:ty, $tb:ty, $tc:ty])+) => { $({
            type Plain = CoLocated<$ta, $tb, $tc>;
            type Spread = CoLocated<$ta, $tb, $tc, Apart>;
            type OddPlain = Odd<{ odd_padding(size_of::<Plain>()) }>;
            type OddSpread = Odd<{ odd_padding(size_of::<Spread>()) }, Apart>;
            check::<$ta, $tb, $tc, Together>($a, $b, $c, false, false);
            check::<$ta, $tb, $tc, Apart>($a, $b, $c, true, false);
            check::<$ta, $tb, $tc, OddPlain>($a, $b, $c, false, true);
            check::<$ta, $tb, $tc, OddSpread>($a, $b, $c, true, true);
        })+ };
    }
    check_all! {
        [1, 2, 3 => u8, u64, u16]
        [Three([1; 3]), (), 7 => Three, (), u128]
        [[1; 8], [2; 24], [3; 32] => [u64; 8], [u64; 24], [u64; 32]]
        [[1; 700], 2, 3 => [u8; 700], u8, u8]
        [1, [2; 64], Three([3; 3]) => u32, [u64; 64], Three]
    }
    // A page is an even number of lines, whatever is added: only `Together` and `Apart` have it.
    check::<u8, Page, u8, Together>(1, Page([2; 3]), 3, false, false);
    check::<u8, Page, u8, Apart>(1, Page([2; 3]), 3, true, false);
}

#[test]
fn odd_padding_makes_odd_numbers_of_lines() {
    for bytes in 1..20 * CACHE_LINE {
        let lines = bytes.div_ceil(CACHE_LINE);
        assert_eq!((lines + odd_padding(bytes)) % 2, 1, "{bytes}");
        assert!(odd_padding(bytes) <= 1);
    }
}

#[test]
fn a_placement_costs_nothing_that_the_default_had() {
    assert_eq!(CoLocated::new(1u8, 2u64, ()), CoLocated::<_, _, _, Together>::placed(1, 2, ()));
    assert_eq!(size_of::<CoLocated<u8, u64>>(), 16);
    let zeroed: CoLocated<u8, u64, u8, Odd<0, Together>> = Zeroable::zeroed();
    assert_eq!(zeroed, CoLocated::default());
    let map = CoLocated::<u8, u64, (), Apart>::LAYOUT;
    assert_eq!(map.lines_of(&["a", "b"]).map(|lines| lines.count()), Ok(2));
}

#[test]
fn parts_that_lie_apart_are_projected_like_others() {
    type Level = CoLocated<corelocal::PerCpuCell<u64>, u64, (), Apart>;
    let level = PerCpu::<Level>::zeroed();
    level.at(Level::PART_A).add(3);
    assert_eq!(level.at(Level::PART_A).sum(), 3);
    assert_eq!(Level::PART_B.offset(), CACHE_LINE);
    let _ = field!(Three, 0);
}
