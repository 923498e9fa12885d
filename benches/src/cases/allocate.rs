//! `allocate`: making and freeing one object, with a value of 8, 64 or 1088 bytes a lane, over 3
//! and 65 lanes.
//!
//! * *new* memory was never used. A round takes a fresh area (for the boxes: a heap that gave its
//!   free pages back), makes as many objects as fill two chunks, and frees them all in the order
//!   they were made in: mapping the chunks and the first fault of each page are in the figures.
//! * *reused* memory was: objects are made and freed in lots, warm, beside one that stays.
//!
//! `uninit` and `zeroed` touch nothing in new memory; the page faults come at the first write. They
//! are in the figures of `written` and of the boxes, which write every lane. Reused memory was
//! written in every lane before, so `zeroed` has to clear it. *Cold* memory was used, and no near cache
//! holds any of it, nor anything of the allocator.

use super::anchor;
use crate::threads::{self, Op, on_many};
use crate::{Case, Sample, cold};
use corelocal::bytemuck::Zeroable;
use corelocal::{Area, PerCpu};
use crossbeam_utils::CachePadded;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::Arc;

pub(super) const BASELINE: &str = "Box<[CachePadded<T>]>";

/// Objects made, and then freed, at a time. With one that stays they fit one chunk, also at 1088
/// bytes: an area that is emptied again and again keeps one chunk and maps every further one anew.
const LOT: usize = 56;
/// Bytes a lane of the objects of a round in new memory: two chunks.
const NEW_BYTES: usize = 2 * (64 << 10);

/// One way to have a `T` a lane. Objects are dropped before the place that they were made in.
trait Kind: Send + Sync + 'static {
    const NAME: &'static str;
    type Object;

    /// A place to make objects of so many lanes in.
    fn new(lanes: u32) -> Self;
    fn make(&self) -> Self::Object;
    /// Leaves something in every lane that whoever clears it must write.
    fn dirty(_object: &mut Self::Object) {}
    /// Returns free memory to the system.
    fn trim() {}
}

/// A value that is not all zeros.
trait Value: Zeroable + Copy + Send + Sync + 'static {
    const ONES: Self;
}

impl<const N: usize> Value for [u64; N] {
    const ONES: Self = [1; N];
}

fn area(lanes: u32) -> Area {
    Area::builder().cpus(lanes - 1).build().expect("checked by `cases`")
}

struct Uninit<T>(Area, PhantomData<T>);

impl<T: Value> Kind for Uninit<T> {
    const NAME: &'static str = "PerCpu, uninit";
    type Object = PerCpu<MaybeUninit<T>>;

    fn new(lanes: u32) -> Self {
        Self(area(lanes), PhantomData)
    }

    fn make(&self) -> Self::Object {
        self.0.try_alloc_uninit().expect("memory")
    }
}

struct Zeroed<T>(Area, PhantomData<T>);

impl<T: Value> Kind for Zeroed<T> {
    const NAME: &'static str = "PerCpu, zeroed";
    type Object = PerCpu<T>;

    fn new(lanes: u32) -> Self {
        Self(area(lanes), PhantomData)
    }

    fn make(&self) -> Self::Object {
        self.0.try_alloc_zeroed().expect("memory")
    }

    fn dirty(object: &mut Self::Object) {
        for (_, copy) in object {
            *copy = T::ONES;
        }
    }
}

struct Written<T>(Area, PhantomData<T>);

impl<T: Value> Kind for Written<T> {
    const NAME: &'static str = "PerCpu, written";
    type Object = PerCpu<T>;

    fn new(lanes: u32) -> Self {
        Self(area(lanes), PhantomData)
    }

    fn make(&self) -> Self::Object {
        self.0.try_alloc(|_| T::ONES).expect("memory")
    }
}

/// In C, where there is an anchor: as many copies as there are lanes.
struct C<T, const ZEROED: bool>(anchor::Pool, PhantomData<T>);

impl<T: Value, const ZEROED: bool> Kind for C<T, ZEROED> {
    const NAME: &'static str = "C anchor";
    type Object = anchor::Item;

    fn new(lanes: u32) -> Self {
        let pool = anchor::Pool::new(size_of::<T>(), lanes);
        Self(pool.expect("the C anchor has such items"), PhantomData)
    }

    fn make(&self) -> Self::Object {
        self.0.make(ZEROED)
    }

    fn dirty(object: &mut Self::Object) {
        if ZEROED {
            object.fill();
        }
    }
}

struct Boxed<T>(u32, PhantomData<T>);

impl<T: Value> Kind for Boxed<T> {
    const NAME: &'static str = BASELINE;
    type Object = Box<[CachePadded<T>]>;

    fn new(lanes: u32) -> Self {
        Self(lanes, PhantomData)
    }

