//! How the parts of a [`CoLocated`] are placed, and the proof that they are.

use core::mem::{align_of, size_of};

use bytemuck::Zeroable;

use super::CoLocated;
use crate::cacheline::{CACHE_LINE, Edge, Layout, LayoutField, Message};

/// How the parts of a [`CoLocated`] lie: [`Together`], [`Apart`], or one of these with an odd number
/// of lines ([`Odd`]). Sealed.
///
/// ```
/// # use corelocal::CACHE_LINE;
/// use corelocal::colocated::{Apart, CoLocated, Placement, Together};
///
/// /// The same parts, placed as the caller has measured to be best.
/// type Level<P> = CoLocated<u32, usize, (), P>;
/// fn bytes<P: Placement>() -> usize {
///     size_of::<Level<P>>()
/// }
/// assert_eq!((bytes::<Together>(), bytes::<Apart>()), (2 * size_of::<usize>(), 2 * CACHE_LINE));
/// ```
pub trait Placement: sealed::Sealed + Copy {}

mod sealed {
    use super::Zeroable;
    use core::hash::Hash;

    pub trait Sealed {
        /// What lies between two parts.
        type Between: Copy + Default + Eq + Hash + Zeroable + Send + Sync + Unpin + 'static;
        /// What lies behind the last.
        type Behind: Copy + Default + Eq + Hash + Zeroable + Send + Sync + Unpin + 'static;
        const BETWEEN: Self::Between;
        const BEHIND: Self::Behind;
        const IS_APART: bool;
        /// Whether the lines are to be odd in number, and how many were added to make them so.
        const ODD: Option<usize>;
    }
}
use sealed::Sealed;

/// The parts lie side by side: each at the next multiple of its alignment. For what one CPU uses
/// together.
///
/// ```
/// use corelocal::colocated::{CoLocated, Together};
///
/// // The default: named only where a placement is.
/// let state: CoLocated<u32, u32, (), Together> = CoLocated::new(1, 2, ());
/// assert_eq!(size_of_val(&state), 8);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Together;

/// Each part begins on a cache line and shares none with another part. For a counter that all CPUs
/// write beside a pointer that all read.
///
/// ```
/// # use corelocal::CACHE_LINE;
/// use corelocal::colocated::{Apart, CoLocated};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// // All threads add to the first, and all read the second: not on one line.
/// type Shared = CoLocated<AtomicU64, &'static str, (), Apart>;
/// let shared = Shared::placed(AtomicU64::new(0), "read-mostly", ());
/// shared.a().fetch_add(1, Ordering::Relaxed);
/// assert_eq!((Shared::OFFSET_B, *shared.b()), (CACHE_LINE, "read-mostly"));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Apart;

/// As `P`, on an odd number of cache lines, by `PAD` lines of padding (0 or 1; see [`odd_padding`]).
///
/// Objects of an even number of lines in a row use a part of the cache's sets: the first lines of
/// objects at steps of 1024 bytes fall into 4 of 64. `PerCpu` steps so by itself; this is for arrays
/// and for areas of one's own. The whole begins on a line.
///
/// `PAD` cannot be computed from the parts' types, because Rust has no way to do that yet; but a
/// wrong one fails the build and says which is right.
///
/// ```
/// # use corelocal::CACHE_LINE;
/// use corelocal::colocated::{CoLocated, Odd};
///
/// // Two lines of data, so one of padding.
/// type Slot = CoLocated<[u8; CACHE_LINE], [u8; CACHE_LINE], (), Odd<1>>;
/// let table: Vec<Slot> = (0..4).map(|_| Slot::placed([0; CACHE_LINE], [0; CACHE_LINE], ())).collect();
/// assert_eq!(size_of_val(&table[..]), 4 * 3 * CACHE_LINE);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub struct Odd<const PAD: usize, P = Together>(P);

/// How many lines of padding (0 or 1) make an odd number of lines of so many bytes.
///
/// ```
/// use corelocal::CACHE_LINE;
/// use corelocal::colocated::{CoLocated, Odd, odd_padding};
///
/// type Pair = CoLocated<[u8; 100], [u8; 20]>;
/// type Padded = CoLocated<[u8; 100], [u8; 20], (), Odd<{ odd_padding(size_of::<Pair>()) }>>;
/// assert_eq!(size_of::<Padded>() / CACHE_LINE % 2, 1);
/// ```
pub const fn odd_padding(bytes: usize) -> usize {
    1 - bytes.div_ceil(CACHE_LINE) % 2
}

impl Sealed for Together {
    type Between = ();
    type Behind = ();
    const BETWEEN: () = ();
    const BEHIND: () = ();
    const IS_APART: bool = false;
    const ODD: Option<usize> = None;
}
impl Placement for Together {}

impl Sealed for Apart {
    type Between = Edge<CACHE_LINE>;
    type Behind = Edge<CACHE_LINE>;
    const BETWEEN: Self::Between = Edge::new();
    const BEHIND: Self::Behind = Edge::new();
    const IS_APART: bool = true;
    const ODD: Option<usize> = None;
}
impl Placement for Apart {}

impl<const PAD: usize, P: Placement> Sealed for Odd<PAD, P> {
    type Between = P::Between;
    type Behind = Pad<PAD>;
    const BETWEEN: Self::Between = P::BETWEEN;
    const BEHIND: Self::Behind = Pad::new();
    const IS_APART: bool = P::IS_APART;
    const ODD: Option<usize> = Some(PAD);
}
impl<const PAD: usize, P: Placement> Placement for Odd<PAD, P> {}

