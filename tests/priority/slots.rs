//! One writer a CPU: claims, drops, leaks, other threads, and every way to hold the vector.

use crate::{each_layout, find, mask, usual};
use corelocal::priority::{Atomic, ClaimError, Layout, UnknownCpu};
use corelocal::{ByCpu, CpuId, CpuSlot, Packed, Padded, Priority, PriorityVec, Split};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

#[test]
fn a_second_writer_is_refused_until_the_first_has_gone() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        let cpu = CpuId::new(1);
        assert_eq!(PriorityVec::claim(&*vector, cpu).unwrap_err(), ClaimError::Claimed(cpu));
        slots[1].set(Priority::rt(5)).unwrap();
        assert_eq!(vector.count(Priority::rt(5)), 1, "the refused claim changed nothing");
        drop(slots.pop());
        assert_eq!(vector.count(Priority::rt(5)), 0, "dropping it is INVALID");
        let mut next = PriorityVec::claim(&*vector, cpu).unwrap();
        assert_eq!((next.get(), next.cpu()), (Priority::INVALID, cpu));
        next.set(Priority::rt(6)).unwrap();
        assert_eq!(find(&vector, Priority::HIGHER, &mask("0-1")), Some((Priority::rt(6), "1".into())));
    });
}

#[test]
fn a_cpu_that_the_vector_has_not_cannot_be_claimed() {
    each_layout!(L => {
        let (vector, _slots) = usual::<L>(&[3, 70]);
        for id in [0, 2, 4, 63, 69, 71, 128, 70_000, u32::MAX] {
            let cpu = CpuId::new(id);
            let error = PriorityVec::claim(&*vector, cpu).unwrap_err();
            assert_eq!(error, ClaimError::UnknownCpu(UnknownCpu { cpu, bound: 71 }));
            assert!(error.to_string().contains(&id.to_string()), "{error}");
        }
    });
}

/// Safe code can forget a slot; then there is no writer any more, and still no second one.
#[test]
fn a_leaked_slot_keeps_its_cpu_and_its_level() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0]);
        slots[0].set(Priority::rt(7)).unwrap();
        std::mem::forget(slots);
        assert!(PriorityVec::claim(&*vector, CpuId::new(0)).is_err());
        assert_eq!(find(&vector, Priority::HIGHER, &mask("0")), Some((Priority::rt(7), "0".into())));
    });
}

#[test]
fn a_slot_is_used_by_another_thread_and_comes_back() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        let mut slot = slots.pop().unwrap();
        let slot = std::thread::spawn(move || {
            slot.set(Priority::rt(30)).unwrap();
            slot
        });
        let mut slot = slot.join().unwrap();
        assert_eq!((slot.get(), vector.count(Priority::rt(30))), (Priority::rt(30), 1));
        slot.set(Priority::rt(31)).unwrap();
        assert_eq!((vector.count(Priority::rt(30)), vector.count(Priority::rt(31))), (0, 1));
        std::thread::spawn(move || drop(slot)).join().unwrap();
        assert_eq!(vector.count(Priority::INVALID), 2);
        assert!(PriorityVec::claim(vector, CpuId::new(1)).is_ok());
    });
}

fn through<P, L: Layout>(pointer: P)
where
    P: Deref<Target = PriorityVec<L>> + Clone,
{
    let mut slot = PriorityVec::claim(pointer.clone(), CpuId::new(1)).unwrap();
    slot.set(Priority::rt(3)).unwrap();
    assert_eq!(slot.vector().count(Priority::rt(3)), 1);
    drop(slot);
    assert_eq!(pointer.count(Priority::INVALID), 2);
}

#[test]
fn a_vector_is_reached_through_any_pointer() {
    each_layout!(L => {
        let make = || PriorityVec::<L>::try_new([CpuId::new(1), CpuId::new(0)]).unwrap();
        through(&make());
        through(Rc::new(make()));
        through(Arc::new(make()));
        // Leaked on purpose: a scheduler lives as long as its program.
        let forever: &'static PriorityVec<L> = Box::leak(Box::new(make()));
        through(forever);
        let slot = std::thread::spawn(move || PriorityVec::claim(forever, CpuId::new(0)).unwrap());
        assert_eq!(slot.join().unwrap().cpu(), CpuId::new(0));
        // The slot may own it: it is the only one then.
        let mut own = PriorityVec::claim(Box::new(make()), CpuId::new(0)).unwrap();
        own.set(Priority::NORMAL).unwrap();
        assert_eq!(own.vector().count(Priority::NORMAL), 1);
    });
}

#[test]
fn a_slot_prints_its_own_cpu_and_level() {
    let (_vector, mut slots) = usual::<ByCpu>(&[0, 9]);
    slots[1].set(Priority::rt(3)).unwrap();
    let text = format!("{:?}", slots[1]);
    assert!(text.contains('9') && text.contains('3'), "{text}");
}

/// The other half is in `tests/compile_fail`.
#[test]
fn vectors_and_slots_go_to_other_threads() {
    fn both<T: Send + Sync>() {}
    both::<PriorityVec<Packed>>();
    both::<PriorityVec<Padded, 2>>();
    both::<PriorityVec<Split>>();
    both::<PriorityVec>();
    both::<CpuSlot<Arc<PriorityVec>>>();
    both::<CpuSlot<&PriorityVec<Packed, 101, Atomic>>>();
    both::<corelocal::Level<[core::sync::atomic::AtomicU64; 1]>>();
}
