//! `reclaim`: a counter a CPU, in an object that another thread may replace at any time.
//!
//! `add` adds one to this CPU's counter of the object that is there; `replace` puts a new object of zeros
//! in its place and lets the old one go. The floor is an object that nobody replaces, which is
//! **wrong** here. In `64 a pin` a guard serves 64 adds, as in a program that pins once a request.
//! Cold are 256 such places, each used once, of which no near cache holds anything.
#![allow(unsafe_code, reason = "shared pointers of crossbeam-epoch")]

use crate::machine::{forget, sched_getcpu};
use crate::threads::{self, Op, on_many};
use crate::{Case, cold};
use arc_swap::ArcSwap;
use corelocal::reclaim::pin;
use corelocal::{AtomicPerCpu, PerCpu, PerCpuCell};
use crossbeam_epoch::{Atomic, Owned};
use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::ShardedLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

pub(super) const BASELINE: &str = "epoch::Atomic<[CachePadded]>";

/// Adds under one guard.
const A_PIN: u64 = 64;

/// What is measured of each peer.
trait Slot: Send + Sync + Sized + 'static {
    fn new() -> Self;
    fn add(&self);
    fn replace(&self);
}

/// An array of a counter a CPU, as one writes it by hand.
struct Array(Box<[CachePadded<AtomicU64>]>);

impl Array {
    fn new() -> Self {
        let cpus = corelocal::Topology::current().cpus();
        Self((0..cpus).map(|_| CachePadded::default()).collect())
    }

    #[inline]
    fn add(&self) {
        // Relaxed: a count orders nothing.
        self.0[sched_getcpu() % self.0.len()].fetch_add(1, Ordering::Relaxed);
    }
}

struct Ours(AtomicPerCpu<PerCpuCell<u64>>);

impl Slot for Ours {
    fn new() -> Self {
        Self(AtomicPerCpu::new(PerCpu::zeroed()))
    }

    #[inline]
    fn add(&self) {
        let guard = pin();
        if let Some(counter) = self.0.load(&guard) {
            counter.add(1);
        }
    }

    #[inline]
    fn replace(&self) {
        self.0.swap(Some(PerCpu::zeroed()), &pin());
    }
}

/// Nobody replaces it.
struct Fixed(PerCpu<PerCpuCell<u64>>);

impl Slot for Fixed {
    fn new() -> Self {
        Self(PerCpu::zeroed())
    }

    #[inline]
    fn add(&self) {
        self.0.add(1);
    }

    fn replace(&self) {
        drop(PerCpu::<PerCpuCell<u64>>::zeroed());
    }
}

struct Epoch(Atomic<Array>);

impl Slot for Epoch {
    fn new() -> Self {
        Self(Atomic::new(Array::new()))
    }

    #[inline]
    fn add(&self) {
        let guard = pin();
        // Acquire: pairs with the Release in `replace`.
        let array = self.0.load(Ordering::Acquire, &guard);
        // SAFETY:
        // - never null, and not freed while the guard is pinned.
        unsafe { array.deref() }.add();
    }

    #[inline]
    fn replace(&self) {
        let guard = pin();
        // AcqRel: Release pairs with the Acquire in `add`; Acquire, since the old one is dropped.
        let old = self.0.swap(Owned::new(Array::new()), Ordering::AcqRel, &guard);
        // SAFETY:
        // - out of the slot, so nobody loads it any more.
        unsafe { guard.defer_destroy(old) };
    }
}

impl Drop for Epoch {
    fn drop(&mut self) {
        // SAFETY:
        // - borrowed exclusively, and never null.
        drop(unsafe { std::mem::take(&mut self.0).into_owned() });
    }
}

struct Swap(ArcSwap<Array>);

impl Slot for Swap {
    fn new() -> Self {
        Self(ArcSwap::from_pointee(Array::new()))
    }

    #[inline]
    fn add(&self) {
        self.0.load().add();
    }

