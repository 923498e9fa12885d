//! For tests: a machine that one makes up, and sections that are cut off on purpose.
//!
//! [`with`] puts a CPU id, a description of the machine or an affinity call of
//! one's own in the place of the system's, and disturbs the operations of this crate in the
//! middle, on the calling thread and while a closure runs. The feature `testing` itself changes
//! nothing: outside of `with` everything is as without it, so it does no harm if another crate
//! of the same build turns it on.
//!
//! What was fixed for the process stays: the number of lanes of the default area
//! and the backend are those of the real machine. A made-up id can therefore be
//! larger than any lane; that is a good test.
//!
//! ```
//! use corelocal::cpu::CpuId;
//! use corelocal::testing::{self, Config};
//!
//! let ids = Config::new().cpu_ids([Some(3), None, Some(5000)]);
//! testing::with(ids, || {
//!     assert_eq!(CpuId::current(), Some(CpuId::new(3)));
//!     assert_eq!(CpuId::current(), None);
//!     assert_eq!(CpuId::current(), Some(CpuId::new(5000)));
//!     assert_eq!(CpuId::current(), Some(CpuId::new(3)), "begins again");
//! });
//! ```
//!
//! # Disturbing operations
//!
//! With the backend `Rseq` every operation is a section, which can be held up at numbered points:
//!
//! | point | where |
//! |---|---|
//! | 0 | before the section begins |
//! | 1 | before the CPU id is read |
//! | 2 | before the guard is read, if the operation has one |
//! | 3 | before the address of this CPU's copy is made |
//! | 4 | after the first load, if the operation has one |
//! | 5, 6 | between further steps: lists, stacks and copies |
//! | 7 | before the committing store |
//! | 8 | after it; the section is over |
//!
//! From 1 to 7 a signal or a migration has the section cut off: it has no effect, and the
//! operation begins again. At 0 and 8 nothing is cut off.
//!
//! A section must make no system call, so all that it does itself is wait: it counts a private
//! word down. A thread that [`with`] starts looks every 20 us whether it waits, and sends it
//! `SIGURG`, whose handler returns, yields or sleeps; or moves it. The handler is installed while
//! there is such a call of `with`. A thread that blocks the signal waits for seconds, and
//! goes on. The other backends have no sections and nothing to hold up: there nothing happens.
//!
//! ```
//! use corelocal::testing::{self, Config, Disturbance};
//! use corelocal::{PerCpu, PerCpuCell};
//!
//! let hits: PerCpu<PerCpuCell<u64>> = PerCpu::zeroed();
//! // The first attempt at each addition is moved to another CPU just before it commits.
//! testing::with(Config::new().at(7, Disturbance::Migrate), || {
//!     (0..10).for_each(|_| hits.add(1));
//! });
//! assert_eq!(hits.sum(), 10);
//! ```
//!
//! # Another backend
//!
//! The backend is chosen once for a process, so that a test of another one wants a process of its
//! own. There the environment variable `CORELOCAL_TEST_BACKEND` (`rseq`, `getcpu` or `thread`; read
//! when the backend is chosen, and only with this feature) asks for one, and [`asked_backend`]
//! tells what came of it; or [`force_backend`] does, before the first object.

use crate::cpu::CpuMask;
use crate::sys::Backend;
use crate::sys::force;
pub use crate::sys::force::ForceError;
pub use crate::sys::rseq::Disturbance;
use crate::sys::rseq::{self, Plan, Points};
use crate::sys::seam::{self, Affinity, Seam};
use core::fmt;
use std::path::PathBuf;

/// What [`with`] makes up; the rest is asked of the system.
///
/// ```
/// use corelocal::testing::{self, Config};
/// use corelocal::{CpuId, Topology};
///
/// // All that is not made up is the real machine's.
/// let config = Config::new().cpu_id(Some(3)).affinity("0-7".parse()?);
/// testing::with(config, || {
///     assert_eq!(CpuId::current(), Some(CpuId::new(3)));
///     assert_eq!(Topology::from_root("/").allowed().len(), 8);
/// });
/// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
/// ```
#[derive(Default)]
pub struct Config<'a> {
    seam: Seam<'a>,
    plan: Plan,
}

impl<'a> Config<'a> {
    /// Makes up nothing.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::CpuId;
    /// // Nothing made up, inside of something that is: the real machine again.
    /// testing::with(Config::new().cpu_id(Some(5000)), || {
    ///     let real = testing::with(Config::new(), CpuId::current);
    ///     assert_ne!(real, CpuId::current());
    /// });
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// This thread's CPU is always `id`; `None`: it is not known.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::PerCpu;
    /// let names = PerCpu::new(|lane| format!("lane {}", lane.index()));
    /// // A CPU that was plugged in after the lanes were counted.
    /// let lane = testing::with(Config::new().cpu_id(Some(5_000_000)), || names.here().0);
    /// assert!(lane.is_spill());
    /// ```
    pub fn cpu_id(self, id: Option<u32>) -> Self {
        self.cpu_ids_from(move || id)
    }

