//! Making and unmaking objects: one initialiser a lane, one drop a lane, whatever panics.

use super::PerCpu;
use super::area::{Area, Inner};
use super::handle::PerCpuRef;
use crate::cpu::{CpuId, Lane};
use crate::error::{AllocError, InitError};
use crate::sys::placement::Placement;
use bytemuck::Zeroable;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr::{self, NonNull};

/// A block for a `T` in every lane, and how many lanes hold one. Undone when it is dropped.
struct Unfinished<T> {
    lane0: NonNull<T>,
    cpus: usize,
    fresh: bool,
    done: usize,
}

impl<T> Unfinished<T> {
    fn new(area: &Area) -> Result<Self, AllocError> {
        let inner = area.inner();
        let block = inner.alloc(size_of::<T>(), align_of::<T>())?;
        let cpus = inner.cpus() as usize;
        Ok(Self { lane0: block.lane0.cast(), cpus, fresh: block.fresh, done: 0 })
    }

    /// The next lane, and its place.
    fn next(&self) -> Option<(Lane, NonNull<MaybeUninit<T>>)> {
        let index = self.done;
        let lane = if index < self.cpus {
            Lane::of_cpu(CpuId::new(index as u32))
        } else {
            Lane::spill(self.cpus as u32)
        };
        // SAFETY: an object's block has `cpus + 1` lanes, `STRIDE` apart in one mapping.
        let place = (index <= self.cpus)
            .then(|| unsafe { self.lane0.byte_add(index * PerCpuRef::<T>::STRIDE) });
        place.map(|place| (lane, place.cast()))
    }

    /// # Safety
    ///
    /// Every lane holds an initialised `T`.
    unsafe fn finish(self) -> PerCpu<T> {
        let lane0 = self.lane0;
        core::mem::forget(self);
        // SAFETY: passed on to the caller; the block passes from `self` to the object.
        unsafe { PerCpu::from_lane0(lane0) }
    }
}

impl<T> Drop for Unfinished<T> {
    fn drop(&mut self) {
        // SAFETY: lanes below `done` are initialised, and the block is ours.
        unsafe { drop_lanes(self.lane0, 0..self.done) };
    }
}

/// Drops the values of some lanes, each once, and frees the block, also when a drop panics.
///
/// # Safety
///
/// * `lane0` is lane 0's place in a block for `T`, which the caller owns and gives up.
/// * The lanes in `lanes` hold initialised values, which nobody uses any more.
pub(super) unsafe fn drop_lanes<T>(lane0: NonNull<T>, lanes: Range<usize>) {
    /// What is left to do; when a drop panics, dropping this goes on behind it. (A second panic
    /// while the first one unwinds aborts the process, as everywhere in Rust.)
    struct Rest<T> {
        lane0: NonNull<T>,
        lanes: Range<usize>,
    }

    impl<T> Rest<T> {
        fn drop_values(&mut self) {
            for index in self.lanes.by_ref() {
                // SAFETY: the lanes of a block lie `STRIDE` apart in one mapping.
                let copy = unsafe { self.lane0.byte_add(index * PerCpuRef::<T>::STRIDE) };
                // SAFETY: initialised, and dropped once: `index` has left `lanes`.
                unsafe { copy.drop_in_place() };
            }
        }
    }

    impl<T> Drop for Rest<T> {
        fn drop(&mut self) {
            self.drop_values();
            // SAFETY: the block is the caller's, with this size and alignment, and empty now.
            unsafe { Inner::free(self.lane0.cast(), size_of::<T>(), align_of::<T>()) };
        }
    }

    let mut rest = Rest { lane0, lanes };
    if core::mem::needs_drop::<T>() {
        rest.drop_values();
    } else {
        rest.lanes.start = rest.lanes.end;
    }
}

