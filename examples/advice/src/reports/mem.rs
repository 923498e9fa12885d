//! `perf mem report --stdio`: sampled loads and stores, by function and by data address.
//!
//! ```text
//! # Samples: 4K of event 'cpu/mem-loads,ldlat=30/P'
//! # Overhead       Samples  Local Weight  Memory access  Symbol    Shared Object  Data Symbol
//! # ........  ............  ............  .............  ........  .............  ......................
//!      9.03%           575  32            L1 or L1 hit   [.] main  stream         [.] 0x00007ffcac77e3c8
//! ```
//!
//! The row of dots says where columns begin and end. Which ones there are depends on the version and
//! on `--sort`; needed are Samples, Symbol and Data Symbol.

use super::{
    Cpus, Place, ReadError, Sample, Samples, check_length, columns, error, lines, shown, symbol,
};
use core::ops::Range;

/// A column that no other report has.
pub(super) const COLUMN: &str = "Data Symbol";

pub(super) fn read(text: &[u8]) -> Result<Samples, ReadError> {
    let mut samples = Samples::new();
    let (mut titles, mut table) = (String::new(), None);
    let mut is_store = false;
    for (number, line) in lines(text) {
        check_length(number, &line)?;
        if let Some(comment) = line.trim_start().strip_prefix('#') {
            if let Some((_, event)) = comment.split_once("of event") {
                (is_store, table) = (is_of_stores(event), None);
            } else if comment.contains(COLUMN) {
                titles = line.to_string();
            } else if comment.trim().starts_with("..") {
                table = Table::new(number, &titles, &line)?;
            }
        } else if let (Some(table), false) = (&table, line.trim().is_empty()) {
            samples.add_line(number, table.row(number, &line, is_store)?)?;
        }
    }
    if samples.is_empty() {
        return Err(error(0, format!("there is no row below the column {COLUMN:?}")));
    }
    Ok(samples)
}

/// Whether an event is one of stores: `cpu/mem-stores/P`, or a watchpoint `mem:0x404080:w`. On Arm and
/// AMD one event is both, and a watchpoint `:rw` is; what cannot be told apart is taken for loads.
fn is_of_stores(event: &str) -> bool {
    let name = event.trim().trim_matches('\'');
    let mode = name.strip_prefix("mem:").and_then(|rest| rest.split(':').nth(1));
    name.contains("store") || mode == Some("w")
}

/// Where the columns are that are needed.
struct Table {
    samples: Range<usize>,
    tag: Range<usize>,
    data: Range<usize>,
}

impl Table {
    /// Reads the titles by the dots below them; `None` if this is some other table.
    fn new(number: usize, titles: &str, dots: &str) -> Result<Option<Self>, ReadError> {
        if titles.is_empty() {
            return Ok(None);
        }
        let spans = spans(dots);
        let find = |title: &str| {
            let span = spans.iter().find(|span| cut(titles, span).trim() == title);
            span.cloned().ok_or_else(|| error(number, format!("the column {title:?} is missing")))
        };
        let table = Self { samples: find("Samples")?, tag: find("Symbol")?, data: find(COLUMN)? };
        Ok(Some(table))
    }

    fn row(&self, number: usize, row: &str, writes: bool) -> Result<Sample, ReadError> {
        let runs = cut(row, &self.samples).trim();
        let runs = runs.parse().map_err(|_| {
            error(number, format!("a number of samples is expected, not {}", shown(runs)))
        })?;
        let name = |span: &Range<usize>, what: &str| {
            let text = columns(cut(row, span)).next().unwrap_or("");
            let name = symbol(text).map(str::to_owned);
            name.ok_or_else(|| error(number, format!("{what} is expected, not {}", shown(text))))
        };
        let (tag, data) =
            (name(&self.tag, "a function such as [.] push")?, name(&self.data, "an address")?);
        let place = Place::parse(&data).ok_or_else(|| error(number, "the address is missing"))?;
        Ok(Sample { place, size: 0, writes, cpus: Cpus::Unknown, tag, runs })
    }
}

/// Where the groups of dots are, in letters.
fn spans(dots: &str) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    for (at, letter) in dots.chars().enumerate() {
        match spans.last_mut() {
            Some(last) if letter == '.' && last.end == at => last.end = at + 1,
            _ if letter == '.' => spans.push(at..at + 1),
            _ => {}
        }
    }
    spans
}

/// The letters of a line in a column.
fn cut<'l>(line: &'l str, span: &Range<usize>) -> &'l str {
    let at = |letter: usize| line.char_indices().nth(letter).map_or(line.len(), |(at, _)| at);
    &line[at(span.start)..at(span.end)]
}
