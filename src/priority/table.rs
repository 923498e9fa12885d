//! What a layout does: the seam between [`PriorityVec`](super::PriorityVec) and the four of them.

use super::error::OrderError;
use super::registry::Registry;
use super::word::Words;
use crate::cpu::{CpuId, CpuMask};
use crate::error::AllocError;
use alloc::string::String;

/// Where a vector's words lie: [`Packed`](super::Packed), [`Padded`](super::Padded),
/// [`Split`](super::Split) or [`ByCpu`](super::ByCpu). Sealed.
///
/// ```
/// use corelocal::priority::{Layout, OrderError};
/// use corelocal::{ByCpu, CpuId, Packed, PriorityVec};
///
/// /// The memory of a vector of 480 CPUs, by layout.
/// fn lines<L: Layout>() -> Result<usize, OrderError> {
///     Ok(PriorityVec::<L>::try_new((0..480).map(CpuId::new))?.footprint().lines())
/// }
/// assert!(lines::<ByCpu>()? < lines::<Packed>()?);
/// # Ok::<(), OrderError>(())
/// ```
pub trait Layout: sealed::Sealed + 'static {
    /// Its name.
    ///
    /// ```
    /// use corelocal::priority::{ByCpu, Layout, Packed, Padded, Split};
    ///
    /// // The head of a table.
    /// let names = [Packed::NAME, Padded::NAME, <Split>::NAME, <ByCpu>::NAME];
    /// assert_eq!(names, ["Packed", "Padded", "Split", "ByCpu"]);
    /// ```
    const NAME: &'static str;

    /// The words.
    #[doc(hidden)]
    type Table<const LEVELS: usize, W: Words>: Table<W>;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Where one CPU is in a vector, and at which level its one writer put it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub(super) cpu: CpuId,
    /// The shard of its lane; unused where masks are by level.
    pub(super) shard: u32,
    /// The lane in the shard.
    pub(super) lane: u8,
    /// The level's byte.
    pub(super) level: u8,
}

/// The words of a vector and how they are searched. Levels are numbers below `LEVELS`, `NOWHERE` is
/// none; masks are words of CPU ids.
#[doc(hidden)]
pub trait Table<W: Words>: Sized + Send + Sync {
    fn try_new(order: &[CpuId]) -> Result<Self, OrderError>;

    fn registry(&self) -> &Registry;

    /// The place of a CPU of the vector.
    fn place(&self, cpu: CpuId) -> Place;

    /// Moves a CPU to another level, if it is another one. Has a full barrier after the new level,
    /// if that is one.
    fn set(&self, place: &Place, level: u8);

    /// Some CPUs, laid out for this vector.
    type Among: Send + Sync;

    fn among(&self, allowed: &[u64]) -> Result<Self::Among, AllocError>;

    /// [`find`](Self::find) among the CPUs that `allowed` was made from, for this vector.
    fn find_among(&self, below: usize, allowed: &Self::Among, found: &mut CpuMask)
    -> Option<usize>;

    /// Fills `found` with the allowed CPUs at the lowest level below `below`, with none if there is
    /// no such level.
    fn find(&self, below: usize, allowed: &[u64], found: &mut CpuMask) -> Option<usize>;

    /// The same, but of CPUs that `fits` agrees to; `found` holds nothing of use if there are none.
    fn find_fit(
        &self,
        below: usize,
        allowed: &[u64],
        fits: &mut dyn FnMut(CpuId) -> bool,
        found: &mut CpuMask,
    ) -> Option<usize>;

    /// One of the CPUs that `find` would give.
    fn find_any(&self, below: usize, allowed: &[u64], near: CpuId) -> Option<(CpuId, usize)>;

    /// How many CPUs are at `level`.
    fn count(&self, level: u8) -> usize;

    /// Every field that there is, with its address and size.
    fn fields(&self, tell: &mut dyn FnMut(Field));
}

/// A field of a vector.
#[doc(hidden)]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// As `count[99]`.
    pub name: String,
    /// Of its first byte.
    pub address: usize,
    /// How many.
    pub bytes: usize,
    /// Which part of the vector it belongs to.
    pub part: Part,
}

/// The parts of a vector's memory.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The vector itself, as it would be embedded in another structure.
    Structure,
    /// Masks out of line, or lanes.
    Masks,
    /// The levels of CPUs, where they are kept apart.
    Current,
    /// Where CPUs are, which are claimed: read, and written by claims alone.
    Bookkeeping,
}

impl Field {
    pub(super) fn of<T: ?Sized>(part: Part, name: String, value: &T) -> Self {
        let address = core::ptr::from_ref(value).cast::<u8>().addr();
        Self { name, address, bytes: size_of_val(value), part }
    }
}
