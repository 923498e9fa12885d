//! How a [`PerCpu`] is made, in the global area. `create` has what it is made by.

#[cfg(not(corelocal_loom))]
use super::Area;
use super::PerCpu;
#[cfg(not(corelocal_loom))]
use crate::cpu::Lane;
#[cfg(not(corelocal_loom))]
use crate::error::{AllocError, InitError};
#[cfg(not(corelocal_loom))]
use bytemuck::Zeroable;
use core::mem::MaybeUninit;

/// Constructors. Those without `try_` panic if the system refuses memory; nothing else is touched.
#[cfg(not(corelocal_loom))]
impl<T> PerCpu<T> {
    /// A value for each lane, the spill lane last. Touches every lane's memory.
    ///
    /// # Panics
    ///
    /// If there is no memory, or if `init` does: then the values made so far are dropped.
    ///
    /// ```
    /// let names = corelocal::PerCpu::new(|lane| lane.index());
    /// assert!(names.iter().all(|(lane, name)| *name == lane.index()));
    /// ```
    #[track_caller]
    pub fn new(init: impl FnMut(Lane) -> T) -> Self {
        Self::try_new(init).unwrap_or_else(refused)
    }

    /// As [`PerCpu::new`].
    ///
    /// # Errors
    ///
    /// [`AllocError`]; `init` was not called.
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpu};
    /// use std::sync::Mutex;
    ///
    /// type Cache = PerCpu<Mutex<Vec<u64>>>;
    /// /// Works without caches where there is no memory for them.
    /// fn caches(wanted: bool) -> Result<Option<Cache>, AllocError> {
    ///     wanted.then(|| PerCpu::try_new(|_| Mutex::new(Vec::with_capacity(64)))).transpose()
    /// }
    /// assert!(caches(true)?.is_some_and(|cache| cache.this().lock().unwrap().capacity() >= 64));
    /// # Ok::<(), AllocError>(())
    /// ```
    pub fn try_new(init: impl FnMut(Lane) -> T) -> Result<Self, AllocError> {
        Area::global().try_alloc(init)
    }

    /// As [`PerCpu::new`], with initialisers that can fail.
    ///
    /// # Errors
    ///
    /// [`InitError::Alloc`] before any initialiser ran; [`InitError::Init`] with the first error,
    /// after the values made before it were dropped.
    ///
    /// ```
    /// use corelocal::{InitError, PerCpu};
    /// let made = PerCpu::try_new_with(|lane| u8::try_from(lane.index() + 255));
    /// assert!(matches!(made, Err(InitError::Init { lane, .. }) if lane.index() == 1));
    /// ```
    pub fn try_new_with<E>(init: impl FnMut(Lane) -> Result<T, E>) -> Result<Self, InitError<E>> {
        Area::global().try_alloc_with(init)
    }

    /// As [`PerCpu::try_new_with`], in place, for values that must not pass the stack.
    ///
    /// `init` returns the place as initialised, which proves that it is.
    ///
    /// # Errors
    ///
    /// As [`PerCpu::try_new_with`].
    ///
    /// # Panics
    ///
    /// If `init` returns another place than it was given.
    ///
    /// ```
    /// use corelocal::{InitError, PerCpu};
    /// let made = PerCpu::try_init_with(|lane, place| Ok::<_, ()>(place.write(lane.index())));
    /// assert_eq!(*made?.spill(), corelocal::Area::global().lanes() - 1);
    /// # Ok::<(), InitError<()>>(())
    /// ```
    pub fn try_init_with<E>(
        init: impl for<'a> FnMut(Lane, &'a mut MaybeUninit<T>) -> Result<&'a mut T, E>,
    ) -> Result<Self, InitError<E>> {
        Area::global().try_alloc_in_place(init)
    }

    /// Zeros in every lane. Memory that was never used is not touched.
    ///
    /// # Panics
    ///
    /// If there is no memory.
    ///
    /// ```
    /// # use corelocal::{PerCpu, PerCpuCell};
    /// // A counter for each of many things: 8 bytes a CPU, and none before it is used.
    /// let hits: Vec<PerCpu<PerCpuCell<u64>>> = (0..1000).map(|_| PerCpu::zeroed()).collect();
    /// hits[500].inc();
    /// assert_eq!((hits[500].sum(), hits[501].sum()), (1, 0));
    /// ```
    #[track_caller]
    pub fn zeroed() -> Self
    where
        T: Zeroable,
    {
        Self::try_zeroed().unwrap_or_else(refused)
    }

    /// As [`PerCpu::zeroed`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpu};
    /// const HUGE: usize = 1 << 45;
    /// match PerCpu::<[u8; HUGE]>::try_zeroed() { // 32 TiB a CPU
    ///     Err(error @ (AllocError::OutOfMemory { .. } | AllocError::CapacityOverflow { .. })) => {
    ///         eprintln!("{error}"); // says what to do about it
    ///     }
    ///     Ok(_) => println!("what a machine"),
    ///     Err(other) => panic!("{other}"),
    /// }
    /// ```
    pub fn try_zeroed() -> Result<Self, AllocError>
    where
        T: Zeroable,
    {
        Area::global().try_alloc_zeroed()
    }

    /// Places whose values are not made yet; see [`PerCpu::assume_init`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    ///
    /// ```
    /// use corelocal::PerCpu;
    /// let mut squares = PerCpu::<usize>::new_uninit();
    /// for (lane, place) in &mut squares {
    ///     place.write(lane.index() * lane.index());
    /// }
    /// // SAFETY: the loop went through every lane.
    /// let squares = unsafe { squares.assume_init() };
    /// assert_eq!(*squares.iter().last().unwrap().1, (squares.lanes() - 1).pow(2));
    /// ```
    #[track_caller]
    pub fn new_uninit() -> PerCpu<MaybeUninit<T>> {
        Self::try_new_uninit().unwrap_or_else(refused)
    }

    /// As [`PerCpu::new_uninit`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{AllocError, PerCpu};
    /// let mut squares = PerCpu::<usize>::try_new_uninit()?;
    /// squares.iter_mut().for_each(|(lane, place)| drop(place.write(lane.index().pow(2))));
    /// // SAFETY: `iter_mut` went through every lane.
    /// let squares = unsafe { squares.assume_init() };
    /// assert_eq!(*squares.spill(), squares.cpus().pow(2));
    /// # Ok::<(), AllocError>(())
    /// ```
    pub fn try_new_uninit() -> Result<PerCpu<MaybeUninit<T>>, AllocError> {
        Area::global().try_alloc_uninit()
    }
}

#[cfg(not(corelocal_loom))]
#[cold]
#[track_caller]
fn refused<T>(error: AllocError) -> T {
    panic!("no memory for a per-CPU object: {error}")
}

impl<T> PerCpu<MaybeUninit<T>> {
    /// The object, with its values made.
    ///
    /// # Safety
    ///
    /// The value in every lane is initialised, also the spill lane's.
    ///
    /// ```
    /// # use corelocal::{CpuId, PerCpu};
    /// let mut names = PerCpu::<String>::new_uninit();
    /// for (lane, place) in &mut names {
    ///     place.write(format!("worker {}", lane.index()));
    /// }
    /// // SAFETY: the loop wrote every lane's value. (A lane left out would leak nothing before this call,
    /// // and read garbage after it.)
    /// let names = unsafe { names.assume_init() };
    /// assert_eq!(names[CpuId::new(0)], "worker 0");
    /// ```
    #[inline]
    pub unsafe fn assume_init(self) -> PerCpu<T> {
        let lane0 = core::mem::ManuallyDrop::new(self).lane0;
        // SAFETY: passed on to the caller; `MaybeUninit<T>` has the size and alignment of `T`.
        unsafe { PerCpu::from_lane0(lane0.cast()) }
    }
}
