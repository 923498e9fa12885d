//! Memory nodes, caches and cores.

use crate::fixture::{Fixture, cpu, issue, mask};
use corelocal::sys::topology::TopologyIssueKind as Kind;

/// J1, <https://github.com/sched-ext/scx/pull/278>, <https://github.com/google/cadvisor/pull/2127>.
#[test]
fn no_node_directory_is_one_node() {
    let absent = Fixture::new().possible("0-3");
    let empty = Fixture::new().possible("0-3").directory("sys/devices/system/node");
    for fixture in [absent, empty] {
        let topology = fixture.topology();
        assert_eq!(topology.nodes(), [0]);
        for id in 0..4 {
            assert_eq!(topology.node_of(cpu(id)), Some(0));
            assert_eq!(topology.memory_node_of(cpu(id)), Some(0));
        }
        assert_eq!(topology.node_of(cpu(4)), None);
        assert_eq!(topology.node_cpus(0), Some(&mask("0-3")));
        assert_eq!(topology.node_cpus(1), None);
    }
}

/// J2, <https://github.com/scylladb/scylladb/issues/6541>, <https://github.com/open-mpi/hwloc/issues/430>.
#[test]
fn cpus_whose_node_has_no_memory_get_it_from_the_nearest_that_has() {
    let fixture = Fixture::new()
        .possible("0-5")
        .nodes_online("0-2\n")
        .node(0, "0-1")
        .node(1, "2-3")
        .node(2, "4-5")
        .memory(0, 4_194_304)
        .memory(1, 0)
        .memory(2, 4_194_304);
    let topology = fixture.topology();
    assert_eq!(topology.node_of(cpu(2)), Some(1));
    assert_eq!(topology.memory_node_of(cpu(2)), Some(0), "no distances: the first that has");
    assert_eq!(topology.memory_node_of(cpu(4)), Some(2), "its own");
    assert_eq!(issue(&topology, "node1/distance"), Some(Kind::Missing));
    let fixture = fixture.file("sys/devices/system/node/node1/distance", "21 10 12\n");
    assert_eq!(fixture.topology().memory_node_of(cpu(2)), Some(2), "the nearest");
    let fixture = fixture.file("sys/devices/system/node/node1/distance", "21 ten 12\n");
    assert_eq!(fixture.topology().memory_node_of(cpu(2)), Some(0), "unreadable distances");
    // Where one file names the nodes with memory, it decides.
    let fixture = fixture.file("sys/devices/system/node/has_memory", "2\n");
    assert_eq!(fixture.topology().memory_node_of(cpu(0)), Some(2));
}

#[test]
fn a_node_of_memory_only_has_no_cpus() {
    let fixture = Fixture::new().possible("0-1").nodes_online("0,3").node(0, "0-1").node(3, "");
    let topology = fixture.topology();
    assert_eq!(topology.nodes(), [0, 3]);
    assert!(topology.node_cpus(3).unwrap().is_empty());
    assert_eq!(issue(&topology, "node3/cpulist"), None, "that is a normal state");
}

/// J3, <https://github.com/kubernetes/kubernetes/issues/83175>,
/// <https://github.com/NordicHPC/sonar/issues/450>.
#[test]
fn node_ids_with_gaps_and_no_distances_are_taken_as_they_are() {
    let fixture = Fixture::new()
        .possible("0-3")
        .online("0-3")
        .nodes_online("0,2\n")
        .node(0, "0-1")
        .node(2, "2-3")
        .memory(0, 1024)
        .memory(2, 1024);
    let topology = fixture.topology();
    assert_eq!(topology.nodes(), [0, 2]);
    assert_eq!((topology.node_of(cpu(1)), topology.node_of(cpu(3))), (Some(0), Some(2)));
    assert_eq!(topology.node_cpus(1), None);
    assert_eq!(topology.issues().count(), 1, "{:?}", topology.issues().collect::<Vec<_>>());
}

#[test]
fn without_a_list_of_nodes_their_directories_say_which_there_are() {
    let topology = Fixture::new().possible("0-3").node(0, "0-1").node(5, "2-3").read();
    assert_eq!(topology.nodes(), [0, 5]);
    assert_eq!(topology.node_of(cpu(2)), Some(5));
    assert_eq!(issue(&topology, "node/online"), Some(Kind::Missing));
}

