//! CPU ids that do not fit, and affinity calls of other machines.

use crate::fixture::{Fixture, cpu, mask};
use corelocal::cpu::CpuId;
use corelocal::sys::Topology;
use corelocal::sys::topology::TopologyIssueKind as Kind;
use corelocal::testing::{self, Config};

fn id() -> Option<u32> {
    CpuId::current().map(CpuId::get)
}

/// A3, <https://github.com/microsoft/msquic/issues/1816>.
#[test]
fn four_cores_of_eight_threads_have_32_lanes_not_four() {
    let mut fixture = Fixture::new().possible("0-31\n").online("0-31\n");
    for id in 0..32 {
        fixture = fixture.core(id, 0, id / 8);
    }
    testing::with(Config::new().cpu_id(Some(31)).affinity(mask("0-31")), || {
        let topology = fixture.topology();
        assert_eq!((id(), topology.cpus()), (Some(31), 32));
        assert_eq!(topology.smt_siblings(cpu(31)), Some(mask("24-31")));
    });
    // The same with a list that knows only four: the thread's own id still has a lane.
    let four = Fixture::new().possible("0-3\n");
    testing::with(Config::new().cpu_id(Some(31)).affinity(mask("0-3")), || {
        assert_eq!(four.topology().cpus(), 32);
    });
}

/// A5, <https://github.com/google/tcmalloc/issues/267>, <https://github.com/falcosecurity/libs/pull/820>.
#[test]
fn a_hot_added_cpu_is_beyond_the_lanes_that_were_counted() {
    let fixture = Fixture::new().possible("0-3\n");
    let source = (0..10).map(Some);
    testing::with(Config::new().cpu_ids(source).affinity(mask("0-3")), || {
        let before = fixture.topology();
        assert_eq!(before.cpus(), 4);
        let beyond = std::iter::repeat_with(id).take(9).filter(|id| *id >= Some(4)).count();
        assert_eq!((beyond, before.cpus()), (6, 4));
        assert_eq!(before.node_of(cpu(9)), None);
    });
    fixture.write("sys/devices/system/cpu/possible", "0-9\n");
    testing::with(Config::new().cpu_id(Some(9)).affinity(mask("0-3")), || {
        assert_eq!(fixture.topology().cpus(), 10, "a new reading sees them");
    });
}

/// A12, <https://github.com/dotnet/runtime/issues/31995>,
/// <https://github.com/ClickHouse/ClickHouse/issues/112894>.
#[test]
fn an_unknown_cpu_is_none_and_not_cpu_0() {
    testing::with(Config::new().cpu_id(None), || {
        assert_eq!(CpuId::current(), None);
        let topology = Fixture::new().possible("0-3").read();
        assert!(topology.cpus() >= 4);
    });
}

/// B1, <https://github.com/folo-rs/folo/pull/483>, <https://github.com/eclipse-omr/omr/issues/6206>.
#[test]
fn a_kernel_for_1920_cpus_refuses_short_buffers_and_is_asked_again() {
    let fixture = Fixture::new().possible("0-1919\n").online("0-1919\n");
    let all = mask("0-1919");
    for bytes in [8, 240, 256, 8192] {
        let config = Config::new().affinity_of_width(all.clone(), bytes).cpu_id(Some(1919));
        testing::with(config, || {
            let topology = fixture.topology();
            assert_eq!(topology.allowed(), &all, "{bytes} bytes");
            assert_eq!(topology.cpus(), 1920);
        });
    }
    // A kernel that refuses every length is one that does not say.
    testing::with(Config::new().affinity_of_width(all, 1 << 20), || {
        assert_eq!(fixture.topology().allowed(), fixture.topology().online());
        assert_eq!(fixture.topology().cpus(), 1920);
    });
}

/// B6, <https://github.com/spdk/spdk/issues/2812>,
/// <https://github.com/intel/intel-device-plugins-for-kubernetes/pull/2127>.
#[test]
fn high_ids_are_not_refused_when_few_cpus_are_allowed() {
    let fixture = Fixture::new().possible("0-1023\n");
    testing::with(Config::new().affinity(mask("1000-1001")).cpu_id(Some(1001)), || {
        let topology = fixture.topology();
        assert_eq!(topology.allowed().len(), 2);
        assert_eq!(topology.cpus(), 1024);
    });
}

/// A4, <https://github.com/ClickHouse/ClickHouse/pull/118912>: two allowed CPUs, 32 and 96.
#[test]
fn the_number_of_allowed_cpus_is_not_the_number_of_lanes() {
    let allowed = mask("32,96");
    testing::with(Config::new().affinity(allowed.clone()).cpu_id(Some(32)), || {
        assert_eq!(Fixture::new().possible("0-127").read().cpus(), 128);
        assert_eq!(Fixture::new().possible("0-3").read().cpus(), 97);
        // No list at all: the highest allowed id still has its lane.
        let nothing = Fixture::new();
        let topology = nothing.topology();
        assert_eq!((topology.cpus(), topology.possible()), (97, &allowed));
    });
}

/// D8, <https://github.com/opencontainers/runc/issues/2151>.
#[test]
fn a_refused_affinity_call_is_not_known_and_not_fatal() {
    let fixture = Fixture::new().possible("0-3\n");
    for errno in [1, 38, 22] {
        testing::with(Config::new().affinity_refused(errno).cpu_id(Some(2)), || {
            let topology = fixture.topology();
            assert_eq!((topology.allowed(), topology.cpus()), (topology.online(), 4));
            let said = Kind::AffinityRefused { errno };
            assert!(topology.issues().any(|issue| issue.kind() == said));
        });
    }
}

/// D10, <https://github.com/compudj/librseq/issues/17>,
/// <https://github.com/ydb-platform/nbs/pull/6534>.
#[test]
fn one_thread_without_an_id_does_not_take_it_from_the_others() {
    std::thread::scope(|scope| {
        let without = scope.spawn(|| testing::with(Config::new().cpu_id(None), id));
        let with = scope.spawn(|| testing::with(Config::new().cpu_id(Some(1)), id));
        assert_eq!((without.join().unwrap(), with.join().unwrap()), (None, Some(1)));
    });
}

/// I5, <https://github.com/sched-ext/scx/pull/3298>.
#[test]
fn possible_online_allowed_and_lanes_are_four_numbers() {
    let fixture = Fixture::new().possible("0-127\n").online("0-3\n");
    let config = Config::new().topology_root(fixture.path()).affinity(mask("1-2"));
    testing::with(config.cpu_id(Some(1)), || {
        let topology = Topology::current();
        assert_eq!(topology.possible().len(), 128);
        assert_eq!(topology.online().len(), 4);
        assert_eq!(topology.allowed().len(), 2);
        assert_eq!(topology.cpus(), 128);
    });
}

/// J6, <https://github.com/RRZE-HPC/likwid/issues/630>.
#[test]
fn a_cpuset_does_not_renumber_the_cpus_of_a_node() {
    let fixture = Fixture::new()
        .possible("0-7\n")
        .online("0-7\n")
        .nodes_online("0-1")
        .node(0, "0-2,5")
        .node(1, "3-4,6-7");
    testing::with(Config::new().affinity(mask("3-4")).cpu_id(Some(3)), || {
        let topology = fixture.topology();
        assert_eq!(topology.allowed(), &mask("3-4"));
        assert_eq!((topology.node_of(cpu(0)), topology.node_of(cpu(3))), (Some(0), Some(1)));
        assert_eq!(topology.node_cpus(1), Some(&mask("3-4,6-7")));
    });
}
