//! What the measurements depend on: the machine, its caches, and the CPU that the thread is on.

use corelocal::{CpuId, Topology};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use serde::Serialize;
use std::fs;
use std::path::Path;

/// The machine, as printed.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The processor's name, if the system tells it.
    pub model: String,
    /// The kernel's version.
    pub kernel: String,
    /// CPU lanes: the highest possible CPU id and one.
    pub cpus: u32,
    /// CPUs that this process may run on.
    pub allowed: Vec<u32>,
    /// Bytes of the first allowed CPU's data cache of level 1.
    pub l1: Option<u64>,
    /// Bytes of its level 2.
    pub l2: Option<u64>,
    /// Bytes of its level 3.
    pub l3: Option<u64>,
    /// Whether the system gives huge pages unasked: that hides what a layout costs in pages.
    pub huge_pages: String,
    /// Bytes that can be had without swapping.
    pub available: Option<u64>,
}

impl Machine {
    /// This machine, now.
    pub fn current() -> Self {
        let topology = Topology::current();
        // Where the system does not tell, CPU 0 is a guess that pinning will confirm or refuse.
        let allowed: Vec<u32> = topology.allowed().iter().map(CpuId::get).collect();
        let cache = |level| cache_bytes(Path::new("/sys"), *allowed.first().unwrap_or(&0), level);
        let (l1, l2, l3) = (cache(1), cache(2), cache(3));
        Self {
            model: line_after("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
            kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".into()),
            cpus: topology.cpus(),
            allowed,
            l1,
            l2,
            l3,
            huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|text| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned()))
                .unwrap_or_else(|| "unknown".into()),
            available: line_after("/proc/meminfo", "MemAvailable")
                .and_then(|text| Some(text.strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)),
        }
    }
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn line_after(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The size of a CPU's data or unified cache of this level, from the system's files below `root`.
fn cache_bytes(root: &Path, cpu: u32, level: u32) -> Option<u64> {
    let caches = root.join(format!("devices/system/cpu/cpu{cpu}/cache"));
    (0..16).find_map(|index| {
        let file = |name| {
            let text = fs::read_to_string(caches.join(format!("index{index}")).join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        if file("level")? != level.to_string() || file("type")? == "Instruction" {
            return None;
        }
        let size = file("size")?;
        let kib: u64 = size.strip_suffix('K')?.parse().ok()?;
        Some(kib << 10)
    })
}

/// Runs the calling thread on `cpu` only.
///
/// # Errors
///
/// The system's, as text: the CPU went offline, or the call is not allowed.
pub fn pin(cpu: CpuId) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu.index())
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(|error| format!("cannot run on CPU {cpu}: {error}"))
}

/// How often the calling thread was switched out though it could have gone on; 0 if the system
/// does not tell.
pub fn preemptions() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_sizes_come_from_the_data_caches_files() {
        let root = tempfile::tempdir().unwrap();
        let index = |index, level, kind: &str, size: &str| {
            let dir = root.path().join(format!("devices/system/cpu/cpu3/cache/index{index}"));
            fs::create_dir_all(&dir).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size)] {
                fs::write(dir.join(name), format!("{text}\n")).unwrap();
            }
        };
        index(0, "1", "Instruction", "64K");
        index(1, "1", "Data", "48K");
        index(2, "2", "Unified", "2048K");
        index(3, "3", "Unified", "odd");
        assert_eq!(cache_bytes(root.path(), 3, 1), Some(48 << 10));
        assert_eq!(cache_bytes(root.path(), 3, 2), Some(2 << 20));
        assert_eq!(cache_bytes(root.path(), 3, 3), None);
        assert_eq!(cache_bytes(root.path(), 0, 1), None);
    }
}
