//! From masks by CPU id to lanes by shard, and back, a word at a time.

use super::error::OrderError;
use super::lined::{Lined, try_lines};
use super::mask::{WORD_CPUS, try_slice};
use crate::bytes;
use crate::cacheline::CacheLine;
use crate::cpu::CpuId;
use crate::error::AllocError;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Lanes in a row.
const ROW: u32 = bytes::BYTES as u32;

/// CPUs of one word of a mask that lie in one shard, all at the same distance: the word's bits
/// under `mask`, rotated to the left by `turn`, are the shard's lanes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
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
    /// One CPU.
    fn new(id: u32, shard: usize, lane: usize) -> Self {
        let (word, bit) = (id as usize / WORD_CPUS, id as usize % WORD_CPUS);
        let turn = (lane + WORD_CPUS - bit) % WORD_CPUS;
        Self { mask: 1 << bit, word: word as u16, shard: shard as u16, turn: turn as u16 }
    }

    /// What pieces are sorted by, and told apart.
    fn place(&self) -> (u16, u16, u16) {
        (self.shard, self.word, self.turn)
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
#[derive(Clone, Copy, Default, Debug)]
struct Run {
    first: u16,
    /// At most 64: as many as a word has CPUs.
    len: u16,
}

/// Numbers in a line.
const NUMBERS: usize = 32;
/// Runs in a line.
const RUNS: usize = 16;

/// All pieces. A regular machine has few: shards of neighbouring ids have one a word, two threads
/// a core with ids far apart three. An order without any regularity has one a CPU.
///
/// They lie on cache lines of their own: they are never written, and nothing that is written shall
/// make their lines move.
#[derive(Debug)]
pub(super) struct Map {
    /// By shard: a search over all CPUs goes through them in this order.
    pieces: Lined<Piece>,
    /// The pieces' numbers, by word.
    by_word: Box<[CacheLine<[u16; NUMBERS]>]>,
    /// The places in `by_word` of each word's.
    runs: Box<[CacheLine<[Run; RUNS]>]>,
}

impl Map {
    /// Cuts `order` into shards of at most `most` CPUs: as few as there can be, and as equal as they
    /// can be, since a large one would be written more often than the others. Pairs stay together: they
    /// are often threads of one core. Within a shard lanes go by id, which makes pieces as large as
    /// they can be and costs nothing: a shard is one line.
    pub(super) fn try_new(order: &[CpuId], most: usize) -> Result<Self, OrderError> {
        let shards = order.len().div_ceil(most);
        let size = order.len().div_ceil(shards).next_multiple_of(2);
        let mut ids = try_slice(order.len(), |at| Ok(order[at].get()))?;
        let mut bits = Vec::new();
        let bytes = order.len().saturating_mul(size_of::<Piece>());
        bits.try_reserve_exact(order.len()).map_err(|_| AllocError::OutOfMemory { bytes })?;
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
        let mut numbers = try_slice(bits.len(), |at| Ok(at as u16))?;
        numbers.sort_unstable_by_key(|at| (bits[usize::from(*at)].word, *at));
        let word_of = |at: &u16| bits[usize::from(*at)].word();
        let words = numbers.last().map_or(0, word_of) + 1;
        let run = |word: usize| {
            let first = numbers.partition_point(|at| word_of(at) < word);
            let end = numbers.partition_point(|at| word_of(at) <= word);
            Run { first: first as u16, len: (end - first) as u16 }
        };
        Ok(Self {
            pieces: Lined::try_new(bits.len(), |at| bits[at])?,
            by_word: try_lines(numbers.len(), |at| numbers.get(at).copied().unwrap_or(0))?,
            runs: try_lines(words, run)?,
        })
    }

    /// The pieces of a word; none beyond the last one.
    #[inline(always)]
    fn of_word(&self, word: usize) -> impl Iterator<Item = &Piece> {
        // The last line's runs without a word are empty.
        let run = self.runs.get(word / RUNS).map_or(Run::default(), |line| line[word % RUNS]);
        let Run { first, len } = run;
        let places = usize::from(first)..usize::from(first) + usize::from(len);
        places.map(|at| &self.pieces[usize::from(self.by_word[at / NUMBERS][at % NUMBERS])])
    }

    /// Cuts a mask into parts, in the order of ids.
    #[inline(always)]
    pub(super) fn cut(&self, mask: &[u64], mut each: impl FnMut(RowPart)) {
        for (at, cpus) in mask.iter().enumerate() {
            if *cpus == 0 {
                continue;
            }
            for piece in self.of_word(at) {
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

    /// The pieces of each shard, from shard `first` on and then those before it.
    #[inline(always)]
    pub(super) fn by_shard(&self, first: usize) -> impl Iterator<Item = &[Piece]> {
        let of_shard = |pieces| <[Piece]>::chunk_by(pieces, |one, next| one.shard == next.shard);
        let (before, from) = if first == 0 {
            (&[] as &[Piece], &*self.pieces)
        } else {
            let at = self.pieces.partition_point(|piece| usize::from(piece.shard) < first);
            self.pieces.split_at(at)
        };
        of_shard(from).chain(of_shard(before))
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> usize {
        self.pieces.last().map_or(0, |piece| usize::from(piece.shard) + 1)
    }

    /// The shard and the lane of `cpu`.
    pub(super) fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        let bit = 1 << (cpu.index() % WORD_CPUS);
        let piece = self.of_word(cpu.index() / WORD_CPUS).find(|piece| piece.mask & bit != 0)?;
        Some((piece.shard, piece.lanes(bit).trailing_zeros() as u8))
    }

    /// Its parts on the heap: name, address and bytes.
    pub(super) fn parts(&self) -> [(&'static str, usize, usize); 3] {
        [
            ("pieces", self.pieces.as_ptr().addr(), size_of_val(&*self.pieces)),
            ("by_word", self.by_word.as_ptr().addr(), size_of_val(&*self.by_word)),
            ("runs", self.runs.as_ptr().addr(), size_of_val(&*self.runs)),
        ]
    }
}

/// The lanes of those of a shard's CPUs that are in a mask.
#[inline(always)]
pub(super) fn lanes(shard: &[Piece], allowed: &[u64]) -> u64 {
    let word = |piece: &Piece| allowed.get(piece.word()).copied().unwrap_or(0);
    shard.iter().fold(0, |lanes, piece| lanes | piece.lanes(word(piece)))
}

/// Adds the CPUs of a shard's `lanes` to the words of a mask.
#[inline(always)]
pub(super) fn insert(shard: &[Piece], words: &mut [u64], lanes: u64) {
    for piece in shard {
        words[piece.word()] |= piece.cpus(lanes) & piece.mask;
    }
}

/// The CPU of a lane of a shard that has one.
pub(super) fn cpu(shard: &[Piece], lane: u32) -> CpuId {
    let has = |piece: &&Piece| piece.lanes(u64::MAX) >> lane & 1 == 1;
    shard.iter().find(has).expect("a lane of a CPU").cpu(lane)
}