    #[inline]
    fn replace(&self) {
        self.0.store(Arc::new(Array::new()));
    }
}

/// Locks with readers, and the interface of `std`'s.
macro_rules! of_a_lock {
    ($Name:ident, $Lock:ident) => {
        struct $Name($Lock<Arc<Array>>);

        impl Slot for $Name {
            fn new() -> Self {
                Self($Lock::new(Arc::new(Array::new())))
            }

            #[inline]
            fn add(&self) {
                self.0.read().unwrap_or_else(PoisonError::into_inner).add();
            }

            #[inline]
            fn replace(&self) {
                let new = Arc::new(Array::new());
                let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
                let old = std::mem::replace(&mut *current, new);
                drop(current);
                drop(old);
            }
        }
    };
}

of_a_lock!(Locked, RwLock);
of_a_lock!(Sharded, ShardedLock);

/// A case of an operation that is made when it is first measured.
fn of(scene: &str, threads: usize, peer: &'static str, make: impl Fn() -> Op + 'static) -> Case {
    let scene = format!("{scene}, {}", threads::label(threads));
    Case::new(scene, peer, move || {
        let op = make();
        Box::new(move |ops| on_many(threads, &op, ops.next_multiple_of(A_PIN)))
    })
}

fn swept<S: Slot>(peer: &'static str) -> Case {
    cold::case(format!("add, {}", cold::NAME), peer, 1, S::new, |slot: &S, _| slot.add())
}

fn repeat(ops: u64, op: impl Fn()) {
    for _ in 0..ops {
        forget();
        op();
    }
}

fn add<S: Slot>(threads: usize, peer: &'static str) -> Case {
    of("add", threads, peer, || {
        let slot = S::new();
        Arc::new(move |ops| repeat(ops, || slot.add()))
    })
}

fn add_many(threads: usize) -> Case {
    of("add", threads, "AtomicPerCpu, 64 a pin", || {
        let Ours(slot) = Ours::new();
        Arc::new(move |ops| {
            for _ in 0..ops / A_PIN {
                let guard = pin();
                if let Some(counter) = slot.load(&guard) {
                    repeat(A_PIN, || counter.add(1));
                }
            }
        })
    })
}

fn replace<S: Slot>(peer: &'static str) -> Case {
    of("replace", 1, peer, || {
        let slot = S::new();
        Arc::new(move |ops| repeat(ops, || slot.replace()))
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for threads in threads::counts() {
        cases.extend([
            add::<Epoch>(threads, BASELINE),
            add::<Ours>(threads, "AtomicPerCpu"),
            add::<Ours>(threads, "AtomicPerCpu again"),
            add_many(threads),
            add::<Fixed>(threads, "PerCpu (wrong)"),
            add::<Swap>(threads, "ArcSwap<[CachePadded]>"),
            add::<Locked>(threads, "RwLock<Arc<[CachePadded]>>"),
            add::<Sharded>(threads, "ShardedLock<Arc<[CachePadded]>>"),
        ]);
    }
    cases.extend([
        swept::<Epoch>(BASELINE),
        swept::<Ours>("AtomicPerCpu"),
        swept::<Ours>("AtomicPerCpu again"),
        swept::<Fixed>("PerCpu (wrong)"),
        swept::<Swap>("ArcSwap<[CachePadded]>"),
        swept::<Locked>("RwLock<Arc<[CachePadded]>>"),
        swept::<Sharded>("ShardedLock<Arc<[CachePadded]>>"),
    ]);
    cases.extend([
        replace::<Epoch>(BASELINE),
        replace::<Ours>("AtomicPerCpu"),
        replace::<Fixed>("PerCpu, made and dropped"),
        replace::<Swap>("ArcSwap<[CachePadded]>"),
        replace::<Locked>("RwLock<Arc<[CachePadded]>>"),
        replace::<Sharded>("ShardedLock<Arc<[CachePadded]>>"),
    ]);
    cases
}
