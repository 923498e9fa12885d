//! L2, the kernel since 7.2: the co-located three in per-CPU memory, one offset a group; L3, the same
//! with the fields in the order of the RFC.

#![allow(unsafe_code, reason = "a group refers to the per-CPU object that it owns")]

use super::coloc::{self, CoCfs, CoEnt};
use super::{Layout, Piece, Plan, Rqs};
use crate::model::Groups;
use crate::structs::exchanged::Exchanged;
use crate::structs::reorder::Reorder;
use crate::structs::{Kernel, Rq, SchedStatistics, TaskGroup};
use core::marker::PhantomData;
use core::ptr;
use corelocal::colocated::{HasPart, Part};
use corelocal::{AllocError, CpuId, PerCpu, PerCpuPtr, PerCpuRef, field};
use crossbeam_epoch::Guard;

/// Per-CPU memory.
#[derive(Debug)]
pub struct L2<K>(PhantomData<K>);

/// Per-CPU memory and the structures of the RFC: 15 lines a group and CPU, an odd number as it is.
pub type L3 = L2<Reorder>;
/// The same with one exchange of fields: see [`exchanged`](crate::structs::exchanged).
pub type L3x = L2<Exchanged>;

const _: () = {
    use core::mem::offset_of;
    type State = <Reorder as Kernel>::State;
    assert!(size_of::<State>() == 15 * 64 && offset_of!(State, cfs_rq) == 0);
    assert!(offset_of!(State, se) == 7 * 64 && offset_of!(State, stats) == 11 * 64);
};

/// How a group reaches its state. Root's and child's queues are found by the same arithmetic on a
/// handle of the same type, though they lie in different objects: both have one stride.
#[derive(Debug)]
pub struct Refs<K: Kernel> {
    cfs_rq: PerCpuRef<'static, K::CfsRq, K::State>,
    /// The owned object; none for the root, whose queue lies in the run queue.
    state: Option<PerCpuPtr<K::State>>,
}

impl<K: Kernel> Refs<K> {
    /// # Safety
    ///
    /// `rqs` outlives the result.
    unsafe fn root(rqs: &Rqs<K>) -> Self {
        let cfs_rq: PerCpuRef<'_, K::CfsRq, K::State> =
            rqs.at(field!(Rq<K::CfsRq>, cfs)).with_owner();
        // SAFETY:
        // * only the lifetime differs, and the caller keeps `rqs` as long as the result.
        let cfs_rq = unsafe {
            core::mem::transmute::<
                PerCpuRef<'_, K::CfsRq, K::State>,
                PerCpuRef<'static, K::CfsRq, K::State>,
            >(cfs_rq)
        };
        Self { cfs_rq, state: None }
    }

    fn child(state: PerCpu<K::State>) -> Self {
        let raw = PerCpu::into_raw(state);
        // SAFETY:
        // * `Drop` alone gives the object back, and it stays where it is until then.
        let whole = unsafe { raw.as_ref::<'static>() };
        Self { cfs_rq: whole.at(<K::State as HasPart<0>>::PART), state: Some(raw) }
    }

    #[inline(always)]
    fn whole(&self) -> Option<PerCpuRef<'_, K::State>> {
        // SAFETY:
        // * the object lives as long as `self`.
        self.state.map(|raw| unsafe { raw.as_ref() })
    }

    #[inline(always)]
    fn state(&self, cpu: CpuId) -> Option<&K::State> {
        self.whole().map(|whole| whole.get(cpu).expect("a CPU of the model"))
    }
}

impl<K: Kernel> Drop for Refs<K> {
    fn drop(&mut self) {
        if let Some(raw) = self.state {
            // SAFETY:
            // * `raw` came from `into_raw` in `child`, and is given back once.
            drop(unsafe { PerCpu::from_raw(raw) });
        }
    }
}

impl<K: Kernel> Layout for L2<K> {
    type K = K;
    type Refs = Refs<K>;
    type Cfs<'g> = CoCfs<'g, K>;
    type Ent<'g> = CoEnt<'g, K>;
    const NAME: &'static str = K::PER_CPU;

    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<K>) -> Result<Vec<Refs<K>>, AllocError> {
        let mut groups: Vec<Option<Refs<K>>> = Vec::with_capacity(plan.groups + 1);
        // SAFETY:
        // * the caller keeps `rqs` longer than what is returned.
        groups.push(Some(unsafe { Refs::root(rqs) }));
        groups.resize_with(plan.groups + 1, || None);
        let mut order: Vec<usize> = (1..=plan.groups).collect();
        plan.order.apply(&mut order);
        for group in order {
            groups[group] = Some(Refs::child(plan.area.try_alloc_zeroed()?));
        }
        Ok(groups.into_iter().map(|refs| refs.expect("every group was made")).collect())
    }

    #[inline(always)]
    fn tg_cfs_rq(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> CoCfs<'_, K> {
        let refs = Self::touched(&tg.refs);
        CoCfs::new(refs.cfs_rq.get(cpu).expect("a CPU of the model"), refs.state(cpu))
    }

    #[inline(always)]
    fn tg_se(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<CoEnt<'_, K>> {
        Self::touched(&tg.refs).state(cpu).map(Part::new)
    }

    #[inline(always)]
    fn cfs_rq_se<'g>(
        _groups: &'g Groups<Self>,
        _guard: &'g Guard,
        cfs: CoCfs<'g, K>,
        _cpu: CpuId,
    ) -> Option<CoEnt<'g, K>> {
        cfs.entity()
    }

    #[inline(always)]
    fn stats_of<'g>(ent: Self::Ent<'g>) -> &'g SchedStatistics {
        coloc::stats::<K>(ent)
    }

    #[inline(always)]
    fn tg_stats(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<&SchedStatistics> {
        let state = Self::touched(&tg.refs).state(cpu);
        state.map(|state| Part::<K::State, _, 2>::new(state).get())
    }

    fn pieces(tg: &TaskGroup<Refs<K>>) -> Vec<Piece> {
        let lane0 = tg.refs.state(CpuId::new(0)).map(|state| ptr::from_ref(state).addr());
        lane0.map(|at| Piece::PerCpu(at, size_of::<K::State>())).into_iter().collect()
    }

    fn group_bytes(cpus: usize) -> u64 {
        // One lane more than there are CPUs, and an odd number of lines: see `AreaBuilder`.
        let lines = size_of::<K::State>().div_ceil(64) | 1;
        ((cpus + 1) * lines * 64) as u64
    }
}
