//! Which task is in which group.
//!
//! Without a file, each program's name is a group in the root. With one, its lines decide, the
//! first that fits first; who fits none stays in the root:
//!
//! ```text
//! # a task by its number, programs by name, by the beginning of the name, and all others
//! pid 4711 /system/backup
//! comm cc1 /build/compile
//! comm Web Content* /browser
//! * /rest
//! # as cgroup's cpu.weight, 1 to 10000; 100 without it
//! weight /build 200
//! ```

use crate::pick::entity::NICE_0;
use crate::pick::{Groups, ROOT};
use std::collections::BTreeMap;

/// Levels of groups that a path may have.
const DEEPEST: usize = 32;
/// The weight of a group without one.
const USUAL: u64 = 100;

#[derive(Clone, PartialEq, Eq, Debug)]
enum Fits {
    Pid(u32),
    Comm(String),
    Begins(String),
    All,
}

/// Who is where.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Grouping {
    rules: Option<Vec<(Fits, String)>>,
    weights: BTreeMap<String, u64>,
}

/// The groups that were made, by path.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) groups: Groups,
    pub(super) names: Vec<String>,
    known: BTreeMap<(u32, String), u32>,
}

impl Grouping {
    /// A group for each program's name.
    pub fn by_name() -> Self {
        Self::default()
    }

    /// Whether it is that.
    pub fn is_by_name(&self) -> bool {
        self.rules.is_none()
    }

    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// The line's number, what is wrong with it and what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut rules, mut weights) = (Vec::new(), BTreeMap::new());
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let said = |what: String| format!("line {}: {what}", at + 1);
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if word == "weight" {
                let (group, weight) = weight(rest.trim()).map_err(said)?;
                if weights.insert(group.clone(), weight).is_some() {
                    return Err(said(format!("the weight of {group} is set a second time")));
                }
            } else {
                rules.push(rule(word, rest.trim()).map_err(said)?);
            }
        }
        Ok(Self { rules: Some(rules), weights })
    }

    /// The path of a task's group, `/` for the root.
    pub(super) fn of<'a>(&'a self, pid: u32, comm: &'a str) -> &'a str {
        let Some(rules) = &self.rules else { return comm };
        let fits = |fits: &Fits| match fits {
            Fits::Pid(number) => *number == pid,
            Fits::Comm(name) => name == comm,
            Fits::Begins(name) => comm.starts_with(name.as_str()),
            Fits::All => true,
        };
        rules.iter().find(|(what, _)| fits(what)).map_or("/", |(_, path)| path)
    }

    /// The number of the group with this path (or name), which is made if it is not there.
    pub(super) fn group(&self, path: &str, made: &mut Made) -> u32 {
        if self.is_by_name() {
            return made.child(ROOT, path, path, USUAL);
        }
        let (mut group, mut at) = (ROOT, String::new());
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = format!("{at}/{name}");
            let weight = self.weights.get(&at).copied().unwrap_or(USUAL);
            group = made.child(group, name, &at, weight);
        }
        group
    }

    /// The weights of groups that no task is in.
    pub(super) fn unused(&self, made: &Made) -> Vec<String> {
        self.weights.keys().filter(|path| !made.names.contains(path)).cloned().collect()
    }
}

impl Made {
    pub(super) fn new(groups: Groups) -> Self {
        Self { groups, names: vec!["all".to_owned()], known: BTreeMap::new() }
    }

    fn child(&mut self, parent: u32, name: &str, path: &str, weight: u64) -> u32 {
        let key = (parent, name.to_owned());
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let group = self.groups.add(parent, weight * NICE_0 / USUAL);
        self.known.insert(key, group);
        self.names.push(path.to_owned());
        group
    }
}

fn rule(word: &str, rest: &str) -> Result<(Fits, String), String> {
    let form = "expected `pid N PATH`, `comm NAME PATH`, `* PATH` or `weight PATH N`";
    let (of, group) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
    let (of, group) = (of.trim(), path(group)?);
    let fits = match (word, of) {
        ("*", "") => Fits::All,
        ("pid", of) => Fits::Pid(of.parse().map_err(|_| format!("{of:?} is no pid; {form}"))?),
        ("comm", of) if !of.is_empty() => match of.strip_suffix('*') {
            Some(begin) => Fits::Begins(begin.to_owned()),
            None => Fits::Comm(of.to_owned()),
        },
        _ => return Err(form.to_owned()),
    };
    Ok((fits, group))
}

fn weight(text: &str) -> Result<(String, u64), String> {
    let (group, weight) = text.rsplit_once(char::is_whitespace).unwrap_or((text, ""));
    let number = weight.parse().ok().filter(|weight| (1..=10_000).contains(weight));
    let number = number.ok_or_else(|| format!("weight {weight:?} is not in 1 to 10000"))?;
    Ok((path(group.trim())?, number))
}

/// A path in the one way it is written.
fn path(text: &str) -> Result<String, String> {
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    if !text.starts_with('/') || names.iter().any(|name| [".", ".."].contains(name)) {
        return Err(format!("the group {text:?} is no path from the root, as /build/compile"));
    }
    if names.len() > DEEPEST {
        return Err(format!("{} levels of groups are more than {DEEPEST}", names.len()));
    }
    Ok(format!("/{}", names.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_decides() {
        let text = "# x\n\npid 7 /a/b\ncomm Web Content* /web\ncomm cc1 plus //c//\n* /rest\n";
        let grouping = Grouping::parse(text).unwrap();
        let of = |pid, comm| grouping.of(pid, comm).to_owned();
        assert_eq!(of(7, "cc1 plus"), "/a/b");
        assert_eq!(of(8, "cc1 plus"), "/c");
        assert_eq!(of(8, "Web Content 3"), "/web");
        assert_eq!(of(8, "cc1"), "/rest");
        assert_eq!(Grouping::parse("pid 7 /a").unwrap().of(8, "x"), "/");
        assert_eq!(Grouping::by_name().of(8, "x"), "x");
    }

    #[test]
    fn a_wrong_line_is_named_with_what_would_be_right() {
        let deep = format!("* {}", "/x".repeat(33));
        for (text, expected) in [
            ("\nfoo /a", "line 2: expected `pid N PATH`"),
            ("pid x /a", "\"x\" is no pid"),
            ("comm /a", "expected `pid N"),
            ("* a", "\"a\" is no path from the root"),
            ("* /a/../b", "no path from the root"),
            (&deep, "33 levels"),
            ("weight /a 0", "\"0\" is not in 1 to 10000"),
            ("weight /a", "not in 1 to 10000"),
            ("weight /a 1\nweight //a 2", "line 2: the weight of /a is set a second time"),
        ] {
            let said = Grouping::parse(text).unwrap_err();
            assert!(said.contains(expected), "{text:?}: {said}");
        }
    }
}
