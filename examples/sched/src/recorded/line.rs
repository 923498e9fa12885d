//! One line of a recording: the columns before the event, and the event's own.

use core::fmt;

/// A task as a line shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Who {
    /// Its number; 0 is a CPU's idle task.
    pub pid: u32,
    /// The name of its program, at most 15 bytes in a kernel.
    pub comm: String,
    /// The kernel's priority: 100 to 139 is nice -20 to 19, less is real time.
    pub prio: i32,
}

/// Which of the events that tell of a wake-up a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// `sched_waking`: the waker begins.
    Begins,
    /// `sched_wakeup`: the task is runnable.
    Done,
    /// `sched_wakeup_new`: the task is new.
    New,
}

/// What a line tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A CPU runs another task.
    Switch {
        /// Who ran.
        prev: Who,
        /// Whether it sleeps now; else it waits.
        sleeps: bool,
        /// Whether it never comes back.
        ends: bool,
        /// Who runs from now on.
        next: Who,
    },
    /// A task wakes.
    Wake {
        /// The task.
        who: Who,
        /// Where it is put, as far as that is known yet.
        cpu: u32,
        /// How the line tells.
        how: Wake,
    },
    /// A task is moved.
    Migrate {
        /// The task.
        who: Who,
        /// Where to.
        cpu: u32,
    },
}

/// A line that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// An event that counts.
    Event {
        /// The CPU that told.
        cpu: u32,
        /// Nanoseconds on the recording's clock.
        time: u64,
        /// What it told.
        what: What,
    },
    /// Any other event.
    Other,
    /// The recorder lost events here.
    Lost,
    /// A heading, a call chain, an empty line.
    Nothing,
}

/// What is wrong with a line, and what would be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wrong {
    /// The columns before the event.
    Header,
    /// The event's own.
    Body(&'static Form),
    /// More than [`LONGEST`] bytes.
    Long,
}

/// An event and how it is written.
#[derive(PartialEq, Eq, Debug)]
pub struct Form {
    event: &'static str,
    plain: &'static str,
    plugin: &'static str,
}

const SWITCH: Form = Form {
    event: "sched_switch",
    plain: "prev_comm=C prev_pid=N prev_prio=N prev_state=S ==> next_comm=C next_pid=N next_prio=N",
    plugin: "C:N [N] S ==> C:N [N]",
};
const WAKINGS: [(Form, Wake); 3] = [
    (waking("sched_waking"), Wake::Begins),
    (waking("sched_wakeup"), Wake::Done),
    (waking("sched_wakeup_new"), Wake::New),
];
const MIGRATE: Form = Form {
    event: "sched_migrate_task",
    plain: "comm=C pid=N prio=N orig_cpu=N dest_cpu=N",
    plugin: "C:N [N] orig_cpu=N dest_cpu=N",
};

const fn waking(event: &'static str) -> Form {
    Form { event, plain: "comm=C pid=N prio=N target_cpu=N", plugin: "C:N [N] CPU:N" }
}

/// The longest line that is read; those of the events here have less than 200 bytes.
pub const LONGEST: usize = 4096;

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => f.write_str(
                "the columns are neither `C N [N] N.N: event: ...`, as perf writes them, nor `C-N \
                 [N] N.N: event: ...`, as trace-cmd does (program C, pid, CPU, seconds)",
            ),
            Self::Body(Form { event, plain, plugin }) => write!(
                f,
                "{event} is neither `{plain}` nor `{plugin}` (names C, whole numbers N, priorities \
                 -1 to 139)"
            ),
            Self::Long => write!(f, "more than {LONGEST} bytes"),
        }
    }
}

/// Reads a line without its end.
///
/// # Errors
///
/// [`Wrong`].
pub fn parse(bytes: &[u8]) -> Result<Line, Wrong> {
    if bytes.len() > LONGEST {
        return Err(Wrong::Long);
    }
    let text = String::from_utf8_lossy(bytes);
    let line = text.trim_end();
    if let Some((cpu, time, event, body)) = header(line) {
        let what = match self::event(event, body) {
            None => return Ok(Line::Other),
            Some(read) => read.map_err(Wrong::Body)?,
        };
        return Ok(Line::Event { cpu, time, what });
    }
    if line.contains("[LOST ") || line.contains("EVENTS DROPPED]") || line.contains("_LOST ") {
        return Ok(Line::Lost);
    }
    match is_nothing(line) {
        true => Ok(Line::Nothing),
        false => Err(Wrong::Header),
    }
}

/// Headings of perf, trace-cmd and the kernel's own file; call chains, which begin with a tab.
fn is_nothing(line: &str) -> bool {
    let begins = |with: &str| line.starts_with(with);
    line.trim_start().is_empty()
        || ["#", "\t", "cpus=", "version = ", "trigger="].into_iter().any(begins)
        || (begins("CPU ") && line.ends_with(" is empty"))
}