/// Lines of padding.
#[allow(unnameable_types, reason = "a field that nobody sees")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Pad<const LINES: usize> {
    edge: Edge<CACHE_LINE>,
    lines: [[u8; CACHE_LINE]; LINES],
}

impl<const LINES: usize> Pad<LINES> {
    const fn new() -> Self {
        Self { edge: Edge::new(), lines: [[0; CACHE_LINE]; LINES] }
    }
}

impl<const LINES: usize> Default for Pad<LINES> {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: zero bytes are what `new` makes, and an edge has none.
unsafe impl<const LINES: usize> Zeroable for Pad<LINES> {}

impl<A, B, C, P: Placement> CoLocated<A, B, C, P> {
    /// Puts three values where `P` says; `()` takes no room.
    ///
    /// ```
    /// use corelocal::CACHE_LINE;
    /// use corelocal::colocated::{Apart, CoLocated};
    ///
    /// type Level = CoLocated<u32, usize, (), Apart>;
    /// let level = Level::placed(0, 7, ());
    /// assert_eq!((Level::OFFSET_B, *level.b()), (CACHE_LINE, 7));
    /// ```
    #[inline]
    pub const fn placed(a: A, b: B, c: C) -> Self {
        const { Self::PLACED };
        Self { a, _ab: P::BETWEEN, b, _bc: P::BETWEEN, c, _behind: P::BEHIND }
    }

    /// The proof that the parts lie as `P` says: naming it fails the build where they do not.
    /// Whatever makes a `CoLocated` names it, but for zero bytes.
    ///
    /// * [`Together`]: each part begins at the first multiple of its alignment behind the one before.
    /// * [`Apart`]: each part begins on a line, and no other begins before it ends.
    /// * [`Odd`]: the size is an odd number of lines.
    ///
    /// ```
    /// # use corelocal::CACHE_LINE;
    /// use corelocal::colocated::{Apart, CoLocated};
    ///
    /// type Pair = CoLocated<[u8; 100], u64, (), Apart>;
    /// const _: () = Pair::PLACED; // checked in `cargo check`, before anybody makes one
    /// assert_eq!(Pair::OFFSET_B % CACHE_LINE, 0);
    /// ```
    pub const PLACED: () = Self::prove();

    const fn prove() {
        assert!(Self::OFFSET_A == 0, "the first part must lie at offset 0");
        // Under loom lines are no matter, because its atomics are larger.
        if cfg!(corelocal_loom) {
            return;
        }
        let step = if P::IS_APART { CACHE_LINE } else { 1 };
        let b = size_of::<A>().next_multiple_of(max(step, align_of::<B>()));
        let c = (b + size_of::<B>()).next_multiple_of(max(step, align_of::<C>()));
        assert!(Self::OFFSET_B == b, "the second part is not where its placement says");
        assert!(Self::OFFSET_C == c, "the third part is not where its placement says");
        let (size, align) = (size_of::<Self>(), align_of::<Self>());
        if P::IS_APART || P::ODD.is_some() {
            assert!(size % CACHE_LINE == 0 && align >= CACHE_LINE, "lines of its own");
        }
        if let Some(padding) = P::ODD {
            if align > CACHE_LINE {
                let m = Message::new().text("CoLocated: aligned to ").number(align);
                let m = m.text(" bytes, more than a line: its lines are never odd in number");
                panic!("{}", m.as_str());
            }
            let lines = size / CACHE_LINE;
            let right = 1 - (lines - padding) % 2;
            if padding != right {
                let m = Message::new().text("CoLocated: ").number(size).text(" bytes are ");
                let m = m.count(lines, "line").text(" of ").number(CACHE_LINE).text(" bytes with ");
                let m = m.number(padding).text(" of padding; use Odd<").number(right).text(", _>");
                panic!("{}", m.as_str());
            }
        }
    }

    /// The map of the parts, which it calls `a`, `b` and `c`.
    ///
    /// ```
    /// # use corelocal::CoLocated;
    /// type State = CoLocated<[u64; 10], u64>;
    /// println!("{}", State::LAYOUT); // a table of every byte
    /// let map = State::LAYOUT.with_line(64);
    /// assert_eq!(map.lines_of(&["b"])?.count(), 1);
    /// # Ok::<(), corelocal::cacheline::UnknownField<'_>>(())
    /// ```
    pub const LAYOUT: Layout<'static> = Layout::new(
        "CoLocated",
        size_of::<Self>(),
        align_of::<Self>(),
        const {
            &[
                LayoutField::new("a", Self::OFFSET_A, size_of::<A>(), align_of::<A>()),
                LayoutField::new("b", Self::OFFSET_B, size_of::<B>(), align_of::<B>()),
                LayoutField::new("c", Self::OFFSET_C, size_of::<C>(), align_of::<C>()),
            ]
        },
        &[],
        &[],
    );
}

const fn max(one: usize, other: usize) -> usize {
    if one > other { one } else { other }
}

impl<A: Default, B: Default, C: Default, P: Placement> Default for CoLocated<A, B, C, P> {
    #[inline]
    fn default() -> Self {
        Self::placed(A::default(), B::default(), C::default())
    }
}
