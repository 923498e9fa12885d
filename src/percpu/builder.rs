//! [`AreaBuilder`]: an area with its own settings.

use super::area::{Area, Config};
use crate::error::AreaError;

/// Settings of an [`Area`].
///
/// ```
/// use corelocal::Area;
/// let big = Area::builder().cpus(64).build()?; // a big machine's memory layout
/// assert_eq!(big.lanes(), 65);
/// # Ok::<(), corelocal::error::AreaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct AreaBuilder {
    config: Config,
}

impl AreaBuilder {
    pub(super) fn new() -> Self {
        Self { config: Config::DEFAULT }
    }

    /// CPU lanes of each object; this machine's number by default.
    ///
    /// More lanes than the machine has CPUs give a bigger machine's memory layout. Fewer are an
    /// error of [`AreaBuilder::build`]: a thread on a CPU without a lane would have nowhere to go.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuCell};
    /// // What would a sum cost on 64 CPUs? The walk is the same, whoever runs it.
    /// let big = Area::builder().cpus(64).build()?;
    /// let hits = big.try_alloc_zeroed::<PerCpuCell<u64>>()?;
    /// hits.add(3);
    /// assert_eq!((hits.cpus(), hits.sum()), (64, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cpus(mut self, cpus: u32) -> Self {
        self.config.cpus = cpus;
        self
    }

    /// Whether the system is asked for huge pages; no by default.
    ///
    /// A huge page makes a walk over many objects cheaper, and commits 2 MiB for each lane that
    /// is touched at all.
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuCell};
    /// // For thousands of objects that are walked through again and again.
    /// let tree = Area::builder().huge_pages(true).build()?;
    /// let nodes = (0..1000)
    ///     .map(|_| tree.try_alloc_zeroed::<PerCpuCell<u64>>())
    ///     .collect::<Result<Vec<_>, _>>()?;
    /// nodes.iter().for_each(|node| node.inc());
    /// assert_eq!(nodes.iter().map(|node| node.sum()).sum::<u64>(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn huge_pages(mut self, wanted: bool) -> Self {
        self.config.huge_pages = wanted;
        self
    }

    /// Whether objects of two cache lines or more take an odd number of lines; yes by default.
    ///
    /// Equal steps of an even number of lines use a part of the cache's sets only: 1024-byte
    /// objects at 1024-byte steps use 11 of every 16.
    ///
    /// ```
    /// # use corelocal::{Area, CACHE_LINE, CacheLine};
    /// type Two = [CacheLine<u64>; 2];
    /// let bytes_a_lane = |odd| -> Result<usize, Box<dyn std::error::Error>> {
    ///     let area = Area::builder().odd_lines(odd).build()?;
    ///     let _object = area.try_alloc(|_| Two::default())?;
    ///     Ok(area.stats().live / area.lanes())
    /// };
    /// assert_eq!((bytes_a_lane(false)?, bytes_a_lane(true)?), (2 * CACHE_LINE, 3 * CACHE_LINE));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn odd_lines(mut self, wanted: bool) -> Self {
        self.config.odd_lines = wanted;
        self
    }

    /// Whether a lane that is initialised at once (`try_alloc` and its like) gets its pages from
    /// its CPU's memory node; yes by default.
    ///
    /// Advice, which the system may refuse: nothing else changes then. Lanes of zeros get their
    /// pages when they are first written, on the node of the thread that writes.
    ///
    /// ```
    /// # use corelocal::Area;
    /// // In a program whose memory policy is to stay as it is, also while objects are made.
    /// let area = Area::builder().placement_by_node(false).build()?;
    /// let names = area.try_alloc(|lane| format!("lane {}", lane.index()))?;
    /// assert_eq!(names[corelocal::CpuId::new(0)], "lane 0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn placement_by_node(mut self, wanted: bool) -> Self {
        self.config.by_node = wanted;
        self
    }

    /// The most address space that the area may reserve, in bytes; no limit by default.
    ///
    /// A chunk takes about 68 KiB a lane (516 KiB for objects over 8 KiB or page alignments).
    ///
    /// ```
    /// # use corelocal::{AllocError, Area, PerCpuCell};
    /// let area = Area::builder().capacity(1024).build()?; // less than any chunk
    /// let refused = area.try_alloc_zeroed::<PerCpuCell<u64>>();
    /// assert_eq!(refused.err(), Some(AllocError::AreaFull { capacity: 1024 }));
    /// # Ok::<(), corelocal::AreaError>(())
    /// ```
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.config.capacity = bytes;
        self
    }

    /// The area. It maps nothing before its first object.
    ///
    /// # Errors
    ///
    /// [`AreaError::TooFewCpus`] and [`AreaError::TooManyCpus`].
    ///
    /// ```
    /// # use corelocal::{Area, AreaError};
    /// let machine = Area::global().lanes() - 1;
    /// for cpus in [1, 2, 4] {
    ///     match Area::builder().cpus(cpus).build() {
    ///         Ok(area) => assert_eq!(area.lanes(), cpus as usize + 1),
    ///         Err(AreaError::TooFewCpus { machine: needed, .. }) => assert_eq!(needed as usize, machine),
    ///         Err(other) => return Err(other),
    ///     }
    /// }
    /// # Ok::<(), AreaError>(())
    /// ```
    pub fn build(self) -> Result<Area, AreaError> {
        let (asked, machine) = (self.config.cpus, crate::sys::cpus());
        if asked != 0 && asked < machine {
            return Err(AreaError::TooFewCpus { asked, machine });
        }
        if asked > crate::sys::MAX_CPUS {
            return Err(AreaError::TooManyCpus { asked, most: crate::sys::MAX_CPUS });
        }
        Ok(Area::with_config(self.config))
    }
}
