//! Words that tell an observer before each access: for models of caches, and for schedulers that
//! want a say before each step. The code that uses them is the code that runs.

use super::word::{Atomic, Word, Words, sealed};
use core::marker::PhantomData;
use std::cell::Cell;

/// What is about to happen to some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessKind {
    /// They are read.
    Load,
    /// They are written.
    Store,
    /// They are changed by one atomic read-modify-write.
    Update,
}

/// One access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Its first byte's address.
    pub address: usize,
    /// How many bytes.
    pub bytes: usize,
    /// Which kind.
    pub kind: AccessKind,
}

std::thread_local! {
    static OBSERVER: Cell<Option<fn(Access)>> = const { Cell::new(None) };
}

/// Has `observer` called before each access of this thread; gives back the one before.
pub fn observe(observer: Option<fn(Access)>) -> Option<fn(Access)> {
    OBSERVER.replace(observer)
}

fn tell<T: ?Sized>(place: &T, kind: AccessKind) {
    if let Some(observer) = OBSERVER.get() {
        let address = core::ptr::from_ref(place).cast::<u8>().addr();
        observer(Access { address, bytes: size_of_val(place), kind });
    }
}

/// Words that are observed.
#[derive(Clone, Copy, Debug)]
pub struct Observed;

impl sealed::Sealed for Observed {}

impl Words for Observed {
    type U64 = ObservedWord<u64, <Atomic as Words>::U64>;
    type U32 = ObservedWord<u32, <Atomic as Words>::U32>;

    fn plain_read<T: ?Sized>(place: &T) {
        tell(place, AccessKind::Load);
    }
}

/// One word that is observed.
#[derive(Debug)]
#[repr(transparent)]
pub struct ObservedWord<V, A>(A, PhantomData<fn(V)>);

impl<V: core::fmt::Debug + 'static, A: Word<V>> Word<V> for ObservedWord<V, A> {
    fn new(value: V) -> Self {
        Self(A::new(value), PhantomData)
    }
    fn load(&self) -> V {
        tell(&self.0, AccessKind::Load);
        self.0.load()
    }
    fn store(&self, value: V) {
        tell(&self.0, AccessKind::Store);
        self.0.store(value);
    }
    fn or(&self, bits: V) {
        tell(&self.0, AccessKind::Update);
        self.0.or(bits);
    }
    fn and(&self, bits: V) {
        tell(&self.0, AccessKind::Update);
        self.0.and(bits);
    }
    fn xor(&self, bits: V) {
        tell(&self.0, AccessKind::Update);
        self.0.xor(bits);
    }
    fn add(&self, value: V) {
        tell(&self.0, AccessKind::Update);
        self.0.add(value);
    }
    fn sub(&self, value: V) {
        tell(&self.0, AccessKind::Update);
        self.0.sub(value);
    }
    fn fetch_or(&self, bits: V) -> V {
        tell(&self.0, AccessKind::Update);
        self.0.fetch_or(bits)
    }
}
