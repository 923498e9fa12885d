//! [`Params`]: what is replayed on which modelled machines, read from `replay.params`.

use model::Params as Caches;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The parameters that the repository fixes.
pub const FIXED: &str = include_str!("../../replay.params");

/// The most microseconds, and times, of a setting: ten seconds, and far from what would overflow.
const LONGEST: u64 = 10_000_000;

/// In which order a slab hands out its objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreeList {
    /// By address.
    Sequential,
    /// Shuffled slab by slab, as kernels do against attacks.
    Random,
}

impl FreeList {
    /// The word in the output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

/// What a period is made of, on whatever machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// Where the random numbers begin.
    pub seed: u64,
    /// Periods before the counted ones.
    pub warm_up: u32,
    /// Counted periods.
    pub periods: u32,
    /// Microseconds of a period; longer where the quota would be less than the least one.
    pub period: u64,
    /// Microseconds of the least quota.
    pub least_quota: u64,
    /// Per cent of the machine that the quotas of all groups with one are together.
    pub share: u64,
    /// Microseconds that a CPU asks of its group's pool at once.
    pub slice: u64,
    /// Microseconds between two ticks.
    pub tick: u64,
    /// Times in a period that each CPU decays its blocked load.
    pub balances: u32,
    /// Tasks whose load in the hierarchy each of these times asks for.
    pub sampled: usize,
    /// Per cent of the tasks that change their CPU between two periods.
    pub moves: usize,
}

/// One machine and tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// What it is called.
    pub name: String,
    /// CPUs.
    pub cpus: u32,
    /// Memory nodes, with as many CPUs each.
    pub nodes: u32,
    /// Levels below the root.
    pub depth: u64,
    /// Children of every group.
    pub width: u64,
    /// CPUs on which each leaf has a task.
    pub on: u32,
    /// In which order a slab hands out its objects.
    pub free_list: FreeList,
    /// The caches.
    pub caches: Caches,
}

/// Everything that is replayed in the model.
#[derive(Clone, Debug)]
pub struct Params {
    /// What a period is made of.
    pub rules: Rules,
    /// The machines and trees.
    pub runs: Vec<Run>,
}

impl Rules {
    /// The rules that the repository fixes.
    ///
    /// # Panics
    ///
    /// Never: a test reads the file.
    pub fn fixed() -> Self {
        Params::parse(FIXED).expect("the file of the repository").rules
    }

    /// Microseconds of the period in which `share` per cent of `cpus` CPUs give each of `groups` the
    /// least quota or more, and the quota.
    ///
    /// ```
    /// # use sched::replay::Rules;
    /// // The kernel's benchmark, and a machine so small that its period has to be longer.
    /// assert_eq!(Rules::fixed().quota(480, 1000), (10_000, 3840));
    /// assert_eq!(Rules::fixed().quota(2, 1000), (625_000, 1000));
    /// ```
    pub fn quota(&self, cpus: u32, groups: usize) -> (u64, u64) {
        let least = (self.least_quota * groups as u64 * 100).div_ceil(u64::from(cpus) * self.share);
        let period = self.period.max(least);
        (period, period * u64::from(cpus) * self.share / 100 / groups as u64)
    }
}

impl Params {
    /// Reads the text's settings, each exactly once, `run` any number of times.
    ///
    /// # Errors
    ///
    /// One line that says which line is wrong, or what is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut runs = Vec::new();
        let mut settings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or("").split_whitespace();
            let Some(key) = words.next() else { continue };
            let values: Vec<&str> = words.collect();
            let said = |what: String| format!("line {}: {what}", at + 1);
            if key == "run" {
                runs.push((at + 1, values));
            } else if settings.insert(key, values).is_some() {
                return Err(said(format!("{key} is set a second time")));
            }
        }
        let mut take = |key: &str| settings.remove(key).ok_or_else(|| format!("{key} is not set"));
        let rules = Rules {
            seed: one(&take("seed")?)?,
            warm_up: one(&take("warm-up")?)?,
            periods: one(&take("periods")?)?,
            period: one(&take("period")?)?,
            least_quota: one(&take("least-quota")?)?,
            share: one(&take("share")?)?,
            slice: one(&take("slice")?)?,
            tick: one(&take("tick")?)?,
            balances: one(&take("balances")?)?,
            sampled: one(&take("sampled")?)?,
            moves: one(&take("moves")?)?,
        };
        let private = [take("l1")?, take("l2")?].map(|level| level.join(" "));
        if let Some(key) = settings.keys().next() {
            return Err(format!("{key} is no setting"));
        }
        rules.check()?;
        let runs = runs.iter().map(|(line, values)| {
            run(values, &private).map_err(|what| format!("line {line}: {what}"))
        });
        Ok(Self { rules, runs: runs.collect::<Result<_, _>>()? })
    }
}

