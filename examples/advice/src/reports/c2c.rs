//! `perf c2c report --stdio`: the table of lines that several CPUs wanted.
//!
//! Each line has a head between two rules, with its counts and its address, and below it a row for
//! each place in the code: shares of these counts, the offset in the line, the code's address, mean
//! cycles, records, CPUs, and the function.
//!
//! ```text
//!   -------------------------------------------------
//!       0        4     2092        9        0        0      0x20ea08034080
//!   -------------------------------------------------
//!     75.00%   49.62%    0.00%    0.00%    0.00%   0x30  0  1  0x53dc88  410  75  0  1552  12  [.] push  app
//! ```
//!
//! Kernels 4.10 to 6.x print 4 to 6 shares, and may leave out the node or add the process; everything
//! is found by its shape and not by its column.

use super::{
    Cpus, Place, ReadError, Sample, Samples, check_length, columns, error, hex, lines, shown,
    symbol,
};

/// What stands above the table.
pub(super) const TITLE: &str = "Shared Cache Line Distribution Pareto";

pub(super) fn read(text: &[u8]) -> Result<Samples, ReadError> {
    let mut samples = Samples::new();
    let mut head: Option<Head> = None;
    let mut is_table = false;
    for (number, line) in lines(text) {
        if line.contains(TITLE) {
            is_table = true;
            continue;
        }
        let row = line.trim();
        let is_rule = row.chars().all(|c| "-=.# ".contains(c));
        if !is_table || is_rule || row.starts_with('#') {
            continue;
        }
        check_length(number, row)?;
        let first = row.split_whitespace().next().unwrap_or("");
        if first.ends_with('%') {
            let head = head.as_ref().ok_or_else(|| {
                error(number, "a row of shares before the line's address was given")
            })?;
            samples.add_line(number, head.row(number, row)?)?;
        } else if first.bytes().all(|byte| byte.is_ascii_digit()) {
            head = Some(Head::read(number, row)?);
        } else {
            // Another table begins, or the mail that quoted this one goes on.
            is_table = false;
        }
    }
    if samples.is_empty() {
        return Err(error(0, format!("there is no row below {TITLE:?}")));
    }
    Ok(samples)
}

/// A line's head.
struct Head {
    address: u64,
}

impl Head {
    fn read(number: usize, row: &str) -> Result<Self, ReadError> {
        let last = row.split_whitespace().next_back().unwrap_or("");
        match hex(last) {
            Some(address) => Ok(Self { address }),
            None => Err(error(
                number,
                format!(
                    "a line's counts end with its address, such as 0x7f80, not with {}",
                    shown(last)
                ),
            )),
        }
    }

    fn row(&self, number: usize, row: &str) -> Result<Sample, ReadError> {
        let wrong = |what: &str, found: &str| {
            error(number, format!("{what} is expected, not {}", shown(found)))
        };
        let mut words = row.split_whitespace().peekable();
        let mut shares = Vec::new();
        while let Some(share) = words.next_if(|word| word.ends_with('%')) {
            let number = share.trim_end_matches('%').parse::<f64>();
            shares.push(number.map_err(|_| wrong("a share such as 49.62%", share))?);
        }
        // Remote and local modified hits, since 6.0 hits of peers; then stores that hit the first
        // level, that missed it, and since 5.18 those of which nothing is known.
        let stores = match shares.len() {
            4 => &shares[2..],
            5 => &shares[2..],
            6 => &shares[3..],
            _ => {
                return Err(error(
                    number,
                    format!("4 to 6 shares are expected, not {}", shares.len()),
                ));
            }
        };
        let offset = words.next().unwrap_or("");
        let offset = hex(offset).ok_or_else(|| wrong("an offset such as 0x30", offset))?;
        let Some(_code) = words.by_ref().find(|word| hex(word).is_some()) else {
            return Err(error(number, "the code's address is missing"));
        };
        let mut numbers = Vec::new();
        while let Some(word) = words.next_if(|word| !word.starts_with('[')) {
            numbers.push(word.parse::<u64>().map_err(|_| wrong("a number", word))?);
        }
        let [.., runs, cpus] = numbers[..] else {
            return Err(error(number, "records and CPUs are missing"));
        };
        // Names may have blanks in them; columns have two between them.
        let name = row.find(" [").and_then(|at| columns(&row[at..]).next()).and_then(symbol);
        let Some(tag) = name else {
            return Err(error(number, "the function is missing, such as [.] push"));
        };
        let place = self.address.checked_add(offset).map(Place::Address);
        Ok(Sample {
            place: place.ok_or_else(|| error(number, "the address is larger than any"))?,
            size: 0,
            writes: stores.iter().any(|&share| share > 0.0),
            cpus: Cpus::Count(u32::try_from(cpus).unwrap_or(u32::MAX)),
            tag: tag.to_owned(),
            runs,
        })
    }
}
