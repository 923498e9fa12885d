//! Updates of cells, through handles. Written once, for [`PerCpuRef`]; the others forward.
//!
//! Until restartable sections are there, every update is atomic, in whichever lane it lands.

use super::PerCpu;
use super::cell::{Number, PerCpuCell, Word};
use super::handle::PerCpuRef;
#[cfg(not(corelocal_loom))]
use super::statics::PerCpuStatic;
use crate::cpu::{CpuId, Lane};
use crate::error::Moved;

impl<W: Word, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Puts `new` into this CPU's copy. Returns the lane, and what was there.
    #[inline]
    pub fn swap(self, new: W) -> (Lane, W) {
        let (lane, cell) = self.here();
        (lane, cell.swap(new))
    }

    /// Puts `new` into this CPU's copy if it holds `current`. Returns the lane, and what was
    /// there: `Ok` if it was `current`, `Err` if it was not.
    #[inline]
    pub fn compare_exchange(self, current: W, new: W) -> (Lane, Result<W, W>) {
        let (lane, cell) = self.here();
        (lane, cell.compare_exchange(current, new))
    }
}

impl<W: Number, O> PerCpuRef<'_, PerCpuCell<W>, O> {
    /// Adds `value` to this CPU's copy, wrapping.
    ///
    /// Safe in signal handlers and in a forked child; allocates nothing, takes no lock.
    #[inline]
    pub fn add(self, value: W) {
        self.here().1.fetch_add(value);
    }

    /// Subtracts `value` from this CPU's copy, wrapping.
    ///
    /// Increments and decrements of one thing happen on different CPUs: single copies wrap below
    /// zero, and [`PerCpuRef::sum`] is right.
    #[inline]
    pub fn sub(self, value: W) {
        self.add(value.negated());
    }

    /// Adds one to this CPU's copy, wrapping.
    #[inline]
    pub fn inc(self) {
        self.add(W::ONE);
    }

    /// Subtracts one from this CPU's copy, wrapping.
    #[inline]
    pub fn dec(self) {
        self.sub(W::ONE);
    }

    /// Adds `value` to this CPU's copy, wrapping. Returns the lane, and what was there.
    #[inline]
    pub fn fetch_add(self, value: W) -> (Lane, W) {
        let (lane, cell) = self.here();
        (lane, cell.fetch_add(value))
    }

    /// Adds `value` to the copy of `cpu`, if this thread runs there.
    ///
    /// # Errors
    ///
    /// [`Moved`], with nothing changed: the thread runs on another CPU, or its CPU is not known.
    #[inline]
    pub fn add_on(self, cpu: CpuId, value: W) -> Result<(), Moved> {
        let (lane, cell) = self.here();
        if crate::sys::cpu_hint() != Some(cpu.get()) || lane.cpu() != Some(cpu) {
            return Err(Moved);
        }
        cell.fetch_add(value);
        Ok(())
    }

    /// The wrapping sum over all lanes, the spill lane included.
    ///
    /// Exact while nobody updates; a thread's own updates are always in it. A live sum is not a
    /// snapshot: it holds each update that was over before it began, none that began after it
    /// ended, and some of those between. Takes a relaxed load a lane.
    #[inline]
    pub fn sum(self) -> W {
        self.iter().fold(W::ZERO, |sum, (_, cell)| sum.plus(cell.load()))
    }
}

/// Gives a type that leads to a `PerCpuRef` the operations on cells.
macro_rules! forward {
    ([$($generics:tt)*] $name:ident<$cell:ty>) => {
        /// Updates of this CPU's copy. See the operation of the same name of [`PerCpuRef`].
        impl<$($generics)* W: Word> $name<$cell> {
            /// See [`PerCpuRef::swap`].
            #[inline]
            pub fn swap(&self, new: W) -> (Lane, W) {
                self.as_ref().swap(new)
            }

            /// See [`PerCpuRef::compare_exchange`].
            #[inline]
            pub fn compare_exchange(&self, current: W, new: W) -> (Lane, Result<W, W>) {
                self.as_ref().compare_exchange(current, new)
            }
        }

        /// Arithmetic on this CPU's copy. See the operation of the same name of [`PerCpuRef`].
        impl<$($generics)* W: Number> $name<$cell> {
            /// See [`PerCpuRef::add`].
            #[inline]
            pub fn add(&self, value: W) {
                self.as_ref().add(value);
            }

            /// See [`PerCpuRef::sub`].
            #[inline]
            pub fn sub(&self, value: W) {
                self.as_ref().sub(value);
            }

            /// See [`PerCpuRef::inc`].
            #[inline]
            pub fn inc(&self) {
                self.as_ref().inc();
            }

            /// See [`PerCpuRef::dec`].
            #[inline]
            pub fn dec(&self) {
                self.as_ref().dec();
            }

            /// See [`PerCpuRef::fetch_add`].
            #[inline]
            pub fn fetch_add(&self, value: W) -> (Lane, W) {
                self.as_ref().fetch_add(value)
            }

            /// See [`PerCpuRef::add_on`].
            ///
            /// # Errors
            ///
            /// [`Moved`].
            #[inline]
            pub fn add_on(&self, cpu: CpuId, value: W) -> Result<(), Moved> {
                self.as_ref().add_on(cpu, value)
            }

            /// See [`PerCpuRef::sum`].
            #[inline]
            pub fn sum(&self) -> W {
                self.as_ref().sum()
            }
        }
    };
}

forward!([] PerCpu<PerCpuCell<W>>);
#[cfg(not(corelocal_loom))]
forward!([] PerCpuStatic<PerCpuCell<W>>);
