//! The end state.

use super::*;

impl<I: Implementation> Work<I> {
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

    pub(super) fn listed(&self) -> Result<Vec<usize>, String> {
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

    pub(super) fn stacked(&self) -> Result<Vec<usize>, String> {
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
    pub(super) fn check_nodes(&self, mut found: Vec<usize>) -> Result<(), String> {
        let parked = |node: &usize| self.nodes[*node].parked.load(Ordering::Relaxed) == 1;
        found.extend((0..NODES).filter(parked));
        found.sort_unstable();
        if found == (0..NODES).collect::<Vec<_>>() { Ok(()) } else { Err(format!("{found:?}")) }
    }

    pub(super) fn check_records(&self) -> Result<(), String> {
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
