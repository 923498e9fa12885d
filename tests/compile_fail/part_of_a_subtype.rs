//! A subtype may have its part elsewhere, so a `Part` of the one is not a `Part` of the other.
// fail: E0308 none
#![forbid(unsafe_code)]
#![allow(coherence_leak_check)]

use corelocal::colocated::{HasPart, Part};
use corelocal::field;
use corelocal::field::Field;

pub struct Pair<T>(pub u64, pub u64, pub T);

pub type General = Pair<for<'a> fn(&'a u8)>;
pub type Special = Pair<fn(&'static u8)>;

impl HasPart<0> for General {
    type Part = u64;
    const PART: Field<Self, u64> = field!(Self, 0);
}

impl HasPart<0> for Special {
    type Part = u64;
    const PART: Field<Self, u64> = field!(Self, 1);
}

#[cfg(pass)]
pub fn special(whole: &General) -> Part<'_, Special, u64> {
    Part::<Special, _>::new(whole)
}
#[cfg(fail)]
pub fn special(whole: &General) -> Part<'_, Special, u64> {
    Part::<General, _>::new(whole)
}
