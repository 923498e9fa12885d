//! The handle that `unregister` gets is good for the callback alone.
// fail: E0521
#![forbid(unsafe_code)]

use std::sync::Mutex;

use corelocal::PerCpuRef;
use corelocal::reclaim::{Unlinked, pin};

pub static KEPT: Mutex<Option<PerCpuRef<'static, u8>>> = Mutex::new(None);

pub fn release(old: Unlinked<u8>) {
    old.retire_in_stages(&pin(), |object| {
        #[cfg(fail)]
        {
            *KEPT.lock().unwrap() = Some(object);
        }
        drop(object.this().to_string());
    });
}
