//! Busy loops: processes of their own, since a group holds processes.

use super::groups::Groups;
use super::plan::Plan;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::fs;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};

/// The CPUs that this process may use.
///
/// # Errors
///
/// What the system says.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(Pid::from_raw(0))?;
    let on = |&cpu: &usize| set.is_set(cpu).unwrap_or(false);
    Ok((0..CpuSet::count()).filter(on).map(|cpu| cpu as u32).collect())
}

/// What a busy loop's process does: waits for a byte of its input, then loops on `cpu` until its
/// input ends, which it does when the parent is gone, however it went.
///
/// # Errors
///
/// One line.
pub fn run(cpu: u32) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(cpu as usize).map_err(|error| format!("--spin {cpu}: {error}"))?;
    sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| format!("--spin {cpu}: {error}"))?;
    let mut byte = [0];
    if io::stdin().read(&mut byte).map_err(|error| format!("standard input: {error}"))? == 0 {
        return Ok(());
    }
    std::thread::spawn(|| {
        let mut byte = [0];
        while io::stdin().read(&mut byte).is_ok_and(|read| read > 0) {}
        std::process::exit(0);
    });
    let mut count = 0_u64;
    loop {
        count = black_box(count.wrapping_add(1));
    }
}

/// The processes, killed when the value goes.
#[derive(Debug)]
pub struct Spinners {
    /// The group of each, and the process.
    children: Vec<(usize, Child)>,
}

/// Starts a process for each loop of the plan and puts it into its group; none loops yet.
///
/// # Errors
///
/// One line.
pub fn start(plan: &Plan, groups: &Groups, cpus: &[u32]) -> Result<Spinners, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut spinners = Spinners { children: Vec::new() };
    for (index, group) in plan.groups.iter().enumerate() {
        for &at in &group.loops {
            let mut command = Command::new(&program);
            command.args(["real", "--spin", &cpus[at].to_string()]);
            command.stdin(Stdio::piped()).stdout(Stdio::null());
            let child = command.spawn().map_err(|error| format!("a busy loop: {error}"))?;
            let process = child.id();
            spinners.children.push((index, child));
            groups.add(index, process)?;
        }
    }
    Ok(spinners)
}

impl Spinners {
    /// Lets all loop.
    ///
    /// # Errors
    ///
    /// One line: a process is gone.
    pub fn go(&mut self) -> Result<(), String> {
        for (_, child) in &mut self.children {
            let input = child.stdin.as_mut().expect("it is piped");
            input.write_all(b"\n").map_err(|error| format!("a busy loop is gone: {error}"))?;
        }
        Ok(())
    }

    /// Nanoseconds that the loops of a group and below it have run.
    ///
    /// # Errors
    ///
    /// One line that names the file.
    pub fn usage(&self, plan: &Plan, group: usize) -> Result<u64, String> {
        let mut sum = 0;
        for (index, child) in &self.children {
            if plan.is_below(*index, group) {
                let file = format!("/proc/{}/schedstat", child.id());
                let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
                sum += super::stat::ran(&text).map_err(|what| format!("{file}: {what}"))?;
            }
        }
        Ok(sum)
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for (_, child) in &mut self.children {
            // It may have ended by itself.
            let _ = child.kill();
        }
        for (_, child) in &mut self.children {
            let _ = child.wait();
        }
    }
}
