//! Where the per-CPU state of the groups lies: six layouts behind one set of accessors.
//!
//! | layout | a group holds | one CPU's state |
//! |---|---|---|
//! | [`L0`] | two arrays of pointers | two heap objects: queue; entity with statistics |
//! | [`L1`] | two arrays of pointers | one heap object: the co-located three |
//! | [`L1b`] | one array of pointers | one heap object: the co-located three |
//! | [`L2`] | one offset | the co-located three in per-CPU memory |
//! | [`L3`] | one offset | the same, with the fields in the order of the RFC |
//! | [`L3x`] | one offset | the same, with two fields of that order exchanged |
//!
//! The root group has no entity: its queue lies in the run queue [`Rq`] of each CPU.

mod coloc;
mod l0;
mod l1;
mod l1b;
mod l2;
mod one;
mod ptr_array;

pub use coloc::{CoCfs, CoEnt};
pub use l0::L0;
pub use l1::L1;
pub use l1b::L1b;
pub use l2::{L2, L3, L3x};
pub use one::{Gate, Unfinished};
pub use ptr_array::{PtrArray, StartsWith};

use crate::model::Groups;
use crate::rng::Rng;
use crate::structs::{Kernel, Rq, SchedStatistics, TaskGroup, Watched};
use core::fmt::Debug;
use corelocal::colocated::{HasPart, Part};
use corelocal::{AllocError, Area, CpuId, PerCpu};
use crossbeam_epoch::Guard;

/// The queue type of a layout.
pub type Cfs<L> = <<L as Layout>::K as Kernel>::CfsRq;
/// The entity type of a layout.
pub type Se<L> = <<L as Layout>::K as Kernel>::Se;
/// The run queues of all CPUs.
pub type Rqs<K> = PerCpu<Rq<<K as Kernel>::CfsRq>>;

/// A reference that remembers what it was reached through.
///
/// A co-located queue's reference knows the whole object, so that the entity beside it can be
/// reached from it; a plain `&CfsRq` could not lead there.
pub trait Held<'g, T: 'g>: Copy {
    /// The plain reference.
    fn plain(self) -> &'g T;
}

impl<'g, W, T: 'g, const I: usize> Held<'g, T> for Part<'g, W, T, I>
where
    W: HasPart<I, Part = T>,
{
    #[inline(always)]
    fn plain(self) -> &'g T {
        self.get()
    }
}

/// In which order objects are allocated. All walks go in the order of the groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The kernel's: group by group, CPU by CPU, queue before entity.
    Allocation,
    /// Shuffled by this seed: objects lie as in a heap that has been in use for long.
    Shuffled(u64),
}

impl Order {
    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Allocation => "allocation",
            Self::Shuffled(_) => "shuffled",
        }
    }

    /// Puts `items` in this order.
    pub fn apply<T>(self, items: &mut [T]) {
        if let Self::Shuffled(seed) = self {
            Rng::new(seed).shuffle(items);
        }
    }
}

/// What a layout is to allocate.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Groups below the root.
    pub groups: usize,
    /// CPUs with state of their own.
    pub cpus: u32,
    /// In which order.
    pub order: Order,
    /// Where per-CPU memory comes from.
    pub area: &'a Area,
}

impl Plan<'_> {
    /// All CPUs.
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.cpus).map(CpuId::new)
    }
}

/// A piece of memory that belongs to a group's references: its address and its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// An array of pointers, on the heap.
    Array(usize, usize),
    /// An object on the heap.
    Object(usize, usize),
    /// CPU 0's copy of an object in per-CPU memory.
    PerCpu(usize, usize),
}

/// How a group finds its state on a CPU.
pub trait Layout: Sized + Send + Sync + Debug + 'static {
    /// Whose structures.
    type K: Kernel;
    /// What a task group stores.
    type Refs: Send + Sync + Debug + 'static;
    /// A reference to a queue.
    type Cfs<'g>: Held<'g, Cfs<Self>>;
    /// A reference to an entity.
    type Ent<'g>: Held<'g, Se<Self>>;
    /// The short name.
    const NAME: &'static str;

    /// Zeroed state for all groups. The first entry is the root's and refers to `rqs`.
    ///
    /// # Errors
    ///
    /// When per-CPU memory is refused.
    ///
    /// # Safety
    ///
    /// `rqs` outlives what is returned.
    #[allow(unsafe_code, reason = "declares the contract of a self-reference")]
    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<Self::K>) -> Result<Vec<Self::Refs>, AllocError>;

    /// The group's queue on `cpu`; the root's as well, by the same arithmetic.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    fn tg_cfs_rq(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Self::Cfs<'_>;

    /// The group's entity on `cpu`; none for the root.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    fn tg_se(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Option<Self::Ent<'_>>;

    /// The entity that stands for a queue of `cpu`; none for the root's queue.
    fn cfs_rq_se<'g>(
        groups: &'g Groups<Self>,
        guard: &'g Guard,
        cfs: Self::Cfs<'g>,
        cpu: CpuId,
    ) -> Option<Self::Ent<'g>>;

    /// The statistics of a group's entity, from the entity.
    fn stats_of<'g>(ent: Self::Ent<'g>) -> &'g SchedStatistics;

    /// The statistics of a group on `cpu`, from the group; none for the root.
    fn tg_stats(tg: &TaskGroup<Self::Refs>, cpu: CpuId) -> Option<&SchedStatistics>;

    /// Allocates one group more: all of it or nothing, as the kernel does since 7.2. Layouts of
    /// many objects say otherwise: they leave what there is to the caller, as the kernel did.
    ///
    /// # Errors
    ///
    /// [`Unfinished`], when the gate or the area refuses.
    ///
    /// # Safety
    ///
    /// As [`allocate`](Layout::allocate).
    #[allow(unsafe_code, reason = "allocates as `allocate` does")]
    unsafe fn allocate_one(
        plan: &Plan<'_>,
        rqs: &Rqs<Self::K>,
        gate: &mut Gate,
    ) -> Result<Self::Refs, Unfinished<Self::Refs>> {
        if !gate.pass() {
            return Err(Unfinished { refs: None, error: None });
        }
        let plan = Plan { groups: 1, order: Order::Allocation, ..*plan };
        // SAFETY:
        // * what the caller promised.
        match unsafe { Self::allocate(&plan, rqs) } {
            Ok(mut refs) => Ok(refs.pop().expect("the group that was asked for")),
            Err(error) => Err(Unfinished { refs: None, error: Some(error) }),
        }
    }

    /// Where the group's references lead, in the order in which the kernel asks for it.
    fn pieces(tg: &TaskGroup<Self::Refs>) -> Vec<Piece>;

    /// `what` is used now: see [`Watched`].
    #[inline(always)]
    fn touched<T>(what: &T) -> &T {
        Cfs::<Self>::touched(what)
    }

    /// The visit of a group ends here: see [`Watched`].
    #[inline(always)]
    fn visited() {
        Cfs::<Self>::visited();
    }

    /// Bytes asked for by one group on `cpus` CPUs, without the task group itself.
    fn group_bytes(cpus: usize) -> u64;
}
