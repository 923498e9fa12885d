//! The steps of a level, and the three edges that they are ordered by.
//!
//! A CPU is *at* a level when its bit is in the level's mask and it is counted in the level's
//! count. A searcher reads counts upwards and looks at a mask only where the count is not zero.
//!
//! | edge | who changes | who searches | so that |
//! |---|---|---|---|
//! | E30 | mask, release fence, count | count, acquire fence, mask | who sees the count sees the bits that it counts |
//! | E31 | all of the new level, **full barrier**, the old level | count or mask of the old level, acquire fence, the new level | a CPU that rises is not missed: when its old level has lost it, its new one shows it |
//! | E32 | the new level, **full barrier**, whatever the caller reads next | the caller's flag, full barrier, the search | push and pull: one of two sees the other |
//! | E33 | count, release fence, mask | mask, acquire fence, count | who sees a bit gone sees the count without it |
//!
//! The barrier of E31 and of E32 is one; E32 is what it must be full for. A searcher's acquire fence
//! stands after *each* count, zero or not, and after each mask that it leaves for a higher level.
//!
//! What a search promises (G1 to G4) rests on E31, and for a CPU that stays on nothing but
//! coherence. E30 and E33 add that counts and searches agree: who has seen `n` CPUs counted finds
//! them, and who has found nobody counts nobody, while nobody goes, or comes. Without these two a
//! search would look into masks in vain more often, and miss no CPU.
//!
//! Source: the protocol of the Linux kernel's `kernel/sched/cpupri.c` (its comments), in words of
//! C11. The kernel has full barriers at E30 and E33 too. The fence after a mask is ours: without it
//! a machine that reorders loads may miss a CPU that rises.

use super::word::{Word, Words};
use crate::sync::{Ordering, fence, fence_after_rmw};

/// A CPU, its bit in `word`, comes to the level. Ends with a full barrier.
#[inline(always)]
pub(super) fn enter<W: Words>(count: &W::U32, word: &W::U64, bit: u64) {
    word.or(bit);
    // Release [E30]: mask, then count; pairs with the fence in `occupied`.
    fence(Ordering::Release);
    count.add(1);
    // Full: the new level, then the old one [E31], and what the caller reads next [E32].
    fence_after_rmw();
}

/// A CPU, its bit in `word`, goes from the level.
#[inline(always)]
pub(super) fn leave<W: Words>(count: &W::U32, word: &W::U64, bit: u64) {
    count.sub(1);
    // Release [E33]: count, then mask; pairs with the fence in `passed_by`.
    fence(Ordering::Release);
    word.and(!bit);
}

/// Whether the level is worth a look at its mask.
#[inline(always)]
pub(super) fn occupied<W: Words>(count: &W::U32) -> bool {
    let count = count.load();
    // Acquire [E30, E31]: the mask of this level is read, and higher ones, after its count; at
    // each level, empty or not.
    fence(Ordering::Acquire);
    count != 0
}

/// The mask had none of the CPUs that were looked for, or none that fits: the search goes on
/// upwards.
#[inline(always)]
pub(super) fn passed_by() {
    // Acquire [E31, E33]: who was here and went on is seen where it went, and is not counted here.
    fence(Ordering::Acquire);
}
