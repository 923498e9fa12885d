//! A field that `Deref` leads to is not the struct's: it lies in another object.
// fail: E0026 E0609
#![forbid(unsafe_code)]

use corelocal::field;
use corelocal::field::Field;

pub struct Inner {
    pub reads: u64,
}

pub struct Outer {
    pub inner: Inner,
}

impl std::ops::Deref for Outer {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

#[cfg(pass)]
pub const READS: Field<Outer, u64> = field!(Outer, inner).then(field!(Inner, reads));
#[cfg(fail)]
pub const READS: Field<Outer, u64> = field!(Outer, reads);
