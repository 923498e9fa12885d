//! Every operation once, in each form, as bare sections; each attempt is compared with what
//! was before it and with what it should leave.

use crate::lanes::{Copy, Far, Lanes, RECORD, UNITS};
use corelocal::cpu::CpuId;
use corelocal::sys::rseq::{
    Anchored, Copied, Form, HERE, Hot, Int, Outcome, Pushed, Ring, Sections, Stack, Words, on,
    update,
};
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the subjects work on.
#[derive(Debug)]
pub struct Bench {
    lanes: Lanes,
    rings: Vec<Ring>,
    hot: Hot,
    cpu: u32,
    guard: AtomicUsize,
    node: [AtomicUsize; 4],
    out: [AtomicUsize; 8],
    aborts: AtomicUsize,
}

/// A lane's bytes.
type Bytes = Vec<u8>;

impl Bench {
    /// Lanes for `hot`, for a thread that stays on `cpu`.
    pub fn new(hot: Hot, cpu: u32) -> Self {
        let lanes = Lanes::new(hot.limit);
        Self {
            rings: lanes.rings(),
            lanes,
            hot,
            cpu,
            guard: AtomicUsize::new(7),
            node: Default::default(),
            out: Default::default(),
            aborts: AtomicUsize::new(0),
        }
    }

    /// Attempts that were cut off.
    pub fn aborts(&self) -> usize {
        self.aborts.load(Ordering::Relaxed)
    }

    fn bytes(&self) -> Bytes {
        let lane: *const u8 = std::ptr::from_ref(self.lanes.lane(self.cpu)).cast();
        // SAFETY:
        // - the lane's own bytes; only this thread writes them.
        let bytes = unsafe { std::slice::from_raw_parts(lane, size_of::<Copy>()) };
        bytes.to_vec()
    }

    /// Attempts until one is not cut off. One that is leaves the lane as it was, but for the
    /// bytes in `scratch`, which nobody looks at; one that is not leaves what `want` says.
    fn subject<T: PartialEq + std::fmt::Debug>(
        &self,
        name: &str,
        attempt: &dyn Fn() -> Outcome<T>,
        scratch: std::ops::Range<usize>,
        want: (Outcome<T>, impl Fn(&mut Bytes)),
    ) {
        // One copy of the section in the binary, which every call goes through.
        let attempt = std::hint::black_box(attempt);
        let before = self.bytes();
        loop {
            let outcome = attempt();
            let mut after = self.bytes();
            if outcome == Outcome::Aborted {
                self.aborts.fetch_add(1, Ordering::Relaxed);
                after[scratch.clone()].copy_from_slice(&before[scratch.clone()]);
                assert!(after == before, "{name}: an aborted attempt changed the lane");
                continue;
            }
            assert_eq!(outcome, want.0, "{name}");
            let mut expected = before;
            (want.1)(&mut expected);
            assert!(after == expected, "{name}: not what the operation leaves");
            return;
        }
    }

    /// Every operation in every form.
    pub fn all(&self) {
        self.forms(HERE);
        self.forms(on(CpuId::new(self.cpu)));
        self.forms(HERE.guarded(&raw const self.guard, 7));
        self.forms(on(CpuId::new(self.cpu)).guarded(&raw const self.guard, 7).release());
        self.closed();
    }

    #[inline(never)]
    fn forms<F: Form>(&self, form: F) {
        self.word::<u8, F>(form);
        self.word::<u16, F>(form);
        self.word::<u32, F>(form);
        self.word::<i64, F>(form);
        self.list(form);
        self.stack(form);
        self.batch(form);
        self.copy(form);
        self.ring(form);
    }

    fn committed<T>(&self, value: T) -> Outcome<T> {
        Outcome::Committed { lane: self.cpu, value }
    }

    fn differs<T>(&self, value: T) -> Outcome<T> {
        Outcome::Differs { lane: self.cpu, value }
    }

