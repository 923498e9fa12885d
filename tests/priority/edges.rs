//! Where the specification has an edge: levels, masks, ids, orders, counts.

use crate::{claimed, each_layout, find, level, mask, usual};
use corelocal::cpu::MAX_PARSED_ID;
use corelocal::priority::{Atomic, OrderError, PriorityError};
use corelocal::{ByCpu, CpuId, CpuMask, Packed, Padded, Priority, PriorityVec, Split};

#[test]
fn a_fresh_vector_has_nobody_to_find() {
    each_layout!(L => {
        let (vector, _slots) = usual::<L>(&[0, 1, 2]);
        for asked in 0..=126 {
            assert_eq!(find(&vector, level(asked), &mask("0-9")), None);
            assert_eq!(vector.find_any(level(asked), &mask("0-9"), CpuId::new(1)), None);
        }
        assert_eq!(vector.count(Priority::INVALID), 3);
    });
}

/// K6: the search is strictly below the task.
#[test]
fn an_equal_is_not_pushed_away() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        slots[1].set(Priority::rt(40)).unwrap();
        assert_eq!(find(&vector, Priority::rt(39), &mask("0-1")), None);
        assert_eq!(find(&vector, Priority::rt(40), &mask("0-1")), None);
        let found = find(&vector, Priority::rt(41), &mask("0-1"));
        assert_eq!(found, Some((Priority::rt(40), "1".into())));
    });
}

#[test]
fn tasks_without_urgency_find_nothing() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        slots[0].set(Priority::NORMAL).unwrap();
        for asked in [Priority::INVALID, Priority::NORMAL] {
            assert_eq!(find(&vector, asked, &mask("0-1")), None);
            assert_eq!(vector.find_any(asked, &mask("0-1"), CpuId::new(0)), None);
            let mut found = mask("0");
            assert_eq!(vector.find_fit(asked, &mask("0-1"), &mask("0-1"), &mut found), None);
            assert!(found.is_empty(), "nothing is left in it");
        }
    });
}

#[test]
fn what_is_above_real_time_is_never_pushed_away() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        slots[0].set(Priority::HIGHER).unwrap();
        for asked in 0..=100 {
            assert_eq!(find(&vector, level(asked), &mask("0-1")), None);
        }
        slots[1].set(Priority::rt(99)).unwrap();
        let found = find(&vector, Priority::HIGHER, &mask("0-1"));
        assert_eq!(found, Some((Priority::rt(99), "1".into())), "but it pushes the others");
    });
}

/// K5: <https://github.com/zephyrproject-rtos/zephyr/pull/110149>. The lowest level holds only CPUs
/// that the task may not use.
#[test]
fn a_level_without_an_allowed_cpu_does_not_end_the_search() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1, 2]);
        for (slot, at) in slots.iter_mut().zip([0, 0, 3]) {
            slot.set(level(at)).unwrap();
        }
        let task = Priority::rt(9);
        assert_eq!(find(&vector, task, &mask("2")), Some((level(3), "2".into())));
        let any = vector.find_any(task, &mask("2"), CpuId::new(0));
        assert_eq!(any, Some((CpuId::new(2), level(3))));
        assert_eq!(find(&vector, task, &CpuMask::new()), None);
        assert_eq!(find(&vector, task, &mask("1-2")), Some((level(0), "1".into())));
    });
}

/// K5: CPUs that nobody has, between the ids of the vector and beyond them.
#[test]
fn cpus_that_are_not_there_are_not_found() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[3, 7, 200]);
        let task = Priority::rt(9);
        let all = CpuMask::first_cpus(5000);
        assert_eq!(find(&vector, task, &all), None);
        for slot in &mut slots {
            slot.set(Priority::NORMAL).unwrap();
        }
        assert_eq!(find(&vector, task, &all), Some((Priority::NORMAL, "3,7,200".into())));
        for strangers in ["0-2,4-6,8-199", "201-255", "256-600,4000,60000"] {
            assert_eq!(find(&vector, task, &mask(strangers)), None);
            assert_eq!(vector.find_any(task, &mask(strangers), CpuId::new(3)), None);
        }
        let far = vector.find_any(task, &all, CpuId::new(u32::MAX)).unwrap();
        assert!(vector.cpus().contains(far.0), "wherever the search began");
        assert_eq!(vector.cpus(), mask("3,7,200"));
    });
}

