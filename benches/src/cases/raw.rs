//! Lists and stacks on per-CPU memory, by the crate's sections: what a pool would do.
#![allow(unsafe_code, reason = "operations on raw lanes")]

use super::peers::COUNTERS;
use super::sections::Pairs;
use crate::machine::forget;
use corelocal::sys::rseq::{Anchor, Anchored, Entry, HERE, Outcome, Stack, Stride};
use corelocal::{CpuId, PerCpu, PerCpuRef};
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// The distance between the lanes of small objects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart;

impl Stride for Apart {
    const BYTES: usize = PerCpuRef::<'static, AtomicU64>::STRIDE;
}

const _: () = assert!(PerCpuRef::<'static, Anchor>::STRIDE == Apart::BYTES);
const _: () = assert!(PerCpuRef::<'static, Slots>::STRIDE == Apart::BYTES);

/// Tells the compiler that `value` is used, in a register.
#[inline(always)]
pub(super) fn used(value: usize) {
    // SAFETY:
    // - no instructions.
    unsafe { std::arch::asm!("/* {0} */", in(reg) value, options(nostack, preserves_flags)) };
}

/// The same value, which the compiler knows nothing of.
#[inline(always)]
pub(super) fn opaque(mut value: usize) -> usize {
    // SAFETY:
    // - no instructions; the register keeps its value.
    unsafe {
        std::arch::asm!("/* {0} */", inout(reg) value, options(nostack, preserves_flags, nomem));
    }
    value
}

/// What lists hold: a line each, as objects of a pool.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) next: AtomicUsize,
}

pub(super) fn nodes() -> Box<[Node; COUNTERS]> {
    Box::new(std::array::from_fn(|_| Node::default()))
}

/// Objects that live for the whole run: lane 0's copies, and the number of the spill lane.
fn leaked<T: 'static>(make: fn() -> T) -> ([&'static T; COUNTERS], u32) {
    let objects: [_; COUNTERS] = std::array::from_fn(|_| PerCpu::leak(PerCpu::new(|_| make())));
    let lane0 = objects.map(|object| object.get(CpuId::new(0)).expect("lane 0"));
    (lane0, objects[0].cpus() as u32)
}

/// What an operation returned; 0 if it found nothing, or the thread was moved in between.
#[inline(always)]
fn value(outcome: Outcome<usize>) -> usize {
    match outcome {
        Outcome::Committed { value, .. } => value,
        _ => 0,
    }
}

/// Lists of this CPU. The thread is pinned, so that what it pushed it pops.
pub(super) struct Lists {
    anchors: [&'static Anchor; COUNTERS],
    nodes: Box<[Node; COUNTERS]>,
    spill: u32,
}

impl Pairs for Lists {
    fn new() -> Self {
        let (anchors, spill) = leaked(|| Anchor::new(0));
        Self { anchors, nodes: nodes(), spill }
    }

    fn run(&mut self, ops: u64, mask: usize) {
        let spill = self.spill;
        let entry = Entry(move || spill);
        for op in 0..ops {
            let which = op as usize & mask;
            let anchor = ptr::from_ref(self.anchors[which]).cast_mut();
            let node: *mut u8 = ptr::from_ref(&self.nodes[which]).cast_mut().cast();
            let _ = node.expose_provenance();
            forget();
            // SAFETY:
            // - the leaked object has an anchor in every lane, `Apart` apart, which entries alone
            //   store to;
            // - the node is in no list (a thread that was moved leaves it in another lane's, which
            //   is a wrong list and no wrong memory), and lives as long as the lists are used.
            let _ = unsafe { entry.list_push::<Apart, _>(anchor, node, 0, HERE) };
            forget();
            // SAFETY:
            // - as above; what the list holds are such nodes.
            used(value(unsafe { entry.list_pop::<Apart, _>(anchor, 0, HERE) }));
        }
    }
}

/// The places of a stack.
pub(super) const SLOTS: usize = 48;

#[repr(C)]
struct Slots {
    anchor: Anchor,
    slots: [AtomicUsize; SLOTS],
}

/// Bounded stacks of this CPU.
pub(super) struct Stacks {
    stacks: [&'static Slots; COUNTERS],
    spill: u32,
}

impl Pairs for Stacks {
    fn new() -> Self {
        let (stacks, spill) = leaked(|| Slots {
            anchor: Anchor::new(0),
            slots: std::array::from_fn(|_| AtomicUsize::new(0)),
        });
        Self { stacks, spill }
    }

    fn run(&mut self, ops: u64, mask: usize) {
        let spill = self.spill;
        let entry = Entry(move || spill);
        for op in 0..ops {
            let slots = ptr::from_ref(self.stacks[op as usize & mask]).cast_mut();
            let stack = Stack {
                anchor: slots.cast(),
                slots: offset_of!(Slots, slots) - offset_of!(Slots, anchor),
                capacity: SLOTS,
            };
            forget();
            // SAFETY:
            // - the leaked object has an anchor with its slots in every lane, `Apart` apart, which
            //   entries alone store to.
            let _ = unsafe { entry.stack_push::<Apart, _>(stack, op as usize, HERE) };
            forget();
            // SAFETY:
            // - as above.
            used(value(unsafe { entry.stack_pop::<Apart, _>(stack, HERE) }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// Each pair takes out what it put in: on a thread that stays, nothing is left.
    #[test]
    fn pairs_leave_lists_and_stacks_empty() {
        std::thread::spawn(|| {
            let allowed = *crate::machine::cpus().last().expect("at least one");
            crate::machine::pin(allowed);
            let (mut lists, mut stacks) = (Lists::new(), Stacks::new());
            lists.run(100, COUNTERS - 1);
            stacks.run(100, COUNTERS - 1);
            for lane in 0..=allowed {
                let at = |lane0: *const Anchor| lane0.wrapping_byte_add(lane * Apart::BYTES);
                for which in 0..COUNTERS {
                    let list = at(lists.anchors[which]);
                    let stack = at(ptr::from_ref(&stacks.stacks[which].anchor));
                    for anchor in [list, stack] {
                        // SAFETY:
                        // - the lane of an allowed CPU, or of one below.
                        let anchor = unsafe { &*anchor };
                        assert_eq!(anchor.word.load(Ordering::Relaxed), 0, "lane {lane}");
                    }
                }
            }
            let last = stacks.stacks[99 % COUNTERS];
            let slot = last.slots[0].as_ptr().wrapping_byte_add(allowed * Apart::BYTES);
            // SAFETY:
            // - a slot of the lane of an allowed CPU; nobody stores meanwhile.
            assert_eq!(unsafe { *slot }, 99, "nothing was pushed");
        })
        .join()
        .expect("pinned");
    }
}
