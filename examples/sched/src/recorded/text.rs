//! A recording's text.

use super::line::{Line, What, Wrong, parse};
use core::fmt;
use serde::Serialize;

/// An event in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Nanoseconds on the recording's clock.
    pub time: u64,
    /// The CPU that told.
    pub cpu: u32,
    /// What it told.
    pub what: What,
}

/// A line that was not understood.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bad {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// What was read.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Recording {
    /// In the order of time; those of one time as they stood.
    pub told: Vec<Told>,
    /// Lines.
    pub lines: usize,
    /// Events of other kinds.
    pub others: usize,
    /// Events that stood after later ones.
    pub late: usize,
    /// Places where the recorder lost events.
    pub lost: usize,
    /// How many lines were not understood.
    pub bad: usize,
    /// The first of them.
    pub named: Vec<Bad>,
}

/// Characters of a bad line that are shown.
const SHOWN: usize = 60;

impl Recording {
    /// Reads a text of any bytes; of the lines that are not understood, the first `name` are kept.
    /// O(n log n), and nothing is kept but what was read.
    pub fn read(text: &[u8], name: usize) -> Self {
        let mut read = Self::default();
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            read.lines += 1;
            match parse(line) {
                Ok(Line::Event { cpu, time, what }) => {
                    read.late += usize::from(read.told.last().is_some_and(|l| l.time > time));
                    read.told.push(Told { time, cpu, what });
                }
                Ok(Line::Other) => read.others += 1,
                Ok(Line::Lost) => read.lost += 1,
                Ok(Line::Nothing) => {}
                Err(wrong) => read.is_bad(at + 1, line, wrong, name),
            }
        }
        read.told.sort_by_key(|told| told.time);
        read
    }

    fn is_bad(&mut self, line: usize, bytes: &[u8], wrong: Wrong, name: usize) {
        self.bad += 1;
        if self.named.len() < name {
            let begin = &bytes[..bytes.len().min(4 * SHOWN)];
            let text = String::from_utf8_lossy(begin);
            let shown: String = text.chars().take(SHOWN).collect();
            let more = if shown.len() < bytes.len() { "..." } else { "" };
            self.named.push(Bad { line, what: format!("{shown:?}{more}: {wrong}") });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_lines_are_named_up_to_a_limit_and_all_are_counted() {
        let long = "y".repeat(100);
        let text = format!("x\n\nx 1 [0] 2.0: other: a\n{long}\n\u{1b}[31m\n");
        let read = Recording::read(text.as_bytes(), 2);
        assert_eq!((read.lines, read.bad, read.others, read.named.len()), (5, 3, 1, 2));
        let said: Vec<String> = read.named.iter().map(Bad::to_string).collect();
        assert!(said[0].starts_with("line 1: \"x\": the columns are neither"), "{said:?}");
        assert!(
            said[1].starts_with(&format!("line 4: \"{}\"...: ", "y".repeat(SHOWN))),
            "{said:?}"
        );
        let all = Recording::read(text.as_bytes(), 9);
        assert!(all.named[2].what.starts_with("\"\\u{1b}[31m\""), "nothing reaches the terminal");
    }

    #[test]
    fn events_come_in_the_order_of_time() {
        let wake = |time, pid| format!("x 1 [0] {time}: sched_wakeup: x:{pid} [120] CPU:0\n");
        let text = [wake("2.0", 1), wake("1.0", 2), wake("2.0", 3)].concat();
        let read = Recording::read(text.as_bytes(), 0);
        let pids: Vec<u32> = read
            .told
            .iter()
            .map(|told| match &told.what {
                What::Wake { who, .. } => who.pid,
                _ => 0,
            })
            .collect();
        assert_eq!((pids, read.late), (vec![2, 1, 3], 1));
    }
}
