//! [`PerCpuStatic`]: a per-CPU object in a static, made by [`per_cpu!`](crate::per_cpu!).

use super::PerCpu;
use super::handle::PerCpuRef;
use super::iter::{Iter, IterCpus};
use crate::cpu::{CpuId, Lane};
use crate::error::AllocError;
use crate::field::Field;
use crate::once::OncePtr;
use core::fmt;

/// Defines per-CPU statics.
///
/// `static NAME: T;` begins as zeros (`T: bytemuck::Zeroable`), `static NAME: T = |lane| value;`
/// with a value for each lane. The memory is taken at the first use, from any thread and from the
/// first instruction of `main` on; two threads that come first race without a lock, and one value
/// of each lane survives. It is never dropped.
///
/// ```
/// use corelocal::{per_cpu, PerCpuCell};
/// per_cpu! {
///     /// Requests served.
///     pub static HITS: PerCpuCell<u64>;
///     static LIMITS: usize = |lane| 100 + lane.index();
/// }
/// HITS.add(1);
/// assert_eq!(HITS.sum(), 1);
/// assert!(LIMITS.iter().all(|(lane, limit)| *limit == 100 + lane.index()));
/// for (lane, hits) in &HITS {
///     println!("{:?}: {}", lane.cpu(), hits.load());
/// }
/// ```
#[macro_export]
macro_rules! per_cpu {
    () => {};
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty; $($rest:tt)*) => {
        $(#[$meta])*
        $vis static $name: $crate::percpu::PerCpuStatic<$type> =
            $crate::percpu::PerCpuStatic::new($crate::percpu::PerCpu::try_zeroed);
        $crate::per_cpu! { $($rest)* }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $(#[$meta])*
        $vis static $name: $crate::percpu::PerCpuStatic<$type> =
            $crate::percpu::PerCpuStatic::new(|| $crate::percpu::PerCpu::try_new($init));
        $crate::per_cpu! { $($rest)* }
    };
}

/// A per-CPU object that is made at its first use and lives for ever; see
/// [`per_cpu!`](crate::per_cpu!).
///
/// A use costs one load and one predictable branch more than a handle in a register. After the
/// first use it is as safe in signal handlers as the operation itself.
///
/// # Panics
///
/// Every use panics where the object is not there yet and the system refuses memory for it:
/// [`PerCpuStatic::try_as_ref`] in time avoids that.
///
/// # In a global allocator
///
/// The first use may be the heap's own first request: where the heap is asked for something on the
/// way (the machine's nodes, say) and that leads back here, the answer is found without it. But a
/// global allocator must not panic, so it goes through [`PerCpuStatic::try_as_ref`]; and its
/// initialisers must not ask the heap, or they come back to themselves.
///
/// ```
/// use corelocal::{AllocError, PerCpuCell, PerCpuStatic, per_cpu};
///
/// per_cpu! { pub static ALLOCATED: PerCpuCell<i64>; } // a `PerCpuStatic`
///
/// /// Before the first request, so that none of them can find that there is no memory.
/// fn start(statics: &[&PerCpuStatic<PerCpuCell<i64>>]) -> Result<(), AllocError> {
///     statics.iter().try_for_each(|one| one.try_as_ref().map(drop))
/// }
/// start(&[&ALLOCATED])?;
/// ALLOCATED.add(64);
/// assert_eq!(ALLOCATED.sum(), 64);
/// # Ok::<(), AllocError>(())
/// ```
pub struct PerCpuStatic<T: 'static> {
    /// Lane 0's copy; null before the first use.
    lane0: OncePtr<T>,
    make: fn() -> Result<PerCpu<T>, AllocError>,
}

impl<T: Send + Sync + 'static> PerCpuStatic<T> {
    /// A static whose object `make` makes at the first use.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpu, PerCpuCell, PerCpuStatic};
    /// // What `per_cpu!` writes; by hand where the object is to be made in another way.
    /// static HITS: PerCpuStatic<PerCpuCell<u64>> =
    ///     PerCpuStatic::new(|| Area::global().try_alloc(|_| PerCpuCell::new(1)));
    /// assert_eq!(HITS.sum(), HITS.lanes() as u64);
    /// ```
    pub const fn new(make: fn() -> Result<PerCpu<T>, AllocError>) -> Self {
        Self { lane0: OncePtr::new(), make }
    }
}

