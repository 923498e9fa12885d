//! Where a sequence of operations takes its next choice from: a seed, or a fuzzer's bytes.

/// A stream of choices.
pub trait Choices {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize;

    /// Any word.
    fn word(&mut self) -> u64;
}

/// Choices out of bytes; all of them are 0 behind the end.
#[derive(Clone, Debug)]
pub struct Bytes<'b>(pub &'b [u8]);

impl Bytes<'_> {
    /// Whether all bytes are used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `count` bytes as a number.
    fn take(&mut self, count: usize) -> u64 {
        let (now, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        now.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

impl Choices for Bytes<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let number = self.take(if bound <= 1 << 8 { 1 } else { 3 });
        number as usize % bound
    }

    fn word(&mut self) -> u64 {
        self.take(8)
    }
}
