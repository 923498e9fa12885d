//! What the benchmarks ask of the system, and what they print about it.
#![allow(unsafe_code, reason = "system calls, and an empty assembly line")]

use std::fs;

use std::sync::OnceLock;

pub use os::{pin, preemptions, sched_getcpu, trim_heap};

/// Keeps the compiler from carrying anything over this point in registers, at no cost in the
/// program: the loop of a benchmark does its work in every turn, and the code within a turn is
/// optimised as it would be elsewhere.
#[inline(always)]
pub fn forget() {
    // SAFETY:
    // - no instructions: the only effect is what the compiler may assume.
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) };
}

/// The CPUs that this process may run on: those of the thread that asks first, which asks before
/// it pins itself. At least one.
pub fn cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(os::allowed)
}

/// Pins this thread where a single thread is measured.
pub fn pin_first() {
    pin(cpus()[0]);
}

/// What a reader must know to believe a number: machine, load, backend with its reason, command.
pub fn header(bench: &str) -> String {
    let [machine, backend, command] = facts(bench);
    let detours = detours();
    format!("machine: {machine}\nbackend: {backend}\ndetours: {detours}\ncommand: {command}")
}

/// What sections did not do at the first attempt, since the process began.
pub fn detours() -> String {
    let now = corelocal::sys::rseq::detours();
    format!("{} aborts, {} spills", now.aborts, now.spills)
}

/// Bytes of the second level of the first allowed CPU's caches; a large one where nobody says.
pub fn second_level() -> usize {
    let folder = format!("/sys/devices/system/cpu/cpu{}/cache", cpus()[0]);
    let sizes = (0..8).filter_map(|index| {
        let of = |what: &str| read(&format!("{folder}/index{index}/{what}"));
        if of("level") == "2" { kibibytes(&of("size")) } else { None }
    });
    sizes.max().unwrap_or(4 << 20)
}

/// `2048K`, as the kernel writes it.
fn kibibytes(text: &str) -> Option<usize> {
    text.strip_suffix('K')?.parse::<usize>().ok()?.checked_mul(1 << 10)
}

/// Machine with its load, backend with its reason, and command.
pub fn facts(bench: &str) -> [String; 3] {
    let load = read("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ");
    let system = read("/proc/sys/kernel/osrelease");
    let machine = format!(
        "{}, {} CPUs allowed, {} {system}, {}, load average {load}",
        model().unwrap_or_else(|| "processor not named".into()),
        cpus().len(),
        std::env::consts::OS,
        std::env::consts::ARCH,
    );
    let backend = corelocal::backend();
    let mut command = format!("cargo bench -p benches --bench {bench}");
    // Cargo itself adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if !args.is_empty() {
        command = format!("{command} -- {}", args.join(" "));
    }
    [machine, format!("{backend} ({})", backend.reason()), command]
}

/// A file's text without its last line break; empty where there is no such file.
fn read(path: &str) -> String {
    fs::read_to_string(path).map(|text| text.trim_end().to_owned()).unwrap_or_default()
}

fn model() -> Option<String> {
    let cpuinfo = read("/proc/cpuinfo");
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

#[cfg(target_os = "linux")]
mod os {
    use std::mem::MaybeUninit;

    /// The CPUs that this thread may run on, in ascending order.
    pub(super) fn allowed() -> Vec<usize> {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY:
        // - the kernel writes at most the given number of bytes to the set.
        let refused = unsafe { libc::sched_getaffinity(0, size_of_val(&set), set.as_mut_ptr()) };
        if refused != 0 {
            // More CPUs than the set has room for, or a sandbox: where we are, we may be.
            return vec![sched_getcpu()];
        }
        // SAFETY:
        // - zeroed, and zero is an empty set.
        let set = unsafe { set.assume_init() };
        let isset = |&cpu: &usize| {
            // SAFETY:
            // - the number is below the size of the set.
            unsafe { libc::CPU_ISSET(cpu, &set) }
        };
        (0..libc::CPU_SETSIZE as usize).filter(isset).collect()
    }

    /// Pins this thread to a CPU. Refusal is a normal state: the thread stays where it may be.
    pub fn pin(cpu: usize) {
        if cpu >= libc::CPU_SETSIZE as usize {
            return;
        }
        // SAFETY:
        // - plain bits, and zero is an empty set.
        let mut set = unsafe { MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init() };
        // SAFETY:
        // - the number is below the size of the set.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        // SAFETY:
        // - the kernel reads the set, of the given size.
        unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    }

    /// How often this thread was switched out against its will.
    pub fn preemptions() -> i64 {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY:
        // - the kernel writes one `rusage`.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        // SAFETY:
        // - plain numbers, zeroed before.
        let usage = unsafe { usage.assume_init() };
        usage.ru_nivcsw
    }

    /// libc's `sched_getcpu`, as people call it; 0 where it fails.
    #[inline]
    pub fn sched_getcpu() -> usize {
        // SAFETY:
        // - no arguments, no memory.
        let cpu = unsafe { libc::sched_getcpu() };
        usize::try_from(cpu).unwrap_or(0)
    }

    /// Gives free pages of the heap back to the system, where libc can.
    pub fn trim_heap() {
        #[cfg(target_env = "gnu")]
        // SAFETY:
        // - touches free memory of libc's own only.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

/// Where there is no such call: one CPU, no pinning, and no sample is known to be disturbed.
#[cfg(not(target_os = "linux"))]
mod os {
    /// One CPU.
    pub(super) fn allowed() -> Vec<usize> {
        vec![0]
    }

    /// Does nothing.
    pub fn pin(_cpu: usize) {}

    /// None that we know of.
    pub fn preemptions() -> i64 {
        0
    }

    /// Does nothing.
    pub fn trim_heap() {}

    /// CPU 0.
    pub fn sched_getcpu() -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_where_it_was_pinned() {
        // Where others are: `cpus` remembers what was allowed first.
        let last = *cpus().last().expect("at least one");
        std::thread::spawn(move || {
            pin(last);
            assert_eq!(sched_getcpu(), last);
            assert_eq!(os::allowed(), [last]);
        })
        .join()
        .expect("pinned");
    }

    #[test]
    fn the_size_of_a_cache_is_read_as_the_kernel_writes_it() {
        assert_eq!(kibibytes("2048K"), Some(2 << 20));
        assert_eq!((kibibytes(""), kibibytes("2M"), kibibytes("K")), (None, None, None));
        assert!(second_level() >= 64 << 10);
    }

    #[test]
    fn the_header_names_machine_backend_reason_and_command() {
        let header = header("add");
        let words = ["machine: ", "load average", "backend: ", " (", " aborts, ", "--bench add"];
        for word in words {
            assert!(header.contains(word), "{word:?} is not in {header}");
        }
    }
}
