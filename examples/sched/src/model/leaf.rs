//! The leaf list of a run queue: the queues with load, a child always before its parent.
//!
//! Every function wants the lock of the run queue held (`Model::lock_rq`).

#![allow(unsafe_code, reason = "links between queues; a queue leaves the list before it is freed")]

use super::{Model, RqOf, Tg};
use crate::layout::{Cfs, Held, Layout};
use crate::link::Link;
use crate::structs::{CfsRqFields, Rq};
use corelocal::CpuId;
use crossbeam_epoch::Guard;

/// Points a link of the list at `to`.
fn point<C>(link: &Link<C>, to: Option<&C>) {
    // SAFETY:
    // * only queues of one model are strung together, they do not move, and `Model::release` takes
    //   a queue off the list before the grace period after which it is freed; what is never
    //   released is dropped with the model, when no link is read any more.
    unsafe { link.set(to) };
}

/// The link that leads from `prev` on; from the list's beginning, if there is none.
#[inline(always)]
fn after<'a, C: CfsRqFields>(rq: &'a Rq<C>, prev: Option<&'a C>) -> &'a Link<C> {
    match prev {
        Some(prev) => &prev.leaf_cfs_rq_list().next,
        None => C::touched(&rq.leaf.next),
    }
}

/// The link that leads back from `next`; from the list's end, if there is none.
#[inline(always)]
fn before<'a, C: CfsRqFields>(rq: &'a Rq<C>, next: Option<&'a C>) -> &'a Link<C> {
    match next {
        Some(next) => &next.leaf_cfs_rq_list().prev,
        None => C::touched(&rq.leaf.prev),
    }
}

/// Inserts `cfs` between two neighbours of the list; `None` is an end.
fn insert<C: CfsRqFields>(rq: &Rq<C>, cfs: &C, prev: Option<&C>, next: Option<&C>) {
    point(&cfs.leaf_cfs_rq_list().prev, prev);
    point(&cfs.leaf_cfs_rq_list().next, next);
    point(after(rq, prev), Some(cfs));
    point(before(rq, next), Some(cfs));
    cfs.on_list().set(1);
}

/// Appends `cfs`: what is before it may be its child.
pub(crate) fn push_back<C: CfsRqFields>(rq: &Rq<C>, cfs: &C) {
    insert(rq, cfs, C::touched(&rq.leaf.prev).get(), None);
}

/// Puts the queue of `tg` back on the list, before its parent if that is there; if not, at the
/// end of the branch that is being added, which its parent will complete. A group that is being
/// freed stays off the list.
#[inline(always)]
pub fn add<L: Layout>(
    model: &Model<L>,
    guard: &Guard,
    rq: &RqOf<L>,
    tg: &Tg<L>,
    cfs: &Cfs<L>,
    cpu: CpuId,
) {
    if cfs.on_list().get() != 0 {
        return;
    }
    let links = L::touched(&tg.links);
    if links.dead.get() != 0 {
        return;
    }
    // The parent is looked up through the layout: here the kernel pays for its references.
    match model.groups().get(links.parent.get() as usize, guard) {
        None => {
            push_back(rq, cfs);
            L::touched(&rq.tmp_alone_branch).clear();
        }
        Some(parent) => {
            let parent = L::tg_cfs_rq(parent, cpu).plain();
            if parent.on_list().get() != 0 {
                insert(rq, cfs, parent.leaf_cfs_rq_list().prev.get(), Some(parent));
                L::touched(&rq.tmp_alone_branch).clear();
            } else {
                let prev = L::touched(&rq.tmp_alone_branch).get();
                let next = after(rq, prev).get();
                insert(rq, cfs, prev, next);
                point(&rq.tmp_alone_branch, Some(cfs));
            }
        }
    }
}

/// Takes `cfs` off the list, if it is there.
#[inline(always)]
pub fn remove<C: CfsRqFields>(rq: &Rq<C>, cfs: &C) {
    if cfs.on_list().get() == 0 {
        return;
    }
    let links = cfs.leaf_cfs_rq_list();
    let (prev, next) = (links.prev.get(), links.next.get());
    if C::touched(&rq.tmp_alone_branch).is(Some(cfs)) {
        point(&rq.tmp_alone_branch, prev);
    }
    point(after(rq, prev), next);
    point(before(rq, next), prev);
    links.prev.clear();
    links.next.clear();
    cfs.on_list().set(0);
}
