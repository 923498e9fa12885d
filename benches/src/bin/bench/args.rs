//! What is asked for on the command line.

use benches::cases::GROUPS;
use benches::paired::Options;
use benches::stats;
use std::path::PathBuf;

/// How to call it.
pub(crate) const USAGE: &str = "\
usage: bench report [GROUP]... [--name NAME] [--out DIR] [--rounds N] [--seed N] [--quick]
       bench page RESULT.json
       bench compare BEFORE.json AFTER.json
       bench instructions [--update]";

/// What is to be done.
#[derive(PartialEq, Debug)]
pub(crate) enum Command {
    /// Measure, and write all three files.
    Report(Asked),
    /// Page and summary of a result, beside it.
    Page(PathBuf),
    /// Compare two results.
    Compare(PathBuf, PathBuf),
    /// Count instructions, and compare or write anew.
    Instructions { update: bool },
    /// Print the usage.
    Help,
}

/// A report.
#[derive(PartialEq, Debug)]
pub(crate) struct Asked {
    pub(crate) name: String,
    /// Where the files go.
    pub(crate) out: PathBuf,
    pub(crate) quick: bool,
    pub(crate) options: Options,
}

/// The short version: what prepares the cases takes most of the time, and more rounds cost little.
const ROUNDS: usize = 21;
/// What shows that it works.
const QUICK: [&str; 2] = ["current_cpu", "add"];

/// Reads command line arguments, without the program's name.
///
/// # Errors
///
/// A line that says what was wrong and what would be right.
pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let mut args = args;
    let command = args.next().ok_or("no command: report, page, compare, instructions or --help")?;
    match command.as_str() {
        "report" => report(args).map(Command::Report),
        "page" => files(args).map(|[result]| Command::Page(result)),
        "compare" => files(args).map(|[before, after]| Command::Compare(before, after)),
        "instructions" => instructions(args),
        "help" | "--help" | "-h" => Ok(Command::Help),
        _ => {
            Err(format!("{command:?} is no command: report, page, compare, instructions or --help"))
        }
    }
}

fn files<const N: usize>(args: impl Iterator<Item = String>) -> Result<[PathBuf; N], String> {
    let files: Vec<PathBuf> = args.map(PathBuf::from).collect();
    let given = files.len();
    files.try_into().map_err(|_| format!("needs {N} file(s) of results, not {given}"))
}

fn instructions(args: impl Iterator<Item = String>) -> Result<Command, String> {
    let args: Vec<String> = args.collect();
    let update = !args.is_empty();
    if update && args != ["--update"] {
        return Err(format!("instructions {}: --update, or nothing", args.join(" ")));
    }
    Ok(Command::Instructions { update })
}

fn report(mut args: impl Iterator<Item = String>) -> Result<Asked, String> {
    let mut quick = false;
    let (mut name, mut out) = (None, results());
    let mut options = Options { groups: Vec::new(), rounds: 0, seed: 1, json: true };
    while let Some(arg) = args.next() {
        let mut value = |what| args.next().ok_or_else(|| format!("{arg} needs a {what}"));
        match arg.as_str() {
            "--quick" => quick = true,
            "--name" => name = Some(file_name(value("name")?)?),
            "--out" => out = value("directory")?.into(),
            "--rounds" => options.rounds = rounds(&value("number")?)?,
            "--seed" => {
                let text = value("number")?;
                options.seed = text.parse().map_err(|_| format!("--seed {text}: not a number"))?;
            }
            group if GROUPS.contains(&group) => options.groups.push(arg),
            _ => return Err(format!("{arg:?} is no option, and no group of {GROUPS:?}")),
        }
    }
    if options.rounds == 0 {
        options.rounds = if quick { stats::FEWEST } else { ROUNDS };
    }
    if options.groups.is_empty() {
        let groups: &[&str] = if quick { &QUICK } else { &GROUPS };
        options.groups = groups.iter().map(|&group| group.to_owned()).collect();
    }
    let name = name.unwrap_or_else(|| if quick { "quick" } else { "report" }.to_owned());
    Ok(Asked { name, out, quick, options })
}

fn rounds(text: &str) -> Result<usize, String> {
    let (fewest, most) = (stats::FEWEST, stats::MOST);
    let rounds = text.parse().ok().filter(|rounds| (fewest..=most).contains(rounds));
    rounds.ok_or_else(|| format!("--rounds {text}: must be {fewest} to {most}"))
}

/// A name becomes three files, all in the same directory.
fn file_name(name: String) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(format!("--name {name:?}: letters, digits, - _ and . only, no . in front"));
    }
    Ok(name)
}

/// `benches/results` of the sources that this was built from.
fn results() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("results")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn commands_are_read() {
        let Ok(Command::Report(short)) = read("report") else { panic!("a report") };
        assert_eq!((short.options.groups.len(), short.options.rounds), (GROUPS.len(), ROUNDS));
        assert!(short.name == "report" && !short.quick && short.out.ends_with("benches/results"));
        let Ok(Command::Report(quick)) = read("report --quick --out here") else { panic!("quick") };
        assert_eq!(
            (quick.options.groups, quick.options.rounds),
            (QUICK.map(String::from).into(), 6)
        );
        assert!(quick.name == "quick" && quick.quick && quick.out.ends_with("here"));
        let line = "report walk --rounds 31 --seed 9 --name a-b_1.2";
        let Ok(Command::Report(long)) = read(line) else { panic!("a report") };
        assert_eq!((long.options.rounds, long.options.seed), (31, 9));
        assert_eq!((long.name.as_str(), long.options.groups), ("a-b_1.2", vec!["walk".to_owned()]));
        let two = Command::Compare("a.json".into(), "b.json".into());
        assert_eq!(read("compare a.json b.json"), Ok(two));
        assert_eq!(read("page a.json"), Ok(Command::Page("a.json".into())));
        assert_eq!(read("instructions"), Ok(Command::Instructions { update: false }));
        assert_eq!(read("instructions --update"), Ok(Command::Instructions { update: true }));
        assert_eq!(read("--help"), Ok(Command::Help));
    }

    #[test]
    fn bad_input_is_one_line_that_says_what_would_be_right() {
        for (line, word) in [
            ("", "no command: report, page"),
            ("rapport", "\"rapport\" is no command"),
            ("compare a.json", "needs 2 file(s) of results, not 1"),
            ("page", "needs 1 file(s) of results, not 0"),
            ("instructions all", "instructions all: --update"),
            ("report walks", "\"walks\" is no option, and no group"),
            ("report --rounds 5", "--rounds 5: must be 6 to 1000"),
            ("report --rounds", "--rounds needs a number"),
            ("report --seed x", "--seed x: not a number"),
            ("report --name ../x", "letters, digits"),
        ] {
            let wrong = read(line).expect_err(line);
            assert!(wrong.contains(word) && !wrong.contains('\n'), "{line}: {wrong}");
        }
    }
}
