//! The leaf list of one CPU.

use crate::layout::{Held, Layout};
use crate::link::Link;
use crate::model::Model;
use crate::structs::CfsRqFields;
use corelocal::CpuId;
use crossbeam_epoch::Guard;

/// Walks the list of `cpu` once.
pub(super) fn check<L: Layout>(model: &Model<L>, guard: &Guard, cpu: CpuId) -> Result<(), String> {
    let rq = model.rq(cpu);
    let groups = model.groups();
    let mut place = vec![0_usize; groups.len()];
    let (mut prev, mut link, mut length) = (None, &rq.leaf.next, 0_usize);
    while let Some(cfs) = link.get() {
        let index = cfs.tg().get() as usize;
        length += 1;
        if cfs.on_list().get() != 1 {
            return Err(format!("group {index} is not marked"));
        }
        // A cycle also ends here: of the two links into a queue, one does not agree.
        if !cfs.leaf_cfs_rq_list().prev.is(prev) {
            return Err(format!("group {index} points back elsewhere"));
        }
        place[index] = length;
        (prev, link) = (Some(cfs), &cfs.leaf_cfs_rq_list().next);
    }
    if !rq.leaf.prev.is(prev) {
        return Err("its end is elsewhere".to_owned());
    }
    if !Link::is(&rq.tmp_alone_branch, None) {
        return Err("a branch is open".to_owned());
    }
    for index in 0..groups.len() {
        let Some(tg) = groups.get(index, guard) else { continue };
        let marked = L::tg_cfs_rq(tg, cpu).plain().on_list().get() != 0;
        let parent = place.get(tg.links.parent.get() as usize).copied().unwrap_or(0);
        if marked != (place[index] != 0) {
            return Err(format!("group {index} is marked but not there"));
        }
        if marked && parent != 0 && parent < place[index] {
            return Err(format!("group {index} stands behind its parent"));
        }
    }
    Ok(())
}
