//! What the built program contains, and what it links against.

use crate::common::skip;
use std::path::Path;
use std::process::Command;

/// The disassembly of this test binary, which contains every operation on cells.
#[cfg(target_arch = "x86_64")]
fn disassembly() -> Result<String, String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let done = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(exe).output();
    let done = done.map_err(|error| format!("objdump cannot be started: {error}"))?;
    if !done.status.success() {
        return Err(format!("objdump: {}", done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// Mnemonic and operands of a line of `objdump -d`.
#[cfg(target_arch = "x86_64")]
fn instruction(line: &str) -> &str {
    line.split('\t').nth(1).unwrap_or("").trim()
}

/// The displacements at which a program reads or writes from the thread pointer and a register:
/// in this one, the thread area's words.
#[cfg(target_arch = "x86_64")]
fn area_accesses(text: &str) -> Vec<&str> {
    let operand = |line| instruction(line).split_once("%fs:").map(|(_, operand)| operand);
    let places = text.lines().filter_map(operand).filter_map(|operand| operand.split_once("(%"));
    places.map(|(displacement, _)| displacement).collect()
}

/// D14, <https://github.com/spacejam/sled/issues/1232>,
/// <https://github.com/metrics-rs/quanta/issues/56>: an instruction that old machines lack. D16,
/// <https://github.com/multipath-tcp/mptcp_net-next/issues/617>: concurrency ids that nobody asked
/// for. Of the thread area, sections and ids use the id (4) and the descriptor's place (8) alone.
#[test]
#[cfg(target_arch = "x86_64")]
fn of_the_thread_area_the_id_alone_is_read_and_no_instruction_is_newer_than_the_target() {
    let name =
        "of_the_thread_area_the_id_alone_is_read_and_no_instruction_is_newer_than_the_target";
    let text = match disassembly() {
        Ok(text) => text,
        Err(why) => return skip(name, &why),
    };
    let is_newer =
        |line: &&str| ["rdtscp", "rdpid"].iter().any(|new| instruction(line).starts_with(new));
    let newer: Vec<&str> = text.lines().filter(is_newer).collect();
    assert!(newer.is_empty(), "{newer:?}");
    let accesses = area_accesses(&text);
    assert!(accesses.contains(&"0x4") && accesses.contains(&"0x8"), "no sections in this binary");
    let others: Vec<&&str> = accesses.iter().filter(|at| !["0x4", "0x8"].contains(at)).collect();
    assert!(others.is_empty(), "at {others:?} from the area");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn planted_reads_of_other_words_are_seen() {
    let text = "  10:\tmov    %fs:0x4(%rdx),%eax\n  14:\tmov    %fs:0x18(%rdx),%eax\n";
    assert_eq!(area_accesses(text), ["0x4", "0x18"]);
}

const MANIFEST: &str = r#"[package]
name = "visitor"
version = "0.0.0"
edition = "2024"
[dependencies]
corelocal = { path = "ROOT" }
[workspace]
"#;

const PROGRAM: &str = r#"use corelocal::{PerCpuCell, backend, per_cpu};
per_cpu! { static HITS: PerCpuCell<u64>; }
fn main() {
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| (0..1000).for_each(|_| HITS.inc()))));
    });
    println!("{} {}: {}", HITS.sum(), backend(), backend().reason());
}
"#;

/// D7, <https://github.com/ClickHouse/ClickHouse/pull/113501>,
/// <https://github.com/checkpoint-restore/criu/issues/2096>: a libc without the symbols. The
/// program links, and has the id from the system.
#[test]
#[cfg(target_arch = "x86_64")]
fn with_a_libc_without_registration_a_program_links_and_counts() {
    const TARGET: &str = "x86_64-unknown-linux-musl";
    let name = "with_a_libc_without_registration_a_program_links_and_counts";
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("visitor");
    std::fs::create_dir_all(place.join("src")).unwrap();
    let root = env!("CARGO_MANIFEST_DIR");
    std::fs::write(place.join("Cargo.toml"), MANIFEST.replace("ROOT", root)).unwrap();
    std::fs::write(place.join("src/main.rs"), PROGRAM).unwrap();
    let _ = std::fs::copy(Path::new(root).join("Cargo.lock"), place.join("Cargo.lock"));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--quiet", "--offline", "--target", TARGET]).current_dir(&place);
    let done = command.env("CARGO_TARGET_DIR", place.join("target")).output().expect("cargo runs");
    let said = String::from_utf8_lossy(&done.stderr);
    if said.contains("can't find crate for") || said.contains("may not be installed") {
        return skip(name, &format!("{TARGET} is not installed"));
    }
    assert!(done.status.success(), "{said}");
    let told = String::from_utf8_lossy(&done.stdout);
    assert!(told.starts_with("4000 getcpu: "), "{told}");
    assert!(told.contains("no thread area"), "{told}");
}
