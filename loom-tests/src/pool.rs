//! What the models of `corelocal::pool` share: a machine of one CPU, lanes, and nodes.
#![allow(unsafe_code, reason = "raw lanes")]

use crate::{Arc, Canary, thread};
use corelocal::model::{Head, Lane, Place, PoolLists};
use corelocal::sys::rseq::{Anchor, Anchored, Atomic, Copied, Form, Machine, Outcome};
use corelocal::sys::rseq::{Pushed, Ring, Stack, Stride};
use std::ptr::NonNull;

/// Lanes side by side.
#[derive(Debug)]
pub struct Side;

impl Stride for Side {
    const BYTES: usize = size_of::<Lane>();
}

/// An object with its header.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Node {
    head: Head,
    /// What its user uses.
    pub thing: Canary,
}

/// A thread on one CPU of a machine: attempts until one is not cut off.
#[derive(Clone, Copy, Debug)]
pub struct Settled<'m> {
    machine: &'m Machine,
    cpu: u32,
}

impl<'m> Settled<'m> {
    /// A thread on `cpu`.
    pub fn on(machine: &'m Machine, cpu: u32) -> Self {
        Self { machine, cpu }
    }
}

macro_rules! settle {
    ($($name:ident($($operand:ident: $type:ty),*);)*) => {
        impl Anchored for Settled<'_> {
            $(
                unsafe fn $name<S: Stride, F: Form>(
                    self,
                    $($operand: $type,)*
                    form: F,
                ) -> Outcome<usize> {
                    loop {
                        let on = self.machine.on(self.cpu);
                        // SAFETY:
                        // - the caller's obligations are the same.
                        match unsafe { on.$name::<S, F>($($operand,)* form) } {
                            Outcome::Aborted => thread::yield_now(),
                            settled => return settled,
                        }
                    }
                }
            )*
        }
    };
}

settle! {
    list_push(anchor: *mut Anchor, node: *mut u8, next: usize);
    list_push_within(anchor: *mut Anchor, node: *mut u8, next: usize, capacity: u32);
    list_pop(anchor: *mut Anchor, next: usize);
    list_take(anchor: *mut Anchor);
    stack_push(stack: Stack, value: usize);
    stack_pop(stack: Stack);
    stack_push_batch(stack: Stack, from: *const usize, count: usize);
    stack_pop_batch(stack: Stack, to: *mut usize, count: usize);
    copy(anchor: *mut Anchor, bytes: Copied);
    ring_push(anchor: *mut Anchor, rings: *const Ring, record: Pushed);
}

/// A pool's lists on a machine of one CPU, its lane and the spill lane, and nodes to put.
#[derive(Debug)]
pub struct Shared {
    /// The CPU.
    pub machine: Machine,
    /// The lists.
    pub lists: PoolLists<Side>,
    lanes: Vec<Lane>,
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// Who acts.
#[derive(Clone, Copy, Debug)]
pub enum Who {
    /// A thread on the CPU.
    OnCpu,
    /// A thread whose CPU is not known.
    Spilling,
}

impl Shared {
    /// Lists of at most `most` nodes, a shared queue for so many batches, and nodes outside.
    #[allow(clippy::new_ret_no_self, reason = "every thread of a model has a handle")]
    pub fn new(most: u32, batches: usize, nodes: usize) -> Arc<Self> {
        Arc::new(Self {
            machine: Machine::new(1),
            lists: PoolLists::new(most, batches),
            lanes: vec![Lane::default(), Lane::default()],
            nodes: (0..nodes).map(|_| Node::default()).collect(),
        })
    }

    fn lane0(&self) -> *mut Lane {
        self.lanes.as_ptr().cast_mut()
    }

    fn place(&self, node: usize) -> Place {
        NonNull::from(&self.nodes[node]).cast()
    }

    fn index(&self, place: Place) -> usize {
        (place.addr().get() - self.nodes.as_ptr().addr()) / size_of::<Node>()
    }

    /// Uses the nodes, and says how many they were.
    #[track_caller]
    fn used(&self, places: Vec<Place>) -> usize {
        for place in &places {
            self.nodes[self.index(*place)].thing.touch();
        }
        places.len()
    }

    /// Uses a node and puts it. Returns how many have no room.
    #[track_caller]
    pub fn put(&self, who: Who, node: usize) -> usize {
        self.nodes[node].thing.touch();
        let place = self.place(node);
        let cpu = Settled { machine: &self.machine, cpu: 0 };
        let over = match who {
            // SAFETY:
            // - the lanes and the nodes are the model's.
            Who::OnCpu => unsafe { self.lists.put(cpu, self.lane0(), place) },
            // SAFETY:
            // - as above.
            Who::Spilling => unsafe { self.lists.put(Atomic::on_lane(1), self.lane0(), place) },
        };
        self.used(over)
    }

    /// Gets a node and uses it. Returns which, and how many have no room.
    #[track_caller]
    pub fn get(&self, who: Who) -> (Option<usize>, usize) {
        let cpu = Settled { machine: &self.machine, cpu: 0 };
        let (node, over) = match who {
            // SAFETY:
            // - the lanes are the model's.
            Who::OnCpu => unsafe { self.lists.get(cpu, self.lane0()) },
            // SAFETY:
            // - as above.
            Who::Spilling => unsafe { self.lists.get(Atomic::on_lane(1), self.lane0()) },
        };
        let node = node.map(|place| self.index(place));
        if let Some(node) = node {
            self.nodes[node].thing.touch();
        }
        (node, self.used(over))
    }

    /// Drains and uses what was found. Returns how many; `None` if it was refused.
    #[track_caller]
    pub fn drain(&self) -> Option<usize> {
        let fence = || {
            self.machine.fence_all();
            Ok(())
        };
        // SAFETY:
        // - the lanes are the model's; the fence ends its sections.
        let found = unsafe { self.lists.drain(self.lane0(), 1, fence) };
        found.map(|found| self.used(found))
    }

    /// What is left when all threads are done: both phases are drained.
    #[track_caller]
    pub fn rest(&self) -> usize {
        let drain = || self.drain().expect("nobody else drains");
        drain() + drain()
    }

    /// Uses a node and puts it into the shared queue. Says whether there was room.
    #[track_caller]
    pub fn share(&self, node: usize) -> bool {
        self.nodes[node].thing.touch();
        // SAFETY:
        // - the node is the model's.
        unsafe { self.lists.share(self.place(node)) }
    }

    /// Takes a batch of the shared queue and uses its nodes. Returns how many.
    #[track_caller]
    pub fn unshare(&self) -> usize {
        let found = self.lists.unshare();
        self.used(found)
    }
}
