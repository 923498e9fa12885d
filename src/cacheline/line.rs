//! [`CacheLine`]: a value with cache lines of its own.

use core::fmt;
use core::ops::{Deref, DerefMut};

use super::CACHE_LINE;

/// A number of lines that a [`CacheLine`] can be aligned to: `Lines<1>`, `2`, `4` and `8` are
/// [`LineCount`]s.
///
/// ```
/// # use corelocal::CACHE_LINE;
/// use corelocal::cacheline::{CacheLine, LineCount, Lines};
///
/// /// A counter in as many lines as its user wants.
/// struct Counter<const N: usize>(CacheLine<u64, N>) where Lines<N>: LineCount;
/// assert_eq!(size_of::<Counter<2>>(), 2 * CACHE_LINE); // `Counter<3>` does not compile
/// # let _ = |counter: Counter<1>| counter.0;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Lines<const N: usize>;

/// The [`Lines`] there are: powers of two, since alignments are. Sealed.
///
/// ```
/// # use corelocal::CACHE_LINE;
/// use corelocal::cacheline::{CacheLine, LineCount, Lines};
///
/// /// The bound that code over any number of lines needs.
/// fn bytes<const N: usize>() -> usize where Lines<N>: LineCount {
///     size_of::<CacheLine<u8, N>>()
/// }
/// assert_eq!([bytes::<1>(), bytes::<4>()], [CACHE_LINE, 4 * CACHE_LINE]);
/// ```
pub trait LineCount: sealed::Aligned {}

pub(super) mod sealed {
    /// Says which zero-sized type has the alignment. Stable Rust cannot write `align(N * 64)`, but
    /// it can choose a type by a constant.
    pub trait Aligned {
        type Aligner: Copy;
    }

    /// Chooses the aligner of so many bytes.
    #[allow(unnameable_types, reason = "a step on the way from a number to a type")]
    #[derive(Debug)]
    pub struct Bytes<const BYTES: usize>;

    macro_rules! aligners {
        ($($name:ident $bytes:literal)+) => { $(
            #[allow(unnameable_types, reason = "seen through `size_of` only")]
            #[derive(Clone, Copy, Debug)]
            #[repr(align($bytes))]
            pub struct $name;
            impl Aligned for Bytes<$bytes> {
                type Aligner = $name;
            }
        )+ };
    }
    aligners! {
        Align1 1 Align16 16 Align32 32 Align64 64 Align128 128 Align256 256
        Align512 512 Align1024 1024 Align2048 2048 Align4096 4096
    }
}

macro_rules! line_counts {
    ($($lines:literal)+) => { $(
        impl sealed::Aligned for Lines<$lines> {
            type Aligner = <sealed::Bytes<{ $lines * CACHE_LINE }> as sealed::Aligned>::Aligner;
        }
        impl LineCount for Lines<$lines> {}
    )+ };
}
line_counts! { 1 2 4 8 }

/// A `T` aligned to exactly `N` cache lines ([`CACHE_LINE`] bytes each) and padded to a multiple
/// of them, so that it shares no line with its neighbours.
///
/// `N` is 1, 2, 4 or 8. Two lines keep x86-64's pair prefetcher out, which is what
/// `crossbeam_utils::CachePadded` does there; with the feature `crossbeam-utils` the types convert
/// into each other.
///
/// Within a [`PerCpu`](../percpu/struct.PerCpu.html) there is no need for it: copies of different
/// CPUs never share a line.
///
/// # Layout
///
/// `align_of` is the larger of `N * CACHE_LINE` and `align_of::<T>()`, `size_of` is `size_of::<T>()`
/// rounded up to that, and the value is at offset 0.
///
/// ```
/// use corelocal::cacheline::{CACHE_LINE, CacheLine};
///
/// let mut heads: [CacheLine<u32>; 2] = [CacheLine::new(1), CacheLine::new(2)];
/// *heads[1] += 1;
/// assert_eq!((*heads[0], *heads[1]), (1, 3));
/// assert_eq!(size_of_val(&heads), 2 * CACHE_LINE);
/// assert_eq!(align_of::<CacheLine<u8, 4>>(), 4 * CACHE_LINE);
/// ```
#[repr(C)]
pub struct CacheLine<T, const N: usize = 1>
where
    Lines<N>: LineCount,
{
    /// No bytes, only an alignment; first, so that the value is at offset 0 too.
    aligner: [<Lines<N> as sealed::Aligned>::Aligner; 0],
    value: T,
}

impl<T, const N: usize> CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    /// Gives `value` lines of its own.
    ///
    /// ```
    /// # use corelocal::CacheLine;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// static IN: CacheLine<AtomicU64> = CacheLine::new(AtomicU64::new(0));
    /// static OUT: CacheLine<AtomicU64> = CacheLine::new(AtomicU64::new(0)); // not on IN's line
    /// IN.fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(OUT.load(Ordering::Relaxed), 0);
    /// ```
    #[inline]
    pub const fn new(value: T) -> Self {
        Self { aligner: [], value }
    }

    /// Takes the value out.
    ///
    /// ```
    /// # use corelocal::CacheLine;
    /// let queues = [CacheLine::<_>::new(vec![1]), CacheLine::new(vec![2, 3])];
    /// let all: Vec<i32> = queues.into_iter().flat_map(CacheLine::into_inner).collect();
    /// assert_eq!(all, [1, 2, 3]);
    /// ```
    #[inline]
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T, const N: usize> Deref for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, const N: usize> DerefMut for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T, const N: usize> From<T> for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    #[inline]
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

impl<T: Default, const N: usize> Default for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    #[inline]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: Clone, const N: usize> Clone for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    #[inline]
    fn clone(&self) -> Self {
        Self::new(self.value.clone())
    }
}

impl<T: Copy, const N: usize> Copy for CacheLine<T, N> where Lines<N>: LineCount {}

impl<T: PartialEq, const N: usize> PartialEq for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq, const N: usize> Eq for CacheLine<T, N> where Lines<N>: LineCount {}

/// The value, as it prints itself.
impl<T: fmt::Debug, const N: usize> fmt::Debug for CacheLine<T, N>
where
    Lines<N>: LineCount,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CacheLine").field(&self.value).finish()
    }
}

#[cfg(feature = "crossbeam-utils")]
mod padded {
    use crossbeam_utils::CachePadded;

    use super::{CacheLine, LineCount, Lines};

    impl<T, const N: usize> From<CachePadded<T>> for CacheLine<T, N>
    where
        Lines<N>: LineCount,
    {
        #[inline]
        fn from(padded: CachePadded<T>) -> Self {
            Self::new(padded.into_inner())
        }
    }

    impl<T, const N: usize> From<CacheLine<T, N>> for CachePadded<T>
    where
        Lines<N>: LineCount,
    {
        #[inline]
        fn from(line: CacheLine<T, N>) -> Self {
            Self::new(line.into_inner())
        }
    }
}
