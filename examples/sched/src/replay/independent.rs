//! [`Independent`]: what another model of the same benchmark found.

use super::variant::Variant;

/// Changes against L0 by run, level and layout.
#[derive(Clone, Debug)]
pub struct Independent(Vec<(String, String, [Option<f64>; 4])>);

/// The layouts that it has, in the order of its columns.
const COLUMNS: [Variant; 4] = [Variant::L1b, Variant::L2, Variant::L3, Variant::L2Later];

impl Independent {
    /// The figures in the repository.
    ///
    /// # Panics
    ///
    /// Never: a test reads the file.
    pub fn fixed() -> Self {
        let text = include_str!("../../replay-independent.txt");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(|line| Self::line(line).expect("the file of the repository")).collect())
    }

    fn line(line: &str) -> Option<(String, String, [Option<f64>; 4])> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [run, level, changes @ ..] = &words[..] else { return None };
        let mut found = [None; 4];
        for (found, word) in found.iter_mut().zip(changes) {
            if *word != "-" {
                *found = Some(word.parse().ok()?);
            }
        }
        (changes.len() == 4).then(|| (run.to_string(), level.to_string(), found))
    }

    /// The change that it found, in per cent.
    pub fn of(&self, run: &str, level: &str, variant: Variant) -> Option<f64> {
        let column = COLUMNS.iter().position(|known| *known == variant)?;
        let row = self.0.iter().find(|(known, of, _)| (&known[..], &of[..]) == (run, level))?;
        row.2[column]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{FIXED, Params};

    #[test]
    fn every_line_is_of_a_run_that_is_replayed() {
        let independent = Independent::fixed();
        let params = Params::parse(FIXED).unwrap();
        for (run, level, _) in &independent.0 {
            assert!(params.runs.iter().any(|known| known.name == *run), "{run}");
            assert!(["L2", "last"].contains(&&level[..]), "{level}");
        }
        assert_eq!(independent.of("2-random", "last", Variant::L2), Some(99.4));
        assert_eq!(independent.of("64-saturated", "L2", Variant::L1b), None);
        assert_eq!(independent.of("480-d5w4", "L2", Variant::L2), None);
    }
}