/// Makes `size` bytes zero in every lane, by reading first and writing only what is not zero: a
/// lane that nobody touched stays uncommitted.
///
/// # Safety
///
/// The bytes belong to the caller, in each of `lanes` lanes.
pub(super) unsafe fn clear(lane0: NonNull<u8>, size: usize, stride: usize, lanes: usize) {
    /// Words looked at together.
    const STEP: usize = 8;
    // A block is granules of 8 bytes, from a multiple of 8 on: the last word is whole.
    let words = size.div_ceil(size_of::<u64>());
    // The last owner may have left padding, or a `MaybeUninit`.
    #[cfg(not(miri))]
    crate::sys::memory::settle(lane0);
    for lane in 0..lanes {
        // SAFETY: the lanes of a block lie `stride` apart in one mapping.
        let copy = unsafe { lane0.byte_add(lane * stride) };
        // Miri has nothing to settle them with, and no pages to spare.
        #[cfg(miri)]
        // SAFETY: the words are the block's, aligned, and nobody else's.
        unsafe {
            copy.cast::<u64>().write_bytes(0, words);
        }
        // SAFETY: the words are the block's, aligned, and nobody else's. Every byte is initialised:
        // zero, what was last written, or what `settle` made of it.
        let copy = unsafe { core::slice::from_raw_parts_mut(copy.cast::<u64>().as_ptr(), words) };
        let mut parts = copy.chunks_exact_mut(STEP);
        for part in parts.by_ref() {
            if part.iter().fold(0, |bits, word| bits | word) != 0 {
                part.fill(0);
            }
        }
        // Word by word: a small object has no more than these, and a call would cost more.
        for word in parts.into_remainder().iter_mut().filter(|word| **word != 0) {
            *word = 0;
        }
    }
}

