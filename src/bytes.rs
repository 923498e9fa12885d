//! Sixteen bytes at once, of two words that were loaded already.
//!
//! The priority vector keeps a byte a CPU and reads it in words, because a byte store and a word
//! load of one memory cannot be mixed; so it needs minimum and comparison of words' bytes. They
//! are written with SSE2, which every x86-64 has, and as arithmetic on a `u64` (SWAR) for the
//! others. Bytes are below 128: the eighth bit is what the arithmetic carries in.
//!
//! Source of the arithmetic: H. S. Warren, *Hacker's Delight*, 2nd edition, section 6-1.

#[cfg(all(target_arch = "x86_64", not(any(corelocal_loom, miri))))]
pub(crate) use sse2::Row;
#[cfg(not(all(target_arch = "x86_64", not(any(corelocal_loom, miri)))))]
pub(crate) use swar::Row;

/// Bytes of a [`Row`].
pub(crate) const BYTES: usize = 16;

/// The largest byte that there is.
const MOST: u8 = 127;

/// Eight times `byte`.
const fn splat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

#[cfg(all(target_arch = "x86_64", not(any(corelocal_loom, miri))))]
#[allow(unsafe_code, reason = "SSE2 intrinsics, and loads into its registers")]
mod sse2 {
    use super::MOST;
    use crate::sync::AtomicU64;
    use core::arch::x86_64::{
        __m128i, _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_cmplt_epi8,
        _mm_cvtsi32_si128, _mm_cvtsi128_si32, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set_epi64x, _mm_set1_epi8, _mm_set1_epi64x, _mm_shufflelo_epi16, _mm_srli_si128,
        _mm_unpacklo_epi8, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };

    /// Calls an intrinsic of SSE2.
    macro_rules! sse2 {
        ($intrinsic:ident $(::<$constant:literal>)? ($($argument:expr),*)) => {{
            // SAFETY:
            // * SSE2 is part of x86-64: every target of that architecture has it.
            unsafe { $intrinsic $(::<$constant>)? ($($argument),*) }
        }};
    }

    /// Sixteen bytes below 128. In what is said of them, the first one's bit is bit 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Row(__m128i);

    impl Row {
        /// The bytes of two words.
        #[inline(always)]
        pub(crate) fn new([low, high]: [u64; 2]) -> Self {
            Self(sse2!(_mm_set_epi64x(high as i64, low as i64)))
        }

        /// The bytes of two words, each loaded once.
        #[inline(always)]
        pub(crate) fn load(pair: &[AtomicU64; 2]) -> Self {
            let row;
            // SAFETY:
            // * The words are aligned, and what the two instructions do to each is one load of
            //   an aligned quadword: what a relaxed atomic load is on x86-64. (The compiler would
            //   load into general registers, and pay two shuffles a word to get it here.)
            unsafe {
                core::arch::asm!(
                    "movq {row}, qword ptr [{pair}]",
                    "movhps {row}, qword ptr [{pair} + 8]",
                    pair = in(reg) pair,
                    row = out(xmm_reg) row,
                    options(nostack, preserves_flags, readonly),
                );
            }
            Self(row)
        }

        /// Sixteen times `byte`.
        #[inline(always)]
        pub(crate) fn splat(byte: u8) -> Self {
            Self::new([super::splat(byte); 2])
        }

        /// Those bytes whose bits are set in `chosen`, and 127 for the others.
        #[inline(always)]
        pub(crate) fn only(self, chosen: u64) -> Self {
            // The first bits' byte into eight bytes, the second one into the others.
            let bits = sse2!(_mm_cvtsi32_si128(chosen as i32));
            let twice = sse2!(_mm_unpacklo_epi8(bits, bits));
            let four_times = sse2!(_mm_shufflelo_epi16::<0b01_01_00_00>(twice));
            let spread = sse2!(_mm_unpacklo_epi32(four_times, four_times));
            // In each byte its own bit.
            let own = sse2!(_mm_set1_epi64x(0x8040_2010_0804_0201_u64 as i64));
            let chosen = sse2!(_mm_and_si128(spread, own));
            let chosen = sse2!(_mm_cmpeq_epi8(chosen, own));
            let most = sse2!(_mm_set1_epi8(MOST as i8));
            let others = sse2!(_mm_andnot_si128(chosen, most));
            Self(sse2!(_mm_or_si128(self.0, others)))
        }