    fn make(&self) -> Self::Object {
        (0..self.0).map(|_| CachePadded::new(T::ONES)).collect()
    }

    fn trim() {
        crate::machine::trim_heap();
    }
}

/// What of a round is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Allocate,
    Free,
    Both,
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Self::Allocate => "allocate",
            Self::Free => "free",
            Self::Both => "allocate + free",
        }
    }

    /// What the two halves of a lot count for: a lot that was disturbed in either half is left out
    /// of `Both`.
    fn pick(self, allocate: Sample, free: Sample) -> Sample {
        match self {
            Self::Allocate => allocate,
            Self::Free => free,
            Self::Both if allocate.ops == 0 || free.ops == 0 => Sample::REJECTED,
            Self::Both => {
                // Added, but the operations are the same.
                let mut both = Sample { ops: 0, ..allocate };
                both += free;
                both
            }
        }
    }
}

/// Makes a lot, untimed but for the making.
fn make_lot<K: Kind>(kind: &K, lot: &mut Vec<K::Object>, len: usize) -> Sample {
    Sample::of(len as u64, || lot.extend((0..len).map(|_| kind.make())))
}

/// One round in memory that was never used.
fn new_round<K: Kind>(lanes: u32, objects: usize, phase: Phase) -> Sample {
    K::trim();
    let kind = K::new(lanes);
    let mut lots: Vec<(Sample, Vec<K::Object>)> = Vec::new();
    let mut made = 0;
    while made < objects {
        let len = LOT.min(objects - made);
        let mut lot = Vec::with_capacity(len);
        lots.push((make_lot(&kind, &mut lot, len), lot));
        made += len;
    }
    let mut total = Sample::default();
    for (allocate, lot) in lots {
        let free = Sample::of(lot.len() as u64, || lot.into_iter().for_each(drop));
        total += phase.pick(allocate, free);
    }
    total
}

/// Lots in memory that was used, until about `ops` objects were made; one more before, to be warm.
fn reused<K: Kind>(kind: &K, lot: &mut Vec<K::Object>, ops: u64, phase: Phase) -> Sample {
    let mut total = Sample::default();
    for turn in 0..=ops.div_ceil(LOT as u64) {
        let allocate = make_lot(kind, lot, LOT);
        lot.iter_mut().for_each(K::dirty);
        let free = Sample::of(LOT as u64, || lot.clear());
        if turn > 0 {
            total += phase.pick(allocate, free);
        }
    }
    total
}

/// Memory that was used, and an object that stays: in the order that they are dropped in.
struct Used<K: Kind> {
    _stays: K::Object,
    lot: Vec<K::Object>,
    kind: K,
}

impl<K: Kind> Used<K> {
    fn new(lanes: u32) -> Self {
        let kind = K::new(lanes);
        Self { _stays: kind.make(), lot: Vec::with_capacity(LOT), kind }
    }

    fn run(&mut self, ops: u64, phase: Phase) -> Sample {
        reused(&self.kind, &mut self.lot, ops, phase)
    }
}

/// Lots on this thread and on another, in one area.
fn threaded<K: Kind>(kind: &K, ops: u64) {
    let mut lot = Vec::with_capacity(LOT);
    for _ in 0..ops.div_ceil(LOT as u64) {
        lot.extend((0..LOT).map(|_| kind.make()));
        lot.clear();
    }
}

/// The steps between objects of a kind of value, in lines of 64 bytes where it is a line or more.
fn step(bytes: usize) -> usize {
    if bytes < 64 { bytes } else { (bytes.div_ceil(64) | 1) * 64 }
}

fn case<K: Kind>(bytes: usize, lanes: u32, new: bool, phase: Phase, peer: &'static str) -> Case {
    let memory = if new { "new" } else { "reused" };
    let name = format!("{bytes} B, {lanes} lanes, {memory}, {}", phase.name());
    Case::new(name, peer, move || {
        if new {
            let objects = NEW_BYTES / step(bytes);
            return Box::new(move |_| new_round::<K>(lanes, objects, phase));
        }
        let mut used = Used::<K>::new(lanes);
        Box::new(move |ops| used.run(ops, phase))
    })
}

fn on_threads<K: Kind>(lanes: u32, threads: usize, peer: &'static str) -> Case {
    let name = format!("64 B, {lanes} lanes, reused, allocate + free, {}", threads::label(threads));
    Case::new(name, peer, move || {
        let kind = K::new(lanes);
        threaded(&kind, LOT as u64);
        let op: Op = Arc::new(move |ops| threaded(&kind, ops));
        Box::new(move |ops| on_many(threads, &op, ops.next_multiple_of(LOT as u64)))
    })
}

