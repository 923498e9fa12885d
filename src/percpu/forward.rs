//! The operations of `ops` on what leads to a [`PerCpuRef`](super::PerCpuRef).

use super::PerCpu;
use super::cell::{Number, PerCpuCell, Word};
#[cfg(not(corelocal_loom))]
use super::statics::PerCpuStatic;
use crate::cpu::{CpuId, Lane};
use crate::error::Moved;

/// Gives a type that leads to a `PerCpuRef` the operations on cells. Examples
/// call theirs `$it`, and make it in a hidden line.
macro_rules! forward {
    ([$($generics:tt)*] $name:ident<$cell:ty>, $it:literal) => {
        /// Updates of this CPU's copy. See the operation of the same name of [`PerCpuRef`].
        ///
        /// [`PerCpuRef`]: super::PerCpuRef
        impl<$($generics)* W: Word> $name<$cell> {
            /// Puts `new` into this CPU's copy; see [`PerCpuRef::swap`](super::PerCpuRef::swap).
            ///
            /// ```
            #[doc = example!($name)]
            #[doc = concat!("let (lane, _) = ", $it, ".swap(7);")]
            #[doc = concat!("assert_eq!(", $it, ".lane(lane).unwrap().load(), 7);")]
            /// ```
            #[inline]
            pub fn swap(&self, new: W) -> (Lane, W) {
                self.as_ref().swap(new)
            }

            /// Puts `new` into this CPU's copy if it holds `current`; see
            /// [`PerCpuRef::compare_exchange`](super::PerCpuRef::compare_exchange).
            ///
            /// ```
            #[doc = example!($name)]
            /// // A lane is claimed by whoever comes first.
            #[doc = concat!("let (lane, claimed) = ", $it, ".compare_exchange(0, 1);")]
            /// assert_eq!(claimed, Ok(0));
            #[doc = concat!("assert_eq!(", $it, ".lane(lane).unwrap().load(), 1);")]
            /// ```
            #[inline]
            pub fn compare_exchange(&self, current: W, new: W) -> (Lane, Result<W, W>) {
                self.as_ref().compare_exchange(current, new)
            }
        }

        /// Arithmetic on this CPU's copy. See the operation of the same name of [`PerCpuRef`].
        ///
        /// [`PerCpuRef`]: super::PerCpuRef
        impl<$($generics)* W: Number> $name<$cell> {
            /// Adds `value`, wrapping; see [`PerCpuRef::add`](super::PerCpuRef::add).
            ///
            /// ```
            #[doc = example!($name)]
            /// std::thread::scope(|scope| {
            ///     for _ in 0..4 {
            #[doc = concat!("        scope.spawn(|| (0..100).for_each(|_| ", $it, ".add(2)));")]
            ///     }
            /// });
            #[doc = concat!("assert_eq!(", $it, ".sum(), 800);")]
            /// ```
            #[inline]
            pub fn add(&self, value: W) {
                self.as_ref().add(value);
            }

            /// Subtracts `value`, wrapping; see [`PerCpuRef::sub`](super::PerCpuRef::sub).
            ///
            /// ```
            #[doc = example!($name)]
            #[doc = concat!($it, ".add(10);")]
            #[doc = concat!("std::thread::scope(|scope| { scope.spawn(|| ", $it, ".sub(3)); });")]
            #[doc = concat!("assert_eq!(", $it, ".sum(), 7); // whichever CPU it was")]
            /// ```
            #[inline]
            pub fn sub(&self, value: W) {
                self.as_ref().sub(value);
            }

            /// Adds one, wrapping; see [`PerCpuRef::inc`](super::PerCpuRef::inc).
            ///
            /// ```
            #[doc = example!($name)]
            /// for line in "GET /\nHost: x\n".lines() {
            ///     if line.contains(':') {
            #[doc = concat!("        ", $it, ".inc();")]
            ///     }
            /// }
            #[doc = concat!("assert_eq!(", $it, ".sum(), 1);")]
            /// ```
            #[inline]
            pub fn inc(&self) {
                self.as_ref().inc();
            }

            /// Subtracts one, wrapping; see [`PerCpuRef::dec`](super::PerCpuRef::dec).
            ///
            /// ```
            #[doc = example!($name)]
            #[doc = concat!($it, ".inc(); // a request comes,")]
            #[doc = concat!($it, ".dec(); // and is answered")]
            #[doc = concat!("assert_eq!(", $it, ".sum(), 0);")]
            /// ```
            #[inline]
            pub fn dec(&self) {
                self.as_ref().dec();
            }

            /// Adds `value`, wrapping, and tells the lane and what was there; see
            /// [`PerCpuRef::fetch_add`](super::PerCpuRef::fetch_add).
            ///
            /// ```
            #[doc = example!($name)]
            /// // Numbers that no two callers get: a lane's own, and the lane.
            #[doc = concat!("let (lane, number) = ", $it, ".fetch_add(1);")]
            #[doc = concat!("let id = number * ", $it, ".lanes() as u64 + lane.index() as u64;")]
            /// assert_eq!((number, id), (0, lane.index() as u64));
            /// ```
            #[inline]
            pub fn fetch_add(&self, value: W) -> (Lane, W) {
                self.as_ref().fetch_add(value)
            }

            /// Adds `value` to the copy of `cpu`, if this thread runs there; see
            /// [`PerCpuRef::add_on`](super::PerCpuRef::add_on).
            ///
            /// # Errors
            ///
            /// [`Moved`], with nothing changed.
            ///
            /// ```
            #[doc = example!($name)]
            /// use corelocal::{CpuId, Moved};
            ///
            /// let elsewhere = CpuId::new(u32::MAX); // no thread runs there
            #[doc = concat!("assert_eq!(", $it, ".add_on(elsewhere, 1), Err(Moved));")]
            #[doc = concat!("assert_eq!(", $it, ".sum(), 0);")]
            /// ```
            #[inline]
            pub fn add_on(&self, cpu: CpuId, value: W) -> Result<(), Moved> {
                self.as_ref().add_on(cpu, value)
            }

            /// The wrapping sum over all lanes, a relaxed load each; see
            /// [`PerCpuRef::sum`](super::PerCpuRef::sum).
            ///
            /// ```
            #[doc = example!($name)]
            #[doc = concat!($it, ".add(5);")]
            #[doc = concat!("let before = ", $it, ".sum();")]
            #[doc = concat!($it, ".add(2);")]
            #[doc = concat!("assert_eq!((before, ", $it, ".sum()), (5, 7)); // one's own are always in it")]
            /// ```
            #[inline]
            pub fn sum(&self) -> W {
                self.as_ref().sum()
            }
        }
    };
}

/// What the examples begin with.
macro_rules! example {
    (PerCpu) => {
        "# let hits = corelocal::PerCpu::<corelocal::PerCpuCell<u64>>::zeroed();"
    };
    (PerCpuStatic) => {
        "# corelocal::per_cpu! { static HITS: corelocal::PerCpuCell<u64>; }"
    };
}

forward!([] PerCpu<PerCpuCell<W>>, "hits");
#[cfg(not(corelocal_loom))]
forward!([] PerCpuStatic<PerCpuCell<W>>, "HITS");