        /// Byte by byte the smaller one.
        #[inline(always)]
        pub(crate) fn min(self, other: Self) -> Self {
            Self(sse2!(_mm_min_epu8(self.0, other.0)))
        }

        /// The least byte, sixteen times.
        #[inline(always)]
        pub(crate) fn least(self) -> Self {
            let least = self.min(Self(sse2!(_mm_srli_si128::<8>(self.0))));
            let least = least.min(Self(sse2!(_mm_srli_si128::<4>(least.0))));
            let least = least.min(Self(sse2!(_mm_srli_si128::<2>(least.0))));
            let least = least.min(Self(sse2!(_mm_srli_si128::<1>(least.0))));
            let twice = sse2!(_mm_unpacklo_epi8(least.0, least.0));
            let eight_times = sse2!(_mm_shufflelo_epi16::<0>(twice));
            Self(sse2!(_mm_unpacklo_epi64(eight_times, eight_times)))
        }

        /// The first four bytes. (One of them is dearer to get.)
        #[inline(always)]
        pub(crate) fn four(self) -> u32 {
            sse2!(_mm_cvtsi128_si32(self.0)) as u32
        }

        /// Which bytes are what they are in `other`.
        #[inline(always)]
        pub(crate) fn equal(self, other: Self) -> u64 {
            Self::bits(sse2!(_mm_cmpeq_epi8(self.0, other.0)))
        }

        /// Which bytes are below those of `other`.
        #[inline(always)]
        pub(crate) fn below(self, other: Self) -> u64 {
            // A signed comparison: bytes are below 128, so it is the unsigned one.
            Self::bits(sse2!(_mm_cmplt_epi8(self.0, other.0)))
        }

        #[inline(always)]
        fn bits(answers: __m128i) -> u64 {
            u64::from(sse2!(_mm_movemask_epi8(answers)) as u16)
        }
    }
}

/// The arithmetic, for machines without SSE2 and as the other's oracle.
#[cfg(any(not(target_arch = "x86_64"), corelocal_loom, miri, test))]
#[cfg_attr(test, allow(unreachable_pub, reason = "what words are made of says it, if it is used"))]
mod swar {
    use super::{MOST, splat};
    use crate::sync::{AtomicU64, Ordering};

    /// The eighth bit of each byte.
    const HIGH: u64 = splat(0x80);

    /// Sixteen bytes below 128. In what is said of them, the first one's bit is bit 0.
    #[derive(Clone, Copy, Debug)]
    pub struct Row([u64; 2]);

    /// The eighth bits of a word's bytes, the first byte's in bit 0.
    const fn gather(high: u64) -> u64 {
        // Each product of a bit and a shift that fits lands in a bit of its own: no carries.
        ((high & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }

    /// The eighth bit of each byte of `word` that is not below the byte of `other`.
    const fn not_below(word: u64, other: u64) -> u64 {
        // 128 + x - y: no byte borrows from the next.
        ((word | HIGH) - other) & HIGH
    }

    impl Row {
        /// The bytes of two words.
        #[inline(always)]
        pub(crate) fn new(words: [u64; 2]) -> Self {
            Self(words)
        }

        /// The bytes of two words, each loaded once.
        #[inline(always)]
        pub(crate) fn load([low, high]: &[AtomicU64; 2]) -> Self {
            // Relaxed: who compares bytes says what orders them.
            Self::new([low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)])
        }

        /// Sixteen times `byte`.
        #[inline(always)]
        pub(crate) fn splat(byte: u8) -> Self {
            Self::new([super::splat(byte); 2])
        }

        /// Those bytes whose bits are set in `chosen`, and 127 for the others.
        #[inline(always)]
        pub(crate) fn only(self, chosen: u64) -> Self {
            let only = |word: u64, chosen: u64| {
                // The eighth bit of each chosen byte: its own bit of `chosen`, carried up.
                let own = (splat(1) * (chosen & 0xff)) & 0x8040_2010_0804_0201;
                let high = (own + splat(MOST)) & HIGH;
                // 127 less 127 for each chosen one.
                word | (splat(MOST) - (high - (high >> 7)))
            };
            Self([only(self.0[0], chosen), only(self.0[1], chosen >> 8)])
        }

        /// Byte by byte the smaller one.
        #[inline(always)]
        pub(crate) fn min(self, other: Self) -> Self {
            let min = |word: u64, other: u64| {
                let high = not_below(word, other);
                let take_other = high - (high >> 7);
                (other & take_other) | (word & !take_other)
            };
            Self([min(self.0[0], other.0[0]), min(self.0[1], other.0[1])])
        }

        /// The least byte, sixteen times.
        #[inline(always)]
        pub(crate) fn least(self) -> Self {
            let least = |row: Self, bits: u32| {
                let [word, _] = row.0;
                row.min(Self([word.rotate_right(bits), MOST.into()]))
            };
            let least_of_8 = self.min(Self([self.0[1], self.0[0]]));
            let [word, _] = least(least(least(least_of_8, 32), 16), 8).0;
            Self([word; 2])
        }

        /// The first four bytes.
        #[inline(always)]
        pub(crate) fn four(self) -> u32 {
            self.0[0] as u32
        }

        /// Which bytes are what they are in `other`.
        #[inline(always)]
        pub(crate) fn equal(self, other: Self) -> u64 {
            // 128 - x has the eighth bit set only for x = 0.
            let equal = |at: usize| gather(HIGH - (self.0[at] ^ other.0[at]));
            equal(0) | equal(1) << 8
        }

        /// Which bytes are below those of `other`.
        #[inline(always)]
        pub(crate) fn below(self, other: Self) -> u64 {
            let below = |at: usize| gather(!not_below(self.0[at], other.0[at]));
            below(0) | below(1) << 8
        }
    }
}

#[cfg(test)]
mod tests {
    use super::swar;
    use crate::sync::AtomicU64;
    use proptest::prelude::*;