    #[inline(never)]
    fn word<W: Int + std::fmt::Debug, F: Form>(&self, form: F) {
        let sections = Sections::new(self.hot);
        let word = self.lanes.word().cast::<W>();
        let size = size_of::<W>();
        let put = move |value: u64| {
            move |bytes: &mut Bytes| bytes[..size].copy_from_slice(&value.to_le_bytes()[..size])
        };
        let is = |value: u64| self.committed(W::of(value));
        let w = W::of;
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let add = || unsafe { sections.add::<Far, W, F>(word, w(5), form) };
        self.subject("add", &add, 0..0, (self.committed(()), put(5)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let fetch = || unsafe { sections.update::<Far, W, F, { update::ADD }>(word, w(250), form) };
        self.subject("fetch add", &fetch, 0..0, (is(5), put(255)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let and = || unsafe { sections.update::<Far, W, F, { update::AND }>(word, w(0x3c), form) };
        self.subject("and", &and, 0..0, (is(255), put(0x3c)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let or = || unsafe { sections.update::<Far, W, F, { update::OR }>(word, w(3), form) };
        self.subject("or", &or, 0..0, (is(0x3c), put(0x3f)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let xor = || unsafe { sections.update::<Far, W, F, { update::XOR }>(word, w(0x21), form) };
        self.subject("xor", &xor, 0..0, (is(0x3f), put(0x1e)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let swap = || unsafe { sections.swap::<Far, W, F>(word, w(9), form) };
        self.subject("swap", &swap, 0..0, (is(0x1e), put(9)));
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let store = || unsafe { sections.compare_store::<Far, W, F>(word, w(9), w(0), form) };
        self.subject("compare", &store, 0..0, (is(9), put(0)));
        self.subject("compare, differs", &store, 0..0, (self.differs(w(0)), |_: &mut Bytes| ()));
    }

    #[inline(never)]
    fn list<F: Form>(&self, form: F) {
        let sections = Sections::new(self.hot);
        let list = self.lanes.list(0);
        let node = self.node.as_ptr().cast_mut().cast::<u8>();
        let address = node.expose_provenance();
        let put = |value: usize| word_at(offset_of!(Copy, lists), value);
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let push = || unsafe { sections.list_push::<Far, F>(list, node, 8, form) };
        let capacity = Cell::new(1);
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let within =
            || unsafe { sections.list_push_within::<Far, F>(list, node, 8, capacity.get(), form) };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let pop = || unsafe { sections.list_pop::<Far, F>(list, 8, form) };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let take = || unsafe { sections.list_take::<Far, F>(list, form) };
        self.subject("push", &push, 0..0, (self.committed(0), put(address)));
        self.subject("pop", &pop, 0..0, (self.committed(address), put(0)));
        self.subject("pop, empty", &pop, 0..0, (self.differs(0), |_: &mut Bytes| ()));
        self.subject("push", &push, 0..0, (self.committed(0), put(address)));
        self.subject("take", &take, 0..0, (self.committed(address), put(0)));
        self.subject("take, empty", &take, 0..0, (self.differs(0), |_: &mut Bytes| ()));
        self.subject("push within", &within, 0..0, (self.committed(0), put(address)));
        self.empty("push within, full", &within);
        self.subject("pop", &pop, 0..0, (self.committed(address), put(0)));
        capacity.set(0);
        self.empty("push within nothing", &within);
    }

    #[inline(never)]
    fn stack<F: Form>(&self, form: F) {
        let sections = Sections::new(self.hot);
        let stack = self.lanes.stack();
        let (count, slot) = (offset_of!(Copy, stack), offset_of!(Copy, slots));
        let pushed = |bytes: &mut Bytes| {
            word_at(count, 1)(bytes);
            word_at(slot, 77)(bytes);
        };
        let capacity = Cell::new(stack.capacity);
        let now = || Stack { capacity: capacity.get(), ..stack };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let push = || unsafe { sections.stack_push::<Far, F>(now(), 77, form) };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let pop = || unsafe { sections.stack_pop::<Far, F>(stack, form) };
        self.subject("stack push", &push, slot..slot + 8, (self.committed(0), pushed));
        self.subject("stack pop", &pop, 0..0, (self.committed(77), word_at(count, 0)));
        self.empty("stack pop, empty", &pop);
        capacity.set(0);
        self.empty("stack push, full", &push);
    }

    /// An attempt that changes nothing, and whose value has no meaning.
    fn empty(&self, name: &str, attempt: &dyn Fn() -> Outcome<usize>) {
        let zero = || match attempt() {
            Outcome::Differs { lane, .. } => Outcome::Differs { lane, value: 0 },
            other => other,
        };
        self.subject(name, &zero, 0..0, (self.differs(0), |_: &mut Bytes| ()));
    }

    #[inline(never)]
    fn batch<F: Form>(&self, form: F) {
        let sections = Sections::new(self.hot);
        let stack = self.lanes.stack();
        let (count, slot) = (offset_of!(Copy, stack), offset_of!(Copy, slots));
        let values = [11usize, 12, 13];
        let pushed = move |bytes: &mut Bytes| {
            word_at(count, 3)(bytes);
            (0..3).for_each(|k| word_at(slot + 8 * k, values[k])(bytes));
        };
        let from = values.as_ptr();
        let to = self.out.as_ptr().cast_mut().cast::<usize>();
        let capacity = Cell::new(stack.capacity);
        let now = || Stack { capacity: capacity.get(), ..stack };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let push = || unsafe { sections.stack_push_batch::<Far, F>(now(), from, 3, form) };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let pop = || unsafe { sections.stack_pop_batch::<Far, F>(stack, to, 2, form) };
        self.subject("batch push", &push, slot..slot + 24, (self.committed(3), pushed));
        self.subject("batch pop", &pop, 0..0, (self.committed(2), word_at(count, 1)));
        let out = [&self.out[0], &self.out[1]].map(|word| word.load(Ordering::Relaxed));
        assert_eq!(out, [12, 13]);
        self.subject("batch pop, rest", &pop, 0..0, (self.committed(1), word_at(count, 0)));
        self.empty("batch pop, empty", &pop);
        capacity.set(0);
        self.empty("batch push, full", &push);
    }

    #[inline(never)]
    fn copy<F: Form>(&self, form: F) {
        let sections = Sections::new(self.hot);
        let log = self.lanes.log();
        let (index, records) = (offset_of!(Copy, log), offset_of!(Copy, records));
        let now = self.lanes.lane(self.cpu).log.word.load(Ordering::Relaxed);
        let data: [u8; RECORD] = std::array::from_fn(|k| (now + k) as u8);
        let bytes = Copied {
            from: data.as_ptr(),
            len: RECORD,
            to: Lanes::record(now),
            expect: now,
            commit: now + 1,
        };
        let at = records + now % crate::lanes::RECORDS * RECORD;
        let copied = |bytes: &mut Bytes| {
            word_at(index, now + 1)(bytes);
            bytes[at..at + RECORD].copy_from_slice(&data);
        };
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let copy = || unsafe { sections.copy::<Far, F>(log, bytes, form) };
        self.subject("copy", &copy, at..at + RECORD, (self.committed(now), copied));
        self.subject("copy, differs", &copy, 0..0, (self.differs(now + 1), |_: &mut Bytes| ()));
    }

    #[inline(never)]
    fn ring<F: Form>(&self, form: F) {
        let (sections, anchor) = (Sections::new(self.hot), self.lanes.ring());
        let ring = &self.rings[self.cpu as usize];
        let data: [u8; 100] = std::array::from_fn(|k| k as u8);
        let record = Cell::new(Pushed::new(data.as_ptr(), 0, [0; 2]));
        // SAFETY:
        // - the lanes cover every CPU, and so do the rings; what else is touched lives for the call.
        let push = || unsafe {
            sections.ring_push::<Far, F>(anchor, self.rings.as_ptr(), record.get(), form)
        };
        for len in [0, 5, 8, 11, 16, 24, 33, 64, 100] {
            let index = self.lanes.lane(self.cpu).ring.word.load(Ordering::Relaxed);
            let header = [1 << 32, 0x0123_4567_89ab_cdef];
            record.set(Pushed::new(data.as_ptr(), len as u32, header));
            let now = record.get();
            let at = offset_of!(Copy, units) + (index >> 32) % UNITS * 8;
            let pushed = |bytes: &mut Bytes| {
                word_at(offset_of!(Copy, ring), index + now.step)(bytes);
                (0..2).for_each(|k| word_at(at + 8 * k, now.header[k] as usize)(bytes));
                bytes[at + 16..at + 16 + len].copy_from_slice(&data[..len]);
            };
            ring.limit.store(ring.limit_behind(index), Ordering::Relaxed);
            let range = at..at + 16 + len;
            self.subject("ring push", &push, range, (self.committed(index), pushed));
            // All but one of the units that it takes.
            let next = index + now.step;
            ring.limit.store(next + now.step - 1, Ordering::Relaxed);
            let full = (self.differs(next), |_: &mut Bytes| ());
            self.subject("ring push, full", &push, 0..0, full);
        }
    }

    /// Ways out that the other subjects do not take.
    #[inline(never)]
    fn closed(&self) {
        let sections = Sections::new(self.hot);
        let word = self.lanes.word();
        let cpu = Cell::new(self.cpu);
        let (guard, nothing) = (&raw const self.guard, |_: &mut Bytes| ());
        // SAFETY:
        // - the lanes cover every CPU; what else is touched lives for the call.
        let add = || unsafe {
            let form = on(CpuId::new(cpu.get())).guarded(guard, 7);
            sections.update::<Far, _, _, { update::XOR }>(word, 1, form)
        };
        let put = |value: u8| move |bytes: &mut Bytes| bytes[0] = value;
        self.subject("xor", &add, 0..0, (self.committed(0), put(1)));
        self.guard.store(8, Ordering::Relaxed);
        self.subject("xor, closed", &add, 0..0, (Outcome::Closed, nothing));
        self.guard.store(7, Ordering::Relaxed);
        cpu.set(self.cpu + 1);
        self.subject("xor, elsewhere", &add, 0..0, (Outcome::Moved, nothing));
        cpu.set(self.cpu);
        self.subject("xor", &add, 0..0, (self.committed(1), put(0)));
    }
}

/// Stores a word at a place in a lane's bytes.
fn word_at(at: usize, value: usize) -> impl Fn(&mut Bytes) {
    move |bytes| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes())
}