    /// This thread's CPU is one of `ids` after the other, at each question the
    /// next, from the beginning again at the end. Not known if there are none.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::PerCpu;
    /// let copies = PerCpu::new(|lane| lane.index());
    /// // A thread that is moved between two questions.
    /// let seen = testing::with(Config::new().cpu_ids([Some(0), Some(5_000_000)]), || {
    ///     [*copies.this(), *copies.this()]
    /// });
    /// assert_eq!(seen, [0, copies.cpus()]);
    /// ```
    pub fn cpu_ids(self, ids: impl IntoIterator<Item = Option<u32>>) -> Self {
        let ids: Vec<Option<u32>> = ids.into_iter().collect();
        let mut turn = 0;
        self.cpu_ids_from(move || {
            let id = ids.get(turn % ids.len().max(1)).copied().flatten();
            turn += 1;
            id
        })
    }

    /// This thread's CPU is what `source` says, asked at each question. A question
    /// from inside `source`, or from a signal handler that interrupts it, goes to
    /// the system.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::CpuId;
    /// let mut asked = 0;
    /// let every_third_unknown = Config::new().cpu_ids_from(|| {
    ///     asked += 1;
    ///     (asked % 3 != 0).then_some(0)
    /// });
    /// let known = testing::with(every_third_unknown, || (0..9).filter_map(|_| CpuId::current()).count());
    /// assert_eq!((known, asked), (6, 9));
    /// ```
    pub fn cpu_ids_from(mut self, source: impl FnMut() -> Option<u32> + 'a) -> Self {
        self.seam.cpu = Some(Box::new(source) as Box<_>).into();
        self
    }

    /// [`Topology::current`](crate::sys::Topology::current) is what the files under
    /// `root` say, as with `from_root`. Such a topology is never freed.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::Topology;
    /// # let root = std::env::temp_dir().join(format!("corelocal-topology-root-{}", std::process::id()));
    /// let directory = root.join("sys/devices/system/cpu");
    /// std::fs::create_dir_all(&directory)?;
    /// std::fs::write(directory.join("possible"), "0-479\n")?;
    /// // How does the program behave on a large machine?
    /// testing::with(Config::new().topology_root(&root), || {
    ///     assert_eq!(Topology::current().possible().len(), 480);
    /// });
    /// # std::fs::remove_dir_all(&root)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn topology_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.seam.root = Some(root.into());
        self
    }

    /// The affinity call tells `mask`, to any buffer that holds it.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::Topology;
    /// // A container with two CPUs of a large machine.
    /// let mask = "100-101".parse()?;
    /// let machine = testing::with(Config::new().affinity(mask), || Topology::from_root("/"));
    /// assert_eq!((machine.allowed().len(), machine.cpus() >= 102), (2, true));
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn affinity(self, mask: CpuMask) -> Self {
        self.affinity_of_width(mask, 0)
    }

    /// The affinity call tells `mask`, but refuses buffers under `bytes` bytes, as a
    /// kernel built for that many CPUs does.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::Topology;
    /// // A kernel for 8192 CPUs refuses the 128 bytes that many programs give it.
    /// let config = Config::new().affinity_of_width("0,8000".parse()?, 8192 / 8);
    /// let machine = testing::with(config, || Topology::from_root("/"));
    /// assert_eq!(machine.allowed().to_string(), "0,8000");
    /// # Ok::<(), corelocal::cpu::ParseCpuListError>(())
    /// ```
    pub fn affinity_of_width(mut self, mask: CpuMask, bytes: usize) -> Self {
        self.seam.affinity = Some(Affinity::Allowed { mask, bytes });
        self
    }

    /// The affinity call is refused with this error number.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config};
    /// # use corelocal::Topology;
    /// use corelocal::sys::topology::TopologyIssueKind;
    ///
    /// const EPERM: i32 = 1; // of a sandbox
    /// let machine = testing::with(Config::new().affinity_refused(EPERM), || Topology::from_root("/"));
    /// assert_eq!(machine.allowed(), machine.online());
    /// assert!(machine.issues().any(|i| i.kind() == TopologyIssueKind::AffinityRefused { errno: EPERM }));
    /// ```
    pub fn affinity_refused(mut self, errno: i32) -> Self {
        self.seam.affinity = Some(Affinity::Refused { errno });
        self
    }

    /// `what` happens at `point` of the first attempt at each operation; see
    /// [`first_attempts`](Self::first_attempts).
    ///
    /// An operation passes a point at most once an attempt (5 and 6: once a turn of its loop, where
    /// it waits once), and one that is cut off does not get to later points. One `what` a point.
    ///
    /// # Panics
    ///
    /// If there is no such point (0 to 8), or a delay is beyond `i32::MAX` turns.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config, Disturbance};
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// // Cut off after the CPU was read, and once more just before the commit.
    /// let config = Config::new().at(3, Disturbance::Yield).at(7, Disturbance::Yield).first_attempts(2);
    /// testing::with(config, || (0..5).for_each(|_| hits.inc()));
    /// assert_eq!(hits.sum(), 5);
    /// ```
    pub fn at(mut self, point: usize, what: Disturbance) -> Self {
        assert!(point < Points::COUNT, "there are points 0 to 8, not {point}");
        if let Disturbance::Delay(turns) = what {
            assert!(
                turns <= i32::MAX as u32,
                "a delay of {turns} turns; {} are the most",
                i32::MAX
            );
        }
        self.plan.at[point] = Some(what);
        self
    }

    /// As many attempts of each operation are disturbed, the first ones; 1 if this is not said.
    ///
    /// An operation makes up to 64. One that is cut off each time goes to the spill lane, which
    /// is what happens to a program under a debugger's single steps.
    ///
    /// ```
    /// # use corelocal::testing::{self, Config, Disturbance};
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// let hits = PerCpu::<PerCpuCell<u64>>::zeroed();
    /// // Every attempt is cut off, as under a debugger: the addition goes to the spill lane.
    /// let config = Config::new().at(7, Disturbance::Yield).first_attempts(64);
    /// testing::with(config, || hits.add(3));
    /// println!("{} of 3 in the spill lane", hits.spill().load()); // all, where sections are cut off
    /// assert_eq!(hits.sum(), 3);
    /// ```
    pub fn first_attempts(mut self, attempts: u32) -> Self {
        self.plan.attempts = attempts;
        self
    }
}

