//! Running a test binary until it is done, or until its first test has failed.

use crate::switch::VARIABLE;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Of a processor, for one binary: what takes more has no end. (A model that is not broken takes a
/// few seconds; a machine that is busy takes none of this.)
const CPU_LIMIT: &str = "150";
/// Of a clock: what takes more sleeps.
const LIMIT: Duration = Duration::from_secs(1200);

/// How a binary ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// All its tests passed.
    Passed,
    /// This test failed, and said so.
    Failed { test: String, how: String },
}

/// Runs the tests of `binary` whose names begin with `only`, or the one that is `exactly` so, with
/// one mutant awake (0: none). Returns after the first that fails, with the seconds of a
/// processor that it all took.
///
/// # Errors
///
/// What the system says.
pub(crate) fn ask(
    binary: &Path,
    folder: &Path,
    mutant: usize,
    only: Option<&str>,
    exactly: bool,
) -> io::Result<(End, f64)> {
    // The shell sets the limit and becomes the binary.
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -t {CPU_LIMIT}; exec \"$0\" \"$@\"")]);
    // With one thread alone a test's fate does not stand on a line with its name.
    command.arg(binary).args(["--nocapture", "--test-threads=2"]).args(only);
    if exactly {
        command.arg("--exact");
    }
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder);
    command.env(VARIABLE, mutant.to_string()).env("RUST_BACKTRACE", "0");
    command.env_remove("CORELOCAL_LOOM_FULL");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = in_its_own_group(&mut command).spawn()?;

    // Lines of both streams, and what the processor was busy for, until a test fails.
    let (lines, heard) = mpsc::channel();
    for stream in streams(&mut child) {
        let lines = lines.clone();
        thread::spawn(move || read(stream, &lines));
    }
    drop(lines);
    let (start, mut said, mut seconds) = (Instant::now(), String::new(), 0.0);
    let mut failed = None;
    while failed.is_none() {
        seconds = busy(child.id()).unwrap_or(seconds);
        match heard.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => {
                failed = failed_test(&line);
                said.push_str(&line);
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            // It may have left children behind that hold its streams.
            Err(mpsc::RecvTimeoutError::Timeout) if child.try_wait()?.is_some() => break,
            Err(mpsc::RecvTimeoutError::Timeout) if start.elapsed() < LIMIT => {}
            Err(mpsc::RecvTimeoutError::Timeout) => failed = Some(String::new()),
        }
    }
    if failed.is_some() {
        // The panic's own words come through the other stream, and may be late.
        thread::sleep(Duration::from_millis(20));
        heard.try_iter().for_each(|line| said.push_str(&line));
        end(&mut child)?;
    }
    let status = child.wait()?;
    if failed.is_none() && status.success() {
        return Ok((End::Passed, seconds));
    }
    let (test, how) = last_words(&said, failed.as_deref());
    let how = if how.is_empty() { format!("no end, or {status}") } else { how };
    Ok((End::Failed { test, how }, seconds))
}

/// A group of its own, so that what a child starts can be ended with it.
fn in_its_own_group(command: &mut Command) -> &mut Command {
    std::os::unix::process::CommandExt::process_group(command, 0)
}

fn end(child: &mut Child) -> io::Result<()> {
    Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status().map(|_| ())
}

fn streams(child: &mut Child) -> Vec<Box<dyn Read + Send>> {
    let out = child.stdout.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>);
    let err = child.stderr.take().map(|stream| Box::new(stream) as Box<dyn Read + Send>);
    out.into_iter().chain(err).collect()
}

fn read(stream: impl Read, lines: &mpsc::Sender<String>) {
    let mut stream = io::BufReader::new(stream);
    let mut line = Vec::new();
    while io::BufRead::read_until(&mut stream, b'\n', &mut line).is_ok_and(|read| read > 0) {
        if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

/// Waits for a command and all that it started, for `limit`; `None` if it does not end.
pub(crate) fn wait(mut command: Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let mut child = in_its_own_group(&mut command).spawn()?;
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(20));
    }
    end(&mut child)?;
    child.wait()?;
    Ok(None)
}

/// The seconds that a process has had of a processor; a hundredth is what the kernel counts in.
fn busy(process: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything: state is field 3, the times are 14 and 15.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// The test that a line of libtest says has failed.
fn failed_test(line: &str) -> Option<String> {
    let line = line.trim_end().strip_suffix("... FAILED")?;
    Some(line.split_once("test ")?.1.trim().to_owned())
}

/// The test that failed, and the line that it said, so that a reader sees that the mutant died of
/// the right thing. Of one that took the process with it, the last to panic.
fn last_words(said: &str, failed: Option<&str>) -> (String, String) {
    let mut found = (failed.unwrap_or_default().to_owned(), String::new());
    let mut lines = said.lines();
    while let Some(line) = lines.next() {
        let (Some(_), Some(thread)) = (line.find("panicked at"), line.split('\'').nth(1)) else {
            continue;
        };
        let how = lines.next().unwrap_or_default().trim().to_owned();
        match failed {
            Some(test) if test == thread => return (found.0, how),
            Some(_) if !found.1.is_empty() => {}
            Some(_) => found.1 = how,
            None => found = (thread.to_owned(), how),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_test_tells_its_name_and_why() {
        let said = "thread 'other' (1) panicked at x:1:\n as it must\n\
            thread 'a::test' (7) panicked at src/x.rs:1:2:\n  left != right\nmore";
        assert_eq!(failed_test("test a::test ... FAILED\n").as_deref(), Some("a::test"));
        assert_eq!(failed_test("test a::test ... ok\n"), None);
        let words = ("a::test".to_owned(), "left != right".to_owned());
        assert_eq!(last_words(said, Some("a::test")), words);
        assert_eq!(last_words(said, None), words);
        assert_eq!(last_words("", None), (String::new(), String::new()));
    }

    #[test]
    fn a_command_that_fails_is_told_from_one_that_does_not() {
        assert!(wait(Command::new("true"), LIMIT).unwrap().unwrap().success());
        assert!(!wait(Command::new("false"), LIMIT).unwrap().unwrap().success());
    }

    #[test]
    fn the_end_of_a_binary_is_told_with_its_last_words() {
        let here = Path::new("/");
        let passed = ask(Path::new("/bin/true"), here, 0, None, false).unwrap().0;
        assert_eq!(passed, End::Passed);
        let failed = ask(Path::new("/bin/false"), here, 0, None, false).unwrap().0;
        assert!(matches!(failed, End::Failed { .. }), "{failed:?}");
    }
}
