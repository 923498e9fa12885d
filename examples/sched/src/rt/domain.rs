//! The structure that a priority vector lies in, and what else is read and written there.

use corelocal::PriorityVec;
use corelocal::priority::observed::Observed;
use corelocal::priority::{Layout, Word, Words};
use std::mem::offset_of;
use std::ops::Deref;
use std::sync::Arc;

/// The vector's words: each access is recorded.
pub type Vector<L> = PriorityVec<L, 101, Observed>;

type Word32 = <Observed as Words>::U32;
type Word64 = <Observed as Words>::U64;

/// The CPUs that balance real-time tasks among each other: our own structure, in the shape that the
/// kernel's has around its priority vector. The vector begins 0x38 bytes into a line, unless its
/// layout is aligned to lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct RootDomain<L: Layout> {
    refcount: Word32,
    /// Queues with more real-time tasks than one.
    rto_count: Word32,
    rcu: [u64; 2],
    span: u64,
    online: u64,
    overloaded: Word32,
    overutilized: Word32,
    dlo_mask: u64,
    dlo_count: Word32,
    bandwidth: [u64; 3],
    deadlines: [u64; 3],
    visit_cookie: u64,
    rest: u64,
    rto_push_work: [u64; 3],
    rto_lock: Word32,
    rto_loop: Word32,
    rto_cpu: Word32,
    rto_loop_next: Word32,
    rto_loop_start: Word32,
    /// The mask's pointer: plain, but on a line that others write.
    rto_mask: Word64,
    cpupri: Vector<L>,
    /// What `rto_mask` points to.
    rto_cpus: Box<[MaskLine]>,
}

/// 512 CPUs.
#[derive(Debug)]
#[repr(C, align(64))]
struct MaskLine([Word64; 8]);

impl<L: Layout> RootDomain<L> {
    /// A domain around `cpupri`, of CPUs below `cpus`.
    pub fn new(cpupri: Vector<L>, cpus: usize) -> Arc<Self> {
        let word32 = || Word32::new(0);
        let line = || MaskLine(std::array::from_fn(|_| Word64::new(0)));
        Arc::new(Self {
            refcount: word32(),
            rto_count: word32(),
            rcu: [0; 2],
            span: 0,
            online: 0,
            overloaded: word32(),
            overutilized: word32(),
            dlo_mask: 0,
            dlo_count: word32(),
            bandwidth: [0; 3],
            deadlines: [0; 3],
            visit_cookie: 0,
            rest: 0,
            rto_push_work: [0; 3],
            rto_lock: word32(),
            rto_loop: word32(),
            rto_cpu: word32(),
            rto_loop_next: word32(),
            rto_loop_start: word32(),
            rto_mask: Word64::new(0),
            cpupri,
            rto_cpus: (0..cpus.div_ceil(512)).map(|_| line()).collect(),
        })
    }

    /// A CPU's queue has too much now: into the mask, then counted.
    pub fn overload(&self, cpu: usize) {
        self.rto_mask.load();
        self.word(cpu).or(1 << (cpu % 64));
        self.rto_count.add(1);
        if self.overloaded.load() == 0 {
            self.overloaded.store(1);
        }
    }

    /// It has not any more: off the count, then out of the mask.
    pub fn relieve(&self, cpu: usize) {
        self.rto_count.sub(1);
        self.rto_mask.load();
        self.word(cpu).and(!(1 << (cpu % 64)));
    }

    /// A CPU went down and looks for tasks that it could pull: if a queue has too much, it asks that
    /// the round of pushes goes on.
    pub fn pull(&self) {
        if self.rto_count.load() > 0 {
            self.rto_loop_next.add(1);
            // Whoever takes the loop's start begins it; others leave. Nobody keeps it here.
            self.rto_loop_start.fetch_or(1);
        }
    }

    fn word(&self, cpu: usize) -> &Word64 {
        &self.rto_cpus[cpu / 512].0[cpu / 64 % 8]
    }

    /// The fields around the vector: name, address, bytes.
    pub fn neighbours(&self) -> Vec<(&'static str, usize, usize)> {
        let base = std::ptr::from_ref(self).addr();
        let field = |name, offset, bytes| (name, base + offset, bytes);
        vec![
            field("refcount", offset_of!(Self, refcount), 4),
            field("rto_count", offset_of!(Self, rto_count), 4),
            field("rcu", offset_of!(Self, rcu), 16),
            field("span, online", offset_of!(Self, span), 16),
            field("overloaded", offset_of!(Self, overloaded), 4),
            field("overutilized", offset_of!(Self, overutilized), 4),
            field("dlo_mask", offset_of!(Self, dlo_mask), 8),
            field("dlo_count", offset_of!(Self, dlo_count), 4),
            field("dl_bw", offset_of!(Self, bandwidth), 24),
            field("cpudl", offset_of!(Self, deadlines), 24),
            field("visit_cookie", offset_of!(Self, visit_cookie), 8),
            field("rto_push_work", offset_of!(Self, rto_push_work), 24),
            field("rto_lock", offset_of!(Self, rto_lock), 4),
            field("rto_loop", offset_of!(Self, rto_loop), 4),
            field("rto_cpu", offset_of!(Self, rto_cpu), 4),
            field("rto_loop_next", offset_of!(Self, rto_loop_next), 4),
            field("rto_loop_start", offset_of!(Self, rto_loop_start), 4),
            field("rto_mask", offset_of!(Self, rto_mask), 8),
            ("rto_mask's CPUs", self.rto_cpus.as_ptr().addr(), size_of_val(&*self.rto_cpus)),
        ]
    }
}

/// The vector of a domain: what a slot keeps.
#[derive(Debug)]
pub struct InDomain<L: Layout>(Arc<RootDomain<L>>);

impl<L: Layout> Clone for InDomain<L> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<L: Layout> InDomain<L> {
    /// The vector of `domain`.
    pub fn new(domain: Arc<RootDomain<L>>) -> Self {
        Self(domain)
    }

    /// The domain.
    pub fn domain(&self) -> &RootDomain<L> {
        &self.0
    }
}

impl<L: Layout> Deref for InDomain<L> {
    type Target = Vector<L>;

    fn deref(&self) -> &Vector<L> {
        &self.0.cpupri
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corelocal::{CpuId, Packed, Padded};

    fn offset<L: Layout>() -> usize {
        offset_of!(RootDomain<L>, cpupri)
    }

    #[test]
    fn the_packed_vector_begins_in_the_line_of_the_push_fields() {
        assert_eq!(offset::<Packed>() % 64, 0x38);
        assert_eq!(offset::<Packed>() / 64, offset_of!(RootDomain<Packed>, rto_loop_next) / 64);
        assert_eq!(offset::<Padded>() % 64, 0);
    }

    #[test]
    fn a_queue_that_was_relieved_is_not_in_the_mask() {
        let vector = Vector::<Packed>::try_new((0..600).map(CpuId::new)).unwrap();
        let domain = RootDomain::new(vector, 600);
        domain.overload(599);
        domain.pull();
        assert_eq!((domain.rto_count.load(), domain.rto_loop_next.load()), (1, 1));
        domain.relieve(599);
        domain.pull();
        assert_eq!((domain.rto_count.load(), domain.rto_loop_next.load()), (0, 1));
        assert_eq!(domain.word(599).load(), 0);
    }
}