/// K6: no underflow, and nothing counted twice.
#[test]
fn a_level_that_is_set_again_counts_once() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        for _ in 0..2 {
            slots[0].set(Priority::INVALID).unwrap();
        }
        for _ in 0..3 {
            slots[0].set(Priority::NORMAL).unwrap();
            assert_eq!(vector.count(Priority::NORMAL), 1);
        }
        slots[0].set(Priority::INVALID).unwrap();
        slots[0].set(Priority::INVALID).unwrap();
        assert_eq!(vector.count(Priority::NORMAL), 0);
        assert_eq!(vector.count(Priority::INVALID), 2);
        assert_eq!(find(&vector, Priority::HIGHER, &mask("0-1")), None);
    });
}

/// K6: an error in release, too, and never an index out of bounds.
#[test]
fn a_level_that_the_vector_has_not_is_refused_and_changes_nothing() {
    each_layout!(L => {
        let (vector, mut slots) = claimed::<L, 4, Atomic>(&[0, 1]);
        slots[0].set(level(3)).unwrap();
        for wrong in [level(4), level(5), Priority::rt(99), Priority::HIGHER, level(126)] {
            let error = slots[0].set(wrong).unwrap_err();
            let number = wrong.level().unwrap();
            assert_eq!(error, PriorityError::NoSuchLevel { level: number, levels: 4 });
            assert!(error.to_string().contains("0 to 3"), "{error}");
            assert_eq!((slots[0].get(), vector.count(level(3))), (level(3), 1));
            assert_eq!(vector.count(wrong), 0);
            // A task may be more urgent than any level.
            assert_eq!(find(&vector, wrong, &mask("0-1")), Some((level(3), "0".into())));
        }
        slots[0].set(level(0)).unwrap();
        assert_eq!((vector.count(level(0)), vector.count(level(3))), (1, 0));
    });
}

#[test]
fn numbers_that_are_no_priority_are_refused() {
    for wrong in [0, 100, 101, 255] {
        assert_eq!(Priority::try_rt(wrong), Err(PriorityError::NotRealTime(wrong)));
        assert!(std::panic::catch_unwind(|| Priority::rt(wrong)).is_err());
    }
    for wrong in [-2, 101, 120, i32::MIN, i32::MAX] {
        let error = Priority::from_kernel_prio(wrong).unwrap_err();
        assert_eq!(error, PriorityError::NotAKernelPriority(wrong));
        assert!(error.to_string().contains(&wrong.to_string()), "{error}");
    }
    assert!(Priority::from_level(126).is_ok() && Priority::from_level(127).is_err());
    let kernel: Vec<_> = (-1..=100).map(|prio| Priority::from_kernel_prio(prio).unwrap()).collect();
    let ours = [Priority::INVALID].into_iter().chain((1..=99).rev().map(Priority::rt));
    let ours: Vec<_> = ours.chain([Priority::NORMAL, Priority::HIGHER]).collect();
    assert_eq!(kernel, ours, "smaller is more urgent there, larger here");
}

#[test]
fn orders_that_name_no_machine_are_refused() {
    each_layout!(L => {
        let made = |ids: &[u32]| {
            PriorityVec::<L>::try_new(ids.iter().map(|id| CpuId::new(*id))).map(|_| ())
        };
        assert_eq!(made(&[]), Err(OrderError::Empty));
        assert_eq!(made(&[2, 0, 1, 0]), Err(OrderError::Twice(CpuId::new(0))));
        for id in [MAX_PARSED_ID + 1, u32::MAX] {
            let cpu = CpuId::new(id);
            assert_eq!(made(&[0, id]), Err(OrderError::IdTooLarge { cpu, most: MAX_PARSED_ID }));
        }
        assert_eq!(made(&[MAX_PARSED_ID, 0]), Ok(()));
    });
}

