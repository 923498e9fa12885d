//! The set against `BTreeSet`, and the two parsers against what people's files held.

extern crate std;

use super::super::{MAX_PARSED_ID, ParseCpuListErrorKind};
use super::{CpuId, CpuMask};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use proptest::collection::btree_set;
use proptest::prelude::*;

fn mask(ids: impl IntoIterator<Item = u32>) -> CpuMask {
    ids.into_iter().map(CpuId::new).collect()
}

fn ids(mask: &CpuMask) -> Vec<u32> {
    mask.iter().map(CpuId::get).collect()
}

fn list(text: &str) -> Vec<u32> {
    ids(&text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}")))
}

fn kind(text: &[u8]) -> ParseCpuListErrorKind {
    CpuMask::from_list(text).unwrap_err().kind()
}

/// How the kernel prints a map for `bits` CPUs, told in our own words: groups of
/// eight digits, the first one as long as its bits ask for.
fn hex_map(set: &BTreeSet<u32>, bits: u32) -> String {
    let groups = bits.div_ceil(32).max(1);
    let mut text = String::new();
    for group in (0..groups).rev() {
        let value = (0..32)
            .filter(|bit| set.contains(&(group * 32 + bit)))
            .fold(0_u32, |v, bit| v | 1 << bit);
        if text.is_empty() {
            let digits = (bits - 1) % 32 / 4 + 1;
            text = format!("{value:0width$x}", width = digits as usize);
        } else {
            text += &format!(",{value:08x}");
        }
    }
    text
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u32),
    Remove(u32),
    KeepEven,
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..4096_u32).prop_map(Step::Insert),
        4 => (0..4200_u32).prop_map(Step::Remove),
        1 => Just(Step::KeepEven),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    /// B4, <https://github.com/sched-ext/scx/pull/2951>.
    #[test]
    fn above_cpu_63_the_set_is_still_a_set(steps in prop::collection::vec(step(), 0..200)) {
        let (mut set, mut oracle) = (CpuMask::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Insert(id) => prop_assert_eq!(set.insert(CpuId::new(id)), oracle.insert(id)),
                Step::Remove(id) => prop_assert_eq!(set.remove(CpuId::new(id)), oracle.remove(&id)),
                Step::KeepEven => {
                    set.retain(|cpu| cpu.get() % 2 == 0);
                    oracle.retain(|id| id % 2 == 0);
                }
                Step::Clear => {
                    set.clear();
                    oracle.clear();
                }
            }
            prop_assert_eq!(set.len(), oracle.len());
            prop_assert_eq!(set.is_empty(), oracle.is_empty());
            prop_assert_eq!(set.first().map(CpuId::get), oracle.first().copied());
            prop_assert_eq!(set.last().map(CpuId::get), oracle.last().copied());
            prop_assert_eq!(set.id_bound(), oracle.last().map_or(0, |id| *id as usize + 1));
        }
        prop_assert!(set.iter().map(CpuId::get).eq(oracle.iter().copied()));
        prop_assert!(set.clone().into_iter().map(CpuId::get).eq(oracle.iter().copied()));
        prop_assert_eq!(&set, &mask(oracle.iter().copied()));
    }

    #[test]
    fn the_next_cpu_is_the_next_one(set in btree_set(0..4096_u32, 0..60), from in 0..4300_u32) {
        let next = mask(set.iter().copied()).next_after(CpuId::new(from)).map(CpuId::get);
        prop_assert_eq!(next, set.range(from + 1..).next().copied());
    }

    #[test]
    fn set_algebra_is_that_of_sets(
        a in btree_set(0..4096_u32, 0..80),
        b in btree_set(0..4096_u32, 0..80),
        dense in btree_set(0..70_u32, 0..70),
    ) {
        for (a, b) in [(&a, &b), (&a, &dense), (&dense, &a), (&dense, &dense)] {
            let (x, y) = (mask(a.iter().copied()), mask(b.iter().copied()));
            prop_assert!(ids(&(&x | &y)).iter().eq(a.union(b)));
            prop_assert!(ids(&(&x & &y)).iter().eq(a.intersection(b)));
            prop_assert!(ids(&(&x - &y)).iter().eq(a.difference(b)));
            prop_assert!(ids(&(&x ^ &y)).iter().eq(a.symmetric_difference(b)));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(b));
            prop_assert_eq!(x.is_superset(&y), a.is_superset(b));
            prop_assert_eq!(x.is_disjoint(&y), a.is_disjoint(b));
            prop_assert!((&x & &y).is_subset(&x));
        }
    }

    #[test]
    fn what_is_printed_is_what_is_read(set in btree_set(0..4096_u32, 0..200)) {
        let set = mask(set);
        prop_assert_eq!(&set.to_string().parse::<CpuMask>().unwrap(), &set);
    }

    /// B5, <https://github.com/Atoptool/atop/issues/372>.
    #[test]
    fn a_map_of_any_width_is_read(set in btree_set(0..800_u32, 0..60), spare in 0..100_u32) {
        let bits = set.last().map_or(1, |id| id + 1) + spare;
        let text = hex_map(&set, bits);
        let read = CpuMask::from_hex_map(&text).unwrap();
        prop_assert!(ids(&read).iter().eq(set.iter()), "{}", text);
    }

    #[test]
    fn runs_are_joined_as_sets_are(runs in prop::collection::vec((0..300_u32, 0..70_u32), 0..20)) {
        let texts: Vec<String> = runs.iter().map(|(first, more)| format!("{first}-{}", first + more)).collect();
        let oracle: BTreeSet<u32> = runs.iter().flat_map(|(first, more)| *first..=first + more).collect();
        prop_assert!(list(&texts.join(",")).iter().eq(oracle.iter()));
    }

    #[test]
    fn no_bytes_make_the_parsers_panic(text in prop::collection::vec(prop_oneof![
        4 => prop::sample::select(b"0123456789,- \n\x00xf".to_vec()),
        1 => any::<u8>(),
    ], 0..40)) {
        let _ = CpuMask::from_list(&text).map_err(|error| assert!(error.position() <= text.len()));
        let _ = CpuMask::from_hex_map(&text).map_err(|error| assert!(error.position() <= text.len()));
    }
}

