//! The pool itself.

use super::guard::{OwnedPooled, Pooled};
use super::lanes::{Lane, Lanes};
use super::node::Node;
use super::objects::{Kept, Objects};
use super::shared::Shared;
use super::threads::Magazines;
use super::{Exhausted, GetError, PoolBuilder};
use crate::percpu::{PerCpu, PerCpuRef};
use crate::sys::rseq::Stride;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt;
use core::marker::PhantomData;
use core::ptr;

/// The distance between lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart;

impl Stride for Apart {
    const BYTES: usize = PerCpuRef::<'static, Lane>::STRIDE;
}

type Reset<T> = Box<dyn Fn(&mut T) + Send + Sync>;
type KeepIf<T> = Box<dyn Fn(&T) -> bool + Send + Sync>;

/// What the user gave the pool.
pub(super) struct Hooks<T> {
    pub(super) make: Box<dyn Fn() -> T + Send + Sync>,
    pub(super) reset: Option<Reset<T>>,
    pub(super) keep_if: Option<KeepIf<T>>,
}

/// Objects that are kept when they are given back, on the CPU that gave them back, for the next one
/// who asks there.
///
/// [`get`](Self::get) gives an idle object of this CPU, the one that came back last, in a guard from
/// which it goes back by itself. With the backend `Rseq` getting one and giving it back are a
/// restartable sequence each: no lock prefix, no call, no wait for other threads. How many are kept
/// is bounded ([`PoolBuilder`]): a lane that is full gives a batch to the shared queue, and objects
/// that have no room there are dropped. See [the module](crate::pool) for how it is built, and the
/// page [`docs::pools`](crate::docs::pools) for when not to use it.
///
/// Idle objects are given out in no particular state but that which they came back in: use a
/// [reset hook](PoolBuilder::reset).
///
/// The pool is `Send` and `Sync` if `T` is `Send`: an object has one user at a time.
///
/// ```
/// use corelocal::PerCpuPool;
///
/// let buffers = PerCpuPool::builder(|| Vec::with_capacity(4096)).reset(Vec::clear).build()?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             for byte in 0..100 {
///                 let mut buffer = buffers.get();
///                 buffer.push(byte);
///                 assert_eq!(buffer.len(), 1);
///             }
///         });
///     }
/// });
/// assert!(buffers.objects() <= 4, "few were made for 400 uses");
/// # Ok::<(), corelocal::pool::BuildError>(())
/// ```
///
/// # Which call may be made where
///
/// | call | cost | signal handlers | child of `fork` |
/// |---|---|---|---|
/// | [`get_idle`](Self::get_idle), giving back | a section; once a batch, some atomics more | yes, while there is room, with sections | yes |
/// | [`get`](Self::get) and others that may make an object | the same, or your constructor and an allocation | no | yes |
/// | [`drain`](Self::drain), [`shrink_to`](Self::shrink_to) | a barrier on all CPUs, a look at all lanes | no | yes, unless another thread was at it |
///
/// Giving back where there is no room frees memory, which a signal handler must not. On the backends
/// without sections a thread's first call allocates and registers a thread-local destructor: keep
/// off in handlers. Thread-local destructors may use the pool everywhere.
///
/// # Memory orderings
///
/// What was done to an object before it went back is seen by whoever gets it next. Nothing else
/// is ordered.
// What the hot path reads comes first, and shares no line with what others write.
#[repr(C, align(64))]
pub struct PerCpuPool<T> {
    pub(super) lists: Lanes<Apart>,
    /// Lane 0, or a dangling pointer without sections.
    pub(super) lane0: *mut Lane,
    /// Whether there is a hook for objects that come back.
    pub(super) has_hook: bool,
    pub(super) hooks: Hooks<T>,
    /// Owns the lanes, with sections.
    pub(super) lanes: Option<PerCpu<Lane>>,
    pub(super) rest: Box<Rest>,
    _objects: PhantomData<T>,
}

/// What is not on the hot path.
pub(super) struct Rest {
    pub(super) shared: Shared,
    pub(super) kept: Kept,
    pub(super) magazines: Magazines,
}

// SAFETY: it owns objects that any thread may have had (`T: Send`); the hooks are `Send`, and the
// rest is atomics.
unsafe impl<T: Send> Send for PerCpuPool<T> {}
// SAFETY: shared, it moves objects from thread to thread (`T: Send`), and gives out each to one at
// a time. Nobody gets at an object that another one has, so `T: Sync` is not needed.
unsafe impl<T: Send> Sync for PerCpuPool<T> {}