/// One CPU, one word and one more, one line of words and one more, and as large as machines get.
#[test]
fn machines_of_every_size_find_their_first_and_last_cpu() {
    each_layout!(L => {
        for cpus in [1, 2, 64, 65, 512, 513, 4096] {
            let ids: Vec<u32> = (0..cpus).collect();
            let (vector, mut slots) = usual::<L>(&ids);
            let all = CpuMask::first_cpus(cpus);
            let last = cpus as usize - 1;
            slots[last].set(Priority::rt(2)).unwrap();
            let found = find(&vector, Priority::rt(3), &all);
            assert_eq!(found, Some((Priority::rt(2), last.to_string())), "of {cpus}");
            slots[0].set(Priority::rt(1)).unwrap();
            let any = vector.find_any(Priority::rt(3), &all, CpuId::new(last as u32));
            assert_eq!(any, Some((CpuId::new(0), Priority::rt(1))), "of {cpus}");
            let counted = usize::from(last != 0);
            assert_eq!(vector.count(Priority::rt(2)), counted, "of {cpus}");
        }
    });
}

#[test]
fn ids_with_gaps_are_one_machine() {
    each_layout!(L => {
        let ids = [0, 2, 63, 64, 511, 512, 1023, 40_000];
        let (vector, mut slots) = usual::<L>(&ids);
        for (slot, at) in slots.iter_mut().zip(1..) {
            slot.set(level(at)).unwrap();
        }
        for (id, at) in ids.iter().zip(1..) {
            let mut alone = CpuMask::new();
            alone.insert(CpuId::new(*id));
            let expected = Some((level(at), id.to_string()));
            assert_eq!(find(&vector, Priority::HIGHER, &alone), expected);
        }
        assert_eq!(vector.cpus().len(), ids.len());
    });
}

fn ends_of<L: corelocal::priority::Layout, const LEVELS: usize>() {
    let (vector, mut slots) = claimed::<L, LEVELS, Atomic>(&[0, 1]);
    let top = level(LEVELS as u8 - 1);
    slots[0].set(top).unwrap();
    assert_eq!(find(&vector, top, &mask("0-1")), None);
    slots[1].set(level(0)).unwrap();
    assert_eq!(find(&vector, top, &mask("0-1")), Some((level(0), "1".into())));
    assert_eq!((vector.count(top), vector.count(level(0))), (1, 1));
    if LEVELS < 127 {
        assert!(slots[0].set(level(LEVELS as u8)).is_err());
        assert_eq!(slots[0].get(), top);
    }
}

#[test]
fn vectors_of_2_and_of_127_levels_have_both_ends() {
    ends_of::<Packed, 2>();
    ends_of::<Packed, 127>();
    ends_of::<Padded, 2>();
    ends_of::<Padded, 127>();
    ends_of::<Split, 2>();
    ends_of::<Split, 113>();
    ends_of::<Split<9>, 127>();
    ends_of::<ByCpu, 2>();
    ends_of::<ByCpu, 127>();
    ends_of::<ByCpu<8>, 127>();
}

#[test]
fn counts_add_up_to_the_number_of_cpus() {
    each_layout!(L => {
        let ids: Vec<u32> = (0..70).collect();
        let (vector, mut slots) = usual::<L>(&ids);
        for (slot, at) in slots.iter_mut().zip((0..=100).cycle().step_by(7)) {
            slot.set(level(at)).unwrap();
        }
        drop(slots.split_off(60));
        let somewhere: usize = (0..=100).map(|at| vector.count(level(at))).sum();
        assert_eq!((somewhere, vector.count(Priority::INVALID)), (60, 10));
        // It prints how many there are, not who is where.
        let text = format!("{vector:?}");
        assert!(text.contains(L::NAME) && text.contains("70") && text.contains("60"), "{text}");
    });
}
