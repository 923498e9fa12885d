//! The machine's CPUs, memory nodes and caches, as the system describes them.

mod caches;
mod cores;
mod files;
mod issue;
mod lazy;
mod nodes;

pub use caches::CacheDomain;
pub use cores::CoreKey;
pub use issue::{TopologyIssue, TopologyIssueKind};

use super::{affinity, current, machine, os, seam};
use crate::cpu::{CpuId, CpuMask, list_bound};
use caches::Caches;
use core::fmt;
use cores::Cores;
use files::Files;
use lazy::Lazy;
use nodes::Nodes;
use std::path::{Path, PathBuf};

const CPU_DIRECTORY: &str = "sys/devices/system/cpu";

/// The machine's CPUs, memory nodes and caches.
///
/// Four numbers that are not the same: [`possible`](Self::possible) CPUs are those
/// the kernel has room for, [`online`](Self::online) those that run now,
/// [`allowed`](Self::allowed) those this thread may run on, and
/// [`cpus`](Self::cpus) is how many lanes there must be, so that every id finds its own.
///
/// Nothing here fails: files can be missing (containers, other kernels), ids can
/// have gaps, lists can be broken. Each question documents what then holds, and
/// [`issues`](Self::issues) lists what was not as it should be. Two small files and
/// one system call are read at once; nodes, caches and cores at the first question.
///
/// ```
/// let machine = corelocal::sys::Topology::current();
/// println!("{} lanes for CPUs {}", machine.cpus(), machine.possible());
/// for cpu in machine.online() {
///     println!("CPU {cpu} on node {:?}", machine.node_of(cpu));
/// }
/// for issue in machine.issues() {
///     println!("note: {issue}");
/// }
/// ```
pub struct Topology {
    root: PathBuf,
    possible: CpuMask,
    online: CpuMask,
    allowed: CpuMask,
    cpus: u32,
    issues: Vec<TopologyIssue>,
    nodes: Lazy<Nodes>,
    caches: Lazy<Caches>,
    cores: Lazy<Cores>,
}

/// What the system says of the calling thread, apart from files.
struct Thread {
    allowed: Result<CpuMask, i32>,
    present: Option<u32>,
}

