//! `with_topology`: CPUs that share a cache share a shard, on machines of every kind.

#[allow(dead_code, reason = "a part of what the topology's tests need")]
#[path = "../topology/fixture.rs"]
mod fixture;

use corelocal::priority::observed::{Access, AccessKind, Observed, observe};
use corelocal::{ByCpu, CpuMask, Priority, PriorityVec, Topology};
use fixture::Fixture;
use std::cell::RefCell;
use std::collections::BTreeMap;

thread_local! {
    static WRITTEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

fn note(access: Access) {
    if access.kind != AccessKind::Load {
        WRITTEN.with_borrow_mut(|written| written.push(access.address / 64));
    }
}

/// Which CPUs write one line, seen by having each of them write.
fn sharers(machine: &Topology) -> Vec<String> {
    let vector = PriorityVec::<ByCpu<8>, 101, Observed>::with_topology(machine).unwrap();
    assert_eq!(&vector.cpus(), machine.possible());
    let mut lines: BTreeMap<usize, CpuMask> = BTreeMap::new();
    for cpu in machine.possible() {
        let mut slot = PriorityVec::claim(&vector, cpu).unwrap();
        let before = observe(Some(note));
        slot.set(Priority::rt(1)).unwrap();
        observe(before);
        let written = WRITTEN.take();
        assert_eq!(written.len(), 1, "a change is one write");
        lines.entry(written[0]).or_default().insert(cpu);
    }
    lines.values().map(CpuMask::to_string).collect()
}

/// `cores` cores of two threads in each cache, numbered first threads first.
fn two_threads(caches: u32, cores: u32) -> Fixture {
    let all = caches * cores;
    let mut fixture = Fixture::new().possible(format!("0-{}", 2 * all - 1));
    for cache in 0..caches {
        let (first, last) = (cache * cores, cache * cores + cores - 1);
        let shared = format!("{first}-{last},{}-{}", first + all, last + all);
        for core in first..=last {
            for cpu in [core, core + all] {
                fixture = fixture.core(cpu, cache as i32, core - first).cache(cpu, 3, 3, &shared);
            }
        }
    }
    fixture
}

#[test]
fn threads_of_a_core_and_cores_of_a_cache_share_a_line() {
    let machine = two_threads(3, 4);
    assert_eq!(sharers(&machine.topology()), ["0-3,12-15", "4-7,16-19", "8-11,20-23"]);
    // Eight cores a cache: two lines each, and no core is on two of them.
    let machine = two_threads(2, 8);
    let lines = ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"];
    assert_eq!(sharers(&machine.topology()), lines);
}

/// J8: core ids begin anew in each socket. With caches that say so, and without any.
#[test]
fn the_same_core_number_in_four_sockets_is_four_cores() {
    for has_caches in [true, false] {
        let mut fixture = Fixture::new().possible("0-31");
        for cpu in 0..32 {
            // CPUs go round the sockets: 0, 4, 8, ... are one socket, its cores 0 to 7.
            fixture = fixture.core(cpu, (cpu % 4) as i32, cpu / 4);
            if has_caches {
                let shared: Vec<_> = (0..8).map(|at| (at * 4 + cpu % 4).to_string()).collect();
                fixture = fixture.cache(cpu, 3, 3, &shared.join(","));
            }
        }
        let by_socket = |socket: u32| {
            let cpus = (0..8).map(|at| corelocal::CpuId::new(at * 4 + socket));
            cpus.collect::<CpuMask>().to_string()
        };
        let expected = [0, 1, 2, 3].map(by_socket);
        assert_eq!(sharers(&fixture.topology()), expected, "caches: {has_caches}");
    }
}

#[test]
fn a_machine_that_says_nothing_is_taken_by_id() {
    let bare = Fixture::new().possible("0-19");
    assert_eq!(sharers(&bare.topology()), ["0-7", "8-15", "16-19"]);
    // Nothing but nodes: a node's CPUs are neighbours.
    let nodes = Fixture::new().possible("0-15").nodes_online("0-1\n");
    let nodes = nodes.node(0, "0-3,8-11").node(1, "4-7,12-15");
    assert_eq!(sharers(&nodes.topology()), ["0-3,8-11", "4-7,12-15"]);
}

/// CPUs that are possible but not there have no caches, and still a place.
#[test]
fn cpus_without_a_cache_come_last_and_are_not_lost() {
    let mut fixture = Fixture::new().possible("0-11").online("0-3\n");
    for cpu in 0..4 {
        fixture = fixture.core(cpu, 0, cpu).cache(cpu, 3, 3, "0-3");
    }
    assert_eq!(sharers(&fixture.topology()), ["0-7", "8-11"]);
    let gaps = Fixture::new().possible("1,5,70,300-305");
    assert_eq!(sharers(&gaps.topology()), ["1,5,70,300-304", "305"]);
}

#[test]
fn this_machine_has_an_order() {
    let vector: PriorityVec = PriorityVec::with_topology(Topology::current()).unwrap();
    assert_eq!(&vector.cpus(), Topology::current().possible());
    let slots = vector.cpus().into_iter().map(|cpu| PriorityVec::claim(&vector, cpu).unwrap());
    assert_eq!(slots.collect::<Vec<_>>().len(), vector.cpus().len());
}
