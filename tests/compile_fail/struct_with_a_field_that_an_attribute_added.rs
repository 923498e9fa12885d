//! What a macro promises of a struct is about the fields that it read. An attribute on the struct
//! may be a macro itself, and write others: here is what is left of one that did.
// fail: none
// phrase: pattern requires `..`
#![forbid(unsafe_code)]

pub struct Written {
    pub a: u64,
    #[cfg(fail)]
    pub added: &'static str,
}

corelocal::__exactly! { Written [] [] [] [] pub a: u64, }
