//! Public reports of what goes wrong with per-CPU data, and where each is tested.
//!
//! A line of `TABLE` is `test(..)` with the tests that reproduce the report's kind of fault,
//! `later(..)` with the capability that it waits for, or `na(..)` with the reason why it cannot
//! happen here. A missing id, a doubled one and a test that does not exist fail.

use std::path::PathBuf;

/// Id, what went wrong, and where people reported it.
const REPORTS: &str = "
A1 | Pinned process, count from affinity, index from id | https://github.com/jemalloc/jemalloc/issues/2054 https://github.com/jemalloc/jemalloc/issues/808 https://github.com/jemalloc/jemalloc/pull/2181 https://github.com/jemalloc/jemalloc/pull/2996
A3 | Lanes sized by packages or cores, not logical CPUs | https://github.com/microsoft/msquic/issues/1816
A4 | libc decides the count differently | https://github.com/ClickHouse/ClickHouse/pull/118912
A5 | Hot-added vCPU gets an id above the start-up maximum | https://github.com/google/tcmalloc/issues/267 https://github.com/falcosecurity/libs/pull/820
A6 | Per-CPU maintenance that must visit offline or foreign CPUs | https://github.com/google/tcmalloc/issues/188
A7 | Possible is not present: absent CPU unwrapped | https://github.com/sched-ext/scx/pull/3718 https://github.com/sched-ext/scx/pull/191 https://github.com/sched-ext/scx/issues/721
A9 | Id numbering with regular or random holes | https://github.com/ibm-power-utilities/powerpc-utils/pull/104 https://github.com/brndnmtthws/conky/pull/416 https://github.com/RRZE-HPC/likwid/pull/601 https://github.com/google/nsjail/issues/200
A10 | Processor groups | https://github.com/dotnet/runtime/pull/581 https://github.com/microsoft/ebpf-for-windows/issues/1424 https://github.com/microsoft/usersim/pull/168 https://github.com/dotnet/runtime/pull/134127
A12 | Unknown CPU folded into lane 0 | https://github.com/dotnet/runtime/issues/31995 https://github.com/ClickHouse/ClickHouse/issues/112894
B1 | More than 1024 CPUs | https://github.com/folo-rs/folo/pull/483 https://github.com/eclipse-omr/omr/issues/6206
B4 | Word arithmetic in masks | https://github.com/sched-ext/scx/pull/2951 https://github.com/accelio/accelio/issues/74 https://github.com/iqiyi/dpvs/pull/158 https://github.com/darlinghq/darlingserver/issues/7
B5 | Hex cpumap parser limit | https://github.com/Atoptool/atop/issues/372
B6 | Compile-time CPU cap | https://github.com/spdk/spdk/issues/2812 https://github.com/spdk/spdk/issues/3425 https://github.com/intel/intel-device-plugins-for-kubernetes/pull/2127
B7 | Quota is not an id space; and asking for it is slow | https://github.com/xacrimon/dashmap/issues/219 https://github.com/openobserve/openobserve/pull/12998 https://github.com/buildfarm/buildfarm/issues/2600
C1 | Single CPU | https://github.com/sched-ext/scx/pull/188 https://github.com/cilium/cilium/issues/4559
C2 | Mixed ranges and singles | https://github.com/util-linux/util-linux/pull/44 https://github.com/cilium/ebpf/pull/58 https://github.com/giampaolo/psutil/pull/2973
C3 | Population versus highest id + 1 | https://github.com/daeuniverse/honk/pull/228 https://github.com/sched-ext/scx/pull/379 https://github.com/sched-ext/scx/pull/1264 https://github.com/iovisor/gobpf/pull/254
C4 | Hostile or broken list | https://github.com/daeuniverse/honk/pull/228 https://github.com/ClickHouse/ClickHouse/pull/118912
C5 | File absent | https://github.com/google/tcmalloc/issues/214 https://github.com/google/tcmalloc/pull/710
D1 | Libc already owns the registration | https://github.com/compudj/librseq/issues/20 https://github.com/google/tcmalloc/issues/144 https://github.com/docker-library/mongo/pull/723
D5 | Hard-coded or unsigned offset | https://github.com/DynamoRIO/dynamorio/issues/5955 https://github.com/DynamoRIO/dynamorio/pull/5711
D7 | musl and other libcs | https://github.com/ClickHouse/ClickHouse/pull/113501 https://github.com/checkpoint-restore/criu/issues/2096
D8 | Sandboxes | https://github.com/systemd/systemd/issues/12127 https://github.com/DMOJ/judge-server/pull/1031 https://github.com/opencontainers/runc/issues/2151 https://github.com/google/syzkaller/pull/3869
D10 | One thread in the process is not registered | https://github.com/compudj/librseq/issues/17 https://github.com/ydb-platform/nbs/pull/6534
D13 | Caching the last CPU | https://github.com/jemalloc/jemalloc/pull/3006
D14 | Illegal instruction | https://github.com/spacejam/sled/issues/1232 https://github.com/metrics-rs/quanta/issues/56
D15 | membarrier missing | https://github.com/google/gvisor/issues/267 https://github.com/moby/moby/pull/40731 https://github.com/google/tcmalloc/issues/188
D16 | Dependence on concurrency ids | https://github.com/multipath-tcp/mptcp_net-next/issues/617
E1 | Possible far above online | https://github.com/trailofbits/ebpfpub/issues/42 https://github.com/xdp-project/xdp-tutorial/issues/101 https://github.com/tempesta-tech/tempesta/issues/2033 https://github.com/osquery/osquery/pull/6717 https://github.com/openzfs/spl/pull/482
E2 | Many small objects | https://github.com/cilium/tetragon/issues/4394
E3 | Address-space limit | https://github.com/golang/go/issues/38010 https://github.com/JuliaLang/julia/issues/10390 https://github.com/GrapheneOS/hardened_malloc/issues/235
E4 | Strict overcommit | https://github.com/symmetryinvestments/symgc/issues/37 https://github.com/c3lang/c3c/issues/469
E5 | Huge pages undo lazy touching | https://github.com/openjdk/jdk/pull/14919 https://github.com/facebook/jemalloc/issues/46 https://github.com/gperftools/gperftools/issues/1494
E6 | Exactly one lane | https://github.com/xacrimon/dashmap/pull/256 https://github.com/xacrimon/dashmap/pull/273
E7 | Lane count not a power of two | https://github.com/xacrimon/dashmap/pull/185
E8 | Size arithmetic | https://github.com/mozilla/thin-vec/issues/88 https://github.com/fitzgen/bumpalo/issues/340 https://github.com/rust-lang/rust/issues/101899
E9 | Over-aligned T | https://github.com/rust-lang/rust/issues/135719 https://github.com/rust-lang/rust/pull/70193 https://github.com/rust-lang/rust/issues/49492
E10 | Zero-sized T | https://github.com/rust-lang/nomicon/issues/120 https://github.com/rust-lang/wg-allocators/issues/111
E11 | T larger than line / page / unit | https://github.com/crossbeam-rs/crossbeam/pull/130 https://github.com/crossbeam-rs/crossbeam/issues/60
F1 | Line size by target | https://github.com/crossbeam-rs/crossbeam/pull/331 https://github.com/crossbeam-rs/crossbeam/pull/636 https://github.com/crossbeam-rs/crossbeam/pull/967 https://github.com/smol-rs/cache-padded/issues/1
F2 | Tests that assume 64 | https://github.com/crossbeam-rs/crossbeam/pull/641
F3 | Real line larger than the constant | https://github.com/crossbeam-rs/crossbeam/pull/1118 https://github.com/crossbeam-rs/crossbeam/pull/1139
F7 | Neighbours outside the object | https://github.com/Amanieu/atomic-rs/issues/1 https://github.com/ocaml/ocaml/pull/12212 https://github.com/Aandreba/zigrc/pull/16
G1 | Iterating while another CPU initialises | https://github.com/Amanieu/thread_local-rs/issues/33 https://github.com/Amanieu/thread_local-rs/issues/70
G4 | Values leaked or never dropped | https://github.com/Amanieu/thread_local-rs/pull/30 https://lkml.iu.edu/hypermail/linux/kernel/2511.1/05093.html
G5 | Missing bounds on T | https://github.com/rust-lang/rust/issues/25894 https://github.com/feather-rs/feather/pull/557 https://github.com/dropbox/rust-brotli/issues/257 https://github.com/fish-shell/fish-shell/issues/12918 https://github.com/Amanieu/thread_local-rs/issues/18
G7 | Borrow escapes the closure | https://github.com/asterinas/asterinas/pull/997
G8 | Nested exclusive access | https://github.com/coconut-svsm/svsm/pull/312 https://github.com/IrreducibleOSS/binius/pull/317 https://github.com/hexagonal-sun/moss-kernel/pull/107
G9 | Migrated between address and update | https://github.com/asterinas/asterinas/pull/1073 https://github.com/theseus-os/Theseus/pull/595 https://github.com/openzfs/zfs/issues/7609
G10 | Guard counter wrap with forgotten guards | https://github.com/asterinas/asterinas/issues/3895
G11 | Initialiser panics midway | https://github.com/fizyk20/generic-array/issues/8 https://github.com/Manishearth/array-init/pull/14 https://github.com/Rust-for-Linux/pin-init/pull/140
H1 | Thread limit | https://github.com/hawkw/sharded-slab/issues/62 https://github.com/tokio-rs/tracing/issues/2856 https://github.com/neondatabase/neon/issues/2545 https://github.com/tlsnotary/tlsn/pull/1050
H6 | dlclose then thread exit | https://github.com/rust-lang/rust/issues/91979 https://github.com/rust-lang/rust/issues/59629 https://github.com/hegeldev/hegel-rust/pull/387 https://github.com/rust-lang/unsafe-code-guidelines/issues/526
H7 | fork with other threads inside | https://github.com/gperftools/gperftools/issues/499 https://github.com/gperftools/gperftools/issues/741 https://github.com/gperftools/gperftools/issues/904
H8 | Cached identity after fork | https://github.com/ruby/ruby/pull/7434 https://github.com/wfrest/wfrest/pull/365
I1 | Shrinking must not lose values | https://github.com/golang/go/issues/80645 https://github.com/golang/go/issues/18802
I3 | Negative lane, unsigned sum | https://github.com/varnish/varnish-modules/issues/159
I4 | Length changes under the iterator | https://github.com/htop-dev/htop/pull/2044 https://github.com/cloudius-systems/osv/issues/194 https://github.com/redcanaryco/oxidebpf/pull/45
I5 | Count confusion in API | https://github.com/sched-ext/scx/pull/3298
I6 | Read-your-own-writes, no snapshot | https://github.com/golang/go/issues/80645
I7 | cpuset lags after online | https://github.com/kata-containers/kata-containers/pull/1537 https://github.com/opencontainers/runc/pull/254
J1 | No node directory | https://github.com/sched-ext/scx/pull/278 https://github.com/sched-ext/scx/pull/275 https://github.com/google/cadvisor/pull/2127
J2 | CPUs without a memory node | https://github.com/scylladb/scylladb/issues/6541 https://github.com/open-mpi/hwloc/issues/430
J3 | Node ids with gaps or missing files | https://github.com/kubernetes/kubernetes/issues/83175 https://github.com/NordicHPC/sonar/issues/450
J4 | Policy calls refused | https://github.com/numactl/numactl/pull/232 https://github.com/docker-library/cassandra/issues/203 https://github.com/vllm-project/vllm/pull/45438 https://github.com/containerd/containerd/issues/13610
J5 | First touch by the constructor | https://github.com/official-stockfish/Stockfish/pull/466 https://github.com/novitalabs/pegaflow/pull/277 https://github.com/HadrienG2/hwlocality/issues/129
J6 | Renumbered CPUs in a cpuset | https://github.com/RRZE-HPC/likwid/issues/630
J8 | Cache domain finer than node | https://github.com/glommio/glommio/pull/31 https://github.com/sched-ext/scx/pull/1715
K2 | Counter/mask order, mask emptied between two reads | https://github.com/torvalds/linux/blob/master/kernel/sched/cpupri.c
K3 | Fitness fails everywhere | https://android-kvm.googlesource.com/linux/+/b28bc1e002c23ff8a4999c4a2fb1d4d412bc6f5e%5E
K4 | Lock per level | https://lkml.org/lkml/2008/11/3/297
K5 | Allowed mask disjoint from lowest level | https://github.com/zephyrproject-rtos/zephyr/pull/110149
K6 | Edges: strictness, INVALID, no-op | https://github.com/torvalds/linux/blob/master/kernel/sched/cpupri.c
K7 | Racy mask reads | https://github.com/OpenDataPlane/odp/pull/1548
L1 | loom and TLS/Cell/Drop | https://github.com/tokio-rs/loom/issues/290 https://github.com/tokio-rs/loom/issues/52 https://github.com/tokio-rs/loom/issues/115
L2 | loom size limits | https://github.com/tokio-rs/loom/issues/157 https://github.com/tokio-rs/loom/issues/398 https://github.com/tokio-rs/loom/issues/162 https://github.com/gendx/paralight/issues/17
L3 | Miri | https://github.com/rust-lang/miri/issues/602 https://github.com/rust-lang/miri/issues/2749 https://github.com/rust-lang/miri/pull/3557
L4 | Asm and atomics mixed | https://github.com/penberg/chimera/pull/45
M1 | Say which mode is active, and why | https://github.com/google/tcmalloc/issues/158 https://github.com/google/tcmalloc/issues/251 https://github.com/docker-library/mongo/issues/724
M2 | Choose the number of lanes | https://github.com/xacrimon/dashmap/issues/158
M3 | One lane for each physical core | https://github.com/jemalloc/jemalloc/issues/2852
M4 | A hard bound, all allocation at construction | https://github.com/golang/go/issues/18802
M5 | Metric counters: cheap add, rare sum | https://github.com/open-telemetry/opentelemetry-rust/pull/3473 https://github.com/open-telemetry/opentelemetry-rust/issues/2450 https://github.com/ClickHouse/ClickHouse/pull/105056
M6 | Fast iteration over touched lanes | https://github.com/Amanieu/thread_local-rs/issues/88
M7 | A budget per CPU instead of per thread | https://github.com/ClickHouse/ClickHouse/pull/104046
M8 | A pool shared by many threads without one hot lock | https://github.com/rust-lang/regex/issues/934
M9 | Node placement without privileges | https://github.com/novitalabs/pegaflow/pull/277
";

