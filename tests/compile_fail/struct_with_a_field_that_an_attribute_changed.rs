//! As `struct_with_a_field_that_an_attribute_added`, with another type; no coercion hides it.
// fail: E0308
#![forbid(unsafe_code)]

pub struct Written {
    #[cfg(not(fail))]
    pub a: u64,
    #[cfg(fail)]
    pub a: Box<u64>,
}

corelocal::__exactly! { Written [] [] [] [] pub a: u64, }
