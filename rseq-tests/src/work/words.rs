//! Steps on words.

use super::*;

impl<I: Implementation> Work<I> {
    pub(super) fn add(&self) {
        let value = random();
        let word = self.lanes.word();
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, add::<_, _>(word, value, form))
        });
        if self.count(outcome).is_some() {
            self.expect(value);
        }
    }

    pub(super) fn add_byte(&self) {
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
    pub(super) fn update(&self) {
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

    pub(super) fn swap(&self) {
        let value = random();
        let word = self.lanes.word();
        let outcome = some_form!(self, |form| {
            settle!(self.implementation, swap::<_, _>(word, value, form))
        });
        if let Some(old) = self.count(outcome) {
            self.expect(value.wrapping_sub(old));
        }
    }

    pub(super) fn compare(&self) {
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
}