const TABLE: &[(&str, Status)] = &[
    ("A1", later("tests of this issue")),
    ("A3", later("tests of this issue")),
    ("A4", later("tests of this issue")),
    ("A5", later("tests of this issue")),
    ("A6", later("tests of this issue")),
    ("A7", later("tests of this issue")),
    ("A9", later("tests of this issue")),
    ("A10", later("Windows: lanes by processor group")),
    ("A12", later("tests of this issue")),
    ("B1", later("tests of this issue")),
    ("B4", later("tests of this issue")),
    ("B5", later("tests of this issue")),
    ("B6", later("tests of this issue")),
    ("B7", later("tests of this issue")),
    ("C1", later("tests of this issue")),
    ("C2", later("tests of this issue")),
    ("C3", later("tests of this issue")),
    ("C4", later("tests of this issue")),
    ("C5", later("tests of this issue")),
    ("D1", later("sections: adopting libc's registration")),
    ("D5", later("sections: the offset of the thread area")),
    ("D7", later("cross-target runs")),
    ("D8", later("tests of this issue")),
    ("D10", later("tests of this issue")),
    ("D13", later("sections")),
    ("D14", later("sections: disassembly of the hot paths")),
    ("D15", later("take-over: fences across CPUs")),
    ("D16", later("lanes by concurrency id")),
    ("E1", later("tests of this issue")),
    ("E2", later("tests of this issue")),
    ("E3", later("tests of this issue")),
    ("E4", later("tests of this issue")),
    ("E5", later("tests of this issue")),
    ("E6", later("tests of this issue")),
    ("E7", later("tests of this issue")),
    ("E8", later("tests of this issue")),
    ("E9", later("tests of this issue")),
    ("E10", later("tests of this issue")),
    ("E11", later("tests of this issue")),
    ("F1", later("tests of this issue")),
    ("F2", later("tests of this issue")),
    ("F3", later("tests of this issue")),
    ("F7", later("tests of this issue")),
    ("G1", na("every copy is initialised before the object exists; there is no presence flag")),
    ("G4", later("tests of this issue")),
    ("G5", later("tests of this issue")),
    ("G7", na("no closure is given a reference; `this` and `get` borrow from the object")),
    ("G8", na("no exclusive access to a copy of a shared object, so nothing to nest")),
    ("G9", later("tests of this issue")),
    ("G10", na("no guard, and no counter of guards")),
    ("G11", later("tests of this issue")),
    ("H1", later("tests of this issue")),
    ("H6", later("sections in a library that is unloaded")),
    ("H7", later("tests of this issue")),
    ("H8", later("tests of this issue")),
    ("I1", later("tests of this issue")),
    ("I3", later("tests of this issue")),
    ("I4", later("tests of this issue")),
    ("I5", later("tests of this issue")),
    ("I6", later("tests of this issue")),
    ("I7", later("tests of this issue")),
    ("J1", later("tests of this issue")),
    ("J2", later("tests of this issue")),
    ("J3", later("tests of this issue")),
    ("J4", later("tests of this issue")),
    ("J5", later("tests of this issue")),
    ("J6", later("tests of this issue")),
    ("J8", later("tests of this issue")),
    ("K2", later("PriorityVec")),
    ("K3", later("PriorityVec")),
    ("K4", later("PriorityVec")),
    ("K5", later("PriorityVec")),
    ("K6", later("PriorityVec")),
    ("K7", later("PriorityVec")),
    ("L1", later("tests of this issue")),
    ("L2", later("tests of this issue")),
    ("L3", later("Miri: a source of rotating CPU ids")),
    ("L4", later("sections: their stores beside atomics")),
    ("M1", later("tests of this issue")),
    ("M2", later("tests of this issue")),
    ("M3", later("lanes by concurrency id or by cache")),
    ("M4", later("tests of this issue")),
    ("M5", later("tests of this issue")),
    ("M6", later("iteration over touched lanes")),
    ("M7", later("pool")),
    ("M8", later("pool")),
    ("M9", later("tests of this issue")),
];

