//! The interleaved harness: every case of a group once a round, in a freshly shuffled order.
//!
//! Whatever the machine does meanwhile meets all cases alike. A case's figure is the median over the
//! rounds, and it is made anew for each, at another place in memory; its ratio to the group's baseline is the median of the ratios within each round; both
//! with a 95 % interval by order statistics. Preempted pieces are rejected, repeated and counted.

use crate::cases::{self, GROUPS, Goal};
use crate::stats::{self, Interval};
use crate::{machine, table};

/// What is to be measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Groups, in the order to measure them in.
    pub groups: Vec<String>,
    /// Rounds, [`stats::FEWEST`] to [`stats::MOST`].
    pub rounds: usize,
    /// Seed of the orders.
    pub seed: u64,
    /// One JSON object in place of tables.
    pub json: bool,
}

impl Options {
    /// Reads command line arguments, without the program's name.
    ///
    /// # Errors
    ///
    /// A line that says what was wrong.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self { groups: Vec::new(), rounds: 31, seed: 1, json: false };
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                // Cargo says so to every bench.
                "--bench" => {}
                "--json" => options.json = true,
                "--rounds" => options.rounds = number(&arg, args.next())? as usize,
                "--seed" => options.seed = number(&arg, args.next())?,
                group if GROUPS.contains(&group) => options.groups.push(arg),
                _ => return Err(format!("{arg:?} is no option, and no group of {GROUPS:?}")),
            }
        }
        if !(stats::FEWEST..=stats::MOST).contains(&options.rounds) {
            let (fewest, most) = (stats::FEWEST, stats::MOST);
            return Err(format!("--rounds {}: must be {fewest} to {most}", options.rounds));
        }
        if options.groups.is_empty() {
            options.groups = GROUPS.map(String::from).into();
        }
        Ok(options)
    }
}

fn number(option: &str, value: Option<String>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("{option} needs a number"))?;
    value.parse().map_err(|_| format!("{option} {value}: not a number"))
}

/// What one case gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was done.
    pub scene: String,
    /// Who did it.
    pub peer: &'static str,
    /// Nanoseconds an operation.
    pub ns: Interval,
    /// Times the baseline's nanoseconds in the same round; `None` for the baseline itself.
    pub ratio: Option<Interval>,
    /// Preempted pieces.
    pub rejected: u64,
    /// Nanoseconds an operation, round by round.
    pub samples: Vec<f64>,
    /// How often each of [`events::names`](crate::events::names) comes in an operation; nothing where none is counted.
    pub events: Vec<f64>,
}

/// Measures, and gives the text to print: Markdown, or JSON.
pub fn run(options: &Options) -> String {
    let facts = machine::facts("paired");
    machine::pin_first();
    let mut text =
        if options.json { table::json_head(&facts, options) } else { table::head(&facts) };
    for (at, name) in options.groups.iter().enumerate() {
        let group = cases::group(name).expect("checked by `parse`");
        let (baseline, goals) = (group.baseline, group.goals.clone());
        let outcomes = measure(group, options);
        let reached = reached(goals, &outcomes);
        let detours = machine::detours();
        if options.json {
            text += if at == 0 { "" } else { "," };
            text += &table::json(name, baseline, &outcomes, &reached, &detours);
        } else {
            text += &table::markdown(name, baseline, &outcomes, options.rounds);
            text += &table::goals(&reached);
            text += &format!("\nDetours of the process so far: {detours}.\n");
        }
    }
    text + if options.json { "\n]}\n" } else { "" }
}

/// How far a measurement has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// One more case is prepared.
    Prepared,
    /// So many rounds are over.
    Rounds(usize),
}

/// Measures one group.
///
/// # Panics
///
/// If a scene lacks its baseline.
pub fn measure(group: cases::Group, options: &Options) -> Vec<Outcome> {
    measure_and_tell(group, options, |step| match step {
        Step::Rounds(round) if round % 10 == 0 => eprintln!("round {round} of {}", options.rounds),
        _ => {}
    })
}

/// As [`measure`], and calls `tell` after each step.
///
/// # Panics
///
/// As [`measure`].
pub fn measure_and_tell(
    group: cases::Group,
    options: &Options,
    mut tell: impl FnMut(Step),
) -> Vec<Outcome> {
    let cases::Group { baseline, mut list, .. } = group;
    let mut random = Random::new(options.seed);
    // Prepared before the first round, so that no round pays for it.
    for case in &mut list {
        case.piece();
        tell(Step::Prepared);
    }
    let mut ns = vec![Vec::with_capacity(options.rounds); list.len()];
    let mut order: Vec<usize> = (0..list.len()).collect();
    for round in 1..=options.rounds {
        random.shuffle(&mut order);
        for &at in &order {
            list[at].remake(&mut random);
            ns[at].extend(list[at].piece().ns());
        }
        tell(Step::Rounds(round));
    }
    let events: Vec<_> = list.iter_mut().map(crate::Case::events).collect();
    let interval = |samples| stats::interval(samples).expect("`parse` saw to it");
    let base = |scene: &str| {
        let at = list.iter().position(|case| case.scene() == scene && case.peer() == baseline);
        &ns[at.expect("every scene has its baseline")]
    };
    let outcome = |(at, case): (usize, &crate::Case)| {
        let pairs = ns[at].iter().zip(base(case.scene()));
        let ratio =
            (case.peer() != baseline).then(|| pairs.map(|(own, base)| own / base).collect());
        Outcome {
            scene: case.scene().to_owned(),
            peer: case.peer(),
            ns: interval(ns[at].clone()),
            ratio: ratio.map(interval),
            rejected: case.rejected(),
            samples: ns[at].clone(),
            events: events[at].clone(),
        }
    };
    list.iter().enumerate().map(outcome).collect()
}

