//! Instruction counts against those that are checked in.
//!
//! gungraun compares with baselines too, but those are whole profiles, one a benchmark, with paths of
//! a machine in them; what is kept here is a line a benchmark.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Instructions by benchmark.
pub(crate) type Counts = BTreeMap<String, u64>;

/// How it went.
#[derive(PartialEq, Debug)]
pub(crate) enum Outcome {
    /// Not one benchmark has more instructions than it had.
    Good,
    /// Some have.
    More,
}

/// Counts, and compares or writes anew.
///
/// # Errors
///
/// What is missing, and how to get it.
pub(crate) fn run(update: bool) -> Result<Outcome, String> {
    let whose = Whose::this()?;
    let file = whose.file();
    let known = fs::read_to_string(&file).ok();
    let known = known.as_deref().filter(|text| text.lines().next() == Some(&whose.0));
    if known.is_none() && !update {
        println!(
            "skipped: no counts of {} in {}; other compilers make other code, and --update writes \
             what this one makes",
            whose.0,
            directory().display()
        );
        return Ok(Outcome::Good);
    }
    let counts = read(&measured()?)?;
    let text = whose.text(&counts);
    let changes = compare(&known.map(parse).transpose()?.unwrap_or_default(), &counts);
    print!("{}", changes.text);
    if update {
        fs::create_dir_all(directory())
            .and_then(|()| fs::write(&file, text))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        println!("{} counts of {}", counts.len(), file.display());
        return Ok(Outcome::Good);
    }
    let Changes { more, .. } = changes;
    println!("{} counts, {more} with more instructions than before", counts.len());
    Ok(if more > 0 { Outcome::More } else { Outcome::Good })
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions/counts")
}

/// What a count depends on: compiler, target, flags, and the C library, which allocates and copies.
struct Whose(String);

impl Whose {
    fn this() -> Result<Self, String> {
        let rustc = env::var_os("RUSTC").unwrap_or("rustc".into());
        let output = Command::new(rustc).arg("-vV").output();
        let output = output.map_err(|error| format!("rustc -vV: {error}"))?;
        let about = String::from_utf8_lossy(&output.stdout).into_owned();
        let flags = env::var("RUSTFLAGS").or_else(|_| env::var("CARGO_ENCODED_RUSTFLAGS"));
        Ok(Self::of(&about, &libc_version(), flags.as_deref().unwrap_or_default()))
    }

    fn of(about: &str, libc: &str, flags: &str) -> Self {
        let line = |name: &str| about.lines().find_map(|line| line.strip_prefix(name));
        let [rustc, host, llvm] = ["rustc ", "host: ", "LLVM version: "].map(line);
        let unknown = "unknown";
        let mut whose = format!(
            "rustc {}, LLVM {}, {}, {libc}",
            rustc.unwrap_or(unknown),
            llvm.unwrap_or(unknown),
            host.unwrap_or(unknown),
        );
        if !flags.is_empty() {
            let _ = write!(whose, ", {}", flags.replace('\u{1f}', " "));
        }
        Self(whose)
    }

    /// One for a version of the compiler.
    fn file(&self) -> PathBuf {
        let version = self.0.split(' ').nth(1).unwrap_or_default();
        directory().join(format!("{version}.txt"))
    }

    fn text(&self, counts: &Counts) -> String {
        let lines = counts.iter().map(|(name, count)| format!("{count:>6} {name}\n"));
        format!("{}\n{}", self.0, lines.collect::<String>())
    }
}

/// Of the C library, as it calls itself.
fn libc_version() -> String {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok();
    let version = output.filter(|output| output.status.success()).map(|output| output.stdout);
    let version = version.and_then(|version| String::from_utf8(version).ok());
    version.map_or_else(|| "libc unknown".into(), |version| version.trim().to_owned())
}

/// Runs the benchmarks: a line of JSON each.
fn measured() -> Result<String, String> {
    /// As in `Cargo.toml`.
    const VERSION: &str = "0.18.2";
    let install = format!("cargo install gungraun-runner --version {VERSION}");
    let runner = env::var_os("GUNGRAUN_RUNNER").unwrap_or("gungraun-runner".into());
    let needs = [("valgrind".into(), "the distribution has it"), (runner, install.as_str())];
    for (program, how) in needs {
        let there = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            return Err(format!("no {}: {how}", program.to_string_lossy()));
        }
    }
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["bench", "-q", "-p", "benches", "--bench", "instructions", "--"])
        .arg("--output-format=json")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo bench: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(text),
        false => Err(format!("cargo bench --bench instructions: {}\n{text}", output.status)),
    }
}

