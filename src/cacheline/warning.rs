//! What to say where the machine's lines are larger than this build assumes.

use core::fmt;

use super::CACHE_LINE;

/// The machine's cache lines are larger than this build assumes: what should lie apart may not, and
/// a promise of lines may be broken. It costs speed, never safety.
///
/// ```
/// use corelocal::cacheline::{CACHE_LINE, LineWarning};
///
/// assert_eq!(LineWarning::for_line(CACHE_LINE), None);
/// let warning = LineWarning::for_line(2 * CACHE_LINE).unwrap();
/// assert_eq!((warning.assumed(), warning.actual()), (CACHE_LINE, 2 * CACHE_LINE));
/// ```
///
/// The machine's answer comes from [`Topology`](../sys/topology/struct.Topology.html):
///
/// ```
/// # #[cfg(feature = "std")] {
/// use corelocal::Topology;
/// use corelocal::cacheline::LineWarning;
///
/// let line = Topology::current().cache_line();
/// if let Some(warning) = line.and_then(LineWarning::for_line) {
///     eprintln!("warning: {warning}");
/// }
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a warning is to be shown"]
pub struct LineWarning {
    actual: usize,
}

impl LineWarning {
    /// A warning if lines of `actual` bytes are larger than [`CACHE_LINE`].
    ///
    /// ```
    /// use corelocal::cacheline::{CACHE_LINE, LineWarning};
    ///
    /// // Smaller lines break no promise.
    /// assert_eq!(LineWarning::for_line(CACHE_LINE / 2), None);
    /// let warning = LineWarning::for_line(4 * CACHE_LINE).expect("lines are larger");
    /// assert!(warning.to_string().contains(&CACHE_LINE.to_string()));
    /// ```
    pub const fn for_line(actual: usize) -> Option<Self> {
        if actual > CACHE_LINE { Some(Self { actual }) } else { None }
    }

    /// The line's size in bytes that this build assumes.
    ///
    /// ```
    /// use corelocal::cacheline::{CACHE_LINE, LineWarning};
    /// assert_eq!(LineWarning::for_line(1024).map(LineWarning::assumed), Some(CACHE_LINE));
    /// ```
    pub const fn assumed(self) -> usize {
        CACHE_LINE
    }

    /// The line's size in bytes on this machine.
    ///
    /// ```
    /// use corelocal::cacheline::LineWarning;
    ///
    /// // How many lines of the build share one of the machine.
    /// let warning = LineWarning::for_line(1024).unwrap();
    /// assert!(warning.actual() / warning.assumed() >= 2);
    /// ```
    pub const fn actual(self) -> usize {
        self.actual
    }
}

impl fmt::Display for LineWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { actual } = self;
        write!(
            f,
            "this machine's cache lines have {actual} bytes, and this build assumes {CACHE_LINE}: \
             build with CORELOCAL_CACHE_LINE={actual}",
        )
    }
}