impl<T: 'static> PerCpuStatic<T> {
    /// A handle to the object, which is made now if this is the first use.
    ///
    /// # Panics
    ///
    /// If the system refuses memory for it.
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static BYTES: PerCpuCell<u64>; }
    /// let bytes = BYTES.as_ref(); // looked up once, before a hot loop
    /// for chunk in [0_u8; 4096].chunks(512) {
    ///     bytes.add(chunk.len() as u64);
    /// }
    /// assert_eq!(BYTES.sum(), 4096);
    /// ```
    #[inline]
    #[track_caller]
    #[allow(clippy::should_implement_trait, reason = "a handle is not a reference")]
    pub fn as_ref(&self) -> PerCpuRef<'static, T> {
        match self.lane0.get() {
            // SAFETY: leaked by `make_slow`: initialised in every lane, and shared for ever.
            Some(lane0) => unsafe { PerCpuRef::from_lane0(lane0) },
            None => match self.make_slow() {
                Ok(handle) => handle,
                Err(error) => panic!("no memory for a per-CPU static: {error}"),
            },
        }
    }

    /// As [`PerCpuStatic::as_ref`], for those who want to know before they count on it.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if the system refuses memory; the next use tries again.
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static ALLOCATED: PerCpuCell<u64>; }
    /// /// In a global allocator, which must not panic: an uncounted byte is better.
    /// fn count(bytes: usize) {
    ///     if let Ok(allocated) = ALLOCATED.try_as_ref() {
    ///         allocated.add(bytes as u64);
    ///     }
    /// }
    /// count(64);
    /// assert_eq!(ALLOCATED.sum(), 64);
    /// ```
    pub fn try_as_ref(&self) -> Result<PerCpuRef<'static, T>, AllocError> {
        self.make_slow()
    }

    #[cold]
    #[inline(never)]
    fn make_slow(&self) -> Result<PerCpuRef<'static, T>, AllocError> {
        let lane0 = match self.lane0.get() {
            Some(lane0) => lane0,
            None => {
                let made = (self.make)()?;
                match self.lane0.publish(made.lane0()) {
                    Ok(()) => return Ok(PerCpu::leak(made)),
                    Err(first) => first,
                }
            }
        };
        // SAFETY: leaked by whoever was first: initialised in every lane, and shared for ever.
        Ok(unsafe { PerCpuRef::from_lane0(lane0) })
    }

    /// CPU lanes of the object; see [`PerCpuRef::cpus`].
    ///
    /// ```
    /// # use corelocal::per_cpu;
    /// per_cpu! { static IDS: usize = |lane| lane.index(); }
    /// assert_eq!(*IDS.spill(), IDS.cpus());
    /// ```
    #[inline]
    pub fn cpus(&self) -> usize {
        self.as_ref().cpus()
    }

    /// Lanes of the object, the spill lane included; see [`PerCpuRef::lanes`].
    ///
    /// ```
    /// # use corelocal::per_cpu;
    /// per_cpu! { static IDS: usize = |lane| lane.index(); }
    /// assert_eq!(IDS.iter().len(), IDS.lanes());
    /// ```
    #[inline]
    pub fn lanes(&self) -> usize {
        self.as_ref().lanes()
    }

    /// The copy of `cpu`; see [`PerCpuRef::get`].
    ///
    /// ```
    /// # use corelocal::{CpuId, per_cpu};
    /// per_cpu! { static NAMES: String = |lane| format!("cpu{}", lane.index()); }
    /// let name: Option<&'static str> = NAMES.get(CpuId::new(0)).map(String::as_str);
    /// assert_eq!(name, Some("cpu0"));
    /// ```
    #[inline]
    pub fn get(&self, cpu: CpuId) -> Option<&'static T> {
        self.as_ref().get(cpu)
    }

    /// The copy in `lane`; see [`PerCpuRef::lane`].
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static HITS: PerCpuCell<u64>; }
    /// let (lane, _) = HITS.fetch_add(2);
    /// assert_eq!(HITS.lane(lane).unwrap().load(), 2);
    /// ```
    #[inline]
    pub fn lane(&self, lane: Lane) -> Option<&'static T> {
        self.as_ref().lane(lane)
    }

    /// The copy in the spill lane.
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static HITS: PerCpuCell<u64>; }
    /// HITS.add(3);
    /// let on_cpus: u64 = HITS.iter_cpus().map(|(_, cell)| cell.load()).sum();
    /// assert_eq!(HITS.spill().load(), HITS.sum() - on_cpus);
    /// ```
    #[inline]
    pub fn spill(&self) -> &'static T {
        self.as_ref().spill()
    }

    /// The copy of a CPU that this thread was on a moment ago; see [`PerCpuRef::this`].
    ///
    /// ```
    /// # use corelocal::per_cpu;
    /// use std::sync::Mutex;
    /// per_cpu! { static SCRATCH: Mutex<Vec<u8>> = |_| Mutex::new(Vec::with_capacity(4096)); }
    ///
    /// let mut buffer = SCRATCH.this().lock().unwrap(); // of `'static`: the guard can be kept
    /// buffer.extend_from_slice(b"record");
    /// assert_eq!(*buffer, b"record");
    /// ```
    #[inline]
    pub fn this(&self) -> &'static T {
        self.as_ref().this()
    }

    /// [`PerCpuStatic::this`], and which lane it is.
    ///
    /// ```
    /// # use corelocal::per_cpu;
    /// per_cpu! { static IDS: usize = |lane| lane.index(); }
    /// let (lane, id) = IDS.here();
    /// assert_eq!(lane.index(), *id);
    /// ```
    #[inline]
    pub fn here(&self) -> (Lane, &'static T) {
        self.as_ref().here()
    }

    /// The part that `field` names, in every lane; see [`PerCpuRef::at`].
    ///
    /// ```
    /// # use corelocal::{counters, field, per_cpu};
    /// counters! { pub struct Disk { reads: u64, seeks: u64 } }
    /// per_cpu! { static DISK: Disk; }
    /// DISK.at(Disk::READS).inc();
    /// DISK.at(field!(Disk, seeks)).add(2); // where the word has no constant
    /// assert_eq!((DISK.snapshot().reads, DISK.snapshot().seeks), (1, 2));
    /// ```
    #[inline]
    pub fn at<F>(&self, field: Field<T, F>) -> PerCpuRef<'static, F, T> {
        self.as_ref().at(field)
    }

    /// Every lane and its copy, the spill lane last.
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static HITS: PerCpuCell<u64>; }
    /// HITS.inc();
    /// let report: String =
    ///     HITS.iter().map(|(lane, cell)| format!("{}={} ", lane.index(), cell.load())).collect();
    /// assert!(report.contains("=1 "), "{report}");
    /// ```
    #[inline]
    pub fn iter(&self) -> Iter<'static, T> {
        self.as_ref().iter()
    }

    /// Every CPU and its copy, without the spill lane.
    ///
    /// ```
    /// # use corelocal::per_cpu;
    /// per_cpu! { static NAMES: String = |lane| format!("cpu{}", lane.index()); }
    /// assert!(NAMES.iter_cpus().all(|(cpu, name)| *name == format!("cpu{cpu}")));
    /// ```
    #[inline]
    pub fn iter_cpus(&self) -> IterCpus<'static, T> {
        self.as_ref().iter_cpus()
    }
}

impl<T: 'static, const N: usize> PerCpuStatic<[T; N]> {
    /// Element `i` in every lane; see [`PerCpuRef::index`].
    ///
    /// ```
    /// # use corelocal::{PerCpuCell, per_cpu};
    /// per_cpu! { static BY_LEVEL: [PerCpuCell<u64>; 5]; }
    /// enum Level { Error = 0, Trace = 4 }
    /// BY_LEVEL.index(Level::Error as usize).unwrap().add(2);
    /// assert_eq!(BY_LEVEL.index(0).unwrap().sum(), 2);
    /// assert_eq!(BY_LEVEL.index(Level::Trace as usize).unwrap().sum(), 0);
    /// ```
    #[inline]
    pub fn index(&self, i: usize) -> Option<PerCpuRef<'static, T, [T; N]>> {
        self.as_ref().index(i)
    }
}

impl<T: 'static> IntoIterator for &PerCpuStatic<T> {
    type Item = (Lane, &'static T);
    type IntoIter = Iter<'static, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: 'static> fmt::Debug for PerCpuStatic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.lane0.get().is_some();
        f.debug_struct("PerCpuStatic").field("made", &made).finish_non_exhaustive()
    }
}