enum Status {
    /// `tests/file.rs::name`; each reproduces the kind of fault, or a part of it.
    Test(&'static [&'static str]),
    /// The capability that the case waits for.
    Later(&'static str),
    /// Why it does not arise here.
    NotApplicable(&'static str),
}

const fn test(names: &'static [&'static str]) -> Status {
    Status::Test(names)
}

const fn later(capability: &'static str) -> Status {
    Status::Later(capability)
}

const fn na(reason: &'static str) -> Status {
    Status::NotApplicable(reason)
}

/// Ids of the reports; each must have its title and a public address.
fn report_ids(reports: &str) -> Vec<&str> {
    let rows = reports.lines().filter(|line| !line.is_empty());
    rows.map(|line| {
        let cells: Vec<&str> = line.split(" | ").collect();
        let [id, title, urls] = cells[..] else { panic!("id | title | addresses: {line}") };
        assert!(
            !title.is_empty() && urls.split(' ').all(|url| url.starts_with("https://")),
            "{id}"
        );
        id
    })
    .collect()
}

fn check_ids(ids: &[&str], table: &[&str]) -> Vec<String> {
    let times = |id: &str, list: &[&str]| list.iter().filter(|other| **other == id).count();
    let mut faults = Vec::new();
    for id in ids {
        match (times(id, ids), times(id, table)) {
            (1, 1) => {}
            (1, 0) => faults.push(format!("{id} has no line")),
            _ => faults.push(format!("{id} stands more than once")),
        }
    }
    for id in table.iter().filter(|id| times(id, ids) == 0) {
        faults.push(format!("{id} is no report"));
    }
    faults
}

