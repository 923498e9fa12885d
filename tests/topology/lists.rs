//! Lists of CPUs in files: what they held, and what must come of it.

use crate::fixture::{Fixture, cpu, issue, mask};
use corelocal::cpu::ParseCpuListErrorKind;
use corelocal::sys::topology::TopologyIssueKind as Kind;
use corelocal::sys::{MAX_CPUS, Topology};

/// A9, <https://github.com/brndnmtthws/conky/pull/416>,
/// <https://github.com/ibm-power-utilities/powerpc-utils/pull/104>,
/// <https://github.com/RRZE-HPC/likwid/pull/601>: ids with regular or random holes.
#[test]
fn ids_with_holes_crash_arrays_that_are_sized_by_population() {
    let power = (0..16).map(|core| format!("{}-{}", core * 8, core * 8 + 3)).collect::<Vec<_>>();
    for list in [&power.join(","), "0,3-7", "12-15,60-63,255", "0,2,4,6"] {
        let topology = Fixture::new().possible(list).read();
        let ids = mask(list);
        assert_eq!(topology.possible(), &ids, "{list}");
        assert!(topology.cpus() as usize >= ids.id_bound(), "{list}");
        for id in &ids {
            assert!(id.get() < topology.cpus(), "CPU {id} of {list} has no lane");
            assert_eq!(topology.node_of(id), Some(0), "CPU {id} of {list}");
        }
        assert_ne!(topology.possible().len(), ids.id_bound(), "the test needs holes");
    }
}

/// C1, <https://github.com/cilium/cilium/issues/4559>.
#[test]
fn a_list_of_one_cpu_is_a_list() {
    let topology = Fixture::new().possible("0\n").online("0\n").read();
    assert_eq!((topology.possible(), topology.online()), (&mask("0"), &mask("0")));
    assert_eq!(topology.issues().count(), 0);
}

/// C2, <https://github.com/util-linux/util-linux/pull/44>,
/// <https://github.com/giampaolo/psutil/pull/2973>.
#[test]
fn the_rest_of_a_mixed_list_is_not_ignored() {
    for (list, ids) in [
        ("0-1,4-5,8-9,12-13\n", vec![0, 1, 4, 5, 8, 9, 12, 13]),
        ("0,3-7", vec![0, 3, 4, 5, 6, 7]),
        (" 0-3, 8 \n", vec![0, 1, 2, 3, 8]),
    ] {
        let topology = Fixture::new().possible(list).read();
        let read: Vec<u32> = topology.possible().iter().map(|cpu| cpu.get()).collect();
        assert_eq!(read, ids, "{list:?}");
    }
}

/// C3, <https://github.com/sched-ext/scx/pull/1264>, <https://github.com/iovisor/gobpf/pull/254>.
#[test]
fn three_cpus_with_a_gap_need_four_places() {
    let topology = Fixture::new().possible("0,2-3\n").read();
    assert_eq!(topology.possible().len(), 3);
    assert_eq!(topology.possible().id_bound(), 4);
    assert!(topology.cpus() >= 4);
}

/// C4, <https://github.com/daeuniverse/honk/pull/228>,
/// <https://github.com/ClickHouse/ClickHouse/pull/118912>.
#[test]
fn a_broken_list_gives_the_next_source_and_an_issue() {
    let long = "0,".repeat(1 << 19);
    let broken: [&[u8]; 14] = [
        b"",
        b"\n",
        b"-",
        b"3-1",
        b"0-",
        b"a",
        b"0-4294967295",
        b"18446744073709551616",
        long.as_bytes(),
        b"\0\0\0\0",
        b"0-3\0",
        b"0-3;8",
        b"\xff\xfe",
        b"-1",
    ];
    for text in broken {
        let start = &text[..text.len().min(20)];
        let fixture = Fixture::new().possible(text).file("sys/devices/system/cpu/present", "0-5\n");
        let topology = fixture.topology();
        assert_eq!(topology.possible(), &mask("0-5"), "{start:?}");
        let kind = issue(&topology, "possible").unwrap_or_else(|| panic!("{start:?}: no issue"));
        assert!(matches!(kind, Kind::Malformed(_) | Kind::Empty), "{start:?}: {kind:?}");
    }
}

/// C4: a file without an end is read to the longest useful length.
#[cfg(unix)]
#[test]
fn an_endless_file_is_not_read_to_its_end() {
    let fixture = Fixture::new().file("sys/devices/system/cpu/present", "0-5\n");
    let possible = fixture.path().join("sys/devices/system/cpu/possible");
    std::os::unix::fs::symlink("/dev/zero", possible).unwrap();
    let topology = fixture.topology();
    assert_eq!(topology.possible(), &mask("0-5"));
    assert!(matches!(issue(&topology, "cpu/possible"), Some(Kind::Malformed(_))));
}

