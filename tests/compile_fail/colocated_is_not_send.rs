//! Parts side by side are sent together.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::colocated::CoLocated;

pub fn is_send<T: Send>() {}

pub fn check() {
    #[cfg(pass)]
    is_send::<CoLocated<u8, (), std::sync::Arc<u8>>>();
    #[cfg(fail)]
    is_send::<CoLocated<u8, (), std::rc::Rc<u8>>>();
}
