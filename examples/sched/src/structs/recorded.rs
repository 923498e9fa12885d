//! [`Recorded`]: the same structures, which write down which of their fields are used.
//!
//! The walks are generic over the structures, so the code that is timed is also the code whose
//! accesses are listed: of a recorded structure each field's address goes into a list when a walk
//! asks for the field. Size and offsets are those of the plain structure.
//!
//! A use is a use: whether the field is read or written is not known here. What no walk asks for by
//! name is not in the list: the lock of the run queue and the model's own handles, once a walk, and
//! the word before lane 0 of a chunk of per-CPU memory that says how many CPUs there are, one line
//! that all groups of a chunk share.

use super::{CfsRqFields, InQueue, Kernel, LaterFields, SchedStatistics, SeFields, Watched};
use bytemuck::Zeroable;
use core::fmt::Debug;
use core::marker::PhantomData;
use core::ptr;
use corelocal::colocated;
use std::cell::RefCell;

/// A `T` whose fields are written down when they are used.
#[derive(Debug)]
#[repr(transparent)]
pub struct Recorded<T>(T);

// SAFETY:
// * a transparent wrapper of a `Zeroable`.
unsafe impl<T: Zeroable> Zeroable for Recorded<T> {}

impl<T> Recorded<T> {
    /// The field that `of` picks, whose type may name `Recorded` structures where the plain one
    /// names plain ones.
    pub(super) fn field<P, F>(&self, of: impl FnOnce(&T) -> &P) -> &F {
        const { assert!(size_of::<P>() == size_of::<F>() && align_of::<P>() == align_of::<F>()) };
        let field = touched(of(&self.0));
        // SAFETY:
        // * `fields!` alone calls this, with `F` the type of the same field: a word or a struct of
        //   words, or links, whose target type is all that differs, and a `Recorded<T>` is a `T`.
        unsafe { &*ptr::from_ref(field).cast::<F>() }
    }
}

impl<T> Watched for Recorded<T> {
    fn touched<F>(what: &F) -> &F {
        touched(what)
    }

    fn visited() {
        LOG.with_borrow_mut(|log| {
            if let Some(log) = log {
                log.ends.push(log.touches.len());
            }
        });
    }
}

/// What a walk used, in order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Log {
    /// Address and bytes of each use.
    pub touches: Vec<(usize, usize)>,
    /// How many uses there had been when each visit ended.
    pub ends: Vec<usize>,
}

thread_local! {
    /// What the walk that is being recorded on this thread has used so far.
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
}

fn touched<F>(what: &F) -> &F {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.touches.push((ptr::from_ref(what).addr(), size_of::<F>()));
        }
    });
    what
}

/// Runs `walk` and lists what it uses of recorded structures on this thread.
pub fn record<R>(walk: impl FnOnce() -> R) -> (R, Log) {
    LOG.set(Some(Log::default()));
    let done = walk();
    (done, LOG.take().unwrap_or_default())
}

colocated! {
    /// The co-located three of a kernel, recorded, and behind them `P`: nothing, or a line that
    /// makes another step of it.
    #[derive(Debug)]
    pub struct State<Q, S, P> {
        /// The queue, at offset 0.
        pub cfs_rq: Q,
        /// The entity.
        pub se: S,
        /// The statistics.
        pub stats: SchedStatistics,
        /// Unused bytes.
        pub unused: P,
    }
}

/// A kernel whose structures are recorded.
#[derive(Debug)]
pub struct Recording<K, P = ()>(PhantomData<(K, P)>);

/// A line of unused bytes.
pub type Line = [u64; 8];

impl<K: Kernel, P> Kernel for Recording<K, P>
where
    Recorded<K::CfsRq>: CfsRqFields + LaterFields,
    Recorded<K::Se>: SeFields + InQueue<CfsRq = Recorded<K::CfsRq>>,
    P: Zeroable + Send + Sync + Debug + 'static,
{
    const NAME: &'static str = K::NAME;
    const PER_CPU: &'static str = K::PER_CPU;
    type CfsRq = Recorded<K::CfsRq>;
    type Se = Recorded<K::Se>;
    type State = State<Self::CfsRq, Self::Se, P>;
}

#[cfg(test)]
mod tests {
    use super::super::{reorder::Reorder, v6_14, v6_14::V6_14, v7_2::V7_2};
    use super::*;
    use corelocal::colocated::HasPart;

    #[test]
    fn recorded_structures_lie_as_the_plain_ones() {
        fn of<K: Kernel>() -> [usize; 3] {
            let se = <K::State as HasPart<1>>::PART.offset();
            [size_of::<K::State>(), se, <K::State as HasPart<2>>::PART.offset()]
        }
        assert_eq!(of::<Recording<V6_14>>(), of::<V6_14>());
        assert_eq!(of::<Recording<Reorder>>(), of::<Reorder>());
        assert_eq!(of::<Recording<V7_2>>(), of::<V7_2>());
        assert_eq!(of::<Recording<Reorder, Line>>(), [1024, 448, 704]);
    }

    #[test]
    fn a_field_is_written_down_where_it_lies_and_only_while_recording() {
        type Queue = Recorded<v6_14::CfsRq>;
        let queue: Box<Queue> = bytemuck::allocation::zeroed_box();
        queue.load().weight.set(3);
        let (sum, log) = record(|| {
            let sum = queue.load().weight.get() + queue.tg().get();
            Queue::visited();
            Queue::touched(&queue.leaf_cfs_rq_list().next);
            sum
        });
        let base = ptr::from_ref(&*queue).addr();
        assert_eq!(sum, 3);
        let touches: Vec<_> = log.touches.iter().map(|&(at, bytes)| (at - base, bytes)).collect();
        assert_eq!(touches, [(0, 16), (344, 8), (328, 16), (328, 8)]);
        assert_eq!(log.ends, [2]);
        queue.tg().get();
        assert_eq!(record(|| ()).1, Log::default());
    }
}
