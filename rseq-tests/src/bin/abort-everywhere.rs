//! Stops at every instruction of every section, lets the kernel cut the section off there, and
//! checks that the state is as if nothing had happened, or as committed.
//!
//! The program traces itself: a child goes through `subjects` again and again, stopping before
//! each round; the parent puts one breakpoint into the round. A thread that stops at a
//! breakpoint was off its CPU: when it goes on inside a section, the kernel sends it to the
//! abort handler, where a second breakpoint waits. At the first instruction after the commit
//! it must not.

#![allow(unsafe_code, reason = "the child stops itself")]

use rseq_tests::churn;
use rseq_tests::disassembly::disassemble;
use rseq_tests::elf::{Descriptor, Elf};
use rseq_tests::implementation::sections;
use rseq_tests::subjects::Bench;
use rseq_tests::trace::{Child, Stop};
use std::error::Error;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let Some(bare) = sections() else { return ExitCode::SUCCESS };
    if std::env::args().nth(1).as_deref() == Some("child") {
        let cpu = churn::cpu();
        churn::pin(0, &[cpu]);
        let bench = Bench::new(bare.0, cpu);
        loop {
            // SAFETY:
            // - stops this thread until the parent lets it go on.
            unsafe { libc::raise(libc::SIGSTOP) };
            bench.all();
        }
    }
    match everywhere() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// What happened at one place.
enum Seen {
    Aborted,
    WentOn,
    NotReached,
}

fn everywhere() -> Result<bool, Box<dyn Error>> {
    let file = std::env::current_exe()?;
    let elf = Elf::parse(&std::fs::read(&file)?).map_err(|error| error.to_string())?;
    let descriptors = elf.descriptors().map_err(|error| error.to_string())?;
    let Some(code) = disassemble(&file) else {
        println!("no disassembler here: skipped");
        return Ok(true);
    };
    let child = Child::start(Command::new(&file).arg("child"))?;
    let base = child.base(&file)?;
    let mut counts = [0usize; 3];
    let mut good = true;
    let mut copies = 0;
    if child.run()? != Stop::Asked {
        return Err("the child did not come to its first round".into());
    }
    for descriptor in &descriptors {
        let name = elf.function(descriptor.start);
        if !name.contains("subjects") || name.contains("FnOnce") {
            // The compiler keeps a copy of each closure for callers that there are not.
            copies += 1;
            continue;
        }
        for (address, instruction) in code.range(descriptor.start..=descriptor.end()) {
            let seen = round(&child, base, descriptor, *address)
                .map_err(|error| format!("at {address:#x} in {name}: {error}"))?;
            let inside = descriptor.contains(*address);
            match (&seen, inside) {
                (Seen::Aborted, true) => counts[0] += 1,
                (Seen::WentOn, false) => counts[1] += 1,
                (Seen::NotReached, _) => {
                    counts[2] += 1;
                    println!("never reached: {address:#x} {} in {name}", instruction.mnemonic);
                    good = false;
                }
                _ => {
                    println!(
                        "wrong at {address:#x} {} {} in {name}: {}",
                        instruction.mnemonic,
                        instruction.operands,
                        if inside { "not cut off" } else { "cut off after the commit" }
                    );
                    good = false;
                }
            }
        }
    }
    child.kill();
    println!(
        "{} sections ({copies} copies that nothing calls): cut off at {} instructions, \
         went on after {} commits, {} places not reached",
        descriptors.len(),
        counts[0],
        counts[1],
        counts[2]
    );
    Ok(good && counts[0] > 0)
}

/// One round with a breakpoint at `address`, and one at the abort handler.
fn round(
    child: &Child,
    base: u64,
    descriptor: &Descriptor,
    address: u64,
) -> Result<Seen, Box<dyn Error>> {
    let at = base + address;
    let before = child.set(at)?;
    let mut stop = child.run()?;
    if stop == Stop::Asked {
        child.clear(at, before)?;
        return Ok(Seen::NotReached);
    }
    if stop != Stop::Trap(at) {
        return Err(format!("{stop:?} instead of the breakpoint").into());
    }
    child.clear(at, before)?;
    child.go_to(at)?;
    let abort = base + descriptor.abort;
    let handler = child.set(abort)?;
    stop = child.run()?;
    let seen = if stop == Stop::Trap(abort) { Seen::Aborted } else { Seen::WentOn };
    child.clear(abort, handler)?;
    if stop == Stop::Trap(abort) {
        child.go_to(abort)?;
        stop = child.run()?;
    }
    match stop {
        Stop::Asked => Ok(seen),
        other => Err(format!("{other:?} before the end of the round").into()),
    }
}
