//! Co-location: things that one CPU uses together lie together, at constant offsets.
//!
//! [`CoLocated`] puts up to three values side by side, [`colocated!`](crate::colocated!) defines a
//! struct of any number of named parts, and [`Part`] is a pointer to one part that can get back to
//! the whole: a typed, safe `container_of` that costs one subtraction.
//!
//! ```
//! use corelocal::colocated;
//! use corelocal::colocated::Part;
//!
//! #[derive(Default)]
//! pub struct CfsRq { pub running: u32 }
//! #[derive(Default)]
//! pub struct SchedEntity { pub weight: u64 }
//!
//! colocated! {
//!     /// A group's state on one CPU.
//!     #[derive(Default)]
//!     pub struct CfsTgState { pub cfs_rq: CfsRq, pub se: SchedEntity }
//! }
//!
//! let state = CfsTgState { se: SchedEntity { weight: 1024 }, ..Default::default() };
//! let queue: Part<'_, CfsTgState, CfsRq> = state.cfs_rq();
//! assert_eq!(queue.running, 0);                  // a `Part` derefs to its part,
//! assert_eq!(queue.whole().se.weight, 1024);     // knows the whole,
//! assert_eq!(queue.sibling::<1>().weight, 1024); // and the other parts
//! ```

#![allow(unsafe_code, reason = "pointers to parts that keep the whole's provenance")]

mod named;
mod part;
mod placement;
mod raw;
mod zeroed;

use core::fmt;
use core::mem::{offset_of, size_of};

use crate::field;
use crate::field::Field;

pub use part::{HasPart, Part};
pub use placement::{Apart, Odd, Placement, Together, odd_padding};
use raw::{part_of, whole_of};

/// Up to three values side by side, in this order, with the first at offset 0.
///
/// The layout is that of a `repr(C)` struct: each part lies at the next multiple of its alignment,
/// so order the parts by use. Nothing is added for cache lines, unless the [`Placement`] `P` says
/// so: [`Together`] (the default), [`Apart`] (each part on lines of its own), and [`Odd`] of either
/// (an odd number of lines). That the parts lie so is proved when the type is used
/// ([`PLACED`](Self::PLACED)); other placements than the default are made with
/// [`placed`](Self::placed).
///
/// There is no `Deref` to a part: it would hide which part a field belongs to, and a pointer made
/// from a plain `&A` cannot get back to the whole (see [`from_a`](Self::from_a)). [`Part`] can.
///
/// ```
/// use corelocal::colocated::CoLocated;
///
/// struct Queue { running: u32 }
/// struct Entity { weight: u64 }
///
/// let mut state = CoLocated::new(Queue { running: 3 }, Entity { weight: 1024 }, ());
/// state.b_mut().weight /= 2;
/// assert_eq!((state.a().running, state.b().weight), (3, 512));
/// assert_eq!(CoLocated::<Queue, Entity>::OFFSET_B, 8);
///
/// let queue = state.part_a();
/// assert_eq!(queue.whole().b().weight, 512);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct CoLocated<A, B = (), C = (), P: Placement = Together> {
    a: A,
    _ab: P::Between,
    b: B,
    _bc: P::Between,
    c: C,
    _behind: P::Behind,
}

impl<A, B, C> CoLocated<A, B, C> {
    /// Puts three values side by side; `()` takes no room.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// // Also in statics and constants.
    /// static DEFAULTS: CoLocated<u32, u64> = CoLocated::new(8, 1024, ());
    /// assert_eq!((*DEFAULTS.a(), *DEFAULTS.b()), (8, 1024));
    /// assert_eq!(size_of_val(&DEFAULTS), 16); // the third part takes no room
    /// ```
    #[inline]
    pub const fn new(a: A, b: B, c: C) -> Self {
        Self::placed(a, b, c)
    }
}

impl<A, B, C, P: Placement> CoLocated<A, B, C, P> {
    /// The first part's offset in bytes: always 0.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<u32, u64>;
    /// let state = State::new(1, 2, ());
    /// assert_eq!(State::OFFSET_A, 0); // so a pointer to the whole is one to its first part
    /// assert_eq!((&raw const state).cast(), &raw const *state.a());
    /// ```
    pub const OFFSET_A: usize = {
        assert!(offset_of!(Self, a) == 0);
        0
    };
    /// The second part's offset in bytes.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<[u64; 5], u64>;
    /// const { assert!(State::OFFSET_B == 40, "the second part follows the first") };
    /// ```
    pub const OFFSET_B: usize = offset_of!(Self, b);
    /// The third part's offset in bytes.
    ///
    /// ```
    /// # use corelocal::{CACHE_LINE, CoLocated};
    /// // All that a wake-up needs lies on the first line.
    /// type State = CoLocated<[u64; 3], u64, u32>;
    /// const { assert!(State::OFFSET_C + size_of::<u32>() <= CACHE_LINE) };
    /// ```
    pub const OFFSET_C: usize = offset_of!(Self, c);