impl<T> PerCpuPool<T> {
    /// A pool with the bounds of [`PoolBuilder`], whose objects `make` makes when none is idle.
    ///
    /// # Panics
    ///
    /// If there is no memory for the lanes; [`builder`](Self::builder) gives an error.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::new(|| Vec::<u8>::with_capacity(4096));
    /// let mut buffer = buffers.get();
    /// buffer.clear(); // without a reset hook: whatever was in it last
    /// buffer.extend_from_slice(b"record");
    /// assert_eq!(buffer.len(), 6);
    /// ```
    #[track_caller]
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        match Self::builder(make).build() {
            Ok(pool) => pool,
            Err(error) => panic!("no pool: {error}"),
        }
    }

    /// Bounds and hooks for a pool whose objects `make` makes when none is idle.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::builder(Vec::new).reset(Vec::clear).lane_capacity(8).build()?;
    /// buffers.get().push(1);
    /// assert!(buffers.get().is_empty());
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn builder(make: impl Fn() -> T + Send + Sync + 'static) -> PoolBuilder<T> {
        PoolBuilder::new(make)
    }

    pub(super) fn assemble(
        lists: Lanes<Apart>,
        lanes: Option<PerCpu<Lane>>,
        shared: Shared,
        kept: Kept,
        hooks: Hooks<T>,
    ) -> Self {
        let lane0 = lanes.as_ref().map_or(ptr::dangling_mut(), |lanes| lanes.lane0().as_ptr());
        let rest = Box::new(Rest { shared, kept, magazines: Magazines::default() });
        let has_hook = hooks.reset.is_some() || hooks.keep_if.is_some();
        Self { lists, lane0, has_hook, hooks, lanes, rest, _objects: PhantomData }
    }

    /// An idle object; a new one if there is none.
    ///
    /// At the pool's [capacity](PoolBuilder::capacity) a new one is not kept when it comes back.
    ///
    /// # Panics
    ///
    /// If the pool's constructor does.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let parsers = PerCpuPool::new(String::new); // costly to make, say
    /// let length = |text: &str| {
    ///     let mut parser = parsers.get();
    ///     parser.clear();
    ///     parser.push_str(text);
    ///     parser.len()
    /// }; // goes back here
    /// assert_eq!((length("GET /"), length("POST /")), (5, 6));
    /// ```
    #[inline]
    pub fn get(&self) -> Pooled<'_, T> {
        match self.pop() {
            Some(object) => object,
            None => self.get_slow(),
        }
    }

    /// An idle object, if there is one on this CPU or in the shared queue. Never waits, allocates
    /// or fences.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::builder(|| [0_u8; 64]).prefill(32).build()?;
    /// // In a signal handler, which must not allocate.
    /// match buffers.get_idle() {
    ///     Some(mut buffer) => buffer[0] = 1,
    ///     None => unreachable!("32 are there, and nobody took them"),
    /// }
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    #[inline]
    pub fn get_idle(&self) -> Option<Pooled<'_, T>> {
        match self.pop() {
            Some(object) => Some(object),
            None => self.idle_slow(),
        }
    }

    /// An idle object, or `value` if there is none; an idle one drops `value`.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let names = PerCpuPool::new(String::new);
    /// let first = names.get_or(String::from("mine")); // none is idle
    /// assert_eq!(*first, "mine");
    /// ```
    #[inline]
    pub fn get_or(&self, value: T) -> Pooled<'_, T> {
        self.get_or_else(|| value)
    }

    /// An idle object, or what `make` makes if there is none.
    ///
    /// # Panics
    ///
    /// If `make` does; the pool is as it was.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::new(Vec::new);
    /// let wanted = 1 << 16;
    /// let buffer = buffers.get_or_else(|| Vec::<u8>::with_capacity(wanted)); // none is idle
    /// assert!(buffer.capacity() >= wanted);
    /// ```
    #[inline]
    pub fn get_or_else(&self, make: impl FnOnce() -> T) -> Pooled<'_, T> {
        match self.get_idle() {
            Some(object) => object,
            None => self.new_object(self.rest.kept.claim(), make()),
        }
    }

    /// An idle object; a new one if there is none, and the pool may keep one more.
    ///
    /// Idle objects of other CPUs are not looked at: they may be what the pool's capacity is used
    /// up by. [`shrink_to`](Self::shrink_to) brings them to the shared queue.
    ///
    /// # Errors
    ///
    /// [`Exhausted`].
    ///
    /// # Panics
    ///
    /// If the pool's constructor does.
    ///
    /// ```
    /// use corelocal::PerCpuPool;
    /// let pool = PerCpuPool::builder(String::new).capacity(1).build().unwrap();
    /// let one = pool.try_get().unwrap();
    /// assert!(pool.try_get().is_err());
    /// # drop(one);
    /// ```
    #[inline]
    pub fn try_get(&self) -> Result<Pooled<'_, T>, Exhausted> {
        let made = self.try_get_or_else(|| Ok::<T, Infallible>((self.hooks.make)()));
        made.map_err(|error| match error {
            GetError::Exhausted(error) => error,
            GetError::Make(error) => match error {},
        })
    }

    /// As [`try_get`](Self::try_get), with a constructor of the caller's that can fail.
    ///
    /// # Errors
    ///
    /// [`GetError`]; the pool is as it was.
    ///
    /// ```
    /// use corelocal::PerCpuPool;
    /// use corelocal::pool::GetError;
    /// let pool = PerCpuPool::new(|| 0);
    /// assert_eq!(pool.try_get_or_else(|| "7".parse()).map(|value| *value), Ok(7));
    /// pool.drain().unwrap();
    /// assert!(matches!(pool.try_get_or_else(|| "x".parse()), Err(GetError::Make(_))));
    /// ```
    #[inline]
    pub fn try_get_or_else<E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Pooled<'_, T>, GetError<E>> {
        if let Some(object) = self.get_idle() {
            return Ok(object);
        }
        let Some(credit) = self.rest.kept.claim() else {
            return Err(GetError::Exhausted(Exhausted { capacity: self.capacity() }));
        };
        let value = make().map_err(GetError::Make)?;
        Ok(self.new_object(Some(credit), value))
    }

    /// As [`get`](Self::get), with a share of the pool instead of a borrow.
    ///
    /// ```
    /// use corelocal::PerCpuPool;
    /// use std::sync::Arc;
    /// let pool = Arc::new(PerCpuPool::new(|| [0_u8; 64]));
    /// let mut block = pool.get_owned();
    /// std::thread::spawn(move || block[0] = 1).join().unwrap();
    /// assert_eq!(pool.objects(), 1);
    /// ```
    #[inline]
    pub fn get_owned(self: &Arc<Self>) -> OwnedPooled<T> {
        OwnedPooled::new(self, self.get())
    }

    /// Gives the pool an object that was made elsewhere. It is not reset.
    ///
    /// # Errors
    ///
    /// The object, if the pool may not keep one more, or has no room for it here.
    ///
    /// ```
    /// # use corelocal::PerCpuPool;
    /// let buffers = PerCpuPool::builder(Vec::<u8>::new).capacity(1).build()?;
    /// // Made elsewhere, and worth keeping.
    /// assert_eq!(buffers.put(vec![1, 2, 3]), Ok(()));
    /// let refused = buffers.put(vec![4]).unwrap_err(); // the pool keeps one
    /// assert_eq!((refused, buffers.objects()), (vec![4], 1));
    /// # Ok::<(), corelocal::pool::BuildError>(())
    /// ```
    pub fn put(&self, value: T) -> Result<(), T> {
        let Some(credit) = self.rest.kept.claim() else { return Err(value) };
        let node = Node::make(value, Some(credit), self.has_hook);
        // SAFETY:
        // - just made, and given up.
        let mut over = unsafe { self.push(node.cast()) };
        let Some(back) = over.pop() else { return Ok(()) };
        // What did not find room begins with the node that was pushed last. (The rest, if there
        // is any, lost its place to objects that came meanwhile.)
        // SAFETY:
        // - objects of this pool, and ours.
        drop(unsafe { Objects::of(self, over) });
        // SAFETY:
        // - as above.
        let (value, _credit) = unsafe { self.open(back.cast()) };
        Err(value)
    }
}

impl<T> fmt::Debug for PerCpuPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpuPool")
            .field("objects", &self.objects())
            .field("capacity", &self.capacity())
            .field("lane_capacity", &self.lane_capacity())
            .field("shared_capacity", &self.shared_capacity())
            .field("uses_sections", &self.uses_sections())
            .finish_non_exhaustive()
    }
}
