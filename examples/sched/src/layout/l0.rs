//! L0, the kernel to 7.1: two arrays of pointers a group, two objects a CPU.

#![allow(unsafe_code, reason = "the root's array borrows from the run queues")]

use super::ptr_array::{PtrArray, StartsWith};
use super::{Gate, Held, Layout, Order, Piece, Plan, Rqs, Unfinished};
use crate::model::Groups;
use crate::structs::{CfsRqFields, Kernel, SchedStatistics, SeStats, TaskGroup};
use bytemuck::allocation::zeroed_box;
use core::marker::PhantomData;
use corelocal::{AllocError, CpuId};
use crossbeam_epoch::Guard;

/// Pointer arrays and separate objects.
#[derive(Debug)]
pub struct L0<K>(PhantomData<K>);

/// The two arrays of a group.
#[derive(Debug)]
pub struct Refs<K: Kernel> {
    cfs_rq: PtrArray<K::CfsRq, K::CfsRq>,
    se: PtrArray<K::Se, SeStats<K>>,
}

// SAFETY:
// * a value begins with itself.
unsafe impl<T: CfsRqFields> StartsWith<T> for T {}

/// One allocation of the plan.
#[derive(Clone, Copy)]
enum Step {
    Arrays(usize),
    Queue(usize, CpuId),
    Entity(usize, CpuId),
}

fn steps(plan: &Plan<'_>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(plan.groups * (1 + 2 * plan.cpus as usize));
    for group in 0..plan.groups {
        steps.push(Step::Arrays(group));
        for cpu in plan.cpus() {
            steps.extend([Step::Queue(group, cpu), Step::Entity(group, cpu)]);
        }
    }
    plan.order.apply(&mut steps);
    steps
}

impl<K: Kernel> Layout for L0<K> {
    type K = K;
    type Refs = Refs<K>;
    type Cfs<'g> = Queue<'g, K>;
    type Ent<'g> = Entity<'g, K>;
    const NAME: &'static str = "L0";

    unsafe fn allocate(plan: &Plan<'_>, rqs: &Rqs<K>) -> Result<Vec<Refs<K>>, AllocError> {
        let cpus = plan.cpus as usize;
        let mut groups: Vec<Option<Refs<K>>> = Vec::with_capacity(plan.groups + 1);
        let roots = plan.cpus().map(|cpu| &rqs.get(cpu).expect("a CPU of the plan").cfs);
        // SAFETY:
        // * the caller keeps `rqs` longer than what is returned.
        let cfs_rq = unsafe { PtrArray::borrowing(roots) };
        groups.push(Some(Refs { cfs_rq, se: PtrArray::empty(cpus) }));
        groups.resize_with(plan.groups + 1, || None);
        // In an aged heap an object may be older than the array that will point at it: such
        // objects wait here. The vector is larger than the heap's small blocks, so it lies apart.
        let mut waiting: Vec<(usize, CpuId, Object<K>)> = Vec::new();
        if plan.order != Order::Allocation {
            waiting.reserve_exact(2 * cpus * plan.groups);
        }
        for step in steps(plan) {
            let (group, cpu, object) = match step {
                Step::Arrays(group) => {
                    let refs = Refs { cfs_rq: PtrArray::empty(cpus), se: PtrArray::empty(cpus) };
                    groups[group + 1] = Some(refs);
                    continue;
                }
                Step::Queue(group, cpu) => (group, cpu, Object::Queue(zeroed_box())),
                Step::Entity(group, cpu) => (group, cpu, Object::Entity(zeroed_box())),
            };
            match &mut groups[group + 1] {
                Some(refs) => refs.put(cpu, object),
                None => waiting.push((group, cpu, object)),
            }
        }
        for (group, cpu, object) in waiting {
            groups[group + 1].as_mut().expect("every group has its arrays").put(cpu, object);
        }
        Ok(groups.into_iter().map(|refs| refs.expect("every group has its arrays")).collect())
    }