/// Each goal with the ratio that was reached: the samples of one round are compared, as for the
/// baseline. A goal is told, never enforced: a busy machine is no fault of the code.
///
/// # Panics
///
/// If a goal is about a case that is not there.
pub fn reached(goals: Vec<Goal>, outcomes: &[Outcome]) -> Vec<(Goal, Interval)> {
    let samples = |(scene, peer): &(String, &str)| {
        let of = |outcome: &&Outcome| outcome.scene == *scene && outcome.peer == *peer;
        &outcomes.iter().find(of).expect("a goal is about a case").samples
    };
    let ratio = |goal: &Goal| {
        let pairs = samples(&goal.own).iter().zip(samples(&goal.than));
        stats::interval(pairs.map(|(own, than)| own / than).collect()).expect("as many as rounds")
    };
    goals.into_iter().map(|goal| (goal.clone(), ratio(&goal))).collect()
}

/// A small random generator (SplitMix64): the same seed, the same order, on every machine.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "a sequence without an end")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let once = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let twice = (once ^ (once >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        twice ^ (twice >> 31)
    }

    /// A fair order, but for a bias far below what one could see.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.next() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Sample};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;
    use std::time::Duration;

    fn options(line: &str) -> Result<Options, String> {
        Options::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn options_are_read_and_bad_ones_named() {
        let read = options("--bench walk add --rounds 7 --seed 9 --json").unwrap();
        let groups = vec!["walk".to_owned(), "add".to_owned()];
        assert_eq!(read, Options { groups, rounds: 7, seed: 9, json: true });
        assert_eq!(options("").unwrap().groups.len(), GROUPS.len());
        for (line, word) in [
            ("--rounds 5", "6 to 1000"),
            ("--rounds", "needs a number"),
            ("--seed x", "not a number"),
            ("walks", "walks"),
            ("--quick", "--quick"),
        ] {
            assert!(options(line).unwrap_err().contains(word), "{line}");
        }
    }

    #[test]
    fn ratios_pair_the_samples_of_one_round_and_orders_differ_between_rounds() {
        let log = Rc::new(RefCell::new(Vec::new()));
        // `slow` takes three times what `base` takes, while the machine slows down all the time.
        let case = |peer, factor: u64| {
            let (log, calls) = (Rc::clone(&log), Rc::new(Cell::new(0)));
            let make = move || {
                let (log, calls) = (Rc::clone(&log), Rc::clone(&calls));
                Box::new(move |ops: u64| {
                    log.borrow_mut().push(peer);
                    calls.set(calls.get() + 1);
                    let elapsed = Duration::from_micros(1000 * ops * factor * calls.get());
                    Sample { ops, elapsed, ..Sample::default() }
                }) as crate::sample::Body
            };
            Case::new("scene", peer, make)
        };
        let group = cases::Group {
            baseline: "base",
            list: vec![case("base", 1), case("slow", 3)],
            goals: Vec::new(),
        };
        let outcomes = measure(group, &options("--rounds 20").unwrap());
        assert_eq!(outcomes[0].ratio, None);
        assert_eq!(outcomes[1].ratio, Some(Interval { median: 3.0, lo: 3.0, hi: 3.0 }));
        assert!(outcomes[0].ns.lo < outcomes[0].ns.hi);
        let (own, than) = (("scene".into(), "slow"), ("scene".into(), "base"));
        let reached = reached(vec![Goal { own, than, most: 2.0 }], &outcomes);
        assert_eq!(reached[0].1, Interval { median: 3.0, lo: 3.0, hi: 3.0 });
        // A piece that warms up, and one that counts.
        let log = log.borrow();
        let rounds: Vec<_> = log[log.len() - 80..].chunks(4).collect();
        let of = |first| move |round: &&[&str]| round[..2] == [first; 2] && round[2] != first;
        let firsts = ["base", "slow"].map(|first| rounds.iter().filter(|r| of(first)(r)).count());
        assert!(firsts[0] > 0 && firsts[1] > 0 && firsts[0] + firsts[1] == 20, "{log:?}");
        assert!(rounds.iter().all(|round| round[2] == round[3]), "{log:?}");
    }
}
