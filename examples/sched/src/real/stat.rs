//! What the kernel says about a group: `cpu.stat`.

use super::place::Version;
use crate::bandwidth::machine::Stat;
use crate::tree::cgroup::read_short;
use std::path::Path;

/// Reads a group's `cpu.stat`.
///
/// # Errors
///
/// One line that names the file.
pub fn read(version: Version, dir: &Path) -> Result<Stat, String> {
    let file = dir.join("cpu.stat");
    let said = |what: String| format!("{}: {what}", file.display());
    let text = read_short(&file).map_err(|error| said(error.to_string()))?;
    parse(version, &String::from_utf8_lossy(&text)).map_err(said)
}

/// Reads the text of a `cpu.stat`; the usage is there in v2 only. Names that are not known are
/// passed over: a later kernel has more.
///
/// # Errors
///
/// What is wrong with it: a number, or a name that must be there.
pub fn parse(version: Version, text: &str) -> Result<Stat, String> {
    let mut stat = Stat::default();
    let mut has_periods = false;
    for line in text.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        // Nanoseconds in v1 where v2 has microseconds.
        let (field, scale) = match (version, name) {
            (_, "nr_periods") => {
                has_periods = true;
                (&mut stat.nr_periods, 1)
            }
            (_, "nr_throttled") => (&mut stat.nr_throttled, 1),
            (_, "nr_bursts") => (&mut stat.nr_bursts, 1),
            (Version::V1, "throttled_time") => (&mut stat.throttled_time, 1),
            (Version::V1, "burst_time") => (&mut stat.burst_time, 1),
            (Version::V2, "throttled_usec") => (&mut stat.throttled_time, 1000),
            (Version::V2, "burst_usec") => (&mut stat.burst_time, 1000),
            (Version::V2, "usage_usec") => (&mut stat.usage, 1000),
            _ => continue,
        };
        let number = value.parse::<u64>().map_err(|_| format!("{name} '{value}' is no number"))?;
        *field = number.saturating_mul(scale);
    }
    match has_periods {
        true => Ok(stat),
        false => Err("no nr_periods: the kernel has no bandwidth control".to_owned()),
    }
}

/// Nanoseconds that a process has run, from the text of its `schedstat`.
///
/// # Errors
///
/// What is wrong with it.
pub fn ran(text: &str) -> Result<u64, String> {
    let first = text.split_whitespace().next().unwrap_or("");
    first.parse().map_err(|_| format!("'{first}' is no number of nanoseconds"))
}