    unsafe fn allocate_one(
        plan: &Plan<'_>,
        _rqs: &Rqs<K>,
        gate: &mut Gate,
    ) -> Result<Refs<K>, Unfinished<Refs<K>>> {
        let cpus = plan.cpus as usize;
        // An array that was refused has no entries.
        let mut array = || gate.pass().then_some(cpus);
        let (queues, entities) = (array(), array());
        let cfs_rq = PtrArray::empty(queues.unwrap_or(0));
        let mut refs = Refs { cfs_rq, se: PtrArray::empty(entities.unwrap_or(0)) };
        let mut done = queues.is_some() && entities.is_some();
        for cpu in plan.cpus() {
            // The pair's first half goes with the second: it is not left to the caller.
            done = done && gate.pass() && gate.pass();
            if done {
                refs.put(cpu, Object::Queue(zeroed_box()));
                refs.put(cpu, Object::Entity(zeroed_box()));
            }
        }
        if done { Ok(refs) } else { Err(Unfinished { refs: Some(refs), error: None }) }
    }

    #[inline(always)]
    fn tg_cfs_rq(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Queue<'_, K> {
        Queue(tg.refs.cfs_rq.get::<K::CfsRq>(cpu).expect("a queue on every CPU"))
    }

    #[inline(always)]
    fn tg_se(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<Entity<'_, K>> {
        tg.refs.se.owner::<K::CfsRq>(cpu).map(Entity)
    }

    #[inline(always)]
    fn cfs_rq_se<'g>(
        groups: &'g Groups<Self>,
        guard: &'g Guard,
        cfs: Queue<'g, K>,
        cpu: CpuId,
    ) -> Option<Entity<'g, K>> {
        // The queue's group, its array, the entry: three loads that wait for each other.
        Self::tg_se(groups.get(cfs.0.tg().get() as usize, guard)?, cpu)
    }

    #[inline(always)]
    fn stats_of<'g>(ent: Self::Ent<'g>) -> &'g SchedStatistics {
        &ent.0.stats
    }

    #[inline(always)]
    fn tg_stats(tg: &TaskGroup<Refs<K>>, cpu: CpuId) -> Option<&SchedStatistics> {
        tg.refs.se.owner::<K::CfsRq>(cpu).map(|ent| &ent.stats)
    }

    fn pieces(tg: &TaskGroup<Refs<K>>) -> Vec<Piece> {
        let pairs = tg.refs.cfs_rq.pieces().zip(tg.refs.se.pieces());
        pairs.flat_map(|(queue, entity)| [queue, entity]).collect()
    }

    fn group_bytes(cpus: usize) -> u64 {
        let objects = size_of::<K::CfsRq>() + size_of::<SeStats<K>>();
        (cpus * (objects + 2 * size_of::<usize>())) as u64
    }
}

/// What a step allocates.
enum Object<K: Kernel> {
    Queue(Box<K::CfsRq>),
    Entity(Box<SeStats<K>>),
}

impl<K: Kernel> Refs<K> {
    fn put(&mut self, cpu: CpuId, object: Object<K>) {
        match object {
            Object::Queue(queue) => self.cfs_rq.put(cpu, queue),
            Object::Entity(entity) => self.se.put(cpu, entity),
        }
    }
}

/// A queue that lies alone.
#[derive(Debug)]
pub struct Queue<'g, K: Kernel>(&'g K::CfsRq);

/// An entity with its statistics.
#[derive(Debug)]
pub struct Entity<'g, K: Kernel>(&'g SeStats<K>);

impl<K: Kernel> Clone for Queue<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kernel> Copy for Queue<'_, K> {}

impl<K: Kernel> Clone for Entity<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Kernel> Copy for Entity<'_, K> {}

impl<'g, K: Kernel> Held<'g, K::CfsRq> for Queue<'g, K> {
    #[inline(always)]
    fn plain(self) -> &'g K::CfsRq {
        self.0
    }
}

impl<'g, K: Kernel> Held<'g, K::Se> for Entity<'g, K> {
    #[inline(always)]
    fn plain(self) -> &'g K::Se {
        &self.0.se
    }
}