    /// Everything that a row says of some bytes, beside what a look at each byte says.
    macro_rules! check {
        ($row:ty, $bytes:expr, $other:expr, $chosen:expr, $byte:expr) => {{
            let (bytes, other, chosen, byte): ([u8; 16], [u8; 16], u64, u8) =
                ($bytes, $other, $chosen, $byte);
            let row = |bytes: [u8; 16]| {
                let word = |at| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
                <$row>::new([word(0), word(8)])
            };
            let bits = |holds: &dyn Fn(usize) -> bool| {
                (0..16).fold(0, |bits, at| bits | u64::from(holds(at)) << at)
            };
            let of = |byte: u8| <$row>::splat(byte);
            let is_chosen = |at: usize| chosen >> at & 1 == 1;
            assert_eq!(row(bytes).equal(of(byte)), bits(&|at| bytes[at] == byte));
            assert_eq!(row(bytes).below(of(byte)), bits(&|at| bytes[at] < byte));
            let least = *bytes.iter().min().unwrap();
            assert_eq!(row(bytes).least().equal(of(least)), 0xffff);
            assert_eq!(row(bytes).four().to_le_bytes(), bytes[..4]);
            let words = [0, 8].map(|at| bytes[at..at + 8].try_into().map(u64::from_le_bytes));
            let loaded = <$row>::load(&words.map(|word| AtomicU64::new(word.unwrap())));
            assert_eq!(loaded.equal(row(bytes)), 0xffff);
            let only = row(bytes).only(chosen);
            let min = row(bytes).min(row(other));
            for byte in 0..128 {
                let kept = bits(&|at| if is_chosen(at) { bytes[at] == byte } else { byte == 127 });
                assert_eq!(only.equal(of(byte)), kept, "{byte} of the chosen");
                let smaller = bits(&|at| bytes[at].min(other[at]) == byte);
                assert_eq!(min.equal(of(byte)), smaller, "{byte} of the smaller");
            }
        }};
    }

    proptest! {
        #[test]
        fn rows_answer_as_their_bytes_do_one_by_one(
            bytes in proptest::array::uniform16(0u8..128),
            other in proptest::array::uniform16(0u8..128),
            near in 0u8..128,
            byte in 0u8..128,
            chosen in 0u64..1 << 16,
        ) {
            // Values close to the one that is looked for, and the ends.
            let close = core::array::from_fn(|at| {
                [near, near.saturating_sub(1), (near + 1).min(127), 0, 127, other[at]][at % 6]
            });
            for byte in [byte, near, 0, 127] {
                check!(swar::Row, bytes, other, chosen, byte);
                check!(super::Row, bytes, other, chosen, byte);
                check!(swar::Row, close, other, chosen, byte);
                check!(super::Row, close, other, chosen, byte);
            }
        }
    }
}