fn swept<K: Kind>(bytes: usize, lanes: u32, peer: &'static str) -> Case {
    let name = format!("{bytes} B, {lanes} lanes, {}, allocate + free", cold::NAME);
    Case::new(name, peer, move || {
        let (kind, mut lot) = (K::new(lanes), Vec::with_capacity(LOT));
        let stays = kind.make();
        cold::swept(LOT, move || {
            let _stays = &stays;
            lot.extend((0..LOT).map(|_| kind.make()));
            lot.clear();
        })
    })
}

fn of_size<T: Value>(lanes: u32) -> Vec<Case> {
    let bytes = size_of::<T>();
    let mut cases = Vec::new();
    for new in [true, false] {
        for phase in [Phase::Allocate, Phase::Free, Phase::Both] {
            cases.push(case::<Uninit<T>>(bytes, lanes, new, phase, Uninit::<T>::NAME));
            cases.push(case::<Zeroed<T>>(bytes, lanes, new, phase, Zeroed::<T>::NAME));
            cases.push(case::<Written<T>>(bytes, lanes, new, phase, Written::<T>::NAME));
            cases.push(case::<Boxed<T>>(bytes, lanes, new, phase, Boxed::<T>::NAME));
            if let Some(anchor) = anchor::anchor() {
                let [_, any, zeroed] = anchor.names;
                cases.push(case::<C<T, false>>(bytes, lanes, new, phase, any));
                cases.push(case::<C<T, true>>(bytes, lanes, new, phase, zeroed));
            }
        }
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for lanes in [3, 65] {
        if Area::builder().cpus(lanes - 1).build().is_err() {
            eprintln!("allocate: this machine has more CPUs than {lanes} lanes serve; left out");
            continue;
        }
        cases.extend(of_size::<[u64; 1]>(lanes));
        cases.extend(of_size::<[u64; 8]>(lanes));
        cases.extend(of_size::<[u64; 136]>(lanes));
        for threads in threads::counts() {
            cases.push(on_threads::<Uninit<[u64; 8]>>(lanes, threads, "PerCpu, uninit"));
            cases.push(on_threads::<Zeroed<[u64; 8]>>(lanes, threads, "PerCpu, zeroed"));
            cases.push(on_threads::<Written<[u64; 8]>>(lanes, threads, "PerCpu, written"));
            cases.push(on_threads::<Boxed<[u64; 8]>>(lanes, threads, BASELINE));
        }
        cases.push(swept::<Uninit<[u64; 8]>>(64, lanes, "PerCpu, uninit"));
        cases.push(swept::<Zeroed<[u64; 8]>>(64, lanes, "PerCpu, zeroed"));
        cases.push(swept::<Written<[u64; 8]>>(64, lanes, "PerCpu, written"));
        cases.push(swept::<Boxed<[u64; 8]>>(64, lanes, BASELINE));
        if lanes == 65 {
            let null = case::<Uninit<[u64; 8]>>;
            cases.push(null(64, lanes, false, Phase::Both, "PerCpu, uninit, again"));
            cases.push(swept::<Uninit<[u64; 8]>>(64, lanes, "PerCpu, uninit, again"));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<K: Kind>() {
        let kind = K::new(3);
        let mut lot = Vec::with_capacity(LOT);
        for phase in [Phase::Allocate, Phase::Free, Phase::Both] {
            let sample = reused(&kind, &mut lot, 1000, phase);
            let lots = sample.rejected + sample.ops / LOT as u64;
            assert_eq!((lots, sample.ops % LOT as u64, lot.len()), (18, 0, 0), "{}", K::NAME);
            let sample = new_round::<K>(3, 100, phase);
            assert!(sample.ops == 100 || sample.rejected > 0, "{}: {sample:?}", K::NAME);
        }
    }

    #[test]
    fn a_round_makes_and_frees_what_it_counts() {
        if Area::builder().cpus(2).build().is_ok() {
            round_trip::<Uninit<[u64; 8]>>();
            round_trip::<Zeroed<[u64; 8]>>();
            round_trip::<Written<[u64; 8]>>();
            round_trip::<Boxed<[u64; 8]>>();
        }
    }

    #[test]
    fn a_lot_and_the_object_that_stays_fit_one_chunk() {
        for bytes in [8, 64, 1088] {
            assert!((LOT + 1) * step(bytes) <= 64 << 10, "{bytes}");
        }
    }

    #[test]
    fn a_round_in_new_memory_fills_two_chunks_and_no_third() {
        for bytes in [8, 64, 1088] {
            let step = step(bytes);
            let a_chunk = (64 << 10) / step;
            let objects = NEW_BYTES / step;
            assert!(objects > a_chunk && objects <= 2 * a_chunk + 1, "{bytes}: {objects}");
        }
    }
}
