//! Steps on lists, stacks and records.

use super::*;

impl<I: Implementation> Work<I> {
    /// A node that nobody holds, out of those that wait in no lane.
    pub(super) fn unpark(&self) -> Option<usize> {
        let first = random() as usize;
        (0..4)
            .map(|k| (first + k) % NODES)
            .find(|node| self.nodes[*node].parked.swap(0, Ordering::AcqRel) == 1)
    }

    pub(super) fn park(&self, node: usize) {
        if self.nodes[node].parked.swap(1, Ordering::AcqRel) != 0 {
            self.fault();
        }
    }

    /// Holds a node for a moment: two holders are a fault.
    pub(super) fn hold(&self, node: usize) {
        if self.nodes[node].held.swap(1, Ordering::AcqRel) != 0 {
            self.fault();
        }
        if self.nodes[node].held.swap(0, Ordering::AcqRel) != 1 {
            self.fault();
        }
    }

    pub(super) fn node_at(&self, address: usize) -> Option<usize> {
        let distance = address.wrapping_sub(self.nodes.as_ptr().addr());
        let index = distance / size_of::<Node>();
        (distance % size_of::<Node>() == 0 && index < NODES).then_some(index)
    }

    pub(super) fn list(&self) {
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
    pub(super) fn scatter(&self, mut head: usize) -> usize {
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

    pub(super) fn stack(&self) {
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

    pub(super) fn batch(&self) {
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

    pub(super) fn log(&self) {
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
}