impl Topology {
    /// This machine, read at the first call and kept for the process's life.
    ///
    /// [`allowed`](Self::allowed) is that of the thread which called first;
    /// `from_root("/")` reads afresh. No lock is taken: threads that race read twice
    /// and agree on one, and a forked child can call it at any time.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current(); // read once
    /// assert!(std::ptr::eq(machine, Topology::current()));
    /// println!("{} CPUs run, {} lanes", machine.online().len(), machine.cpus());
    /// ```
    #[cfg(not(corelocal_loom))]
    pub fn current() -> &'static Self {
        if let Some(fake) = seam::topology() {
            return fake;
        }
        static CURRENT: Lazy<Topology> = Lazy::new();
        CURRENT.get_or_make(|| {
            let allowed = affinity::allowed_words().map(mask_of);
            let thread = Thread { allowed, present: current::machine_hint() };
            let mut read = Self::read(Path::new("/"), thread);
            // Of the process, not of the moment: lanes were perhaps laid out already.
            read.cpus = machine::cpus();
            read
        })
    }

    /// The machine described by the files under `root`, which stands for `/`:
    /// `root/sys/devices/system/cpu/possible` and so on.
    ///
    /// What is not in files (the CPUs this thread may run on, its present CPU) is
    /// asked of the system. Nodes, caches and cores are read at the first question
    /// about them: `root` has to be there until then.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// # let root = std::env::temp_dir().join(format!("corelocal-from-root-{}", std::process::id()));
    /// // Another machine's files, for a test or a tool.
    /// let directory = root.join("sys/devices/system/cpu");
    /// std::fs::create_dir_all(&directory)?;
    /// std::fs::write(directory.join("possible"), "0-127\n")?;
    /// let machine = Topology::from_root(&root);
    /// assert_eq!((machine.possible().len(), machine.cpus() >= 128), (128, true));
    /// # std::fs::remove_dir_all(&root)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_root(root: impl AsRef<Path>) -> Self {
        let words = seam::affinity().unwrap_or_else(affinity::allowed_words);
        let thread = Thread { allowed: words.map(mask_of), present: current::cpu_hint() };
        Self::read(root.as_ref(), thread)
    }

    fn read(root: &Path, thread: Thread) -> Self {
        let mut files = Files::new(root);
        let possible = possible(&mut files, root, &thread);
        let online = files.filled_list(&format!("{CPU_DIRECTORY}/online"));
        let online = online.unwrap_or_else(|| possible.clone());
        let bound = |mask: &CpuMask| mask.id_bound() as u32;
        let allowed_bound = thread.allowed.as_ref().map_or(0, bound);
        let found = machine::lanes_wanted(bound(&possible), allowed_bound, thread.present);
        let cpus = found.clamp(1, machine::MAX_CPUS);
        if found > cpus {
            files.note("", TopologyIssueKind::TooManyCpus { found, used: cpus });
        }
        if let Err(errno) = thread.allowed {
            files.note("", TopologyIssueKind::AffinityRefused { errno });
        }
        Self {
            root: root.to_owned(),
            allowed: thread.allowed.unwrap_or_else(|_| online.clone()),
            online,
            possible,
            cpus,
            issues: files.into_issues(),
            nodes: Lazy::new(),
            caches: Lazy::new(),
            cores: Lazy::new(),
        }
    }

    /// The CPUs that the kernel has room for, present or not: an id above the
    /// highest one can only come from a CPU added in a way the kernel did not foresee.
    ///
    /// Never empty. If the list of possible CPUs is missing, empty or malformed, the
    /// first of these that says something: the list of present CPUs, the CPUs'
    /// directories, the list of online CPUs, the C library's count (for `/` only), the
    /// allowed CPUs, the present CPU, CPU 0.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::current();
    /// // What is made once and has to last: a CPU may come on line later.
    /// let names: Vec<String> = machine.possible().iter().map(|cpu| format!("worker-{cpu}")).collect();
    /// assert!(!names.is_empty());
    /// ```
    pub fn possible(&self) -> &CpuMask {
        &self.possible
    }

    /// The CPUs that ran when this was read; all possible ones where the list is
    /// missing, empty or malformed.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// // Read afresh: CPUs go off line and come back.
    /// let now = Topology::from_root("/");
    /// println!("{} of {} CPUs run", now.online().len(), now.possible().len());
    /// assert!(!now.online().is_empty());
    /// ```
    pub fn online(&self) -> &CpuMask {
        &self.online
    }

    /// The CPUs that the reading thread might run on (`taskset`, a container's
    /// cpuset); the online ones where the system refuses to say, and
    /// [`issues`](Self::issues) tells that it did.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// // How many threads make sense here: in a container, not as many as the machine has CPUs.
    /// let workers = Topology::current().allowed().len();
    /// assert!(workers >= 1);
    /// ```
    pub fn allowed(&self) -> &CpuMask {
        &self.allowed
    }

    /// How many CPU lanes there must be: highest id + 1, not a count of CPUs.
    ///
    /// The largest of the highest possible id, the highest allowed id and the id of
    /// the CPU this was read on, each + 1; at least 1, at most
    /// [`MAX_CPUS`](crate::sys::MAX_CPUS). It stays for this value's life.
    ///
    /// ```
    /// # use corelocal::{Area, Topology};
    /// let machine = Topology::current();
    /// assert!(machine.possible().id_bound() <= machine.cpus() as usize);
    /// assert_eq!(machine.cpus() as usize + 1, Area::global().lanes()); // and the spill lane
    /// ```
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// What was missing or malformed in what was read so far. Nodes, caches and
    /// cores are read at the first question about them.
    ///
    /// ```
    /// # use corelocal::Topology;
    /// let machine = Topology::from_root("/no/such/directory");
    /// machine.nodes(); // nodes, caches and cores are read, and complained of, at the first question
    /// for issue in machine.issues() {
    ///     println!("note: {issue}");
    /// }
    /// assert!(machine.issues().count() > 0);
    /// ```
    pub fn issues(&self) -> impl Iterator<Item = &TopologyIssue> {
        let nodes = self.nodes.get().into_iter().flat_map(|nodes| &nodes.issues);
        let caches = self.caches.get().into_iter().flat_map(|caches| &caches.issues);
        let cores = self.cores.get().into_iter().flat_map(|cores| &cores.issues);
        self.issues.iter().chain(nodes).chain(caches).chain(cores)
    }

    fn read_nodes(&self) -> &Nodes {
        self.nodes.get_or_make(|| Nodes::read(&self.root))
    }

    fn read_caches(&self) -> &Caches {
        self.caches.get_or_make(|| Caches::read(&self.root))
    }

    fn read_cores(&self) -> &Cores {
        self.cores.get_or_make(|| Cores::read(&self.root))
    }
}