/// Objects in an area of one's own. Each constructor allocates first and initialises then; a value
/// that cannot be made leaves nothing behind.
impl Area {
    /// An object with a value for each lane, the spill lane last. Touches every lane's memory.
    ///
    /// If `init` panics, the values made so far are dropped and the memory is returned.
    ///
    /// # Errors
    ///
    /// [`AllocError`]; `init` was not called.
    ///
    /// ```
    /// # use corelocal::{AllocError, Area};
    /// let own = Area::builder().build()?;
    /// // What does not fit goes to the global area, say.
    /// let names = own.try_alloc(|lane| lane.index().to_string()).or_else(|error| match error {
    ///     AllocError::AreaFull { .. } => Area::global().try_alloc(|lane| lane.index().to_string()),
    ///     other => Err(other),
    /// })?;
    /// assert_eq!(names.iter().filter(|(lane, name)| **name == lane.index().to_string()).count(), names.lanes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_alloc<T>(&self, mut init: impl FnMut(Lane) -> T) -> Result<PerCpu<T>, AllocError> {
        let made = self.try_alloc_with(|lane| Ok::<T, core::convert::Infallible>(init(lane)));
        made.map_err(|error| match error {
            InitError::Alloc(error) => error,
            InitError::Init { error, .. } => match error {},
        })
    }

    /// As [`Area::try_alloc`], with initialisers that can fail.
    ///
    /// # Errors
    ///
    /// [`InitError::Alloc`] before any initialiser ran; [`InitError::Init`] with the first error.
    ///
    /// ```
    /// # use corelocal::{Area, InitError};
    /// let area = Area::builder().build()?;
    /// let made = area.try_alloc_with(|lane| if lane.is_spill() { Err("no spill") } else { Ok(vec![lane]) });
    /// assert!(matches!(made, Err(InitError::Init { error: "no spill", .. })));
    /// assert_eq!(area.stats().live, 0); // the lanes before it were dropped, and the memory is back
    /// # Ok::<(), corelocal::AreaError>(())
    /// ```
    pub fn try_alloc_with<T, E>(
        &self,
        mut init: impl FnMut(Lane) -> Result<T, E>,
    ) -> Result<PerCpu<T>, InitError<E>> {
        self.try_alloc_in_place(|lane, place| init(lane).map(|value| place.write(value)))
    }

    /// As [`Area::try_alloc_with`], in place, for values that must not pass the stack.
    ///
    /// `init` returns the place as initialised, which proves that it is.
    ///
    /// # Errors
    ///
    /// As [`Area::try_alloc_with`].
    ///
    /// # Panics
    ///
    /// If `init` returns another place than it was given.
    ///
    /// ```
    /// # use corelocal::{Area, InitError};
    /// use std::mem::MaybeUninit;
    ///
    /// struct Table { len: usize, rows: [u8; 4 << 20] } // too large for many a stack
    /// # let _ = |table: &Table| (table.len, table.rows[0]);
    /// fn empty(place: &mut MaybeUninit<Table>) -> &mut Table {
    ///     // SAFETY: the place is writable, and a table of zero bytes is one of no rows.
    ///     unsafe { place.as_mut_ptr().write_bytes(0, 1) };
    ///     // SAFETY: it was written.
    ///     unsafe { place.assume_init_mut() }
    /// }
    /// let area = Area::builder().build().unwrap();
    /// let tables = area.try_alloc_in_place(|_, place| Ok::<_, InitError<()>>(empty(place))).unwrap();
    /// assert_eq!(tables.this().len, 0);
    /// ```
    pub fn try_alloc_in_place<T, E>(
        &self,
        mut init: impl for<'a> FnMut(Lane, &'a mut MaybeUninit<T>) -> Result<&'a mut T, E>,
    ) -> Result<PerCpu<T>, InitError<E>> {
        let mut unfinished = Unfinished::<T>::new(self)?;
        let mut placement = Placement::new(self.inner().config.by_node);
        while let Some((lane, mut place)) = unfinished.next() {
            if let Some(cpu) = lane.cpu() {
                // SAFETY: the place is the block's, and not initialised yet.
                unsafe { placement.touch(cpu, place.cast(), size_of::<T>()) };
            }
            // SAFETY: the place is the block's, and nobody else knows of it.
            let made = init(lane, unsafe { place.as_mut() });
            let made = made.map_err(|error| InitError::Init { lane, error })?;
            let same = ptr::eq(ptr::from_mut(made).cast_const(), place.as_ptr().cast());
            assert!(same, "an initialiser returned another place than it was given");
            unfinished.done += 1;
        }
        // SAFETY: `next` has gone through all lanes.
        Ok(unsafe { unfinished.finish() })
    }

    /// An object of zeros. Memory that was never used is not touched; memory that was is read, and
    /// written where it is not zero.
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::{Area, PerCpuCell};
    /// let area = Area::builder().build()?;
    /// let buckets = area.try_alloc_zeroed::<[PerCpuCell<u64>; 512]>()?; // touches no memory
    /// buckets.index(7).unwrap().inc();
    /// assert_eq!(buckets.index(7).unwrap().sum(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_alloc_zeroed<T: Zeroable>(&self) -> Result<PerCpu<T>, AllocError> {
        // Not called: zeros are there already. But what the compiler checks where it is (a struct's
        // promises about its layout) is checked here too.
        let _: fn() -> T = T::zeroed;
        let unfinished = Unfinished::<T>::new(self)?;
        if !unfinished.fresh {
            let (lanes, stride) = (unfinished.cpus + 1, PerCpuRef::<T>::STRIDE);
            // SAFETY: the block is ours.
            unsafe { clear(unfinished.lane0.cast(), size_of::<T>(), stride, lanes) };
        }
        // SAFETY: all lanes are zero, which is a `T`.
        Ok(unsafe { unfinished.finish() })
    }

    /// An object whose values are not made yet; see [`PerCpu::assume_init`].
    ///
    /// # Errors
    ///
    /// [`AllocError`].
    ///
    /// ```
    /// # use corelocal::Area;
    /// let area = Area::builder().build()?;
    /// // All lanes are filled from one source, in one pass, by code that is no closure.
    /// let mut seeds = area.try_alloc_uninit::<u64>()?;
    /// let mut state = 1_u64;
    /// for (_, place) in &mut seeds {
    ///     state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    ///     place.write(state);
    /// }
    /// // SAFETY: the loop went through every lane.
    /// let seeds = unsafe { seeds.assume_init() };
    /// assert_eq!(*seeds.spill(), state);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_alloc_uninit<T>(&self) -> Result<PerCpu<MaybeUninit<T>>, AllocError> {
        let unfinished = Unfinished::<MaybeUninit<T>>::new(self)?;
        // SAFETY: a `MaybeUninit` needs no initialisation.
        Ok(unsafe { unfinished.finish() })
    }
}
