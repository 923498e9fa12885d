//! Coroutines, and the adversary who says which one goes on.
#![allow(
    unsafe_code,
    reason = "the observer is a plain function: it finds its coroutine by thread"
)]

use corelocal::priority::observed::{self, Access};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use fastrand::Rng;
use std::cell::Cell;
use std::ptr::{NonNull, null};

type Way = Yielder<(), ()>;

thread_local! {
    /// The way out of the coroutine that runs on this thread; null outside of all.
    static CURRENT: Cell<*const Way> = const { Cell::new(null()) };
}

/// Somebody else may go on here.
pub(super) fn pause() {
    let current = CURRENT.get();
    let Some(way) = NonNull::new(current.cast_mut()) else { return };
    // SAFETY:
    // - `CURRENT` is the yielder of the coroutine that runs: `add` sets it when it starts, the
    //   line below whenever it goes on, and `run` clears it whenever one has stopped.
    // - a yielder lives as long as its coroutine runs.
    unsafe { way.as_ref() }.suspend(());
    CURRENT.set(current);
}

fn before_each_access(_: Access) {
    pause();
}

/// Coroutines that are switched at random, some of them starved for a while.
pub(super) struct Adversary {
    coroutines: Vec<Coroutine<(), (), ()>>,
}

impl Adversary {
    pub(super) fn new() -> Self {
        Self { coroutines: Vec::new() }
    }

    pub(super) fn add(&mut self, body: impl FnOnce() + 'static) {
        let stack = DefaultStack::new(256 << 10).expect("memory for a stack");
        self.coroutines.push(Coroutine::with_stack(stack, move |way: &Way, ()| {
            CURRENT.set(way);
            body();
        }));
    }

    /// Runs all of them to their ends; how many steps that took.
    pub(super) fn run(mut self, dice: &mut Rng) -> u64 {
        let before = observed::observe(Some(before_each_access));
        let mut steps = 0;
        let mut weights = Weights::default();
        while !self.coroutines.is_empty() {
            let next = weights.choose(self.coroutines.len(), dice);
            let result = self.coroutines[next].resume(());
            CURRENT.set(null());
            steps += 1;
            if let CoroutineResult::Return(()) = result {
                drop(self.coroutines.remove(next));
                weights = Weights::default();
            }
        }
        observed::observe(before);
        steps
    }
}

/// Who is in favour, for some steps.
#[derive(Default)]
struct Weights {
    /// Each coroutine by its weight.
    tickets: Vec<usize>,
    steps: u32,
}

impl Weights {
    fn choose(&mut self, coroutines: usize, dice: &mut Rng) -> usize {
        if self.steps == 0 {
            self.steps = 1 << dice.u32(..8);
            self.tickets.clear();
            for coroutine in 0..coroutines {
                let weight = [0, 0, 1, 1, 2, 8][dice.usize(..6)];
                self.tickets.extend((0..weight).map(|_| coroutine));
            }
            if self.tickets.is_empty() {
                self.tickets.push(dice.usize(..coroutines));
            }
        }
        self.steps -= 1;
        self.tickets[dice.usize(..self.tickets.len())]
    }
}