#[test]
fn the_issue_says_where_the_list_goes_wrong() {
    let topology = Fixture::new().possible("0-3,x\n").read();
    let Some(Kind::Malformed(error)) = issue(&topology, "cpu/possible") else {
        panic!("{:?}", topology.issues().collect::<Vec<_>>());
    };
    assert_eq!((error.position(), error.kind()), (4, ParseCpuListErrorKind::ExpectedNumber));
    let text = topology.issues().next().unwrap().to_string();
    assert!(text.contains("cpu/possible") && text.contains("byte 4"), "{text}");
}

#[test]
fn overlapping_and_disordered_lists_mean_what_they_say() {
    let topology = Fixture::new().possible("8,0-1,1-2").read();
    assert_eq!(topology.possible(), &mask("0-2,8"));
}

/// C5, <https://github.com/google/tcmalloc/issues/214>: nothing under the root at all.
#[test]
fn an_absent_sys_is_a_normal_state() {
    for fixture in [Fixture::new(), Fixture::new().directory("sys/devices/system/cpu")] {
        let topology = fixture.read();
        assert!(topology.cpus() >= 1);
        assert!(!topology.possible().is_empty());
        assert_eq!(topology.online(), topology.possible());
        let first = topology.possible().first().unwrap();
        assert_eq!(topology.node_of(first), Some(0));
        assert_eq!((topology.llc_of(first), topology.core_of(first)), (None, None));
        assert_eq!(issue(&topology, "possible"), Some(Kind::Missing));
    }
    let nowhere = Topology::from_root("/nonexistent/root");
    assert!(nowhere.cpus() >= 1 && nowhere.llc_domains().is_empty());
}

#[test]
fn the_sources_are_asked_in_the_documented_order() {
    let fixture = Fixture::new().online("0-1");
    assert_eq!(fixture.topology().possible(), &mask("0-1"));
    let fixture = fixture
        .directory("sys/devices/system/cpu/cpu7")
        .directory("sys/devices/system/cpu/cpu0")
        .directory("sys/devices/system/cpu/cpufreq")
        .directory("sys/devices/system/cpu/cpu+3");
    assert_eq!(fixture.topology().possible(), &mask("0,7"));
    let fixture = fixture.file("sys/devices/system/cpu/present", "0-8\n");
    assert_eq!(fixture.topology().possible(), &mask("0-8"));
    assert_eq!(fixture.possible("0-9").topology().possible(), &mask("0-9"));
}

#[test]
fn more_cpus_than_lanes_is_said_not_hidden() {
    let topology = Fixture::new().possible("0-65535\n").read();
    assert_eq!(topology.cpus(), MAX_CPUS);
    assert_eq!(topology.possible().len(), 65_536);
    let said = Kind::TooManyCpus { found: 65_536, used: MAX_CPUS };
    assert!(topology.issues().any(|issue| issue.kind() == said));
}

/// I4, <https://github.com/htop-dev/htop/pull/2044>.
#[test]
fn a_machine_that_grows_does_not_change_what_was_read() {
    let fixture = Fixture::new().possible("0-3").node(0, "0-3").nodes_online("0");
    let before = fixture.topology();
    let (lanes, possible) = (before.cpus(), before.possible().clone());
    assert_eq!(before.nodes(), [0]);
    fixture.write("sys/devices/system/cpu/possible", "0-99");
    fixture.write("sys/devices/system/node/online", "0-1");
    assert_eq!((before.cpus(), before.possible()), (lanes, &possible));
    assert_eq!(before.nodes(), [0]);
    assert_eq!(fixture.topology().cpus(), 100);
}

/// A7, <https://github.com/sched-ext/scx/pull/3718>, <https://github.com/sched-ext/scx/issues/721>.
#[test]
fn a_cpu_that_is_possible_but_absent_has_no_topology_and_no_panic() {
    let mut fixture = Fixture::new().possible("0-511\n").online("0-255\n");
    fixture = fixture.node(0, "0-127").node(1, "128-255").nodes_online("0-1\n");
    for id in 0..256 {
        fixture = fixture.core(id, (id / 128) as i32, id % 128 / 2);
    }
    fixture = fixture.cache(0, 3, 3, "0-127").cache(128, 3, 3, "128-255");
    let topology = fixture.topology();
    assert_eq!(topology.cpus(), 512);
    assert_eq!((topology.possible().len(), topology.online().len()), (512, 256));
    for id in topology.possible() {
        let present = id.get() < 256;
        assert_eq!(topology.node_of(id).is_some(), present, "CPU {id}");
        assert_eq!(topology.core_of(id).is_some(), present, "CPU {id}");
        assert_eq!(topology.llc_of(id).is_some(), present, "CPU {id}");
    }
    assert_eq!(topology.node_of(cpu(200)), Some(1));
    assert_eq!(topology.smt_siblings(cpu(3)), Some(mask("2-3")));
    assert_eq!(topology.node_of(cpu(u32::MAX)), None);
}
