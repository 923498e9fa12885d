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

mod end;
mod nodes;
mod words;

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
}

/// The bytes of the record of `index`.
fn record(index: usize) -> [u8; RECORD] {
    std::array::from_fn(|at| (index.wrapping_mul(0x9E37_79B1) >> (at % 8)) as u8 ^ at as u8)
}

const _: () = assert!(SLOTS < NODES);
