//! A binary's instructions, from the distribution's `objdump`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// One instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What it does.
    pub mnemonic: String,
    /// On what.
    pub operands: String,
}

/// All instructions by address; `None` without a disassembler for the file. Where there is none,
/// as in a small virtual machine, `RSEQ_DISASSEMBLY` names the output of one.
pub fn disassemble(file: &Path) -> Option<BTreeMap<u64, Instruction>> {
    if let Some(text) = std::env::var_os("RSEQ_DISASSEMBLY") {
        return Some(std::fs::read_to_string(text).ok()?.lines().filter_map(line).collect());
    }
    ["objdump", "llvm-objdump", "aarch64-linux-gnu-objdump"]
        .iter()
        .map(|tool| with(tool, file))
        .find(|found| found.as_ref().is_some_and(|found| !found.is_empty()))?
}

fn with(tool: &str, file: &Path) -> Option<BTreeMap<u64, Instruction>> {
    let mut command = Command::new(tool);
    command.args(["-d", "--no-show-raw-insn"]);
    if crate::elf::Elf::parse(&std::fs::read(file).ok()?).ok()?.machine == crate::elf::X86_64 {
        command.args(["-M", "intel"]);
    }
    let output = command.arg(file).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().filter_map(line).collect())
}

fn line(line: &str) -> Option<(u64, Instruction)> {
    let (address, rest) = line.split_once(':')?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let rest = rest.trim();
    let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let operands = operands.split(['#', '<', ';']).next().unwrap_or("").trim();
    // AArch64 comments begin with two slashes.
    let operands = operands.split("//").next().unwrap_or("").trim();
    Some((address, Instruction { mnemonic: mnemonic.to_owned(), operands: operands.to_owned() }))
}

impl Instruction {
    /// The address that a jump goes to, if it is in the text.
    pub fn target(&self) -> Option<u64> {
        let jumps = self.mnemonic.starts_with('j')
            || self.mnemonic == "b"
            || self.mnemonic.starts_with("b.")
            || ["cbz", "cbnz", "tbz", "tbnz"].contains(&self.mnemonic.as_str());
        let last = self.operands.rsplit([',', ' ']).next()?;
        if jumps { u64::from_str_radix(last.trim_start_matches("0x"), 16).ok() } else { None }
    }

    /// Whether it calls, or enters the kernel.
    pub fn leaves(&self) -> bool {
        let words =
            ["call", "syscall", "sysenter", "int", "int3", "bl", "blr", "svc", "ret", "hvc"];
        words.contains(&self.mnemonic.trim_end_matches('q')) || self.mnemonic.starts_with("iret")
    }

    /// The memory that it stores to.
    pub fn stored_to(&self) -> Option<&str> {
        let stores_arm = self.mnemonic.starts_with("st");
        let first = self.operands.split(',').next()?.trim();
        let reads_only = ["cmp", "test", "jmp", "nop", "prefetch", "lea", "bt", "push"];
        if stores_arm {
            let at = self.operands.find('[')?;
            return Some(&self.operands[at..]);
        }
        let stores =
            first.contains('[') && !reads_only.iter().any(|word| self.mnemonic.starts_with(word));
        stores.then_some(first)
    }

    /// Whether it takes the bus lock.
    pub fn is_locked(&self) -> bool {
        self.mnemonic == "lock" || (self.mnemonic == "xchg" && self.operands.contains('['))
    }
}
