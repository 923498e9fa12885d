//! From masks by CPU id to lanes by shard, and back, a word at a time.

use super::error::OrderError;
use super::mask::{WORD_CPUS, try_slice};
use crate::cacheline::CacheLine;
use crate::cpu::CpuId;
use crate::error::AllocError;
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
    /// No CPU.
    const NONE: Self = Self { mask: 0, word: 0, shard: 0, turn: 0 };

    /// One CPU.
    fn new(id: u32, shard: usize, lane: usize) -> Self {
        let (word, bit) = (id as usize / WORD_CPUS, id as usize % WORD_CPUS);
        let turn = (lane + WORD_CPUS - bit) % WORD_CPUS;
        Self { mask: 1 << bit, word: word as u16, shard: shard as u16, turn: turn as u16 }
    }

    /// What pieces are told apart by, and sorted.
    fn place(&self) -> (u16, u16, u16) {
        (self.word, self.shard, self.turn)
    }

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

/// Pieces in a line.
const PIECES: usize = 4;
/// Numbers in a line.
const NUMBERS: usize = 16;

/// All pieces. A regular machine has few: shards of neighbouring ids have one a word, two threads
/// a core with ids far apart three. An order without any regularity has one a CPU.
///
/// They lie on cache lines of their own: they are never written, and nothing that is shall make
/// their lines move.
#[derive(Debug)]
pub(super) struct Map {
    /// By word.
    pieces: Box<[CacheLine<[Piece; PIECES]>]>,
    /// Where a word's pieces begin; one more for the end.
    starts: Box<[CacheLine<[u32; NUMBERS]>]>,
    /// Words that have pieces: those of a mask of all CPUs.
    words: usize,
    shards: usize,
}

impl Map {
    /// Cuts `order` into shards of at most `most` CPUs, as few as there can be, as equal as they
    /// can be: a large one would be written more than the others. Pairs stay together, since they
    /// are often threads of one core. Within a shard lanes go by id, which makes pieces as large as
    /// they can be and costs nothing: a shard is one line.
    pub(super) fn try_new(order: &[CpuId], most: usize) -> Result<Self, OrderError> {
        let shards = order.len().div_ceil(most);
        let size = order.len().div_ceil(shards).next_multiple_of(2);
        let mut ids = try_slice(order.len(), |at| Ok(order[at].get()))?;
        let mut bits = Vec::new();
        bits.try_reserve_exact(order.len()).map_err(|_| refused::<Piece>(order.len()))?;
        for (shard, ids) in ids.chunks_mut(size).enumerate() {
            ids.sort_unstable();
            bits.extend(ids.iter().enumerate().map(|(lane, id)| Piece::new(*id, shard, lane)));
        }
        bits.sort_unstable_by_key(Piece::place);
        bits.dedup_by(|next, piece| {
            let joined = next.place() == piece.place();
            piece.mask |= if joined { next.mask } else { 0 };
            joined
        });
        let words = bits.last().map_or(0, |piece| piece.word() + 1);
        // The first piece of each word or of a later one.
        let start = |word| bits.partition_point(|piece| piece.word() < word) as u32;
        Ok(Self {
            pieces: lines(bits.len(), |at| bits.get(at).copied().unwrap_or(Piece::NONE))?,
            starts: lines(words + 1, |word| start(word))?,
            words,
            shards: ids.len().div_ceil(size),
        })
    }

    #[inline(always)]
    fn start(&self, word: usize) -> usize {
        self.starts[word / NUMBERS][word % NUMBERS] as usize
    }

    /// The pieces of a mask's word; none beyond the last one.
    #[inline(always)]
    pub(super) fn of_word(&self, word: usize) -> impl Iterator<Item = &Piece> {
        let ends = if word < self.words { self.start(word)..self.start(word + 1) } else { 0..0 };
        ends.map(|at| &self.pieces[at / PIECES][at % PIECES])
    }

    /// All pieces, by word.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Piece> {
        (0..self.words).flat_map(|word| self.of_word(word))
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.shards
    }

    /// The shard and the lane of `cpu`.
    pub(super) fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        let bit = 1 << (cpu.index() % WORD_CPUS);
        let mut pieces = self.of_word(cpu.index() / WORD_CPUS);
        let piece = pieces.find(|piece| piece.mask & bit != 0)?;
        Some((piece.shard, piece.lanes(bit).trailing_zeros() as u8))
    }

    /// Its parts on the heap: name, address and bytes.
    pub(super) fn parts(&self) -> [(&'static str, usize, usize); 2] {
        [
            ("pieces", self.pieces.as_ptr().addr(), size_of_val(&*self.pieces)),
            ("starts", self.starts.as_ptr().addr(), size_of_val(&*self.starts)),
        ]
    }
}

/// At least `length` values, on whole lines.
fn lines<T, const N: usize>(
    length: usize,
    make: impl Fn(usize) -> T,
) -> Result<Box<[CacheLine<[T; N]>]>, AllocError> {
    let line = |at: usize| CacheLine::new(core::array::from_fn(|in_line| make(at * N + in_line)));
    try_slice(length.div_ceil(N), |at| Ok(line(at)))
}

fn refused<T>(length: usize) -> AllocError {
    AllocError::OutOfMemory { bytes: length.saturating_mul(size_of::<T>()) }
}