impl fmt::Debug for Config<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("root", &self.seam.root)
            .field("affinity", &self.seam.affinity)
            .field("at", &self.plan.at)
            .field("first_attempts", &self.plan.attempts)
            .finish_non_exhaustive()
    }
}

/// Runs `body` with what `config` makes up, on this thread only.
///
/// Threads that `body` starts see the real machine. Within another `with`, the
/// inner one replaces the outer one as a whole. When `body` is done or panics, the
/// earlier state is back.
///
/// # Panics
///
/// If operations are to be disturbed, and the system refuses the thread that does it or the
/// handler of its signal.
///
/// ```
/// # use corelocal::testing::{self, Config};
/// # use corelocal::CpuId;
/// let elsewhere = testing::with(Config::new().cpu_id(None), || {
///     assert_eq!(CpuId::current(), None);
///     std::thread::spawn(CpuId::current).join().unwrap()
/// });
/// assert_eq!(elsewhere.is_some(), CpuId::current().is_some()); // the real one, as after `with`
/// ```
pub fn with<R>(config: Config<'_>, body: impl FnOnce() -> R) -> R {
    let Config { seam, plan } = config;
    seam::scope(&seam, || rseq::disturbed(plan, body))
}

/// Fixes the backend of this process.
///
/// ```
/// use corelocal::testing::{self, ForceError};
/// use corelocal::{Backend, backend};
///
/// assert_eq!(testing::force_backend(Backend::Thread), Ok(()));
/// assert_eq!(backend(), Backend::Thread);
/// let late = testing::force_backend(Backend::Getcpu);
/// assert_eq!(late, Err(ForceError::Fixed { backend: Backend::Thread }));
/// ```
///
/// # Errors
///
/// [`ForceError::Fixed`] after the first object, after the first question which backend it is, and
/// after an earlier call; [`ForceError::Unavailable`] if this process cannot have it. Nothing is
/// changed then.
pub fn force_backend(backend: Backend) -> Result<(), ForceError> {
    force::force(backend)
}

/// The backend that `CORELOCAL_TEST_BACKEND` asked for, which this process has; `Ok(None)` if the
/// variable is not there.
///
/// Fixes the backend, as [`backend`](crate::backend) does.
///
/// # Errors
///
/// This process has the backend that it would have without the variable, and the error says why.
///
/// ```
/// use corelocal::testing;
///
/// // At the head of a test that is started once for each backend.
/// match testing::asked_backend() {
///     Ok(Some(backend)) => println!("on {backend}"),
///     Ok(None) => println!("on {}, which is the best here", corelocal::backend()),
///     Err(error) => panic!("this machine cannot test that: {error}"),
/// }
/// ```
pub fn asked_backend() -> Result<Option<Backend>, ForceError> {
    force::of_environment()
}

#[cfg(test)]
mod tests;
