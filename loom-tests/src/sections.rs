//! What the models of `corelocal::sys::rseq` share: lanes, a machine, and nodes.

use crate::{Arc, AtomicU64, AtomicUsize, Canary};
use corelocal::sys::rseq::{Anchor, Guard, Machine, Stack, Stride};
use std::mem::offset_of;
use std::sync::atomic::Ordering;

/// What a lane holds; made by the model, since loom's atomics are not valid as zeros.
#[repr(C)]
#[derive(Debug)]
pub struct Lane {
    /// For the operations on words.
    pub word: AtomicU64,
    /// Two, for a drain.
    pub list: [Anchor; 2],
    /// How many slots are filled.
    pub stack: Anchor,
    /// The slots.
    pub slots: [usize; 4],
}

impl Default for Lane {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(0),
            list: [Anchor::new(0), Anchor::new(0)],
            stack: Anchor::new(0),
            slots: [0; 4],
        }
    }
}

/// Lanes side by side.
#[derive(Debug)]
pub struct Side;

impl Stride for Side {
    const BYTES: usize = size_of::<Lane>();
}

/// A node of a list: the link comes first.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Node {
    next: usize,
    /// What the node's owner uses.
    pub thing: Canary,
}

/// One CPU lane and the spill lane, and what threads share besides.
#[derive(Debug)]
pub struct Shared {
    /// The one CPU.
    pub machine: Machine,
    /// Its lane, and the spill lane.
    pub lanes: Vec<Lane>,
    /// Nodes to push.
    pub nodes: Vec<Node>,
    /// What guards operations.
    pub phase: AtomicUsize,
}

/// The lane of the one CPU.
pub const CPU: u32 = 0;
/// The spill lane.
pub const SPILL: u32 = 1;

impl Shared {
    /// Empty lanes, on one CPU that nobody is on.
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            machine: Machine::new(1),
            lanes: vec![Lane::default(), Lane::default()],
            nodes: vec![Node::default(), Node::default()],
            phase: AtomicUsize::new(0),
        })
    }

    /// Lane 0's word.
    pub fn word(&self) -> *mut u64 {
        (&raw const self.lanes[0].word).cast_mut().cast()
    }

    /// Lane 0's list `which`.
    pub fn list(&self, which: usize) -> *mut Anchor {
        (&raw const self.lanes[0].list[which]).cast_mut()
    }

    /// Lane 0's stack.
    pub fn stack(&self) -> Stack {
        let anchor = (&raw const self.lanes[0].stack).cast_mut();
        Stack { anchor, slots: offset_of!(Lane, slots) - offset_of!(Lane, stack), capacity: 4 }
    }

    /// A node's address.
    pub fn node(&self, index: usize) -> *mut u8 {
        (&raw const self.nodes[index]).cast_mut().cast()
    }

    /// The phase, as what guards operations.
    pub fn guard(&self) -> *const Guard {
        (&raw const self.phase).cast()
    }

    /// The sum of the words.
    pub fn sum(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.word.load(Ordering::Relaxed)).sum()
    }
}
