//! Work with an exact end state: each kind uses one part of the vocabulary, in all its
//! forms, and ends in something that can be counted.

use crate::churn::{cpu, random};
use crate::implementation::Implementation;
use crate::lanes::{Lanes, RECORD, RECORDS, SLOTS};
use crate::settle;
use corelocal::cpu::CpuId;
use corelocal::sys::rseq::{Copied, HERE, Outcome, on, update};
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A part of the vocabulary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `add` on 64 bits.
    Add,
    /// `add` on 8 bits.
    AddByte,
    /// `update`.
    Update,
    /// `swap`.
    Swap,
    /// `compare_store`.
    Compare,
    /// `list_push`, `list_pop`, `list_take`.
    List,
    /// The same with `list_push_within`.
    Within,
    /// `stack_push`, `stack_pop`.
    Stack,
    /// `stack_push_batch`, `stack_pop_batch`.
    Batch,
    /// `copy`.
    Log,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Add,
        Self::AddByte,
        Self::Update,
        Self::Swap,
        Self::Compare,
        Self::List,
        Self::Within,
        Self::Stack,
        Self::Batch,
        Self::Log,
    ];
}

/// How many nodes and values go round.
pub const NODES: usize = 64;

/// How many nodes a list whose nodes count holds.
const WITHIN: u32 = 5;

/// A thing that at most one thread may hold.
#[repr(C)]
#[derive(Debug, Default)]
struct Node {
    next: AtomicUsize,
    /// How many nodes lie from here to the end of a list whose nodes count.
    depth: AtomicUsize,
    /// 1 while a thread holds it.
    held: AtomicUsize,
    /// 1 while it waits in no lane, since its lane was busy or full.
    parked: AtomicUsize,
}

/// What the threads of one run share.
#[derive(Debug)]
pub struct Work<I> {
    implementation: I,
    kind: Kind,
    lanes: Lanes,
    nodes: Vec<Node>,
    /// Always 0: guarded forms go through.
    open: AtomicUsize,
    /// Always 1: guarded forms that expect 0 are turned away.
    closed: AtomicUsize,
    /// What the lanes must add up to.
    expected: AtomicU64,
    /// Operations that committed.
    done: AtomicU64,
    faults: AtomicU64,
}

/// The same operation in a form that the thread's sequence picks.
macro_rules! some_form {
    ($self:ident, |$form:ident| $body:expr) => {
        match random() >> 33 & 7 {
            0 => {
                let $form = on(CpuId::new(cpu()));
                $body
            }
            1 => {
                let $form = HERE.guarded(&raw const $self.open, 0);
                $body
            }
            2 => {
                let $form = HERE.release();
                $body
            }
            3 => {
                let $form = on(CpuId::new(cpu())).guarded(&raw const $self.open, 0).release();
                $body
            }
            4 => {
                let $form = HERE.guarded(&raw const $self.closed, 0);
                $body
            }
            _ => {
                let $form = HERE;
                $body
            }
        }
    };
}

impl<I: Implementation> Work<I> {
    /// Fresh lanes; nodes and values wait to be put into lanes.
    pub fn new(implementation: I, kind: Kind, cpus: u32) -> Self {
        let nodes: Vec<Node> = (0..NODES).map(|_| Node::default()).collect();
        for node in &nodes {
            node.parked.store(1, Ordering::Relaxed);
        }
        Self {
            implementation,
            kind,
            lanes: Lanes::new(cpus),
            nodes,
            open: AtomicUsize::new(0),
            closed: AtomicUsize::new(1),
            expected: AtomicU64::new(0),
            done: AtomicU64::new(0),
            faults: AtomicU64::new(0),
        }
    }

    /// Operations that committed.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// One step of the work. Safe in a signal handler that interrupts another step.
    pub fn step(&self) {
        match self.kind {
            Kind::Add => self.add(),
            Kind::AddByte => self.add_byte(),
            Kind::Update => self.update(),
            Kind::Swap => self.swap(),
            Kind::Compare => self.compare(),
            Kind::List | Kind::Within => self.list(),
            Kind::Stack => self.stack(),
            Kind::Batch => self.batch(),
            Kind::Log => self.log(),
        }
    }

