//! From masks by CPU id to lanes by shard, and back, a word at a time.

use super::error::OrderError;
use super::mask::{WORD_CPUS, try_slice};
use crate::bytes;
use crate::cpu::CpuId;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Lanes in a row.
const ROW: u32 = bytes::BYTES as u32;

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
    #[inline(always)]
    pub(super) fn word(&self) -> usize {
        self.word.into()
    }

    /// The lane's CPU.
    pub(super) fn cpu(&self, lane: u32) -> CpuId {
        let bit = self.cpus(1 << lane).trailing_zeros();
        CpuId::new(self.word as u32 * WORD_CPUS as u32 + bit)
    }
}

/// Sixteen lanes of a shard, those of them that are looked at, and whose they are.
#[doc(hidden)]
#[derive(Clone, Copy, Default, Debug)]
pub struct RowPart {
    pub(super) shard: u16,
    pub(super) row: u16,
    pub(super) lanes: u16,
    /// The lanes turned to the right by so many bits are CPUs of the mask's word.
    turn: u16,
    pub(super) word: u16,
}

impl RowPart {
    /// The word's bits of `lanes`.
    #[inline(always)]
    pub(super) fn cpus(self, lanes: u64) -> u64 {
        lanes.rotate_right(self.turn.into())
    }

    /// The lane's CPU.
    pub(super) fn cpu(self, lane: u32) -> CpuId {
        let bit = self.cpus(1 << lane).trailing_zeros();
        CpuId::new(u32::from(self.word) * WORD_CPUS as u32 + bit)
    }
}

/// Some neighbours in a row of things.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    first: u16,
    /// At most 64: as many as a word or a shard has CPUs.
    len: u16,
}

impl Run {
    #[inline(always)]
    fn of<T>(self, things: &[T]) -> &[T] {
        let first = usize::from(self.first);
        &things[first..first + usize::from(self.len)]
    }
}

/// All pieces. A regular machine has few: shards of neighbouring ids have one a word, two threads
/// a core with ids far apart two and a bit. An order without any regularity has one a CPU.
#[derive(Debug)]
pub(super) struct Map {
    /// By shard: a search over all CPUs goes through them in this order.
    pieces: Box<[Piece]>,
    /// Those of each shard.
    shards: Box<[Run]>,
    /// The pieces' numbers, by word.
    by_word: Box<[u16]>,
    /// The places in `by_word` of each word's.
    words: Box<[Run]>,
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
        bits.sort_unstable_by_key(|piece| (piece.shard, piece.word, piece.turn));
        bits.dedup_by(|next, piece| {
            let same = |piece: &Piece| (piece.word, piece.shard, piece.turn);
            let joined = same(next) == same(piece);
            piece.mask |= if joined { next.mask } else { 0 };
            joined
        });
        let pieces = try_slice(bits.len(), |at| Ok(bits[at]))?;
        let mut by_word = try_slice(pieces.len(), |at| Ok(at as u16))?;
        by_word.sort_unstable_by_key(|at| (pieces[*at as usize].word, *at));
        let shards = runs(pieces.iter().map(|piece| piece.shard))?;
        let words = runs(by_word.iter().map(|at| pieces[*at as usize].word))?;
        Ok(Self { pieces, shards, by_word, words })
    }

    /// The pieces of a word.
    #[inline(always)]
    fn pieces(&self, word: Run) -> impl Iterator<Item = &Piece> {
        word.of(&self.by_word).iter().map(|at| &self.pieces[usize::from(*at)])
    }

    /// Cuts a mask into parts, in the order of ids.
    #[inline(always)]
    pub(super) fn cut(&self, mask: &[u64], mut each: impl FnMut(RowPart)) {
        for (at, cpus) in mask.iter().enumerate() {
            if *cpus == 0 {
                continue;
            }
            let Some(run) = self.words.get(at) else {
                return;
            };
            for piece in self.pieces(*run) {
                let mut left = piece.lanes(*cpus);
                while left != 0 {
                    let shift = left.trailing_zeros() / ROW * ROW;
                    let lanes = (left >> shift) as u16;
                    left &= !(0xffff << shift);
                    let row = (shift / ROW) as u16;
                    let turn = piece.turn.wrapping_sub(shift as u16) % 64;
                    each(RowPart { shard: piece.shard, row, lanes, turn, word: piece.word });
                }
            }
        }
    }

    /// The pieces of a shard.
    #[inline(always)]
    pub(super) fn of_shard(&self, shard: usize) -> &[Piece] {
        self.shards[shard].of(&self.pieces)
    }

    /// The lanes of those of a shard's CPUs that are in a mask.
    #[inline(always)]
    pub(super) fn lanes(&self, shard: usize, allowed: &[u64]) -> u64 {
        let word = |piece: &Piece| allowed.get(piece.word()).copied().unwrap_or(0);
        self.of_shard(shard).iter().fold(0, |lanes, piece| lanes | piece.lanes(word(piece)))
    }

    /// Adds the CPUs of a shard's `lanes` to the words of a mask.
    #[inline(always)]
    pub(super) fn insert(&self, words: &mut [u64], shard: usize, lanes: u64) {
        for piece in self.of_shard(shard) {
            words[piece.word()] |= piece.cpus(lanes) & piece.mask;
        }
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.shards.len()
    }

    /// How many words a mask of all CPUs has.
    #[inline(always)]
    pub(super) fn words(&self) -> usize {
        self.words.len()
    }

    /// The CPU of a lane that has one.
    pub(super) fn cpu(&self, shard: usize, lane: u32) -> CpuId {
        let has = |piece: &&Piece| piece.lanes(u64::MAX) >> lane & 1 == 1;
        self.of_shard(shard).iter().find(has).expect("a lane of a CPU").cpu(lane)
    }

    /// The shard and the lane of `cpu`.
    pub(super) fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        let bit = 1 << (cpu.index() % WORD_CPUS);
        let run = self.words.get(cpu.index() / WORD_CPUS)?;
        let piece = self.pieces(*run).find(|piece| piece.mask & bit != 0)?;
        Some((piece.shard, piece.lanes(bit).trailing_zeros() as u8))
    }

    /// Its parts on the heap: name, address and bytes.
    pub(super) fn parts(&self) -> [(&'static str, usize, usize); 4] {
        [
            ("pieces", self.pieces.as_ptr().addr(), size_of_val(&*self.pieces)),
            ("words", self.words.as_ptr().addr(), size_of_val(&*self.words)),
            ("by_word", self.by_word.as_ptr().addr(), size_of_val(&*self.by_word)),
            ("shards", self.shards.as_ptr().addr(), size_of_val(&*self.shards)),
        ]
    }
}

fn refused<T>(length: usize) -> crate::error::AllocError {
    crate::error::AllocError::OutOfMemory { bytes: length.saturating_mul(size_of::<T>()) }
}

/// Where each number is in an ascending row of them, which has at most 64 of each.
fn runs(numbers: impl Iterator<Item = u16> + Clone) -> Result<Box<[Run]>, OrderError> {
    let last = numbers.clone().last().map_or(0, usize::from);
    let mut runs = try_slice(last + 1, |_| Ok(Run { first: 0, len: 0 }))?;
    for (at, number) in numbers.enumerate() {
        let run = &mut runs[usize::from(number)];
        if run.len == 0 {
            run.first = at as u16;
        }
        run.len += 1;
    }
    Ok(runs)
}