/// CPU, nanoseconds, event, and the rest. A program's name may hold anything, brackets too, so each
/// bracket is tried.
fn header(line: &str) -> Option<(u32, u64, &str, &str)> {
    line.match_indices('[').find_map(|(at, _)| header_from(&line[..at], &line[at + 1..]))
}

fn header_from<'a>(before: &str, after: &'a str) -> Option<(u32, u64, &'a str, &'a str)> {
    // The pid, or the kernel's column with the process's number in parentheses.
    before.trim_end().chars().last().filter(|&last| last.is_ascii_digit() || last == ')')?;
    let (cpu, rest) = after.split_once(']')?;
    let cpu = number(cpu)?;
    let (mut word, mut rest) = first_word(rest)?;
    if !word.ends_with(':') {
        // Interrupts off, preemption count and so on.
        (word, rest) = first_word(rest)?;
    }
    let time = nanoseconds(word.strip_suffix(':')?)?;
    let (mut event, mut rest) = first_word(rest)?;
    if number::<u64>(event).is_some() {
        // Older perfs print the period.
        (event, rest) = first_word(rest)?;
    }
    let event = event.strip_suffix(':')?;
    let event = event.rsplit(':').next().unwrap_or(event);
    Some((cpu, time, event, rest.trim_start())).filter(|_| !event.is_empty())
}

fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A whole number of digits only.
fn number<N: core::str::FromStr>(text: &str) -> Option<N> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Seconds with one to nine decimals; without a point, nanoseconds.
fn nanoseconds(text: &str) -> Option<u64> {
    let Some((seconds, decimals)) = text.split_once('.') else { return number(text) };
    let digits = u32::try_from(decimals.len()).ok().filter(|digits| (1..=9).contains(digits))?;
    let fraction = number::<u64>(decimals)? * 10_u64.pow(9 - digits);
    number::<u64>(seconds)?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Reads an event; `None` for one that does not count.
fn event(name: &str, body: &str) -> Option<Result<What, &'static Form>> {
    if name == SWITCH.event {
        return Some(plain_switch(body).or_else(|| plugin_switch(body)).ok_or(&SWITCH));
    }
    if name == MIGRATE.event {
        let read = placed(body, "dest_cpu=").map(|(who, cpu)| What::Migrate { who, cpu });
        return Some(read.ok_or(&MIGRATE));
    }
    let (form, how) = WAKINGS.iter().find(|(form, _)| form.event == name)?;
    let read = placed(body, "target_cpu=").or_else(|| placed(body, "CPU:"));
    Some(read.map(|(who, cpu)| What::Wake { who, cpu, how: *how }).ok_or(form))
}

fn plain_switch(body: &str) -> Option<What> {
    let (before, after) = body.split_once(" ==> next_comm=")?;
    let (comm, rest) = before.strip_prefix("prev_comm=")?.rsplit_once(" prev_pid=")?;
    let (pid, rest) = rest.split_once(" prev_prio=")?;
    let (prio, state) = rest.split_once(" prev_state=")?;
    let prev = who(comm, pid, prio)?;
    let (comm, rest) = after.rsplit_once(" next_pid=")?;
    let (pid, prio) = rest.split_once(" next_prio=")?;
    let next = who(comm, pid, first_word(prio)?.0)?;
    switch(prev, state, next)
}

fn plugin_switch(body: &str) -> Option<What> {
    let (before, after) = body.split_once(" ==> ")?;
    let (prev, state) = before.rsplit_once("] ")?;
    let next = after.trim_end().strip_suffix(']')?;
    switch(plugin_who(prev)?, state, plugin_who(next)?)
}

fn switch(prev: Who, state: &str, next: Who) -> Option<What> {
    let state = state.trim();
    let known = |state: char| state.is_ascii_alphabetic() || "|+".contains(state);
    (!state.is_empty() && state.chars().all(known)).then(|| What::Switch {
        prev,
        // Whoever was switched out while it was runnable waits: R, or R+ for one preempted.
        sleeps: !state.starts_with('R'),
        ends: state.starts_with(['X', 'Z']),
        next,
    })
}

/// A task, and the number after `key`, in both forms.
fn placed(body: &str, key: &str) -> Option<(Who, u32)> {
    let (before, cpu) = body.rsplit_once(key)?;
    let cpu = number(first_word(cpu)?.0)?;
    if let Some((comm, rest)) = body.strip_prefix("comm=").and_then(|b| b.rsplit_once(" pid=")) {
        let (pid, prio) = rest.split_once(" prio=")?;
        return Some((who(comm, pid, first_word(prio)?.0)?, cpu));
    }
    let end = before.rfind(']')?;
    Some((plugin_who(&before[..end])?, cpu))
}

/// `name:pid [prio`.
fn plugin_who(text: &str) -> Option<Who> {
    let (task, prio) = text.rsplit_once(" [")?;
    let (comm, pid) = task.rsplit_once(':')?;
    who(comm, pid, prio.trim())
}

