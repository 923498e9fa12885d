//! Comparisons of eight bytes at once, over words that were loaded already.
//!
//! The priority vector keeps a byte a CPU and reads it in words, because a byte store and a word
//! load of one memory cannot be mixed; so it needs its comparisons on words. They are written as
//! arithmetic on a `u64` (SWAR), and with SSE2, which every x86-64 has, where a mask of sixteen
//! bytes is one instruction. Bytes are below 128: the eighth bit is what the arithmetic carries in.
//!
//! Source of the arithmetic: H. S. Warren, *Hacker's Delight*, 2nd edition, section 6-1.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code, reason = "SSE2 intrinsics"))]

/// The eighth bit of each byte.
const HIGH: u64 = 0x8080_8080_8080_8080;
/// One in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight copies of `byte`.
#[inline(always)]
const fn splat(byte: u8) -> u64 {
    ONES * byte as u64
}

/// The eighth bits of a word's bytes, the lowest byte's in bit 0.
#[inline(always)]
const fn gather(high: u64) -> u64 {
    // Each product of a bit and a shift that fits lands in a bit of its own: no carries.
    ((high & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Which bytes of `word` are `byte`, the lowest byte's answer in bit 0.
#[inline(always)]
const fn equal_in_word(word: u64, byte: u8) -> u64 {
    // 128 - x has the eighth bit set only for x = 0, and no byte borrows from the next.
    gather(HIGH - (word ^ splat(byte)))
}

/// Which bytes of `word` are below `byte`, the lowest byte's answer in bit 0.
#[inline(always)]
const fn below_in_word(word: u64, byte: u8) -> u64 {
    // 128 + x - byte has the eighth bit set unless x < byte.
    gather(!((word | HIGH) - splat(byte)))
}

/// Which bytes of `words` are `byte`; word `i`'s answers are in bits `8 * i..8 * i + 8`.
///
/// All bytes are below 128, and there are at most eight words.
#[inline(always)]
pub(crate) fn equal<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
    wide::equal(words, byte)
}

/// Which bytes of `words` are below `byte`; as [`equal`].
#[inline(always)]
pub(crate) fn below<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
    wide::below(words, byte)
}

/// The arithmetic, for machines without SSE2 and as the other's oracle.
#[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "SSE2 takes pairs of words"))]
mod swar {
    pub(super) fn equal<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
        gathered(words, |word| super::equal_in_word(word, byte))
    }

    pub(super) fn below<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
        gathered(words, |word| super::below_in_word(word, byte))
    }

    #[inline(always)]
    fn gathered<const WORDS: usize>(words: &[u64; WORDS], of: impl Fn(u64) -> u64) -> u64 {
        words.iter().enumerate().fold(0, |bits, (at, word)| bits | of(*word) << (8 * at))
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
use sse2 as wide;
#[cfg(any(not(target_arch = "x86_64"), miri))]
use swar as wide;

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod sse2 {
    use core::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmplt_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8,
    };

    #[inline(always)]
    pub(super) fn equal<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
        let compare = |pair, byte| {
            // SAFETY:
            // * SSE2 is part of x86-64: every target of that architecture has it.
            unsafe { _mm_cmpeq_epi8(pair, byte) }
        };
        masks(words, byte, compare, super::equal_in_word)
    }

    #[inline(always)]
    pub(super) fn below<const WORDS: usize>(words: &[u64; WORDS], byte: u8) -> u64 {
        // A signed comparison: bytes are below 128, so it is the unsigned one.
        let compare = |pair, byte| {
            // SAFETY:
            // * SSE2 is part of x86-64: every target of that architecture has it.
            unsafe { _mm_cmplt_epi8(pair, byte) }
        };
        masks(words, byte, compare, super::below_in_word)
    }

    /// `compare` on pairs of words, `last` on a word that has no partner.
    #[inline(always)]
    fn masks<const WORDS: usize>(
        words: &[u64; WORDS],
        byte: u8,
        compare: impl Fn(__m128i, __m128i) -> __m128i,
        last: impl Fn(u64, u8) -> u64,
    ) -> u64 {
        // SAFETY:
        // * SSE2 is part of x86-64: every target of that architecture has it.
        let wanted = unsafe { _mm_set1_epi8(byte as i8) };
        let mut bits = 0;
        let mut at = 0;
        while at + 2 <= WORDS {
            // SAFETY:
            // * SSE2 is part of x86-64: every target of that architecture has it.
            let pair = unsafe { _mm_set_epi64x(words[at + 1] as i64, words[at] as i64) };
            let found = compare(pair, wanted);
            // SAFETY:
            // * SSE2 is part of x86-64: every target of that architecture has it.
            let mask = unsafe { _mm_movemask_epi8(found) };
            bits |= u64::from(mask as u16) << (8 * at);
            at += 2;
        }
        if at < WORDS {
            bits |= last(words[at], byte) << (8 * at);
        }
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::{below, equal, swar};
    use proptest::prelude::*;

    fn bytes_of(words: &[u64]) -> impl Iterator<Item = u8> + '_ {
        words.iter().flat_map(|word| word.to_le_bytes())
    }

    fn one_by_one(words: &[u64], holds: impl Fn(u8) -> bool) -> u64 {
        bytes_of(words).enumerate().fold(0, |bits, (at, byte)| bits | u64::from(holds(byte)) << at)
    }

    fn check<const WORDS: usize>(words: [u64; WORDS], byte: u8) {
        let same = one_by_one(&words, |other| other == byte);
        let less = one_by_one(&words, |other| other < byte);
        assert_eq!((equal(&words, byte), below(&words, byte)), (same, less));
        assert_eq!((swar::equal(&words, byte), swar::below(&words, byte)), (same, less));
    }

    proptest! {
        #[test]
        fn words_answer_as_their_bytes_do_one_by_one(
            bytes in proptest::array::uniform32(0u8..128),
            near in 0u8..128,
            byte in 0u8..128,
        ) {
            let mut words = [0; 8];
            for (at, byte) in bytes.into_iter().enumerate() {
                words[at / 8] |= u64::from(byte) << (8 * (at % 8));
                // Values close to the one that is looked for, and the ends.
                let close = [near, near.saturating_sub(1), 0, 127][at % 4];
                words[4 + at / 8] |= u64::from(close) << (8 * (at % 8));
            }
            for byte in [byte, near, 0, 127] {
                check(words, byte);
                check([words[0], words[4]], byte);
                check([words[5]], byte);
                check([words[1], words[2], words[6]], byte);
            }
        }
    }
}
