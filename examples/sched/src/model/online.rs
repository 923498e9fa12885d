//! Which CPUs are online, and the walk over all groups when one comes or goes.

use super::{Locked, Model, Tg};
use crate::layout::{Held, Layout};
use crate::structs::CfsRqFields;
use corelocal::CpuId;
use crossbeam_epoch as epoch;

impl<L: Layout> Model<L> {
    /// CPUs that are online: those that setting a quota visits. All others visit the
    /// [possible](Model::cpus) ones.
    pub fn online_cpus(&self) -> impl Iterator<Item = CpuId> {
        self.cpus().filter(|cpu| self.is_online(*cpu))
    }

    /// Whether `cpu` is online.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.online[cpu.index()].get() != 0
    }

    /// Takes `cpu` online or offline, and visits its queue of every group with its run queue
    /// locked: going off, a queue with quota gets what lets its tasks move away, and its limit
    /// is switched off (`unthrottle_offline_cfs_rqs`); coming back, the limit is what the group
    /// says (`update_runtime_enabled`). `visit` is called for each group after that.
    ///
    /// One CPU, all groups: the walk that per-CPU memory is best at.
    ///
    /// # Panics
    ///
    /// If the model has no such CPU.
    pub fn set_online(
        &self,
        cpu: CpuId,
        online: bool,
        mut visit: impl FnMut(&Locked<'_, L>, &Tg<L>),
    ) {
        let guard = &epoch::pin();
        let locked = Locked::new(self, guard, cpu);
        self.online[cpu.index()].set(u8::from(online));
        for tg in self.groups.iter(guard) {
            let cfs = L::tg_cfs_rq(tg, cpu).plain();
            if online {
                cfs.runtime_enabled().set(i32::from(tg.bandwidth.quota.get() != u64::MAX));
            } else if cfs.runtime_enabled().get() != 0 {
                cfs.runtime_remaining().set(1);
                cfs.runtime_enabled().set(0);
            }
            visit(&locked, tg);
        }
    }
}
