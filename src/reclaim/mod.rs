//! [`AtomicPerCpu`]: a per-CPU object that is replaced while others use it, and freed when they are
//! done. Feature `epoch`.
//!
//! Epoch-based reclamation (Keir Fraser, *Practical lock-freedom*, 2004), by the crate
//! [`crossbeam-epoch`](https://docs.rs/crossbeam-epoch): a reader pins its thread, loads the object, and
//! uses it as long as it stays pinned. Who takes the object out of the slot
//! ([`AtomicPerCpu::swap`]) gets it as an [`Unlinked`], and hands it on to be freed after a **grace
//! period**: when every guard that was pinned then is gone. Two stages of that, with a callback
//! between, are what the kernel's scheduler frees its groups by; see [`Unlinked::retire_in_stages`].
//!
//! Nothing else of this crate pins. An update through a handle is what it is without this room; a pin
//! is paid once for a load, which serves as many updates as fit while it lasts. The page
//! [`docs::reclaim`](crate::docs::reclaim) says when not to use it.
//!
//! ```
//! use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell, reclaim};
//!
//! static HITS: AtomicPerCpu<PerCpuCell<u64>> = AtomicPerCpu::null();
//! HITS.swap(Some(PerCpu::zeroed()), &reclaim::pin());
//!
//! let guard = reclaim::pin(); // once a request, not once an update
//! let hits = HITS.load(&guard).expect("published above");
//! (0..1000).for_each(|_| hits.add(1));
//!
//! // Another thread may replace it meanwhile. `hits` stays valid until `guard` is dropped.
//! let old = HITS.swap(None, &guard).expect("nobody else took it");
//! hits.add(1);
//! old.retire_with(&guard, |object| assert_eq!(object.sum(), 1001)); // when all are done
//! ```
#![allow(unsafe_code, reason = "hands out objects that it frees later")]

mod atomic;
#[cfg(corelocal_loom)]
mod epoch_model;
mod error;
mod grace;
mod unlinked;

pub use atomic::AtomicPerCpu;
pub use error::{CompareExchangeError, Pinned};
pub use grace::wait_for_readers;
pub use unlinked::Unlinked;

/// A guard of `crossbeam-epoch`, and how a thread gets one: [`pin`] of the default collector.
///
/// They are that crate's own, so one guard serves its structures and this room's. Guards of another
/// [`Collector`](https://docs.rs/crossbeam-epoch/0.9/crossbeam_epoch/struct.Collector.html), and
/// `unprotected()` ones, keep nothing here alive and are refused with a panic.
#[cfg(not(corelocal_loom))]
pub use crossbeam_epoch::{Guard, pin};
#[cfg(corelocal_loom)]
pub use epoch_model::{Guard, pin};

#[cfg(not(corelocal_loom))]
use crossbeam_epoch::is_pinned;
#[cfg(corelocal_loom)]
pub(crate) use epoch_model::finish;
#[cfg(corelocal_loom)]
use epoch_model::is_pinned;

/// Panics unless `guard` keeps what is in our slots alive: nothing is freed before guards of the
/// *same* collector are gone. Two loads and a comparison.
#[inline]
#[track_caller]
fn check(guard: &Guard) {
    #[cfg(not(corelocal_loom))]
    if guard.collector() != Some(crossbeam_epoch::default_collector()) {
        refuse(guard);
    }
    // In models there is one collector, and no guard without it.
    #[cfg(corelocal_loom)]
    let _ = guard;
}

#[cfg(not(corelocal_loom))]
#[cold]
#[track_caller]
fn refuse(guard: &Guard) -> ! {
    match guard.collector() {
        None => panic!(
            "an unprotected guard keeps no per-CPU object alive: pin, or use `into_inner` or \
             `get_mut` where nobody else is left"
        ),
        Some(_) => panic!(
            "a guard of another collector keeps no per-CPU object alive: use `reclaim::pin()`"
        ),
    }
}
