use super::*;
use crate::cpu::CpuId;
use crate::sys::{Topology, cpus};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn id() -> Option<u32> {
    CpuId::current().map(CpuId::get)
}

#[test]
fn only_the_calling_thread_sees_what_is_made_up() {
    with(Config::new().cpu_id(Some(u32::MAX)), || {
        assert_eq!(id(), Some(u32::MAX));
        let elsewhere = std::thread::spawn(id).join().unwrap();
        assert_ne!(elsewhere, Some(u32::MAX));
        with(Config::new().cpu_id(None), || assert_eq!(id(), None));
        assert_eq!(id(), Some(u32::MAX), "the outer one is back");
    });
    assert_ne!(id(), Some(u32::MAX));
}

#[test]
fn a_panic_puts_the_system_back() {
    let body = || with(Config::new().cpu_id(Some(77_777)), || panic!("on purpose"));
    assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    assert_ne!(id(), Some(77_777));
}

#[test]
fn a_source_may_borrow_and_may_ask_for_the_cpu_itself() {
    let mut asked = 0;
    let source = || {
        asked += 1;
        assert_ne!(id(), Some(99_999), "the inner question goes to the system");
        Some(99_999)
    };
    with(Config::new().cpu_ids_from(source), || assert_eq!(id(), Some(99_999)));
    assert_eq!(asked, 1);
    with(Config::new().cpu_ids([]), || assert_eq!(id(), None));
}

#[test]
fn what_is_fixed_for_the_process_is_not_made_up() {
    let allowed = CpuMask::from_iter([CpuId::new(900)]);
    let config = Config::new().topology_root("/nonexistent").affinity(allowed.clone());
    with(config.cpu_id(Some(4000)), || {
        let fake = Topology::current();
        assert_eq!((fake.cpus(), fake.allowed()), (4001, &allowed));
        assert!(core::ptr::eq(fake, Topology::current()), "read once in a scope");
        assert!(cpus() < 4001);
    });
    assert!(Topology::current().cpus() < 4001);
    assert_eq!(Topology::current().cpus(), cpus());
}
