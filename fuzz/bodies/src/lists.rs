//! The kernel's two texts for a set of CPUs, beside parsers that are as plain as can be.

use crate::memory::within;
use corelocal::cpu::{CpuMask, MAX_PARSED_ID, ParseCpuListError};

/// A mask of every id that is read takes 8 KiB; a vector that grows has its old half beside it.
const MASK: usize = 24 << 10;

/// Longer texts are refused, whatever they say: 6 bytes for each id.
const LONGEST: usize = 6 << 16;

/// Reads `text` as a list and as a hexadecimal map.
///
/// # Panics
///
/// If a parser says something else than the plain one, takes more than a mask from the heap, or names
/// a place that is not in the text; or if what it read is not read back.
pub fn lists(text: &[u8]) {
    let plain: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    // Blanks inside of numbers are refused, and only where they stand decides.
    let is_plain = plain == text && text.len() <= LONGEST;
    let list = within(0, 0, MASK, || CpuMask::from_list(text));
    check(text, list, list_by_hand(&plain), is_plain);
    let map = within(0, 0, MASK, || CpuMask::from_hex_map(text));
    check(text, map, map_by_hand(&plain), is_plain);
}

fn check(
    text: &[u8],
    read: Result<CpuMask, ParseCpuListError>,
    by_hand: Option<CpuMask>,
    is_plain: bool,
) {
    match read {
        Ok(mask) => {
            assert!(text.len() <= LONGEST);
            assert_eq!(Some(&mask), by_hand.as_ref());
            assert!(mask.id_bound() <= MAX_PARSED_ID as usize + 1);
            assert_eq!(mask.to_string().parse().as_ref(), Ok(&mask), "printed and read back");
        }
        Err(error) => {
            assert!(error.position() <= text.len(), "{error}");
            assert!(!error.to_string().contains('\n'));
            assert!(!is_plain || by_hand.is_none(), "{error}, but it is {by_hand:?}");
        }
    }
}

/// `0-3,8` without blanks; `None` if it is something else.
fn list_by_hand(text: &[u8]) -> Option<CpuMask> {
    // How many ranges begin at an id, less those that end before it.
    let mut begin = vec![0_i32; MAX_PARSED_ID as usize + 2];
    for range in text.split(|byte| *byte == b',').filter(|_| !text.is_empty()) {
        let mut ends = range.split(|byte| *byte == b'-').map(number);
        let first = ends.next()??;
        let last = ends.next().unwrap_or(Some(first))?;
        if ends.next().is_some() || last < first {
            return None;
        }
        begin[first] += 1;
        begin[last + 1] -= 1;
    }
    let within = begin.iter().scan(0, |ranges, begin| {
        *ranges += begin;
        Some(*ranges > 0)
    });
    Some(mask(within))
}

fn number(digits: &[u8]) -> Option<usize> {
    let digits = Some(digits).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(number).filter(|number| *number <= MAX_PARSED_ID as usize)
}

/// `ff,00000001` without blanks.
fn map_by_hand(text: &[u8]) -> Option<CpuMask> {
    let mut is_set = vec![false; MAX_PARSED_ID as usize + 1];
    let groups = text.rsplit(|byte| *byte == b',').filter(|_| !text.is_empty());
    for (number, group) in groups.enumerate() {
        if !(1..=8).contains(&group.len()) || !group.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let group = u32::from_str_radix(std::str::from_utf8(group).ok()?, 16).ok()?;
        for bit in (0..32).filter(|bit| group >> bit & 1 == 1) {
            *is_set.get_mut(number * 32 + bit)? = true;
        }
    }
    Some(mask(is_set))
}

fn mask(is_set: impl IntoIterator<Item = bool>) -> CpuMask {
    let ids = (0..).zip(is_set).filter(|(_, is_set)| *is_set);
    ids.map(|(id, _): (u32, _)| id.into()).collect()
}
