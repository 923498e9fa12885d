//! Objects that notice when somebody else uses their memory.

use crate::touch;
use corelocal::{AllocError, Area, PerCpu};

/// What a model puts into an object's lanes.
pub trait Value: Copy + PartialEq + Send + Sync + 'static {
    /// The value of one owner in one lane.
    fn of(id: usize) -> Self;
}

/// The smallest object of the small class.
pub type Word = usize;

impl Value for Word {
    fn of(id: usize) -> Self {
        id
    }
}

/// The largest object of the small class; [`BIGS`] fill a chunk.
pub type Big = [usize; if crate::EXPLORES { 256 } else { 1024 }];

impl Value for Big {
    fn of(id: usize) -> Self {
        std::array::from_fn(|_| id)
    }
}

/// How many [`Big`] objects fill a chunk.
pub const BIGS: usize = if crate::EXPLORES { 2 } else { 8 };

/// Half a [`Big`].
pub type Half = [usize; if crate::EXPLORES { 128 } else { 512 }];

impl Value for Half {
    fn of(id: usize) -> Self {
        std::array::from_fn(|_| id)
    }
}

/// A small object of the second class (aligned to more than a line), which has chunks of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(512))]
pub struct Page(usize);

impl Value for Page {
    fn of(id: usize) -> Self {
        Self(id)
    }
}

/// A per-CPU object with values of its owner's, which are still there when it is dropped.
#[derive(Debug)]
pub struct Owned<T: Value> {
    object: PerCpu<T>,
    id: usize,
}

impl<T: Value> Owned<T> {
    /// An object whose values say `id`.
    ///
    /// # Errors
    ///
    /// Those of [`Area::try_alloc`].
    #[track_caller]
    pub fn try_new(area: &Area, id: usize) -> Result<Self, AllocError> {
        let object = area.try_alloc(|lane| T::of(100 * id + lane.index()))?;
        let owned = Self { object, id };
        owned.check();
        Ok(owned)
    }

    /// As [`Owned::try_new`].
    ///
    /// # Panics
    ///
    /// If there is no memory.
    #[track_caller]
    pub fn new(area: &Area, id: usize) -> Self {
        Self::try_new(area, id).expect("the system has memory for a model")
    }

    /// Uses the object as its only owner.
    ///
    /// # Panics
    ///
    /// If it holds other values than it was made with, or under loom if it is not mapped.
    #[track_caller]
    pub fn check(&self) {
        touch(self.object.spill());
        for (lane, value) in &self.object {
            assert!(*value == T::of(100 * self.id + lane.index()), "overlapping objects");
        }
    }

    /// Where the object is, to see whether it is the same place as another's.
    pub fn address(&self) -> usize {
        std::ptr::from_ref(self.object.spill()).addr()
    }
}

impl<T: Value> Drop for Owned<T> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check();
        }
    }
}
