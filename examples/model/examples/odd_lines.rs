//! Why objects that are walked at equal steps should take an odd number of lines.
//!
//! A core walks 1110 objects again and again and uses the same 11 of each one's lines. At steps of
//! 1024 bytes, 16 lines, line `i` of every object falls into the sets `i`, `i + 16`, `i + 32`, ...:
//! 5 of every 16 sets stay empty, and what the core uses does not fit into the rest. At steps of
//! 1088 bytes, 17 lines, the objects take all sets in turn, and the same lines fit.
//!
//! `cargo run -p model --example odd_lines [FILE]`, with the machine's caches in FILE.

use model::{Access, Hierarchy, Params, Stats};
use std::process::ExitCode;

const OBJECTS: u64 = 1110;
/// The lines that are used: 7 of the first half of an object, 4 of the second.
const USED: [u64; 11] = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11];
const WALKS: usize = 4;

/// What the walks meet once the caches are warm.
fn walk(params: &Params, step: u64) -> Stats {
    let mut machine = Hierarchy::new(params);
    for turn in 0..=WALKS {
        if turn == 1 {
            machine.reset_stats();
        }
        for object in 0..OBJECTS {
            for line in USED {
                machine.access(0, object * step + line * 64, Access::Read);
            }
        }
    }
    machine.stats(0)
}

/// Sets of a level that the walk leaves empty.
fn empty_sets(sets: usize, step: u64) -> usize {
    let mut used = vec![false; sets];
    for object in 0..OBJECTS {
        for line in USED {
            used[(object * (step / 64) + line) as usize % sets] = true;
        }
    }
    used.into_iter().filter(|used| !used).count()
}

fn params() -> Result<Params, String> {
    let Some(file) = std::env::args().nth(1) else { return Ok(Params::default()) };
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    Params::parse(&text).map_err(|error| format!("{file}: {error}"))
}

fn main() -> ExitCode {
    let params = match params() {
        Ok(params) => params,
        Err(message) => {
            eprintln!("odd_lines: {message}");
            return ExitCode::from(2);
        }
    };
    let lines = OBJECTS * USED.len() as u64;
    println!("{OBJECTS} objects, {} lines used of each: {lines} lines,", USED.len());
    println!("{} KiB, in an L2 of {} KiB\n", lines * 64 / 1024, params.l2.size() / 1024);
    println!("{:>10} {:>14} {:>18} {:>12}", "step", "lines a step", "L2 sets empty", "L2 misses");
    for step in [960, 1024, 1088, 1152, 1216] {
        let (misses, sets) = (walk(&params, step).l2.misses(), params.l2.sets());
        let empty = format!("{} of {sets}", empty_sets(sets, step));
        let share = 100.0 * misses as f64 / (lines * WALKS as u64) as f64;
        println!("{step:>10} {:>14} {empty:>18} {share:>10.1} %", step / 64);
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1024 bytes: 704 of the 1024 sets are in use. 1110 objects take the 64 places of a line in
    /// turn: 1110 = 17 * 64 + 22, so 22 places hold 18 lines and 42 hold 17, in sets of 16 ways.
    /// More than 16 lines in turn miss every time under LRU: all lines, in every walk.
    #[test]
    fn at_an_even_number_of_lines_every_line_misses() {
        let params = Params::default();
        assert_eq!(empty_sets(params.l2.sets(), 1024), 320);
        let stats = walk(&params, 1024);
        assert_eq!(stats.l2.misses(), WALKS as u64 * OBJECTS * 11);
        assert_eq!(stats.l2.hits(), 0);
    }

    /// 1088 bytes: 17 is odd, so 1024 objects in a row put each of the 11 lines into each set once.
    /// The 86 objects behind them lie within 1462 lines, so no set gets more than 2 of theirs:
    /// 13 at most, and 16 ways hold them all.
    #[test]
    fn at_an_odd_number_of_lines_none_does() {
        let params = Params::default();
        assert_eq!(empty_sets(params.l2.sets(), 1088), 0);
        let stats = walk(&params, 1088);
        assert_eq!(stats.l2.misses(), 0);
        // The first level, 32 KiB, is far too small for either.
        assert_eq!(stats.l1.hits(), 0);
    }
}
