//! Mutants that break nothing, and why.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The reasons, by mutant.
#[derive(Debug)]
pub(crate) struct Equivalents(BTreeMap<String, String>);

impl Equivalents {
    /// Reads the file: a mutant's name, or several, a line each, then the reason in lines that
    /// begin with a blank. `#` begins a comment.
    ///
    /// # Errors
    ///
    /// The line that belongs to nothing, or what the system says.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text).map_err(|error| format!("{}: {error}", path.display()))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (mut reasons, mut names) = (BTreeMap::<String, String>::new(), Vec::<String>::new());
        let mut in_reason = false;
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(reason) = line.strip_prefix(' ') {
                if names.is_empty() {
                    return Err(format!("line {}: a reason without a mutant", at + 1));
                }
                for name in &names {
                    let text = reasons.entry(name.clone()).or_default();
                    text.push_str(reason.trim());
                    text.push(' ');
                }
                in_reason = true;
            } else {
                if in_reason {
                    names.clear();
                }
                in_reason = false;
                names.push(line.trim_end().to_owned());
            }
        }
        match names.iter().find(|name| !reasons.contains_key(*name)) {
            Some(name) => Err(format!("no reason for {name}")),
            None => Ok(Self(reasons)),
        }
    }

    /// Why the mutant breaks nothing, if that is known.
    pub(crate) fn reason(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_mutants_share_a_reason() {
        let read =
            Equivalents::parse("# why\none\ntwo\n  since\n  so\n\nthree\n  other\n").unwrap();
        assert_eq!(read.reason("one"), Some("since so "));
        assert_eq!(read.reason("two"), read.reason("one"));
        assert_eq!(read.reason("three"), Some("other "));
        assert_eq!(read.reason("four"), None);
    }

    #[test]
    fn a_mutant_without_a_reason_and_a_reason_without_a_mutant_are_refused() {
        assert!(Equivalents::parse("one\n").is_err());
        assert!(Equivalents::parse("  since\n").is_err());
    }
}