/// C1, <https://github.com/sched-ext/scx/pull/188>; C2, <https://github.com/util-linux/util-linux/pull/44>.
#[test]
fn singles_ranges_and_mixtures_are_read_to_the_end() {
    assert_eq!(list("0\n"), [0]);
    assert_eq!(list("0-1,4-5,8-9,12-13"), [0, 1, 4, 5, 8, 9, 12, 13]);
    assert_eq!(list("0,3-7\n"), [0, 3, 4, 5, 6, 7]);
    assert_eq!(list("0-3,8"), [0, 1, 2, 3, 8]);
    assert_eq!(list(" 0-3 , 8 \r\n"), [0, 1, 2, 3, 8]);
    assert_eq!(list("8,0 - 1"), [0, 1, 8]);
    assert_eq!(list("0-1,1-2"), [0, 1, 2]);
    assert_eq!(list(""), []);
    assert_eq!(list("\n"), []);
}

/// C3, <https://github.com/sched-ext/scx/pull/379>.
#[test]
fn how_many_and_how_long_are_two_numbers() {
    let gaps: CpuMask = "0,2-3".parse().unwrap();
    assert_eq!((gaps.len(), gaps.id_bound()), (3, 4));
    assert_eq!(ids(&gaps), [0, 2, 3]);
    assert_eq!((CpuMask::new().len(), CpuMask::new().id_bound()), (0, 0));
}

/// C4, <https://github.com/daeuniverse/honk/pull/228>.
#[test]
fn a_hostile_list_is_an_error_with_a_place() {
    use ParseCpuListErrorKind as Kind;
    assert_eq!(kind(b"-"), Kind::ExpectedNumber);
    assert_eq!(kind(b"a"), Kind::ExpectedNumber);
    assert_eq!(kind(b"0-"), Kind::ExpectedNumber);
    assert_eq!(kind(b"0,"), Kind::ExpectedNumber);
    assert_eq!(kind(b",0"), Kind::ExpectedNumber);
    assert_eq!(kind(b"-1"), Kind::ExpectedNumber);
    assert_eq!(kind(b"0 1"), Kind::ExpectedComma);
    assert_eq!(kind(b"0-1-2"), Kind::ExpectedComma);
    assert_eq!(kind(b"0\0"), Kind::ExpectedComma);
    assert_eq!(kind(b"\0"), Kind::ExpectedNumber);
    assert_eq!(kind(b"3-1"), Kind::ReversedRange { first: 3, last: 1 });
    assert_eq!(kind(b"0-4294967295"), Kind::IdTooLarge);
    assert_eq!(kind(b"18446744073709551616"), Kind::IdTooLarge);
    assert_eq!(kind(b"65536"), Kind::IdTooLarge);
    assert_eq!(list("65535"), [MAX_PARSED_ID]);
    assert_eq!(kind("0,".repeat(1 << 19).as_bytes()), Kind::TextTooLong { limit: 6 << 16 });
    assert_eq!("0-3,x".parse::<CpuMask>().unwrap_err().position(), 4);
}

