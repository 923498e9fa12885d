//! `machine` must notice a topology that is not the one it was told.

use corelocal::Topology;
use rseq_tests::expected::Expected;
use std::fs;
use std::path::{Path, PathBuf};

/// Eight CPUs on four nodes of two, each with a last-level cache; the last node has no memory. Each
/// list is a file.
const FILES: [(&str, &str); 9] = [
    ("cpu/possible", "0-7"),
    ("cpu/online", "0-7"),
    ("node/online", "0-3"),
    ("node/has_memory", "0-2"),
    ("node/node0/cpulist", "0-1"),
    ("node/node1/cpulist", "2-3"),
    ("node/node2/cpulist", "4-5"),
    ("node/node3/cpulist", "6-7"),
    ("node/node3/distance", "20 20 20 10"),
];
const ASKED: Expected = Expected { cpus: 8, nodes: 4, memoryless: 1, caches: 4, hotplug: false };

struct Machine(PathBuf);

impl Machine {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("corelocal-expected-{}-{number}", std::process::id());
        let machine = Self(std::env::temp_dir().join(name));
        for (file, text) in FILES {
            machine.write(file, text);
        }
        for cpu in 0..8 {
            let first = cpu / 2 * 2;
            machine.write(&format!("cpu/cpu{cpu}/cache/index0/level"), "3");
            let shared = format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list");
            machine.write(&shared, &format!("{first}-{}", first + 1));
        }
        machine
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.join("sys/devices/system").join(file);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn with(file: &str, text: &str) -> Self {
        let machine = Self::new();
        machine.write(file, text);
        machine
    }

    fn compared_with(&self, expected: Expected) -> Result<String, String> {
        expected.compare(&Topology::from_root(&self.0))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_machine_that_was_asked_for_is_taken_for_another() {
    assert_eq!(
        Machine::new().compared_with(ASKED).as_deref(),
        Ok("as asked for: 8 CPUs, 4 nodes (1 without memory), 4 last-level caches")
    );
}

#[test]
fn another_machine_is_taken_for_the_one_that_was_asked_for() {
    for expected in [
        Expected { cpus: 16, ..ASKED },
        Expected { nodes: 2, ..ASKED },
        Expected { memoryless: 0, ..ASKED },
        Expected { memoryless: 2, ..ASKED },
        Expected { caches: 1, ..ASKED },
        Expected { caches: 8, ..ASKED },
    ] {
        let result = Machine::new().compared_with(expected);
        assert!(result.is_err(), "{expected:?}: {result:?}");
    }
    for (file, text) in [
        ("cpu/possible", "0-8"),
        ("cpu/online", "0-6"),
        ("node/online", "0,2-4"),
        ("node/has_memory", "0,2-3"),
        ("node/node1/cpulist", "2"),
        ("node/node1/cpulist", "2-4"),
        ("cpu/cpu2/cache/index0/shared_cpu_list", "2-5"),
    ] {
        let result = Machine::with(file, text).compared_with(ASKED);
        assert!(result.is_err(), "{file} {text}: {result:?}");
    }
}

#[test]
fn a_list_may_lack_one_cpu_while_cpus_go_off_and_on_and_no_more() {
    let expected = Expected { hotplug: true, ..ASKED };
    for (file, text, good) in [
        ("cpu/online", "0-6", true),
        ("cpu/online", "0-5", false),
        ("node/node1/cpulist", "2", true),
        ("node/node1/cpulist", "", false),
        ("node/node1/cpulist", "3-4", false),
        ("cpu/cpu2/cache/index0/shared_cpu_list", "2", true),
        ("cpu/cpu2/cache/index0/shared_cpu_list", "2,4", false),
    ] {
        let result = Machine::with(file, text).compared_with(expected);
        assert_eq!(result.is_ok(), good, "{file} {text}: {result:?}");
    }
}
