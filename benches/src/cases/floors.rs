//! What sections are measured against: the same work without what makes it right, and with a lock.
#![allow(unsafe_code, reason = "plain work at addresses that a CPU id leads to")]

use super::peers::{COUNTERS, Counters};
use super::raw::{Apart, Node, nodes, opaque, used};
use super::sections::Pairs;
use crate::machine::forget;
use corelocal::sys::rseq::{Hot, Stride};
use corelocal::{CpuId, PerCpu, PerCpuRef};
use std::cell::Cell;
use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Sixteen counters in memory of the crate's, and where this thread's area lies.
pub(super) struct Words {
    objects: [PerCpuRef<'static, AtomicU64>; COUNTERS],
    lane0: [&'static AtomicU64; COUNTERS],
    /// Distance of the area from the thread pointer, if there is one.
    area: Option<isize>,
}

impl Words {
    fn new() -> Self {
        // Few and for the whole run, so that the words need no owner.
        let objects: [_; COUNTERS] = std::array::from_fn(|_| PerCpu::leak(PerCpu::zeroed()));
        let lane0 = objects.map(|object| object.get(CpuId::new(0)).expect("lane 0"));
        let area = Hot::find(objects[0].cpus() as u32).map(|hot| hot.offset);
        Self { objects, lane0, area }
    }

    /// This CPU's word, found as a section finds it, without the section.
    #[inline(always)]
    fn here(&self, which: usize) -> &'static AtomicU64 {
        let lane0 = ptr::from_ref(self.lane0[which]);
        let word = lane0.wrapping_byte_add(self.id() * Apart::BYTES);
        // SAFETY:
        // - a leaked object has a word in the lane of every CPU, a stride apart.
        unsafe { &*word }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn id(&self) -> usize {
        let Some(area) = self.area else { return CpuId::current().map_or(0, CpuId::index) };
        let id: u32;
        // SAFETY:
        // - the offset leads to the thread's area, whose second word is the id; the benchmark's
        //   threads are registered, so it is a CPU's.
        unsafe {
            std::arch::asm!(
                "mov {id:e}, dword ptr fs:[{area} + 4]",
                area = in(reg) area,
                id = lateout(reg) id,
                options(nostack, preserves_flags, readonly),
            );
        }
        id as usize
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    fn id(&self) -> usize {
        CpuId::current().map_or(0, CpuId::index)
    }

    fn sum(&self, which: usize) -> u64 {
        // Relaxed: nobody counts meanwhile.
        self.objects[which].iter().map(|(_, word)| word.load(Ordering::Relaxed)).sum()
    }
}

/// One instruction, and not atomic: two relaxed accesses.
#[inline(always)]
fn plain_add(word: &AtomicU64) {
    // Relaxed, both: the floor orders nothing, and loses updates.
    word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// A plain add in a lane that was found before: right only while the thread stays.
///
/// The lane's distance is added anew each time, as an access to per-CPU memory does: an address
/// that stays in one register lets processors that rename memory skip the wait for the last store.
pub(super) struct Fixed(Words);

impl Counters for Fixed {
    const NAME: &'static str = "plain add in a known lane";

    fn new() -> Self {
        Self(Words::new())
    }

    fn add(&self, which: usize) {
        plain_add(self.0.here(which));
    }

    fn run(&self, ops: u64, mask: usize) {
        let lane = self.0.id() * Apart::BYTES;
        for op in 0..ops {
            forget();
            let lane0 = ptr::from_ref(self.0.lane0[op as usize & mask]);
            // SAFETY:
            // - as in `here`: the lane is a CPU's.
            plain_add(unsafe { &*lane0.wrapping_byte_add(opaque(lane)) });
        }
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

/// The same with the address in one register, for comparison: what the hardware makes of a
/// counter of one's own.
pub(super) struct OneRegister(Words);

impl Counters for OneRegister {
    const NAME: &'static str = "plain add, one register";

    fn new() -> Self {
        Self(Words::new())
    }

    fn add(&self, which: usize) {
        plain_add(self.0.here(which));
    }

    fn run(&self, ops: u64, mask: usize) {
        let words: [_; COUNTERS] = std::array::from_fn(|which| self.0.here(which));
        for op in 0..ops {
            forget();
            plain_add(words[op as usize & mask]);
        }
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

/// A plain add at the address that the id leads to: wrong when the thread is moved in between, or
/// preempted by another one that adds.
pub(super) struct Plain(Words);

impl Counters for Plain {
    const NAME: &'static str = "plain add by id";

    fn new() -> Self {
        Self(Words::new())
    }

    #[inline]
    fn add(&self, which: usize) {
        plain_add(self.0.here(which));
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

/// The same with a lock, which makes it right wherever the thread is moved to.
pub(super) struct Locked(Words);

impl Counters for Locked {
    const NAME: &'static str = "locked add by id";

    fn new() -> Self {
        Self(Words::new())
    }

    #[inline]
    fn add(&self, which: usize) {
        // Relaxed: a count orders nothing.
        self.0.here(which).fetch_add(1, Ordering::Relaxed);
    }

    fn sum(&self, which: usize) -> u64 {
        self.0.sum(which)
    }
}

/// Intrusive lists of one thread.
pub(super) struct PrivateLists {
    heads: Box<[Cell<usize>; COUNTERS]>,
    nodes: Box<[Node; COUNTERS]>,
}

impl Pairs for PrivateLists {
    fn new() -> Self {
        Self { heads: Box::new(std::array::from_fn(|_| Cell::new(0))), nodes: nodes() }
    }

    fn run(&mut self, ops: u64, mask: usize) {
        // Somebody might look: without this the compiler may keep the lists in registers.
        let (heads, nodes) = (black_box(&self.heads), black_box(&self.nodes));
        for op in 0..ops {
            let which = op as usize & mask;
            let (list, node) = (&heads[which], &nodes[which]);
            forget();
            // Relaxed, here and below: one thread.
            node.next.store(list.get(), Ordering::Relaxed);
            list.set(ptr::from_ref(node).expose_provenance());
            forget();
            let head = list.get();
            if head != 0 {
                // SAFETY:
                // - the head is one of the nodes, whose first word is `next`.
                let next = unsafe { &*ptr::with_exposed_provenance::<AtomicUsize>(head) };
                list.set(next.load(Ordering::Relaxed));
            }
            used(head);
        }
    }
}

/// Stacks of one thread.
pub(super) struct Vecs(Box<[Vec<usize>; COUNTERS]>);

impl Pairs for Vecs {
    fn new() -> Self {
        Self(Box::new(std::array::from_fn(|_| Vec::with_capacity(super::raw::SLOTS))))
    }

    fn run(&mut self, ops: u64, mask: usize) {
        let vecs = black_box(&mut self.0);
        for op in 0..ops {
            let vec = &mut vecs[op as usize & mask];
            forget();
            vec.push(op as usize);
            forget();
            used(vec.pop().unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts<C: Counters>() {
        let counters = C::new();
        counters.run(1000, 0);
        counters.run(160, COUNTERS - 1);
        assert_eq!((counters.sum(0), counters.sum(1)), (1010, 10), "{}", C::NAME);
    }

    /// One thread, so that even what is wrong is exact.
    #[test]
    fn floors_do_the_work_that_they_are_the_floor_of() {
        counts::<Fixed>();
        counts::<OneRegister>();
        counts::<Plain>();
        counts::<Locked>();
    }
}