#[test]
fn the_longest_list_that_is_read_names_every_id_singly() {
    let all: String = (0..=MAX_PARSED_ID).map(|id| format!("{id},")).collect();
    let read = CpuMask::from_list(all.trim_end_matches(',')).unwrap();
    assert_eq!(read, CpuMask::first_cpus(MAX_PARSED_ID + 1));
    assert_eq!(read.words().len() * 8, 8192, "bytes");
}

/// B5, <https://github.com/Atoptool/atop/issues/372>.
#[test]
fn a_map_of_768_cpus_is_read() {
    let full = ["ffffffff"; 24].join(",");
    assert_eq!(CpuMask::from_hex_map(&full).unwrap(), CpuMask::first_cpus(768));
    let odd = ["ffffffff"; 23].join(",") + "\n";
    assert_eq!(CpuMask::from_hex_map(&odd).unwrap(), CpuMask::first_cpus(736));
    let zeros = ["00000000"; 9000].join(",") + ",00000005";
    assert_eq!(ids(&CpuMask::from_hex_map(&zeros).unwrap()), [0, 2]);
    assert_eq!(ids(&CpuMask::from_hex_map("f").unwrap()), [0, 1, 2, 3]);
    assert!(CpuMask::from_hex_map("").unwrap().is_empty());
    for bad in [",", "1,", ",1", "1,,1", "x", "0x1", "123456789", "1 2", "1\0"] {
        let error = CpuMask::from_hex_map(bad).unwrap_err();
        assert_eq!(error.kind(), ParseCpuListErrorKind::ExpectedHexGroup, "{bad:?}");
    }
    let beyond = format!("1,{}", ["0"; 2048].join(","));
    let error = CpuMask::from_hex_map(&beyond).unwrap_err();
    assert_eq!((error.kind(), error.position()), (ParseCpuListErrorKind::IdTooLarge, 0));
}

/// B1, <https://github.com/folo-rs/folo/pull/483>; B4, <https://github.com/accelio/accelio/issues/74>.
#[test]
fn the_edges_of_words_and_of_fixed_masks_are_no_edges() {
    let edges = [0, 63, 64, 65, 127, 128, 1023, 1024, 1919, 4095];
    let set = mask(edges);
    assert_eq!(ids(&set), edges);
    for pair in edges.windows(2) {
        assert_eq!(set.next_after(CpuId::new(pair[0])), Some(CpuId::new(pair[1])));
        assert!(!set.contains(CpuId::new(pair[1] + 1)) || edges.contains(&(pair[1] + 1)));
    }
    assert_eq!(set.next_after(CpuId::new(4095)), None);
    assert_eq!(set.next_after(CpuId::new(u32::MAX)), None);
    assert!(!set.contains(CpuId::new(u32::MAX)));
}

#[test]
fn equality_does_not_see_the_room_that_was_once_used() {
    let mut grown = mask([1, 4000]);
    grown.remove(CpuId::new(4000));
    assert_eq!(grown, mask([1]));
    let hash = |mask: &CpuMask| {
        use core::hash::BuildHasher;
        core::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(mask)
    };
    assert_eq!(hash(&grown), hash(&mask([1])));
    assert_eq!(format!("{grown:?}"), "CpuMask(1)");
}

/// What decides the lanes of a process, without a mask: every id has its lane, also in odd lists.
#[cfg(feature = "std")]
#[test]
fn the_bound_of_a_list_is_not_the_bound_of_its_set() {
    for list in ["0", "0-3,8", "8,0-3", "5-7,2", "0,2,4-4\n", "65535", "1-2,9,3"] {
        let mask = CpuMask::from_list(list).unwrap();
        assert_eq!(crate::cpu::list_bound(list.as_bytes()), Some(mask.id_bound() as u32), "{list}");
    }
    for list in ["", "\n", "3-1", "0,", "65536"] {
        assert_eq!(crate::cpu::list_bound(list.as_bytes()), None, "{list}");
    }
}
