//! A histogram goes to other threads, and is shared with them; an `Rc` of one does not.
// fail: E0277
#![forbid(unsafe_code)]

use corelocal::histogram::{Fixed, HistogramRef, LogLinear, WithSum};
use corelocal::{HistogramSnapshot, PerCpuHistogram, StaticHistogram};

pub fn is_send_and_sync<T: Send + Sync>() {}

pub fn check() {
    is_send_and_sync::<PerCpuHistogram<496>>();
    is_send_and_sync::<HistogramRef<'static, 3, WithSum<Fixed<3>>>>();
    is_send_and_sync::<StaticHistogram<9, LogLinear<5>>>();
    is_send_and_sync::<HistogramSnapshot<9>>();
    #[cfg(pass)]
    is_send_and_sync::<std::sync::Arc<PerCpuHistogram<496>>>();
    #[cfg(fail)]
    is_send_and_sync::<std::rc::Rc<PerCpuHistogram<496>>>();
}
