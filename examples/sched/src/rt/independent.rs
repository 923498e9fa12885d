//! The modelled figures beside those of an independent model.

use super::{Row, Table};
use std::io::{self, Write};

/// The other model's figures.
const FIGURES: &str = include_str!("../../rt-independent.txt");

/// Differences that are worth a sentence, in parts.
const WORTH: f64 = 0.15;

/// One line of the other model's figures.
struct Figures {
    workload: &'static str,
    cpus: usize,
    layout: &'static str,
    /// Misses of a set and of a search, transfers of the hottest line.
    counted: [Option<f64>; 3],
}

fn figures() -> impl Iterator<Item = Figures> {
    let lines = FIGURES.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [workload, cpus, layout, set, find, hottest] = words[..] else {
            unreachable!("{line}: six words a line")
        };
        let counted = [set, find, hottest].map(|word| word.parse().ok());
        Figures { workload, cpus: cpus.parse().expect("a number of CPUs"), layout, counted }
    })
}

/// The row that the other model's figures are about.
fn row<'a>(tables: &'a [Table], figures: &Figures, interleaved: bool) -> Option<&'a Row> {
    let table = tables.iter().find(|table| {
        let same = (table.workload, table.cpus) == (figures.workload, figures.cpus);
        same && !table.around && table.interleaved == interleaved
    });
    table?.rows.iter().find(|row| row.layout == figures.layout)
}

/// Prints both, for every table that both have.
pub(super) fn print(tables: &[Table], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "\nthis model / an independent one, of layouts described by hand / this one, access by \
         access (* more than 15 %, see rt.md)"
    )?;
    for figures in figures() {
        let Some(ours) = row(tables, &figures, false) else { continue };
        let mixed = row(tables, &figures, true);
        write!(out, "  {:<7} {:>3} CPUs  {:<7}", figures.workload, figures.cpus, figures.layout)?;
        let counted = |row: &Row| [row.set, row.find, row.hottest];
        let mixed = mixed.map_or([f64::NAN; 3], counted);
        let names = ["set", "find", "hottest"].into_iter();
        let figures = names.zip(counted(ours)).zip(figures.counted).zip(mixed);
        for (((name, ours), theirs), mixed) in figures {
            let Some(theirs) = theirs else { continue };
            let mark = if (ours / theirs - 1.0).abs() > WORTH { "*" } else { " " };
            write!(out, "  {name} {ours:>6.3} /{theirs:>6.3}{mark}/{mixed:>6.3}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_line_of_the_other_models_figures_is_read() {
        let figures: Vec<_> = super::figures().collect();
        assert_eq!(figures.len(), 27);
        assert!(figures.iter().all(|figures| figures.counted[..2].iter().all(Option::is_some)));
        let largest = figures.iter().filter(|figures| figures.cpus == 480);
        assert!(largest.clone().all(|figures| figures.counted[2].is_some()));
        assert_eq!(largest.count(), 9);
    }
}