/// Whether `text` has the test: the function, with a test attribute among those above it.
fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    (0..lines.len()).filter(|&at| lines[at].starts_with(&head)).any(|at| {
        let above = lines[..at].iter().rev();
        above
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"))
            .any(|line| *line == "#[test]")
    })
}

fn check_test(place: &str, read: impl Fn(&str) -> Option<String>) -> Option<String> {
    let Some((file, name)) = place.split_once("::") else {
        return Some(format!("{place}: want file::test"));
    };
    match read(file) {
        None => Some(format!("{place}: there is no such file")),
        Some(text) if has_test(&text, name) => None,
        Some(_) => Some(format!("{place}: there is no such test")),
    }
}

fn read_file(file: &str) -> Option<String> {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).ok()
}

#[test]
fn every_report_has_one_line() {
    let table: Vec<&str> = TABLE.iter().map(|(id, _)| *id).collect();
    let faults = check_ids(&report_ids(REPORTS), &table);
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn every_named_test_exists() {
    let mut faults = Vec::new();
    for (id, status) in TABLE {
        match status {
            Status::Test([]) | Status::Later("") | Status::NotApplicable("") => {
                faults.push(format!("{id} says nothing"));
            }
            Status::Test(places) => {
                faults.extend(places.iter().filter_map(|place| check_test(place, read_file)));
            }
            Status::Later(_) | Status::NotApplicable(_) => {}
        }
    }
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

#[test]
fn planted_gaps_and_doubles_are_seen() {
    let table = ["A1", "A2", "B1"];
    assert_eq!(check_ids(&["A1", "A2", "B1"], &table), [""; 0]);
    assert_eq!(check_ids(&["A1", "A2", "B1", "C1"], &table), ["C1 has no line"]);
    assert_eq!(check_ids(&["A1", "A2"], &table), ["B1 is no report"]);
    assert_eq!(check_ids(&["A1"], &["A1", "A1"]), ["A1 stands more than once"]);
    assert_eq!(report_ids("\nA1 | a title | https://one https://two\n"), ["A1"]);
    assert!(std::panic::catch_unwind(|| report_ids("A1 | a title | nowhere")).is_err());
}

#[test]
fn planted_names_of_no_test_are_seen() {
    let text = "#[test]\nfn real() {}\nfn helper() {}\n    #[test]\n    // why\n    fn nested() {}";
    let read = |file: &str| (file == "tests/a.rs").then(|| text.to_string());
    for place in ["tests/a.rs::real", "tests/a.rs::nested"] {
        assert_eq!(check_test(place, read), None);
    }
    for place in ["tests/a.rs::rea", "tests/a.rs::helper", "tests/b.rs::real", "tests/a.rs"] {
        assert!(check_test(place, read).is_some(), "{place}");
    }
}