impl Rules {
    fn check(&self) -> Result<(), String> {
        let positive = [
            ("periods", u64::from(self.periods)),
            ("period", self.period),
            ("least-quota", self.least_quota),
            ("slice", self.slice),
            ("tick", self.tick),
            ("balances", u64::from(self.balances)),
        ];
        if let Some((key, value)) = positive.iter().find(|(_, value)| *value > LONGEST) {
            return Err(format!("{key} is {value}: at most {LONGEST}"));
        }
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(format!("{key} is 0: at least 1")),
            None if !(1..=100).contains(&self.share) => Err("share is not in 1..=100".to_owned()),
            None if self.moves > 100 => Err("moves is not in 0..=100".to_owned()),
            None => Ok(()),
        }
    }
}

fn run(values: &[&str], [l1, l2]: &[String; 2]) -> Result<Run, String> {
    let &[name, cpus, nodes, depth, width, on, free_list, size, ways] = values else {
        return Err(
            "a run is NAME CPUS NODES DEPTH WIDTH ON random|sequential LAST-LEVEL WAYS".to_owned()
        );
    };
    let caches = format!("cores {cpus}\nl1 {l1}\nl2 {l2}\nshared {size} {ways}");
    let run = Run {
        name: name.to_owned(),
        cpus: one(&[cpus])?,
        nodes: one(&[nodes])?,
        depth: one(&[depth])?,
        width: one(&[width])?,
        on: one(&[on])?,
        free_list: match free_list {
            "random" => FreeList::Random,
            "sequential" => FreeList::Sequential,
            other => return Err(format!("{other}: random or sequential")),
        },
        caches: Caches::parse(&caches).map_err(|error| error.to_string())?,
    };
    if run.nodes == 0 || run.cpus % run.nodes != 0 {
        return Err(format!("{cpus} CPUs are no multiple of {nodes} nodes"));
    }
    if run.on == 0 || run.on > run.cpus {
        return Err(format!("a leaf has tasks on 1 to {cpus} CPUs, not on {on}"));
    }
    Ok(run)
}

fn one<T: FromStr<Err: Display> + Copy>(values: &[&str]) -> Result<T, String> {
    match values {
        [value] => value.parse().map_err(|error| format!("{value}: {error}")),
        _ => Err(format!("{values:?}: one number is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_repository_is_read_whole() {
        let params = Params::parse(FIXED).unwrap();
        let cpus: Vec<u32> = params.runs.iter().map(|run| run.cpus).collect();
        assert_eq!(cpus, [480, 480, 64, 64, 64, 8, 2, 2]);
        let shared = params.runs[0].caches.shared;
        assert_eq!((shared.size() >> 20, shared.ways()), (64, 16));
        assert_eq!((params.rules.warm_up, params.rules.periods, params.rules.slice), (2, 4, 5000));
    }

    #[test]
    fn what_is_wrong_with_a_text_is_said() {
        for (from, to, says) in [
            ("run 480-d3w10         480     2", "run 480-d3w10 480 7", "line 20: 480 CPUs are no"),
            ("run 480-d3w10         480", "run 480-d3w10", "a run is NAME"),
            ("3    10  4  random", "3    10  481  random", "not on 481"),
            ("3    10  4  random", "3    10  4  any", "any: random or sequential"),
            ("64M 16", "64M 0", "holds nothing"),
            ("seed        1", "seed x", "x: invalid"),
            ("seed        1", "", "seed is not set"),
            ("seed        1", "seed 1\nseed 1", "second time"),
            ("seed        1", "seed 1\nsalt 1", "salt is no setting"),
            ("tick        1000", "tick 0", "tick is 0"),
            ("period      10000", "period 10000001", "period is 10000001: at most 10000000"),
            ("share       80", "share 101", "1..=100"),
        ] {
            let text = FIXED.replacen(from, to, 1);
            assert_ne!(text, FIXED, "{from}");
            let error = Params::parse(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_period_is_longer_where_the_quota_would_be_too_small() {
        let rules = Rules::fixed();
        for (cpus, leaves, expected) in [
            (480, 1000, (10_000, 3840)),
            (480, 1024, (10_000, 3750)),
            (64, 1000, (19_532, 1000)),
            (8, 1000, (156_250, 1000)),
            (2, 1000, (625_000, 1000)),
            (1, 1, (10_000, 8000)),
        ] {
            assert_eq!(rules.quota(cpus, leaves), expected, "{cpus} CPUs, {leaves} leaves");
        }
    }
}