/// The counts of gungraun's summaries, a line each.
fn read(summaries: &str) -> Result<Counts, String> {
    let mut counts = Counts::new();
    for line in summaries.lines().filter(|line| line.starts_with('{')) {
        let summary: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let (name, count) = one(&summary).ok_or_else(|| format!("not a summary: {line}"))?;
        if counts.insert(name.clone(), count).is_some() {
            return Err(format!("{name} is there twice"));
        }
    }
    if counts.is_empty() { Err("no benchmark was run".into()) } else { Ok(counts) }
}

/// Name and instructions of one benchmark.
fn one(summary: &Value) -> Option<(String, u64)> {
    let path = summary.get("module_path")?.as_str()?;
    let path = path.split_once("::").map_or(path, |(_, path)| path);
    let id = summary.get("id")?.as_str()?;
    let metrics = summary.pointer("/profiles/0/summaries/total/summary/Callgrind/Ir/metrics")?;
    // Alone, or with what it was the last time.
    let now = metrics.get("Left").or_else(|| metrics.get("Both")?.get(0))?;
    Some((format!("{path} {id}"), now.get("Int")?.as_u64()?))
}

/// Reads a file of counts.
fn parse(text: &str) -> Result<Counts, String> {
    let count = |line: &str| {
        let (count, name) = line.trim().split_once(' ')?;
        Some((name.to_owned(), count.parse().ok()?))
    };
    let counts = text.lines().skip(1).map(|line| count(line).ok_or(line));
    counts.collect::<Result<_, _>>().map_err(|line| format!("{line:?}: a count and a name"))
}

/// What is another count than before.
struct Changes {
    /// Benchmarks with more instructions, and those that are gone.
    more: usize,
    text: String,
}

fn compare(before: &Counts, now: &Counts) -> Changes {
    let mut changes = Changes { more: 0, text: String::new() };
    for (name, count) in now {
        let told = match before.get(name) {
            Some(old) if old == count => continue,
            Some(old) if old < count => {
                changes.more += 1;
                format!("MORE {name}: {old} -> {count}")
            }
            Some(old) => format!("less {name}: {old} -> {count}; --update keeps it so"),
            None => format!("new  {name}: {count}; --update keeps it so"),
        };
        let _ = writeln!(changes.text, "{told}");
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        changes.more += 1;
        let _ = writeln!(changes.text, "GONE {name}: not counted any more");
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Counts {
        list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn one_instruction_more_is_found() {
        let before = counts(&[("a", 7), ("b", 9), ("c", 3), ("d", 1)]);
        let now = counts(&[("a", 8), ("b", 9), ("c", 2), ("e", 5)]);
        let Changes { more, text } = compare(&before, &now);
        assert_eq!(more, 2);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "MORE a: 7 -> 8");
        assert!(lines[1].starts_with("less c: 3 -> 2") && lines[2].starts_with("new  e: 5"));
        assert_eq!((lines[3], lines.len()), ("GONE d: not counted any more", 4));
        assert_eq!(compare(&now, &now).text, "");
    }

    #[test]
    fn counts_that_were_written_are_read() {
        let about = "rustc 1.95.0 (59807616e 2026-04-14)\nhost: x86_64\nLLVM version: 22.1.2\n";
        let whose = Whose::of(about, "glibc 2.36", "");
        assert_eq!(whose.0, "rustc 1.95.0 (59807616e 2026-04-14), LLVM 22.1.2, x86_64, glibc 2.36");
        assert!(whose.file().ends_with("instructions/counts/1.95.0.txt"));
        let counts = counts(&[("words::bitmap::claim empty", 7), ("b c", 123_456)]);
        let text = whose.text(&counts);
        assert_eq!(parse(&text), Ok(counts));
        assert!(parse("head\nno number").is_err());
        assert!(Whose::of(about, "glibc 2.36", "-C\u{1f}x").0.ends_with("2.36, -C x"));
    }

    #[test]
    fn summaries_with_and_without_an_earlier_run_are_read() {
        let summary = |id: &str, metrics: &str| {
            format!(
                "{{\"module_path\":\"instructions::bitmap::claim\",\"id\":\"{id}\",\"profiles\":[{{\
                 \"summaries\":{{\"total\":{{\"summary\":{{\"Callgrind\":{{\"Ir\":{{\
                 \"metrics\":{metrics}}}}}}}}}}}}}]}}\n"
            )
        };
        let text = summary("one", r#"{"Left":{"Int":7}}"#)
            + "noise\n"
            + &summary("two", r#"{"Both":[{"Int":9},{"Int":8}]}"#);
        let expected = counts(&[("bitmap::claim one", 7), ("bitmap::claim two", 9)]);
        assert_eq!(read(&text), Ok(expected));
        assert!(read("").unwrap_err().contains("no benchmark"));
        assert!(read(&(text.clone() + &text)).unwrap_err().contains("twice"));
    }
}