/// Highest possible id of this machine + 1, from the one file that says it everywhere; `None` where
/// it does not. Asks nothing of the heap.
pub(super) fn possible_bound() -> Option<u32> {
    // Longer lists than this have hundreds of gaps.
    let mut text = [0; 2048];
    list_bound(files::whole(Path::new("/sys/devices/system/cpu/possible"), &mut text)?)
}

/// The same from every source there is; see [`Topology::possible`].
pub(super) fn possible_bound_elsewhere() -> u32 {
    let root = Path::new("/");
    // The caller looks at the thread's own CPUs itself.
    let thread = Thread { allowed: Err(0), present: None };
    possible(&mut Files::new(root), root, &thread).id_bound() as u32
}

/// The first source that says something; see [`Topology::possible`].
fn possible(files: &mut Files<'_>, root: &Path, thread: &Thread) -> CpuMask {
    let file = |name: &str| format!("{CPU_DIRECTORY}/{name}");
    let known = |mask: CpuMask| Some(mask).filter(|mask| !mask.is_empty());
    files
        .filled_list(&file("possible"))
        .or_else(|| files.filled_list(&file("present")))
        .or_else(|| {
            let entries = files.numbered_entries(CPU_DIRECTORY, "cpu");
            known(entries.into_iter().map(CpuId::new).collect())
        })
        .or_else(|| files.filled_list(&file("online")))
        .or_else(|| {
            let count = os::configured().filter(|_| root == Path::new("/"))?;
            known(CpuMask::first_cpus(count.min(machine::MAX_CPUS)))
        })
        .or_else(|| known(thread.allowed.as_ref().ok()?.clone()))
        .or_else(|| thread.present.map(|id| mask_with(id.min(machine::MAX_CPUS - 1))))
        .unwrap_or_else(|| mask_with(0))
}

fn mask_with(id: u32) -> CpuMask {
    CpuMask::from_iter([CpuId::new(id)])
}

/// The system's words are as wide as a pointer, the set's are 64 bits.
fn mask_of(words: Vec<usize>) -> CpuMask {
    const WIDE: usize = u64::BITS as usize / usize::BITS as usize;
    let join = |narrow: &[usize]| {
        let low_first = narrow.iter().enumerate();
        low_first.fold(0, |word, (at, part)| word | (*part as u64) << (at as u32 * usize::BITS))
    };
    let mut mask = CpuMask::new();
    mask.assign_words(words.chunks(WIDE).map(join));
    mask
}

impl fmt::Debug for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Topology")
            .field("root", &self.root)
            .field("cpus", &self.cpus)
            .field("possible", &self.possible)
            .field("online", &self.online)
            .field("allowed", &self.allowed)
            .field("issues", &self.issues.len())
            .finish_non_exhaustive()
    }
}
