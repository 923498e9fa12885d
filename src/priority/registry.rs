//! Which CPUs a vector has, and which of them are claimed.

use super::error::OrderError;
use super::lined::Lined;
use super::mask::{WORD_CPUS, try_slice};
use crate::bitmap::AtomicBitmap;
use crate::cpu::{CpuId, CpuMask, MAX_PARSED_ID};

/// Which CPUs a vector has, and which of them are claimed.
#[doc(hidden)]
#[derive(Debug)]
pub struct Registry {
    members: Lined<u64>,
    len: u32,
    claimed: AtomicBitmap,
}

impl Registry {
    /// The CPUs of `order`.
    pub(super) fn try_new(order: &[CpuId]) -> Result<Self, OrderError> {
        let last = order.iter().copied().max().ok_or(OrderError::Empty)?;
        if last.get() > MAX_PARSED_ID {
            return Err(OrderError::IdTooLarge { cpu: last, most: MAX_PARSED_ID });
        }
        let bound = last.index() + 1;
        let mut members = try_slice(bound.div_ceil(WORD_CPUS), |_| Ok(0_u64))?;
        for cpu in order {
            let word = &mut members[cpu.index() / WORD_CPUS];
            let bit = 1 << (cpu.index() % WORD_CPUS);
            if *word & bit != 0 {
                return Err(OrderError::Twice(*cpu));
            }
            *word |= bit;
        }
        Ok(Self {
            members: Lined::try_new(members.len(), |at| members[at])?,
            len: order.len() as u32,
            claimed: AtomicBitmap::try_new(bound)?,
        })
    }

    /// How many CPUs there are.
    pub(super) fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether all of them are in `allowed`.
    #[inline(always)]
    pub(super) fn is_within(&self, allowed: &[u64]) -> bool {
        let missing = |(own, allowed): (&u64, &u64)| own & !allowed;
        let mut words = self.members.iter().zip(allowed);
        // A small mask shows it in its first word; the others are looked at together.
        self.members.len() <= allowed.len()
            && words.next().map_or(0, missing) == 0
            && words.map(missing).fold(0, |any, word| any | word) == 0
    }

    /// The highest id + 1.
    pub(super) fn bound(&self) -> usize {
        self.claimed.bits()
    }

    /// Words of a mask of all CPUs.
    pub(super) fn words(&self) -> usize {
        self.members.len()
    }

    pub(super) fn cpus(&self) -> CpuMask {
        let mut cpus = CpuMask::new();
        cpus.assign_words(self.members.iter().copied());
        cpus
    }

    pub(super) fn contains(&self, cpu: CpuId) -> bool {
        let word = self.members.get(cpu.index() / WORD_CPUS);
        word.is_some_and(|word| word >> (cpu.index() % WORD_CPUS) & 1 != 0)
    }

    /// Takes `cpu`, a member, for its one writer; false if somebody has it.
    pub(super) fn claim(&self, cpu: CpuId) -> bool {
        // What its last writer did is seen: edge E1 of the bitmap.
        self.claimed.set(cpu.index())
    }

    /// Gives `cpu` back.
    pub(super) fn release(&self, cpu: CpuId) {
        self.claimed.clear(cpu.index());
    }

    /// How many CPUs are claimed.
    pub(super) fn claims(&self) -> usize {
        self.claimed.count()
    }

    /// Its parts on the heap: name, address and bytes.
    pub(super) fn parts(&self) -> [(&'static str, usize, usize); 2] {
        let claimed = self.claimed.words();
        [
            ("members", self.members.as_ptr().addr(), size_of_val(&*self.members)),
            ("claimed", claimed.as_ptr().addr(), size_of_val(claimed)),
        ]
    }
}
