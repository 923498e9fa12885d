//! L1b, the kernel's series after its second patch: one array of pointers a group, one co-located
//! object a CPU.

#![allow(unsafe_code, reason = "the root's array borrows from the run queues")]

use super::coloc::{self, CoCfs, CoEnt};
use super::ptr_array::{PtrArray, StartsWith};
use super::{Gate, Layout, Order, Piece, Plan, Rqs, Unfinished};
use crate::model::Groups;
use crate::structs::{Kernel, SchedStatistics, TaskGroup};
use crate::structs::{exchanged, recorded, reorder, v6_14, v7_2, v7_3};
use bytemuck::allocation::zeroed_box;
use core::marker::PhantomData;
use corelocal::colocated::Part;
use corelocal::{AllocError, CpuId};
use crossbeam_epoch::Guard;

/// A pointer array and co-located objects.
#[derive(Debug)]
pub struct L1b<K>(PhantomData<K>);

// SAFETY:
// * the queue is the co-located struct's first part, which lies at offset 0.
unsafe impl StartsWith<v6_14::CfsRq> for v6_14::CfsTgState {}
// SAFETY:
// * as above.
unsafe impl StartsWith<v7_2::CfsRq> for v7_2::CfsTgState {}
// SAFETY:
// * as above.
unsafe impl StartsWith<reorder::CfsRq> for reorder::CfsTgState {}
// SAFETY:
// * as above.
unsafe impl StartsWith<exchanged::CfsRq> for exchanged::CfsTgState {}
// SAFETY:
// * as above.
unsafe impl StartsWith<v7_3::CfsRq> for v7_3::CfsTgState {}

// SAFETY:
// * as above.
unsafe impl<Q, S, P> StartsWith<Q> for recorded::State<Q, S, P> {}

/// The array of a group: pointers to the queues, which are parts of owned objects but the root's.
type Refs<K> = PtrArray<<K as Kernel>::CfsRq, <K as Kernel>::State>;

impl<K: Kernel> Layout for L1b<K>
where
    K::State: StartsWith<K::CfsRq>,
{
    type K = K;
    type Refs = Refs<K>;
    type Cfs<'g> = CoCfs<'g, K>;
    type Ent<'g> = CoEnt<'g, K>;
    const NAME: &'static str = "L1b";

    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<K>) -> Result<Vec<Refs<K>>, AllocError> {
        let cpus = plan.cpus as usize;
        let mut groups: Vec<Option<Refs<K>>> = Vec::with_capacity(plan.groups + 1);
        let roots = plan.cpus().map(|cpu| &rqs.get(cpu).expect("a CPU of the plan").cfs);
        // SAFETY:
        // * the caller keeps `rqs` longer than what is returned.
        groups.push(Some(unsafe { PtrArray::borrowing(roots) }));
        groups.resize_with(plan.groups + 1, || None);
        // The array of each group, then its objects; or all of them shuffled (see L0).
        let mut steps = Vec::with_capacity(plan.groups * (1 + cpus));
        for group in 1..=plan.groups {
            steps.push((group, None));
            steps.extend(plan.cpus().map(|cpu| (group, Some(cpu))));
        }
        plan.order.apply(&mut steps);
        let mut waiting = Vec::new();
        if plan.order != Order::Allocation {
            waiting.reserve_exact(cpus * plan.groups);
        }
        for (group, cpu) in steps {
            match (&mut groups[group], cpu) {
                (array, None) => *array = Some(PtrArray::empty(cpus)),
                (Some(array), Some(cpu)) => array.put(cpu, zeroed_box::<K::State>()),
                (None, Some(cpu)) => waiting.push((group, cpu, zeroed_box::<K::State>())),
            }
        }
        for (group, cpu, state) in waiting {
            groups[group].as_mut().expect("every group has its array").put(cpu, state);
        }
        Ok(groups.into_iter().map(|array| array.expect("every group has its array")).collect())
    }

    unsafe fn allocate_one(
        plan: &Plan<'_>,
        _rqs: &Rqs<K>,
        gate: &mut Gate,
    ) -> Result<Refs<K>, Unfinished<Refs<K>>> {
        let mut done = gate.pass();
        let mut array = PtrArray::empty(if done { plan.cpus as usize } else { 0 });
        for cpu in plan.cpus() {
            done = done && gate.pass();
            if done {
                array.put(cpu, zeroed_box::<K::State>());
            }
        }
        if done { Ok(array) } else { Err(Unfinished { refs: Some(array), error: None }) }
    }

    #[inline(always)]
    fn tg_cfs_rq(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> CoCfs<'_, K> {
        let queue = tg.refs.get::<K::CfsRq>(cpu).expect("a queue on every CPU");
        CoCfs::new(queue, tg.refs.owner::<K::CfsRq>(cpu))
    }

    #[inline(always)]
    fn tg_se(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<CoEnt<'_, K>> {
        tg.refs.owner::<K::CfsRq>(cpu).map(Part::new)
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
        tg.refs.owner::<K::CfsRq>(cpu).map(|state| Part::<K::State, _, 2>::new(state).get())
    }

    fn pieces(tg: &TaskGroup<Refs<K>>) -> Vec<Piece> {
        tg.refs.pieces().collect()
    }

    fn group_bytes(cpus: usize) -> u64 {
        (cpus * (size_of::<K::State>() + size_of::<usize>())) as u64
    }
}
