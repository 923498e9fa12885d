//! References into the co-located three, shared by the two layouts that have them.

use super::Held;
use crate::structs::{Kernel, SchedStatistics};
use corelocal::colocated::Part;

/// A queue: a part of a co-located object, or the root's.
#[derive(Debug)]
pub struct CoCfs<'g, K: Kernel> {
    cfs: &'g K::CfsRq,
    whole: Option<&'g K::State>,
}

/// An entity in its co-located object: a pointer that leads to the other parts.
pub type CoEnt<'g, K> = Part<'g, <K as Kernel>::State, <K as Kernel>::Se, 1>;

impl<K: Kernel> Clone for CoCfs<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kernel> Copy for CoCfs<'_, K> {}

impl<'g, K: Kernel> Held<'g, K::CfsRq> for CoCfs<'g, K> {
    #[inline(always)]
    fn plain(self) -> &'g K::CfsRq {
        self.cfs
    }
}

impl<'g, K: Kernel> CoCfs<'g, K> {
    /// `cfs` is the first part of `whole`, or the root's.
    #[inline(always)]
    pub(super) fn new(cfs: &'g K::CfsRq, whole: Option<&'g K::State>) -> Self {
        Self { cfs, whole }
    }

    /// The entity beside the queue.
    #[inline(always)]
    pub(super) fn entity(self) -> Option<CoEnt<'g, K>> {
        self.whole.map(Part::new)
    }
}

/// The statistics beside an entity.
#[inline(always)]
pub(super) fn stats<'g, K: Kernel>(ent: CoEnt<'g, K>) -> &'g SchedStatistics {
    ent.sibling::<2>().get()
}
