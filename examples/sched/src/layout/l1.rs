//! L1, the kernel's series after its first patch: two arrays of pointers a group as in L0, both into
//! one co-located object a CPU.

#![allow(unsafe_code, reason = "two arrays point into one object")]

use super::coloc::{self, CoCfs, CoEnt};
use super::{Held, L1b, Layout, Piece, Plan, PtrArray, Rqs, StartsWith};
use crate::model::Groups;
use crate::structs::{CfsRqFields as _, Kernel, SchedStatistics, TaskGroup, Watched};
use core::marker::PhantomData;
use core::ptr::NonNull;
use corelocal::colocated::Part;
use corelocal::{AllocError, CpuId};
use crossbeam_epoch::Guard;

/// Two pointer arrays and co-located objects.
#[derive(Debug)]
pub struct L1<K>(PhantomData<K>);

/// The two arrays of a group. The objects belong to the first.
#[derive(Debug)]
pub struct Refs<K: Kernel> {
    cfs_rq: PtrArray<K::CfsRq, K::State>,
    se: Entities<K>,
}

/// The second array: where the kernel points at the entities there are pointers to the objects that
/// these are in, a constant distance before.
#[derive(Debug)]
struct Entities<K: Kernel>(Box<[Option<NonNull<K::State>>]>);

// SAFETY:
// * the array hands out `&K::State` only, which may be sent and shared.
unsafe impl<K: Kernel> Send for Entities<K> {}
// SAFETY:
// * as above.
unsafe impl<K: Kernel> Sync for Entities<K> {}

impl<K: Kernel> Layout for L1<K>
where
    K::State: StartsWith<K::CfsRq>,
{
    type K = K;
    type Refs = Refs<K>;
    type Cfs<'g> = CoCfs<'g, K>;
    type Ent<'g> = CoEnt<'g, K>;
    const NAME: &'static str = "L1";

    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<K>) -> Result<Vec<Refs<K>>, AllocError> {
        // SAFETY:
        // * what the caller promises.
        let arrays = unsafe { L1b::<K>::allocate(plan, rqs) }?;
        let refs = arrays.into_iter().map(|cfs_rq| {
            let whole = |cpu| cfs_rq.owner::<K::CfsRq>(cpu).map(NonNull::from);
            let se = Entities(plan.cpus().map(whole).collect());
            Refs { cfs_rq, se }
        });
        Ok(refs.collect())
    }

    #[inline(always)]
    fn tg_cfs_rq(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> CoCfs<'_, K> {
        let array = &tg.refs.cfs_rq;
        let queue = array.get::<K::CfsRq>(cpu).expect("a queue on every CPU");
        CoCfs::new(queue, array.owner::<K::CfsRq>(cpu))
    }

    #[inline(always)]
    fn tg_se(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<CoEnt<'_, K>> {
        let array = &K::CfsRq::touched(&tg.refs.se).0;
        // SAFETY:
        // * the object belongs to the first array, which lives as long, and stays where it is.
        let whole = K::CfsRq::touched(&array[cpu.index()]).map(|whole| unsafe { whole.as_ref() });
        whole.map(Part::new)
    }

    #[inline(always)]
    fn cfs_rq_se<'g>(
        groups: &'g Groups<Self>,
        guard: &'g Guard,
        cfs: CoCfs<'g, K>,
        cpu: CpuId,
    ) -> Option<CoEnt<'g, K>> {
        // As in L0: the queue's group, its array, the entry.
        Self::tg_se(groups.get(cfs.plain().tg().get() as usize, guard)?, cpu)
    }

    #[inline(always)]
    fn stats_of<'g>(ent: Self::Ent<'g>) -> &'g SchedStatistics {
        coloc::stats::<K>(ent)
    }

    #[inline(always)]
    fn tg_stats(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<&SchedStatistics> {
        Self::tg_se(tg, cpu).map(|ent| coloc::stats::<K>(ent))
    }

    fn pieces(tg: &TaskGroup<Refs<K>>) -> Vec<Piece> {
        let mut pieces: Vec<Piece> = tg.refs.cfs_rq.pieces().collect();
        let se = Piece::Array(tg.refs.se.0.as_ptr().addr(), size_of_val(&*tg.refs.se.0));
        pieces.insert(1, se);
        pieces
    }

    fn group_bytes(cpus: usize) -> u64 {
        (cpus * (size_of::<K::State>() + 2 * size_of::<usize>())) as u64
    }
}
