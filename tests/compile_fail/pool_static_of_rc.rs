//! A static pool is shared by all threads.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::pool::{PerCpuPool, StaticPool};

#[cfg(pass)]
pub static POOL: StaticPool<std::sync::Arc<u8>> = StaticPool::new(|| PerCpuPool::new(Default::default));
#[cfg(fail)]
pub static POOL: StaticPool<std::rc::Rc<u8>> = StaticPool::new(|| PerCpuPool::new(Default::default));