    /// The first part's token: `handle.at(CoLocated::PART_A)`.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell};
    /// type State = CoLocated<PerCpuCell<u32>, PerCpuCell<u64>>;
    /// let states = PerCpu::<State>::zeroed();
    /// states.at(State::PART_A).inc();
    /// assert_eq!(states.at(State::PART_A).sum(), 1);
    /// ```
    pub const PART_A: Field<Self, A> = field!(Self, a);
    /// The second part's token.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell, PerCpuRef};
    /// type State = CoLocated<PerCpuCell<u32>, PerCpuCell<u64>>;
    /// let states = PerCpu::<State>::zeroed();
    /// let weights: PerCpuRef<'_, PerCpuCell<u64>, State> = states.at(State::PART_B); // one word
    /// weights.add(1024);
    /// assert_eq!((weights.sum(), states.at(State::PART_A).sum()), (1024, 0));
    /// ```
    pub const PART_B: Field<Self, B> = field!(Self, b);
    /// The third part's token.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu, PerCpuCell, counters};
    /// counters! { struct Stats { waits: u64 } }
    /// type State = CoLocated<PerCpuCell<u32>, (), Stats>;
    ///
    /// let states = PerCpu::<State>::zeroed();
    /// states.at(State::PART_C.then(Stats::WAITS)).inc(); // a field of a part
    /// assert_eq!(states.at(State::PART_C).snapshot().waits, 1);
    /// ```
    pub const PART_C: Field<Self, C> = field!(Self, c);

    /// The first part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new("queue", 1024_u64, ());
    /// assert_eq!(state.a().len(), 5);
    /// ```
    #[inline]
    pub const fn a(&self) -> &A {
        &self.a
    }

    /// The second part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// // Parts are shared like any value: what threads change is atomic.
    /// let state = CoLocated::new("queue", AtomicU64::new(0), ());
    /// state.b().fetch_add(1, Ordering::Relaxed);
    /// assert_eq!(state.b().load(Ordering::Relaxed), 1);
    /// ```
    #[inline]
    pub const fn b(&self) -> &B {
        &self.b
    }

    /// The third part.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(0_u32, 1024_u64, ["wait", "run"]);
    /// assert_eq!(state.c()[1], "run");
    /// ```
    #[inline]
    pub const fn c(&self) -> &C {
        &self.c
    }

    /// The first part, to change.
    ///
    /// ```
    /// # use corelocal::{CoLocated, PerCpu};
    /// let mut queues = PerCpu::new(|lane| CoLocated::new(Vec::new(), lane, ()));
    /// for (lane, state) in &mut queues {
    ///     state.a_mut().push(lane.index());
    /// }
    /// assert_eq!(queues.spill().a(), &[queues.spill().b().index()]);
    /// ```
    #[inline]
    pub const fn a_mut(&mut self) -> &mut A {
        &mut self.a
    }

    /// The second part, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new("queue", 1024_u64, ());
    /// *state.b_mut() /= 2;
    /// assert_eq!(*state.b(), 512);
    /// ```
    #[inline]
    pub const fn b_mut(&mut self) -> &mut B {
        &mut self.b
    }

    /// The third part, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new("queue", 1024_u64, vec![3]);
    /// state.c_mut().push(4);
    /// assert_eq!(state.c(), &[3, 4]);
    /// ```
    #[inline]
    pub const fn c_mut(&mut self) -> &mut C {
        &mut self.c
    }

    /// All parts at once, to change.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let mut state = CoLocated::new(vec![5, 7], 0_u64, ());
    /// let (queue, weight, ()) = state.parts_mut(); // `a_mut` and `b_mut` borrow the whole
    /// *weight += queue.pop().unwrap();
    /// assert_eq!((state.a().len(), *state.b()), (1, 7));
    /// ```
    #[inline]
    pub const fn parts_mut(&mut self) -> (&mut A, &mut B, &mut C) {
        (&mut self.a, &mut self.b, &mut self.c)
    }

    /// Takes the parts out.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(vec![1, 2], String::from("group"), ());
    /// let (queue, name, ()) = state.into_parts(); // moved, not cloned
    /// assert_eq!((queue.len(), name.as_str()), (2, "group"));
    /// ```
    #[inline]
    pub fn into_parts(self) -> (A, B, C) {
        (self.a, self.b, self.c)
    }

    /// The first part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// struct Queue { running: u32 }
    /// type State = CoLocated<Queue, u64>;
    ///
    /// /// Knows queues; gets at what lies beside them all the same.
    /// fn load(queue: Part<'_, State, Queue>) -> u64 {
    ///     u64::from(queue.running) * queue.whole().b()
    /// }
    /// assert_eq!(load(CoLocated::new(Queue { running: 3 }, 1024, ()).part_a()), 3072);
    /// ```
    #[inline]
    pub fn part_a(&self) -> Part<'_, Self, A, 0> {
        Part::new(self)
    }

    /// The second part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::{CoLocated, Part};
    /// type State = CoLocated<&'static str, u64>;
    /// let states = [State::new("build", 512, ()), State::new("web", 1024, ())];
    /// let heaviest: Part<'_, State, u64, 1> = states.iter().map(State::part_b).max_by_key(|w| **w).unwrap();
    /// assert_eq!(*heaviest.whole().a(), "web");
    /// ```
    #[inline]
    pub fn part_b(&self) -> Part<'_, Self, B, 1> {
        Part::new(self)
    }

    /// The third part, by a pointer that knows the whole.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// let state = CoLocated::new(1_u8, 2_u16, [3_u32, 4]);
    /// let last = state.part_c();
    /// assert_eq!((last[1], *last.sibling::<0>()), (4, 1));
    /// ```
    #[inline]
    pub fn part_c(&self) -> Part<'_, Self, C, 2> {
        Part::new(self)
    }
}

/// The sizes only: a part may be another thread's to change.
impl<A, B, C, P: Placement> fmt::Debug for CoLocated<A, B, C, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoLocated")
            .field("size", &size_of::<Self>())
            .field("a", &size_of::<A>())
            .field("b", &size_of::<B>())
            .field("c", &size_of::<C>())
            .finish()
    }
}
