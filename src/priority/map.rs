//! From masks by CPU id to lanes by shard, and back, a word at a time.

use super::error::OrderError;
use super::mask::{WORD_CPUS, try_slice};
use crate::cpu::CpuId;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// CPUs of one word of a mask that lie in one shard, all at the same distance: the word's bits
/// under `mask`, rotated to the left by `turn`, are the shard's lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    /// The CPUs, as bits of the mask's word.
    pub(super) mask: u64,
    /// The word of the mask.
    word: u16,
    /// The shard.
    pub(super) shard: u16,
    turn: u16,
}

impl Piece {
    /// The lanes of those of the word's CPUs that are in this piece.
    #[inline(always)]
    pub(super) fn lanes(&self, cpus: u64) -> u64 {
        (cpus & self.mask).rotate_left(self.turn.into())
    }

    /// The word's bits of `lanes`.
    #[inline(always)]
    pub(super) fn cpus(&self, lanes: u64) -> u64 {
        lanes.rotate_right(self.turn.into())
    }

    /// The word of a mask that its CPUs are in.
    pub(super) fn word(&self) -> usize {
        self.word.into()
    }

    /// The lane's CPU.
    pub(super) fn cpu(&self, lane: u32) -> CpuId {
        let bit = self.cpus(1 << lane).trailing_zeros();
        CpuId::new(self.word as u32 * WORD_CPUS as u32 + bit)
    }
}

/// All pieces. A regular machine has few: shards of neighbouring ids have one a word, two threads
/// a core with ids far apart two and a bit. An order without any regularity has one a CPU.
#[derive(Debug)]
pub(super) struct Map {
    /// By word.
    pieces: Box<[Piece]>,
    /// Where a word's pieces begin; one more for the end.
    words: Box<[u32]>,
    /// The pieces' numbers, by shard.
    by_shard: Box<[u16]>,
    /// Where a shard's begin in `by_shard`; one more for the end.
    shards: Box<[u32]>,
}

impl Map {
    /// Cuts `order` into shards of `size` CPUs. Within a shard lanes go by id, which makes
    /// pieces as large as they can be and costs nothing: a shard is one line.
    pub(super) fn try_new(order: &[CpuId], size: usize) -> Result<Self, OrderError> {
        let mut bits = Vec::new();
        bits.try_reserve_exact(order.len()).map_err(|_| refused::<Piece>(order.len()))?;
        let mut ids = try_slice(order.len(), |at| Ok(order[at].get()))?;
        for (shard, ids) in ids.chunks_mut(size).enumerate() {
            ids.sort_unstable();
            bits.extend(ids.iter().enumerate().map(|(lane, id)| {
                let bit = *id as usize % WORD_CPUS;
                let turn = (lane + WORD_CPUS - bit) % WORD_CPUS;
                let word = *id as usize / WORD_CPUS;
                Piece { mask: 1 << bit, word: word as u16, shard: shard as u16, turn: turn as u16 }
            }));
        }
        bits.sort_unstable_by_key(|piece| (piece.word, piece.shard, piece.turn));
        bits.dedup_by(|next, piece| {
            let same = |piece: &Piece| (piece.word, piece.shard, piece.turn);
            let joined = same(next) == same(piece);
            piece.mask |= if joined { next.mask } else { 0 };
            joined
        });
        let pieces = try_slice(bits.len(), |at| Ok(bits[at]))?;
        let mut by_shard = try_slice(pieces.len(), |at| Ok(at as u16))?;
        by_shard.sort_unstable_by_key(|at| (pieces[*at as usize].shard, *at));
        let words = starts(pieces.iter().map(|piece| piece.word))?;
        let shards = starts(by_shard.iter().map(|at| pieces[*at as usize].shard))?;
        Ok(Self { pieces, words, by_shard, shards })
    }

    /// The pieces of a mask's word; none beyond the last one.
    #[inline(always)]
    pub(super) fn of_word(&self, word: usize) -> &[Piece] {
        match self.words.get(word..word + 2) {
            Some(ends) => &self.pieces[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }

    /// The pieces of a shard.
    pub(super) fn of_shard(&self, shard: usize) -> impl Iterator<Item = &Piece> {
        let ends = &self.shards[shard..shard + 2];
        self.by_shard[ends[0] as usize..ends[1] as usize]
            .iter()
            .map(|at| &self.pieces[*at as usize])
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.shards.len() - 1
    }

    /// The shard and the lane of `cpu`.
    pub(super) fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        let bit = 1 << (cpu.index() % WORD_CPUS);
        let mut pieces = self.of_word(cpu.index() / WORD_CPUS).iter();
        let piece = pieces.find(|piece| piece.mask & bit != 0)?;
        Some((piece.shard, piece.lanes(bit).trailing_zeros() as u8))
    }

    /// Its parts on the heap: name, address and bytes.
    pub(super) fn parts(&self) -> [(&'static str, usize, usize); 4] {
        [
            ("pieces", self.pieces.as_ptr().addr(), size_of_val(&*self.pieces)),
            ("words", self.words.as_ptr().addr(), size_of_val(&*self.words)),
            ("by_shard", self.by_shard.as_ptr().addr(), size_of_val(&*self.by_shard)),
            ("shards", self.shards.as_ptr().addr(), size_of_val(&*self.shards)),
        ]
    }
}

fn refused<T>(length: usize) -> crate::error::AllocError {
    crate::error::AllocError::OutOfMemory { bytes: length.saturating_mul(size_of::<T>()) }
}

/// Where each number's run begins in an ascending row of them, and the row's end.
fn starts(numbers: impl Iterator<Item = u16> + Clone) -> Result<Box<[u32]>, OrderError> {
    let last = numbers.clone().last().map_or(0, usize::from);
    let mut starts = try_slice(last + 2, |_| Ok(0_u32))?;
    for number in numbers {
        starts[usize::from(number) + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    Ok(starts)
}