fn who(comm: &str, pid: &str, prio: &str) -> Option<Who> {
    let prio = prio.parse().ok().filter(|prio| (-1..=139).contains(prio))?;
    Some(Who { pid: number(pid)?, comm: comm.to_owned(), prio })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Line {
        parse(line.as_bytes()).unwrap_or_else(|wrong| panic!("{line}: {wrong}"))
    }

    fn is(comm: &str, pid: u32, prio: i32) -> Who {
        Who { pid, comm: comm.to_owned(), prio }
    }

    fn switch_line(cpu: u32, time: u64, prev: Who, state: &str, next: Who) -> Line {
        Line::Event { cpu, time, what: switch(prev, state, next).unwrap() }
    }

    #[test]
    fn both_recorders_lines_say_the_same() {
        let right = switch_line(1, 27_452_206_219_000, is("a b: c", 7, 120), "S", is("x", 8, 98));
        let perf = "prev_comm=a b: c prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=x \
                    next_pid=8 next_prio=98";
        for line in [
            &format!("  a b: c     7 [001] 27452.206219:       sched:sched_switch: {perf}"),
            &format!("a b: c 7/7 [001] 27452.206219000:          1 sched:sched_switch: {perf}"),
            &format!("  a b: c-7     [001] 27452.206219: sched_switch:         {perf}"),
            &format!("  a b: c-7     (   7) [001] d..2. 27452.206219: sched_switch: {perf}"),
            &format!("  [9] x-7     [001] 27452206219000: sched_switch: {perf}"),
            "  a b: c-7   [001] d..2.  27452.206219: sched_switch:   a b: c:7 [120] S ==> x:8 [98]",
        ] {
            assert_eq!(read(line), right, "{line}");
        }
    }

    #[test]
    fn wake_ups_and_moves_are_read_in_both_forms() {
        let who = is("cc1: x", 12, 120);
        let wake = |how| What::Wake { who: who.clone(), cpu: 3, how };
        for (text, what) in [
            ("sched_waking: comm=cc1: x pid=12 prio=120 target_cpu=003", wake(Wake::Begins)),
            (
                "sched_wakeup: comm=cc1: x pid=12 prio=120 success=1 target_cpu=003",
                wake(Wake::Done),
            ),
            ("sched_wakeup: cc1: x:12 [120] success=1 CPU:003", wake(Wake::Done)),
            ("sched_wakeup_new: cc1: x:12 [120] CPU:003", wake(Wake::New)),
            (
                "sched_migrate_task: comm=cc1: x pid=12 prio=120 orig_cpu=0 dest_cpu=3",
                What::Migrate { who: who.clone(), cpu: 3 },
            ),
        ] {
            let right = Line::Event { cpu: 0, time: 1_500_000_000, what };
            assert_eq!(read(&format!("x-1 [000] 1.5: {text}")), right, "{text}");
        }
    }

    #[test]
    fn who_was_switched_out_waits_only_if_it_was_runnable() {
        for (state, sleep, end) in
            [("R", false, false), ("R+", false, false), ("D|K", true, false), ("Z", true, true)]
        {
            let Some(What::Switch { sleeps, ends, .. }) = switch(is("", 1, 1), state, is("", 2, 1))
            else {
                panic!("{state}")
            };
            assert_eq!((sleeps, ends), (sleep, end), "{state}");
        }
    }

    #[test]
    fn what_is_no_event_of_ours_is_told_apart_from_what_is_wrong() {
        for line in ["", "# tracer: nop", "cpus=2", "CPU 3 is empty", "\t ffffffff81 schedule+0x1"]
        {
            assert_eq!(read(line), Line::Nothing, "{line}");
        }
        assert_eq!(read("x 1 [000] 1.5: sched:sched_stat_runtime: comm=x pid=1"), Line::Other);
        assert_eq!(read("CPU:1 [LOST 12 EVENTS]"), Line::Lost);
        assert_eq!(read("CPU:1 [12 EVENTS DROPPED]"), Line::Lost);
        let wrong = |line: &str| parse(line.as_bytes()).unwrap_err();
        for line in
            ["x", "x 1 [000] 1.5", "x 1 [0x0] 1.5: a: b", "x 1 [000] 1.: a: b", "[0] 1.5: a:"]
        {
            assert_eq!(wrong(line), Wrong::Header, "{line}");
        }
        for body in [
            "prev_comm=x prev_pid=1 prev_prio=120 prev_state= ==> next_comm=y next_pid=2 next_prio=1",
            "prev_comm=x prev_pid=1 prev_prio=140 prev_state=S ==> next_comm=y next_pid=2 next_prio=1",
            "x:1 [120] S ==> y:99999999999 [120]",
            "x:1 [120] S ==>",
            "",
        ] {
            let line = format!("x 1 [000] 1.5: sched_switch: {body}");
            assert_eq!(wrong(&line), Wrong::Body(&SWITCH), "{line}");
        }
        assert!(wrong("x 1 [0] 1.5: sched_waking: y").to_string().contains("target_cpu=N"));
        assert_eq!(parse(&[b'x'; LONGEST + 1]), Err(Wrong::Long));
    }
}
