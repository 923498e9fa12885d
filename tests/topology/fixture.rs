//! A directory that stands for `/`, made for one test and removed after it.

use corelocal::cpu::{CpuId, CpuMask};
use corelocal::sys::Topology;
use corelocal::sys::topology::TopologyIssueKind;
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Fixture {
    root: PathBuf,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("corelocal-topology-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.root
    }

    pub(crate) fn file(self, relative: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(relative, text);
        self
    }

    pub(crate) fn write(&self, relative: &str, text: impl AsRef<[u8]>) {
        let path = self.root.join(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn directory(self, relative: &str) -> Self {
        fs::create_dir_all(self.root.join(relative)).unwrap();
        self
    }

    pub(crate) fn possible(self, list: impl AsRef<[u8]>) -> Self {
        self.file("sys/devices/system/cpu/possible", list)
    }

    pub(crate) fn online(self, list: &str) -> Self {
        self.file("sys/devices/system/cpu/online", list)
    }

    pub(crate) fn core(self, cpu: u32, package: i32, core: u32) -> Self {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        self.file(&format!("{topology}/physical_package_id"), format!("{package}\n"))
            .file(&format!("{topology}/core_id"), format!("{core}\n"))
    }

    /// A cache of `cpu`; `index` numbers its caches.
    pub(crate) fn cache(self, cpu: u32, index: u32, level: u32, shared: &str) -> Self {
        let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
        self.file(&format!("{cache}/level"), format!("{level}\n"))
            .file(&format!("{cache}/shared_cpu_list"), format!("{shared}\n"))
    }

    pub(crate) fn node(self, id: u32, cpus: &str) -> Self {
        self.file(&format!("sys/devices/system/node/node{id}/cpulist"), format!("{cpus}\n"))
    }

    pub(crate) fn memory(self, id: u32, kilobytes: u64) -> Self {
        let text = format!("Node {id} MemTotal:       {kilobytes} kB\nNode {id} MemFree: 1 kB\n");
        self.file(&format!("sys/devices/system/node/node{id}/meminfo"), text)
    }

    pub(crate) fn nodes_online(self, list: &str) -> Self {
        self.file("sys/devices/system/node/online", list)
    }

    pub(crate) fn topology(&self) -> Topology {
        Topology::from_root(&self.root)
    }

    /// The topology with its files, which are read as questions come.
    pub(crate) fn read(self) -> Described {
        Described { topology: self.topology(), _files: self }
    }
}

pub(crate) struct Described {
    topology: Topology,
    _files: Fixture,
}

impl Deref for Described {
    type Target = Topology;
    fn deref(&self) -> &Topology {
        &self.topology
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

pub(crate) fn cpu(id: u32) -> CpuId {
    CpuId::new(id)
}

pub(crate) fn mask(list: &str) -> CpuMask {
    list.parse().unwrap()
}

/// The issue about a path that ends in `tail`.
pub(crate) fn issue(topology: &Topology, tail: &str) -> Option<TopologyIssueKind> {
    topology.issues().find(|issue| issue.path().ends_with(tail)).map(|issue| issue.kind())
}
