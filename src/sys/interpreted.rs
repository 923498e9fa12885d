//! Miri: a machine of three CPUs, on which every thread is moved all the time.
//!
//! An interpreter has no thread area, no vDSO and no kernel to ask. What it explores is the order of
//! threads, so the ids here are made to bring them together: they go round, each told twice. Two
//! threads meet in every lane, and one thread is in every lane. A source that said nothing, or one
//! id, would leave most of what can go wrong between lanes untried.

mod no_area;

use crate::sync::Ordering;
use crate::sync::plain::AtomicU32;
pub(super) use no_area::{ThreadArea, id_word, pin, thread_area};

/// More than one, and no power of two.
const CPUS: u32 = 3;
/// Questions in a row that have one answer: of one thread, or of two.
const STAY: u32 = 2;

/// The next id.
pub(super) fn getcpu() -> Option<u32> {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    // Relaxed: any value will do, and an edge would hide races.
    Some(answer(ASKED.fetch_add(1, Ordering::Relaxed)))
}

fn answer(question: u32) -> u32 {
    question / STAY % CPUS
}

/// All of them.
pub(super) fn affinity(words: &mut [usize]) -> Result<(), i32> {
    words.fill(0);
    let first = words.first_mut().ok_or(TOO_SHORT)?;
    *first = (1 << CPUS) - 1;
    Ok(())
}

pub(super) const TOO_SHORT: i32 = 22;

pub(super) fn configured() -> Option<u32> {
    Some(CPUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::CpuId;
    use crate::sys::{Backend, Topology, backend};

    /// L3, <https://github.com/rust-lang/miri/issues/602>.
    #[test]
    fn threads_that_never_move_or_never_meet_hide_races_between_lanes() {
        let lap = CPUS * STAY;
        for first in 0..lap {
            let told: Vec<u32> = (first..first + lap).map(answer).collect();
            for cpu in 0..CPUS {
                let times = told.iter().filter(|id| **id == cpu).count();
                assert_eq!(times, STAY as usize, "CPU {cpu} in {told:?}");
            }
        }
    }

    /// L3, <https://github.com/rust-lang/miri/issues/2749>: the files and calls of the machine that
    /// Miri runs on are not asked.
    #[test]
    fn an_interpreter_asks_the_machine_below_it() {
        let topology = Topology::current();
        assert_eq!((backend(), topology.cpus()), (Backend::Getcpu, CPUS));
        assert!(topology.allowed().iter().eq((0..CPUS).map(CpuId::new)));
        assert_eq!((topology.possible(), topology.nodes().len()), (topology.allowed(), 1));
        assert!((0..100).all(|_| CpuId::current().is_some_and(|cpu| cpu.get() < CPUS)));
    }
}
