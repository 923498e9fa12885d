//! [`Geometry`]: how a cache is cut into sets.

use std::fmt;

/// Sets and ways of a cache, and the bytes of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    sets: usize,
    ways: usize,
    line: usize,
}

impl Geometry {
    /// A cache of `size` bytes with lines of `line` bytes, `ways` of them in each set.
    ///
    /// The number of sets need not be a power of two: last levels are cut in odd ways.
    ///
    /// # Errors
    ///
    /// [`GeometryError`] if a number is zero, the line is no power of two, or the size is not a
    /// whole number of sets.
    ///
    /// ```
    /// use model::Geometry;
    /// let l1 = Geometry::new(48 << 10, 12, 64)?;
    /// assert_eq!((l1.sets(), l1.set_of(l1.line_of(4096 + 130))), (64, 2));
    /// # Ok::<(), model::GeometryError>(())
    /// ```
    pub fn new(size: usize, ways: usize, line: usize) -> Result<Self, GeometryError> {
        if size == 0 || ways == 0 || line == 0 {
            return Err(GeometryError::Zero { size, ways, line });
        }
        if !line.is_power_of_two() {
            return Err(GeometryError::LineNotPowerOfTwo { line });
        }
        let set = ways.checked_mul(line).filter(|&set| size % set == 0);
        let set = set.ok_or(GeometryError::NotWholeSets { size, ways, line })?;
        Ok(Self { sets: size / set, ways, line })
    }

    /// Sets.
    pub fn sets(self) -> usize {
        self.sets
    }

    /// Lines that each set holds.
    pub fn ways(self) -> usize {
        self.ways
    }

    /// Bytes of a line.
    pub fn line(self) -> usize {
        self.line
    }

    /// Bytes of the cache.
    pub fn size(self) -> usize {
        self.sets * self.ways * self.line
    }

    /// The number of the line that a byte lies in.
    pub fn line_of(self, address: u64) -> u64 {
        address / self.line as u64
    }

    /// The set that a line goes to.
    pub fn set_of(self, line: u64) -> usize {
        (line % self.sets as u64) as usize
    }
}

/// Numbers that make no cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeometryError {
    /// One of them is zero.
    Zero {
        /// Bytes of the cache.
        size: usize,
        /// Lines of a set.
        ways: usize,
        /// Bytes of a line.
        line: usize,
    },
    /// Lines are powers of two.
    LineNotPowerOfTwo {
        /// Bytes of a line.
        line: usize,
    },
    /// The size must be a multiple of `ways * line`.
    NotWholeSets {
        /// Bytes of the cache.
        size: usize,
        /// Lines of a set.
        ways: usize,
        /// Bytes of a line.
        line: usize,
    },
}

impl fmt::Display for GeometryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Zero { size, ways, line } => write!(
                f,
                "a cache of {size} bytes in {ways} ways of {line} bytes holds nothing: \
                 all three must be at least 1"
            ),
            Self::LineNotPowerOfTwo { line } => {
                write!(f, "a line of {line} bytes: must be a power of two")
            }
            Self::NotWholeSets { size, ways, line } => {
                write!(f, "{size} bytes are no whole number of sets of {ways} ways of {line} bytes")
            }
        }
    }
}

impl std::error::Error for GeometryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_cache_are_named() {
        use GeometryError::{LineNotPowerOfTwo, NotWholeSets, Zero};
        assert_eq!(Geometry::new(0, 8, 64), Err(Zero { size: 0, ways: 8, line: 64 }));
        assert_eq!(Geometry::new(960, 2, 48), Err(LineNotPowerOfTwo { line: 48 }));
        let uneven = NotWholeSets { size: 1000, ways: 2, line: 64 };
        assert_eq!(Geometry::new(1000, 2, 64), Err(uneven));
        let overflow = NotWholeSets { size: 64, ways: usize::MAX, line: 64 };
        assert_eq!(Geometry::new(64, usize::MAX, 64), Err(overflow));
        for error in [uneven, overflow] {
            assert!(error.to_string().contains("no whole number of sets"));
        }
    }

    #[test]
    fn lines_go_round_the_sets_also_where_they_are_no_power_of_two() {
        let three = Geometry::new(3 * 2 * 64, 2, 64).unwrap();
        let sets: Vec<_> = (0..7).map(|line| three.set_of(line)).collect();
        assert_eq!(sets, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(three.size(), 384);
        assert_eq!([63, 64, 127, 128].map(|address| three.line_of(address)), [0, 1, 1, 2]);
    }
}
