//! [`Params`]: what is modelled, read from `rt.params`.

use model::coherence::{Latencies, Machine, Numbering};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

/// The parameters that the repository fixes.
pub const FIXED: &str = include_str!("../../rt.params");

/// What is modelled.
#[derive(Clone, Debug)]
pub struct Params {
    /// The machines, smallest first.
    pub machines: Vec<Machine>,
    /// What accesses take.
    pub latencies: Latencies,
    /// Operations before the counting begins.
    pub warm_up: u64,
    /// Operations that are counted.
    pub operations: u64,
    /// Where the random numbers begin, one run each.
    pub seeds: Vec<u64>,
    /// Cores of an instance.
    pub instance_cores: usize,
    /// Every so many rises leave a queue with too much.
    pub overload: u64,
    /// Mean think times, in nanoseconds.
    pub think: Vec<u64>,
    /// Operations of the model with a clock.
    pub timed_operations: u64,
}

impl Params {
    /// Reads the text's settings, each exactly once, `machine` at least once.
    ///
    /// # Errors
    ///
    /// One line that says which line is wrong, or what is missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut machines = Vec::new();
        let mut settings: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.split('#').next().unwrap_or("").split_whitespace();
            let Some(key) = words.next() else { continue };
            let values: Vec<&str> = words.collect();
            let said = |what: String| format!("line {}: {what}", at + 1);
            if key == "machine" {
                machines.push(machine(&values).map_err(said)?);
            } else if settings.insert(key, values).is_some() {
                return Err(said(format!("{key} is set a second time")));
            }
        }
        if machines.is_empty() {
            return Err("there is no machine: give `machine CPUS SOCKETS CORES THREADS`".to_owned());
        }
        let mut take = |key: &str| settings.remove(key).ok_or_else(|| format!("{key} is not set"));
        let params = Self {
            machines,
            latencies: Latencies {
                hit: one(&take("hit")?)?,
                within: one(&take("within")?)?,
                across: one(&take("across")?)?,
                memory: one(&take("memory")?)?,
            },
            warm_up: one(&take("warm-up")?)?,
            operations: one(&take("operations")?)?,
            seeds: numbers(&take("seeds")?)?,
            instance_cores: one(&take("instance-cores")?)?,
            overload: one(&take("overload")?)?,
            think: numbers(&take("think")?)?,
            timed_operations: one(&take("timed-operations")?)?,
        };
        match settings.keys().next() {
            Some(key) => Err(format!("{key} is no setting")),
            None => params.checked(),
        }
    }

    fn checked(self) -> Result<Self, String> {
        let positive =
            [self.operations, self.timed_operations, self.overload, self.instance_cores as u64];
        if positive.contains(&0) || self.seeds.is_empty() {
            return Err("operations, cores of an instance, overload and seeds: at least 1".into());
        }
        for machine in &self.machines {
            if machine.cores() % self.instance_cores != 0 {
                let (cores, instance) = (machine.cores(), self.instance_cores);
                return Err(format!("{cores} cores are no multiple of instances of {instance}"));
            }
        }
        Ok(self)
    }
}

fn machine(values: &[&str]) -> Result<Machine, String> {
    let numbers: Vec<usize> = numbers(values)?;
    let [cpus, sockets, cores, threads] = numbers[..] else {
        return Err("a machine is CPUS SOCKETS CORES THREADS".to_owned());
    };
    let machine = Machine::new(sockets, cores, threads, Numbering::Linux);
    let machine = machine.map_err(|error| error.to_string())?;
    if machine.cpus() != cpus {
        return Err(format!("{sockets} x {cores} x {threads} are {} CPUs", machine.cpus()));
    }
    Ok(machine)
}

fn numbers<T: FromStr<Err: Display>>(values: &[&str]) -> Result<Vec<T>, String> {
    values.iter().map(|value| value.parse().map_err(|error| format!("{value}: {error}"))).collect()
}

fn one<T: FromStr<Err: Display> + Copy>(values: &[&str]) -> Result<T, String> {
    match numbers(values)?[..] {
        [value] => Ok(value),
        _ => Err(format!("{values:?}: one number is wanted")),
    }
}

#[cfg(test)]
mod tests {
    use super::{FIXED, Params};

    #[test]
    fn the_file_of_the_repository_is_read_whole() {
        let params = Params::parse(FIXED).unwrap();
        let cpus: Vec<usize> = params.machines.iter().map(|machine| machine.cpus()).collect();
        assert_eq!(cpus, [8, 64, 480]);
        assert_eq!((params.seeds.len(), params.latencies.across), (3, 180));
    }

    #[test]
    fn what_is_wrong_with_a_text_is_said() {
        for (from, to, says) in [
            ("machine 8 ", "machine 9 ", "are 8 CPUs"),
            ("seeds ", "seeds x ", "x: invalid"),
            ("hit     1", "hit 1 2", "one number"),
            ("hit     1", "", "hit is not set"),
            ("hit     1", "hit 1\nhit 1", "second time"),
            ("hit     1", "hit 1\nmiss 1", "miss is no setting"),
            ("instance-cores  4", "instance-cores 5", "no multiple"),
            ("operations  200000", "operations 0", "at least 1"),
        ] {
            let text = FIXED.replacen(from, to, 1);
            assert_ne!(text, FIXED);
            let error = Params::parse(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
        assert!(Params::parse("").unwrap_err().contains("no machine"));
    }
}