    fn count<T>(&self, outcome: Outcome<T>) -> Option<T> {
        match outcome {
            Outcome::Committed { value, lane } | Outcome::Late { value, lane } => {
                if lane > self.lanes.cpus() {
                    self.fault();
                }
                self.done.fetch_add(1, Ordering::Relaxed);
                Some(value)
            }
            _ => None,
        }
    }

    fn fault(&self) {
        self.faults.fetch_add(1, Ordering::Relaxed);
    }

    fn expect(&self, value: u64) {
        self.expected.fetch_add(value, Ordering::Relaxed);
    }

    fn add(&self) {
        let value = random();
        let word = self.lanes.word();
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, add::<_, _>(word, value, form))
        });
        if self.count(outcome).is_some() {
            self.expect(value);
        }
    }

    fn add_byte(&self) {
        let value = random() as u8;
        let byte = self.lanes.byte();
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, add::<_, _>(byte, value, form))
        });
        if self.count(outcome).is_some() {
            self.expect(u64::from(value));
        }
    }

    /// Additions whose returned value says what the word became; now and then bits, whose
    /// effect on the sum follows from the returned value.
    fn update(&self) {
        let value = random();
        let word = self.lanes.word();
        let on = self.implementation;
        let (outcome, effect): (_, fn(u64, u64) -> u64) = match random() >> 40 & 3 {
            0 => (
                some_form!(self, |form| settle!(
                    on,
                    update::<_, _, { update::AND }>(word, value, form)
                )),
                |old, value| (old & value).wrapping_sub(old),
            ),
            1 => (
                some_form!(self, |form| settle!(
                    on,
                    update::<_, _, { update::OR }>(word, value, form)
                )),
                |old, value| (old | value).wrapping_sub(old),
            ),
            2 => (
                some_form!(self, |form| settle!(
                    on,
                    update::<_, _, { update::XOR }>(word, value, form)
                )),
                |old, value| (old ^ value).wrapping_sub(old),
            ),
            _ => (
                some_form!(self, |form| settle!(
                    on,
                    update::<_, _, { update::ADD }>(word, value, form)
                )),
                |_, value| value,
            ),
        };
        if let Some(old) = self.count(outcome) {
            self.expect(effect(old, value));
        }
    }

    fn swap(&self) {
        let value = random();
        let word = self.lanes.word();
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, swap::<_, _>(word, value, form))
        });
        if let Some(old) = self.count(outcome) {
            self.expect(value.wrapping_sub(old));
        }
    }

    fn compare(&self) {
        let word = self.lanes.word();
        let seen = self.lanes.lane(cpu().min(self.lanes.cpus())).word.load(Ordering::Relaxed);
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, compare_store::<_, _>(word, seen, seen + 3, form))
        });
        if let Outcome::Differs { value, .. } = outcome {
            if value == seen {
                self.fault();
            }
        }
        if self.count(outcome).is_some_and(|old| old == seen) {
            self.expect(3);
        }
    }

    /// A node that nobody holds, out of those that wait in no lane.
    fn unpark(&self) -> Option<usize> {
        let first = random() as usize;
        (0..4)
            .map(|k| (first + k) % NODES)
            .find(|node| self.nodes[*node].parked.swap(0, Ordering::AcqRel) == 1)
    }

    fn park(&self, node: usize) {
        if self.nodes[node].parked.swap(1, Ordering::AcqRel) != 0 {
            self.fault();
        }
    }

    /// Holds a node for a moment: two holders are a fault.
    fn hold(&self, node: usize) {
        if self.nodes[node].held.swap(1, Ordering::AcqRel) != 0 {
            self.fault();
        }
        if self.nodes[node].held.swap(0, Ordering::AcqRel) != 1 {
            self.fault();
        }
    }

    fn node_at(&self, address: usize) -> Option<usize> {
        let distance = address.wrapping_sub(self.nodes.as_ptr().addr());
        let index = distance / size_of::<Node>();
        (distance % size_of::<Node>() == 0 && index < NODES).then_some(index)
    }

    fn list(&self) {
        let list = self.lanes.list(0);
        let next = offset_of!(Node, next);
        let on = self.implementation;
        let taken = if random() >> 50 & 31 == 0 {
            let all = some_form!(self, |form| settle!(on, list_take::<_>(list, form)));
            self.count(all).map(|head| self.scatter(head))
        } else {
            let one = some_form!(self, |form| settle!(on, list_pop::<_>(list, next, form)));
            self.count(one)
        };
        let node = match taken {
            Some(0) => return,
            Some(address) => match self.node_at(address) {
                Some(node) => node,
                None => return self.fault(),
            },
            None => match self.unpark() {
                Some(node) => node,
                None => return,
            },
        };
        self.hold(node);
        let address = (&raw const self.nodes[node]).cast_mut().cast::<u8>();
        let _ = address.expose_provenance();
        let put = if self.kind == Kind::List {
            some_form!(self, |form| settle!(on, list_push::<_>(list, address, next, form)))
        } else {
            some_form!(self, |form| {
                settle!(on, list_push_within::<_>(list, address, next, WITHIN, form))
            })
        };
        if self.count(put).is_none() {
            self.park(node);
        }
    }

    /// Parks all of a list that was taken whole.
    fn scatter(&self, mut head: usize) -> usize {
        while let Some(node) = self.node_at(head) {
            head = self.nodes[node].next.load(Ordering::Relaxed);
            self.hold(node);
            self.park(node);
        }
        if head != 0 {
            self.fault();
        }
        0
    }

    fn stack(&self) {
        let stack = self.lanes.stack();
        let on = self.implementation;
        let taken = some_form!(self, |form| settle!(on, stack_pop::<_>(stack, form)));
        let node = match self.count(taken) {
            Some(value @ 1..=NODES) => value - 1,
            Some(_) => return self.fault(),
            None => match self.unpark() {
                Some(node) => node,
                None => return,
            },
        };
        self.hold(node);
        let put = some_form!(self, |form| settle!(on, stack_push::<_>(stack, node + 1, form)));
        if self.count(put).is_none() {
            self.park(node);
        }
    }

    fn batch(&self) {
        let stack = self.lanes.stack();
        let on = self.implementation;
        let mut values = [0usize; 7];
        let want = 1 + random() as usize % values.len();
        let to = values.as_mut_ptr();
        let taken =
            some_form!(self, |form| settle!(on, stack_pop_batch::<_>(stack, to, want, form)));
        let mut held = self.count(taken).unwrap_or(0);
        if held == 0 {
            if let Some(node) = self.unpark() {
                values[0] = node + 1;
                held = 1;
            }
        }
        if held > want || values[..held].iter().any(|value| !(1..=NODES).contains(value)) {
            return self.fault();
        }
        values[..held].iter().for_each(|value| self.hold(value - 1));
        let from = values.as_ptr();
        let put =
            some_form!(self, |form| settle!(on, stack_push_batch::<_>(stack, from, held, form)));
        let back = self.count(put).unwrap_or(0);
        values[back.min(held)..held].iter().for_each(|value| self.park(value - 1));
    }

    fn log(&self) {
        let lane = cpu().min(self.lanes.cpus());
        let index = self.lanes.lane(lane).log.word.load(Ordering::Relaxed);
        let record = record(index);
        let bytes = Copied {
            from: record.as_ptr(),
            len: RECORD,
            to: Lanes::record(index),
            expect: index,
            commit: index + 1,
        };
        let log = self.lanes.log();
        let outcome =
            some_form!(self, |form| settle!(self.implementation, copy::<_>(log, bytes, form)));
        if self.count(outcome).is_some() {
            self.expect(1);
        }
    }

    /// Compares the end state with what the steps added up to; no step may be running.
    ///
    /// # Errors
    ///
    /// What was found instead.
    pub fn check(&self) -> Result<(), String> {
        let faults = self.faults.load(Ordering::Relaxed);
        if faults != 0 {
            return Err(format!("{faults} faults seen on the way"));
        }
        let expected = self.expected.load(Ordering::Relaxed);
        let same = |found: u64| {
            if found == expected { Ok(()) } else { Err(format!("{found}, should be {expected}")) }
        };
        match self.kind {
            Kind::Add | Kind::Update | Kind::Swap | Kind::Compare => same(self.lanes.sum()),
            Kind::AddByte => {
                let bytes = self.lanes.iter().map(|copy| copy.byte.load(Ordering::Relaxed));
                let sum = bytes.fold(0u8, u8::wrapping_add);
                let want = expected as u8;
                if sum == want { Ok(()) } else { Err(format!("{sum}, should be {want}")) }
            }
            Kind::List | Kind::Within => self.check_nodes(self.listed()?),
            Kind::Stack | Kind::Batch => self.check_nodes(self.stacked()?),
            Kind::Log => {
                let written = self.lanes.iter().map(|copy| copy.log.word.load(Ordering::Relaxed));
                same(written.map(|count| count as u64).sum())?;
                self.check_records()
            }
        }
    }

    fn listed(&self) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for copy in self.lanes.iter() {
            let mut head = copy.lists[0].word.load(Ordering::Relaxed);
            let begin = found.len();
            while head != 0 {
                let node = self.node_at(head).ok_or("a list leads to no node")?;
                found.push(node);
                if found.len() > NODES {
                    return Err("a list is a ring".into());
                }
                head = self.nodes[node].next.load(Ordering::Relaxed);
            }
            if self.kind == Kind::Within {
                let last = found[begin..].iter().rev();
                let depths =
                    last.map(|node| self.nodes[*node].depth.load(Ordering::Relaxed) as u32);
                let depths: Vec<u32> = depths.collect();
                if depths.iter().zip(1..=WITHIN).filter(|(a, b)| **a == *b).count() != depths.len()
                {
                    return Err(format!("a list of at most {WITHIN} counts {depths:?}"));
                }
            }
        }
        Ok(found)
    }

    fn stacked(&self) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for copy in self.lanes.iter() {
            let count = copy.stack.word.load(Ordering::Relaxed);
            let slots = copy.slots.get(..count).ok_or("a stack is beyond its slots")?;
            for slot in slots {
                match slot.load(Ordering::Relaxed) {
                    value @ 1..=NODES => found.push(value - 1),
                    other => return Err(format!("a slot holds {other}")),
                }
            }
        }
        Ok(found)
    }

    /// Every node is in one lane or parked.
    fn check_nodes(&self, mut found: Vec<usize>) -> Result<(), String> {
        let parked = |node: &usize| self.nodes[*node].parked.load(Ordering::Relaxed) == 1;
        found.extend((0..NODES).filter(parked));
        found.sort_unstable();
        if found == (0..NODES).collect::<Vec<_>>() { Ok(()) } else { Err(format!("{found:?}")) }
    }

    fn check_records(&self) -> Result<(), String> {
        for copy in self.lanes.iter() {
            let count = copy.log.word.load(Ordering::Relaxed);
            // One fewer than there are: a copy that was cut off began to write the next one.
            for index in (count + 1).saturating_sub(RECORDS)..count {
                let at = index % RECORDS * RECORD;
                let bytes = copy.records[at..at + RECORD].iter();
                let there: Vec<u8> = bytes.map(|byte| byte.load(Ordering::Relaxed)).collect();
                if there != record(index) {
                    return Err(format!("record {index} of {count}: {there:?}"));
                }
            }
        }
        Ok(())
    }
}

/// The bytes of the record of `index`.
fn record(index: usize) -> [u8; RECORD] {
    std::array::from_fn(|at| (index.wrapping_mul(0x9E37_79B1) >> (at % 8)) as u8 ^ at as u8)
}

const _: () = assert!(SLOTS < NODES);