#[test]
fn an_online_node_without_files_has_no_cpus_and_an_issue() {
    let topology = Fixture::new().possible("0-3").nodes_online("0-1").node(0, "0-1").read();
    assert_eq!((topology.node_of(cpu(0)), topology.node_of(cpu(2))), (Some(0), None));
    assert_eq!(issue(&topology, "node1/cpulist"), Some(Kind::Missing));
}

#[test]
fn a_cpu_in_two_nodes_belongs_to_the_first() {
    let topology =
        Fixture::new().possible("0-3").nodes_online("0-1").node(0, "0-2").node(1, "2-3").read();
    assert_eq!((topology.node_of(cpu(2)), topology.node_of(cpu(3))), (Some(0), Some(1)));
    assert_eq!(issue(&topology, "node1/cpulist"), Some(Kind::CountedTwice(cpu(2))));
}

/// B5, <https://github.com/Atoptool/atop/issues/372>, and B4,
/// <https://github.com/iqiyi/dpvs/pull/158>: a hexadecimal map of 768 CPUs.
#[test]
fn a_cpumap_of_768_cpus_is_read_where_there_is_no_list() {
    let zeros = ["00000000"; 12].join(",");
    let ones = ["ffffffff"; 12].join(",");
    let topology = Fixture::new()
        .possible("0-767")
        .nodes_online("0-1")
        .file("sys/devices/system/node/node0/cpumap", format!("{zeros},{ones}\n"))
        .file("sys/devices/system/node/node1/cpumap", format!("{ones},{zeros}\n"))
        .read();
    for id in [0, 31, 32, 63, 64, 383] {
        assert_eq!(topology.node_of(cpu(id)), Some(0), "CPU {id}");
        assert_eq!(topology.node_of(cpu(id + 384)), Some(1), "CPU {}", id + 384);
    }
}

#[test]
fn a_flood_of_bad_files_is_counted_not_kept() {
    let topology = Fixture::new().possible("0").nodes_online("0-1023").read();
    assert_eq!(topology.node_of(cpu(0)), None);
    let issues = topology.issues().count();
    assert!(issues < 70, "{issues} issues kept");
    assert!(topology.issues().any(|issue| matches!(issue.kind(), Kind::More { .. })));
    let topology = Fixture::new().possible("0").nodes_online("0-65535").read();
    assert_eq!(topology.nodes().len(), 1024);
}

/// <https://github.com/crossbeam-rs/crossbeam/pull/1118>: an A64FX has lines of 256 bytes.
#[test]
fn the_machines_line_is_the_largest_of_its_caches() {
    let line = |fixture: Fixture, cpu: u32, index: u32, text: &str| {
        let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        fixture.file(&format!("{cache}/coherency_line_size"), text)
    };
    let machine = || Fixture::new().possible("0-1").cache(0, 0, 1, "0").cache(1, 0, 1, "1");
    assert_eq!(machine().read().cache_line(), None);
    assert_eq!(Fixture::new().possible("0-1").read().cache_line(), None);
    let mixed = line(line(machine(), 0, 0, "64\n"), 1, 0, "256\n");
    let topology = mixed.topology();
    assert_eq!(topology.cache_line(), Some(256));
    assert_eq!(topology.issues().filter(|i| i.path().ends_with("line_size")).count(), 0);
    for broken in ["", "0\n", "-64\n", "96\n", "1048576\n", "many\n"] {
        let one = line(line(machine(), 0, 0, broken), 1, 0, "128\n");
        assert_eq!(one.read().cache_line(), Some(128), "{broken:?}");
    }
}

/// J8, <https://github.com/glommio/glommio/pull/31>: one node, four caches.
#[test]
fn a_cache_domain_can_be_finer_than_a_node() {
    let mut fixture = Fixture::new().possible("0-15").nodes_online("0").node(0, "0-15");
    for id in 0..16_u32 {
        let shared = format!("{}-{}", id / 4 * 4, id / 4 * 4 + 3);
        fixture = fixture
            .cache(id, 0, 1, &id.to_string())
            .cache(id, 1, 1, &id.to_string())
            .cache(id, 2, 2, &id.to_string())
            .cache(id, 3, 3, &shared);
    }
    let topology = fixture.topology();
    assert_eq!(topology.llc_domains().len(), 4);
    for id in 0..16 {
        let domain = topology.llc_of(cpu(id)).unwrap();
        assert_eq!((domain.index(), domain.level()), (id as usize / 4, 3));
        assert!(domain.cpus().contains(cpu(id)));
        assert_eq!(domain.cpus().len(), 4);
        assert_eq!(topology.node_of(cpu(id)), Some(0));
    }
    assert_eq!(
        topology.issues().filter(|issue| issue.path().ends_with("shared_cpu_list")).count(),
        0
    );
}

