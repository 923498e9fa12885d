//! No generic struct is built without its check.
// fail: E0063
#![forbid(unsafe_code)]

corelocal::cacheline_struct! {
    pub struct Slot<T> { group hot(lines <= 1) { value: T } }
}

pub fn slot<T>(value: T) -> Slot<T> {
    #[cfg(pass)]
    return Slot { value, _proof: corelocal::cacheline::Proof::new() };
    #[cfg(fail)]
    return Slot { value };
}
