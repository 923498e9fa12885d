//! `find_fit` and `find_any`: what they prefer.

use crate::{each_layout, level, mask, usual};
use corelocal::{CpuId, CpuMask, Priority};

/// K3: <https://android-kvm.googlesource.com/linux/+/b28bc1e002c23ff8a4999c4a2fb1d4d412bc6f5e%5E>.
/// An urgent task that fits nowhere must not stay where it is.
#[test]
fn a_task_that_fits_nowhere_goes_to_the_lowest() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1, 2, 3]);
        for (slot, at) in slots.iter_mut().zip([4, 2, 2, 60]) {
            slot.set(level(at)).unwrap();
        }
        let (task, all) = (Priority::rt(50), mask("0-3"));
        let mut found = CpuMask::new();
        let mut asked = Vec::new();
        let at = vector.find_fit(task, &all, |cpu: CpuId| { asked.push(cpu.get()); false }, &mut found);
        assert_eq!((at, found.to_string()), (Some(level(2)), "1-2".into()));
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked, [0, 1, 2], "everybody below the task, and nobody else");
        let at = vector.find_fit(task, &all, &mask("3"), &mut found);
        assert_eq!((at, found.to_string()), (Some(level(2)), "1-2".into()), "3 is not below it");
    });
}

#[test]
fn a_fitting_cpu_is_preferred_to_a_lower_one() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1, 2, 3]);
        for (slot, at) in slots.iter_mut().zip([0, 0, 9, 9]) {
            slot.set(level(at)).unwrap();
        }
        let (task, all) = (Priority::rt(50), mask("0-3"));
        let mut found = CpuMask::new();
        let fit = |fits: &str, found: &mut CpuMask| {
            let at = vector.find_fit(task, &all, &mask(fits), found);
            at.map(|at| (at, found.to_string()))
        };
        assert_eq!(fit("3", &mut found), Some((level(9), "3".into())));
        assert_eq!(fit("1-3", &mut found), Some((level(0), "1".into())), "of its level, who fits");
        assert_eq!(fit("2-9", &mut found), Some((level(9), "2-3".into())));
        // Fitting is no permission.
        let at = vector.find_fit(task, &mask("0"), &mask("1-3"), &mut found);
        assert_eq!((at, found.to_string()), (Some(level(0)), "0".into()));
        let at = vector.find_fit(task, &CpuMask::new(), &all, &mut found);
        assert_eq!((at, found.is_empty()), (None, true));
        // As `find` does, it looks strictly below.
        let at = vector.find_fit(level(9), &mask("2-3"), &all, &mut found);
        assert_eq!((at, found.is_empty()), (None, true));
    });
}

#[test]
fn without_anybody_below_a_fit_leaves_no_cpus() {
    each_layout!(L => {
        let (vector, mut slots) = usual::<L>(&[0, 1]);
        slots[0].set(Priority::rt(80)).unwrap();
        let mut found = mask("0-1");
        assert_eq!(vector.find_fit(Priority::rt(80), &mask("0-1"), &mask("0"), &mut found), None);
        assert!(found.is_empty());
    });
}

#[test]
fn the_one_that_is_found_is_among_the_lowest_wherever_it_began() {
    each_layout!(L => {
        let ids: Vec<u32> = (0..200).collect();
        let (vector, mut slots) = usual::<L>(&ids);
        for slot in &mut slots {
            slot.set(Priority::rt(60)).unwrap();
        }
        for id in [5, 66, 130, 199] {
            slots[id].set(Priority::rt(4)).unwrap();
        }
        let all = CpuMask::first_cpus(200);
        for near in [0, 5, 64, 66, 100, 131, 199, 200, 1000, u32::MAX] {
            let (cpu, at) = vector.find_any(Priority::rt(70), &all, CpuId::new(near)).unwrap();
            assert_eq!(at, Priority::rt(4));
            assert!([5, 66, 130, 199].contains(&cpu.get()));
            if [5, 66, 199].contains(&near) {
                assert_eq!(cpu.get(), near, "the caller's own CPU, where it is one of them");
            }
        }
    });
}

#[test]
fn ones_own_cpu_is_taken_before_its_neighbours() {
    each_layout!(L => {
        let ids: Vec<u32> = (0..100).collect();
        let (vector, mut slots) = usual::<L>(&ids);
        for id in [3, 5, 6, 63, 64] {
            slots[id].set(Priority::NORMAL).unwrap();
        }
        let all = CpuMask::first_cpus(100);
        for near in [3, 5, 6, 63, 64] {
            let one = vector.find_any(Priority::rt(1), &all, CpuId::new(near));
            assert_eq!(one, Some((CpuId::new(near), Priority::NORMAL)));
        }
        let near = CpuId::new(5);
        let one = vector.find_any(Priority::rt(1), &mask("0-4,6-99"), near).unwrap();
        assert!(one.0 != near, "it is not allowed");
    });
}

#[test]
fn an_idle_cpu_nearby_is_taken_before_one_far_away() {
    each_layout!(L => {
        let ids: Vec<u32> = (0..512).collect();
        let (vector, mut slots) = usual::<L>(&ids);
        for shard in 0..8 {
            slots[64 * shard + 63].set(Priority::NORMAL).unwrap();
        }
        let all = CpuMask::first_cpus(512);
        for near in (0..512).step_by(64) {
            let (cpu, _) = vector.find_any(Priority::rt(1), &all, CpuId::new(near)).unwrap();
            assert_eq!(cpu.get(), near + 63, "of those 64, not another one's");
        }
    });
}