/// J8, <https://github.com/sched-ext/scx/pull/1715>: core numbers repeat in each socket.
#[test]
fn the_same_core_number_in_four_sockets_is_four_cores() {
    let mut fixture = Fixture::new().possible("0-31");
    for id in 0..32_u32 {
        fixture = fixture.core(id, (id / 8) as i32, id % 8 / 2);
    }
    let topology = fixture.topology();
    let cores: std::collections::BTreeSet<_> =
        (0..32).map(|id| topology.core_of(cpu(id)).unwrap()).collect();
    assert_eq!(cores.len(), 16);
    assert_eq!(topology.smt_siblings(cpu(9)), Some(mask("8-9")));
    // Dies, where the system tells them apart, count as well.
    for id in 0..32 {
        let name = format!("sys/devices/system/cpu/cpu{id}/topology/die_id");
        fixture.write(&name, format!("{}\n", id % 2));
    }
    assert_eq!(fixture.topology().smt_siblings(cpu(9)), Some(mask("9")));
    // "-1" is the kernel's "not known": one package.
    let unknown = Fixture::new().possible("0").core(0, -1, 5).read();
    assert_eq!(unknown.core_of(cpu(0)).map(|key| (key.package, key.core)), Some((0, 5)));
}

/// M3, <https://github.com/jemalloc/jemalloc/issues/2852>: what is wanted once a core, is counted once a
/// core, whatever the ids of its threads are.
#[test]
fn threads_of_one_core_are_apart_or_those_of_two_together() {
    // As Linux numbers them (the second threads behind all the first), in pairs, one with its second
    // thread off, and cores of two sockets that have one number.
    type Threads<'a> = &'a [(u32, i32, u32)]; // id, package, core
    let machines: [(Threads<'_>, &[&str]); 4] = [
        (&[(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 1)], &["0,2", "1,3"]),
        (&[(0, 0, 0), (1, 0, 0), (2, 0, 1), (3, 0, 1)], &["0-1", "2-3"]),
        (&[(0, 0, 0), (1, 0, 0), (2, 0, 4), (5, 0, 9)], &["0-1", "2", "5"]),
        (&[(0, 0, 7), (1, 1, 7), (2, 0, 7), (3, 1, 7)], &["0,2", "1,3"]),
    ];
    for (cpus, right) in machines {
        let mut fixture = Fixture::new().possible("0-7");
        for (id, package, core) in cpus {
            fixture = fixture.core(*id, *package, *core);
        }
        let topology = fixture.topology();
        let cores = topology.cores();
        let found: Vec<String> = cores.iter().map(|(_, cpus)| cpus.to_string()).collect();
        assert_eq!(found, right);
        for (key, cpus) in &cores {
            assert!(cpus.iter().all(|cpu| topology.core_of(cpu) == Some(*key)));
            assert!(cpus.iter().all(|cpu| topology.smt_siblings(cpu).as_ref() == Some(cpus)));
        }
    }
    assert_eq!(Fixture::new().possible("0-7").read().cores(), [], "nobody says");
}

#[test]
fn cache_lists_that_contradict_each_other_still_give_disjoint_domains() {
    let topology = Fixture::new()
        .possible("0-3")
        .cache(0, 0, 2, "0-1")
        .cache(1, 0, 2, "0-1")
        .cache(2, 0, 2, "1,3")
        .file("sys/devices/system/cpu/cpu3/cache/index0/level", "three\n")
        .read();
    let domain = |id| topology.llc_of(cpu(id)).map(|domain| domain.cpus().to_string());
    assert_eq!(domain(0).as_deref(), Some("0-1"));
    assert_eq!(domain(2).as_deref(), Some("2-3"));
    let kinds: Vec<_> = topology.issues().map(|issue| issue.kind()).collect();
    assert!(kinds.contains(&Kind::CountedTwice(cpu(1))), "{kinds:?}");
    assert!(kinds.contains(&Kind::Omits(cpu(2))), "{kinds:?}");
}
