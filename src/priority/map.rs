//! From masks by CPU id to lanes by shard, and back, a word at a time.

use super::error::OrderError;
use super::lined::Lined;
use super::mask::{WORD_CPUS, try_slice};
use crate::bytes;
use crate::cpu::CpuId;
use crate::error::AllocError;
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
    /// At most 64: as many as a word or a shard has CPUs.
    len: u16,
}

impl Run {
    /// Where `number` is in an ascending row of things.
    fn of_number<T>(row: &[T], number: usize, of: impl Fn(&T) -> usize) -> Self {
        let first = row.partition_point(|thing| of(thing) < number);
        let end = row.partition_point(|thing| of(thing) <= number);
        Self { first: first as u16, len: (end - first) as u16 }
    }

    #[inline(always)]
    fn of<T>(self, things: &[T]) -> &[T] {
        let first = usize::from(self.first);
        &things[first..first + usize::from(self.len)]
    }
}

/// All pieces. A regular machine has few: shards of neighbouring ids have one a word, two threads
/// a core with ids far apart two and a bit. An order without any regularity has one a CPU.
///
/// They lie on cache lines of their own: they are never written, and nothing that is written shall
/// make their lines move.
#[derive(Debug)]
pub(super) struct Map {
    /// By shard: a search over all CPUs goes through them in this order.
    pieces: Lined<Piece>,
    /// The pieces' numbers, by word.
    by_word: Lined<u16>,
    /// Those of each word among `by_word`; then those of each shard among `pieces`.
    runs: Lined<Run>,
    /// How many words a mask of all CPUs has.
    words: u32,
}

impl Map {
    /// Cuts `order` into shards of `size` CPUs. Within a shard lanes go by id, which makes
    /// pieces as large as they can be and costs nothing: a shard is one line.
    pub(super) fn try_new(order: &[CpuId], size: usize) -> Result<Self, OrderError> {
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
        let mut by_word = try_slice(bits.len(), |at| Ok(at as u16))?;
        by_word.sort_unstable_by_key(|at| (bits[usize::from(*at)].word, *at));
        let word_of = |at: &u16| bits[usize::from(*at)].word();
        let words = by_word.last().map_or(0, word_of) + 1;
        let run = |at: usize| match at.checked_sub(words) {
            None => Run::of_number(&by_word, at, word_of),
            Some(shard) => Run::of_number(&bits, shard, |piece| piece.shard.into()),
        };
        Ok(Self {
            runs: Lined::try_new(words + order.len().div_ceil(size), run)?,
            pieces: Lined::try_new(bits.len(), |at| bits[at])?,
            by_word: Lined::try_new(by_word.len(), |at| by_word[at])?,
            words: words as u32,
        })
    }

    /// The runs of words, and those of shards.
    #[inline(always)]
    fn runs(&self) -> (&[Run], &[Run]) {
        self.runs.split_at(self.words())
    }

    /// The pieces of a word.
    #[inline(always)]
    fn pieces(&self, word: Run) -> impl Iterator<Item = &Piece> {
        let pieces = &*self.pieces;
        word.of(&self.by_word).iter().map(|at| &pieces[usize::from(*at)])
    }

    /// Cuts a mask into parts, in the order of ids.
    #[inline(always)]
    pub(super) fn cut(&self, mask: &[u64], mut each: impl FnMut(RowPart)) {
        let (words, _) = self.runs();
        for (at, cpus) in mask.iter().enumerate() {
            if *cpus == 0 {
                continue;
            }
            let Some(run) = words.get(at) else {
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
        self.runs().1[shard].of(&self.pieces)
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
        self.runs().1.len()
    }

    /// How many words a mask of all CPUs has.
    #[inline(always)]
    pub(super) fn words(&self) -> usize {
        self.words as usize
    }

    /// The CPU of a lane that has one.
    pub(super) fn cpu(&self, shard: usize, lane: u32) -> CpuId {
        let has = |piece: &&Piece| piece.lanes(u64::MAX) >> lane & 1 == 1;
        self.of_shard(shard).iter().find(has).expect("a lane of a CPU").cpu(lane)
    }

    /// The shard and the lane of `cpu`.
    pub(super) fn place(&self, cpu: CpuId) -> Option<(u16, u8)> {
        let bit = 1 << (cpu.index() % WORD_CPUS);
        let run = self.runs().0.get(cpu.index() / WORD_CPUS)?;
        let piece = self.pieces(*run).find(|piece| piece.mask & bit != 0)?;
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
