//! Whether a binary's sections are what the kernel takes them for.

use crate::disassembly::{Instruction, disassemble};
use crate::elf::{AARCH64, Descriptor, Elf, X86_64};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a check found.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many sections there are.
    pub sections: usize,
    /// How many of their instructions were looked at; 0 without a disassembler.
    pub instructions: usize,
    /// Stores before the commit, which must go to memory that nobody else looks at.
    pub stores_before: usize,
    /// What is wrong.
    pub faults: Vec<String>,
}

/// Checks a file: descriptors aligned and listed once, a signature before each abort handler,
/// no call or system call inside, no jump into the middle, the commit last and alone.
///
/// # Errors
///
/// The file cannot be read.
pub fn check(file: &Path) -> Result<Findings, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let elf = Elf::parse(&bytes).map_err(|error| error.to_string())?;
    let descriptors = elf.descriptors().map_err(|error| error.to_string())?;
    let mut findings = Findings { sections: descriptors.len(), ..Findings::default() };
    check_descriptors(&elf, &descriptors, &mut findings.faults);
    if let Some(code) = disassemble(file) {
        for descriptor in &descriptors {
            check_code(&elf, descriptor, &code, &mut findings);
        }
        check_jumps(&descriptors, &code, &mut findings.faults);
    }
    Ok(findings)
}

fn check_descriptors(elf: &Elf, descriptors: &[Descriptor], faults: &mut Vec<String>) {
    let signature = match elf.machine {
        X86_64 => 0x5305_3053,
        AARCH64 => 0xd428_bc00,
        other => return faults.push(format!("no signature is known for machine {other}")),
    };
    if elf.part("__rseq_cs").is_some_and(|part| part.align < 32) {
        faults.push("__rseq_cs is not aligned to 32".into());
    }
    let mut starts = BTreeSet::new();
    for descriptor in descriptors {
        let at = descriptor.address;
        let mut fault = |what: &str| {
            faults
                .push(format!("descriptor {at:#x} in {}: {what}", elf.function(descriptor.start)));
        };
        if at % 32 != 0 {
            fault("not aligned to 32");
        }
        if descriptor.version != 0 || descriptor.flags != 0 {
            fault("version or flags are not 0");
        }
        if descriptor.length == 0 || descriptor.length > 4096 {
            fault("empty, or absurdly long");
        }
        if !starts.insert(descriptor.start) {
            fault("its section has another descriptor");
        }
        if elf.signature_before(descriptor.abort) != Some(signature) {
            fault("no signature before its abort handler");
        }
        if descriptors.iter().any(|other| other.contains(descriptor.abort)) {
            fault("its abort handler is inside a section");
        }
        if descriptors.iter().any(|other| other != descriptor && other.contains(descriptor.start)) {
            fault("it begins inside another section");
        }
    }
    check_list(elf, descriptors, faults);
}

/// The list of pointers that some binaries carry for debuggers names each descriptor once.
fn check_list(elf: &Elf, descriptors: &[Descriptor], faults: &mut Vec<String>) {
    let Some(list) = elf.part("__rseq_cs_ptr_array") else { return };
    let mut listed: Vec<u64> =
        (0..list.bytes.len() / 8).filter_map(|index| elf.word(list, index * 8).ok()).collect();
    listed.sort_unstable();
    let addresses: Vec<u64> = descriptors.iter().map(|descriptor| descriptor.address).collect();
    if listed != addresses {
        faults.push("__rseq_cs_ptr_array does not list each descriptor once".into());
    }
}

fn check_code(
    elf: &Elf,
    descriptor: &Descriptor,
    code: &BTreeMap<u64, Instruction>,
    findings: &mut Findings,
) {
    let inside: Vec<_> = code.range(descriptor.start..descriptor.end()).collect();
    findings.instructions += inside.len();
    let name = elf.function(descriptor.start);
    let mut fault =
        |what: String| findings.faults.push(format!("{:#x} in {name}: {what}", descriptor.start));
    if !code.contains_key(&descriptor.start) || !code.contains_key(&descriptor.end()) {
        fault("begins or ends in the middle of an instruction".into());
    }
    for (address, instruction) in &inside {
        if instruction.leaves() {
            fault(format!("{} inside, at {address:#x}", instruction.mnemonic));
        }
    }
    let Some((_, last)) = inside.last() else { return fault("no instructions".into()) };
    let Some(commit) = last.stored_to() else {
        return fault(format!("ends in {} {}, no store", last.mnemonic, last.operands));
    };
    let before = inside[..inside.len() - 1].iter().filter_map(|(_, i)| i.stored_to());
    for store in before {
        findings.stores_before += 1;
        if store == commit {
            findings
                .faults
                .push(format!("{:#x} in {name}: two stores to {store}", descriptor.start));
        }
    }
}

/// A jump from outside may go to a section's first instruction at most, and never there
/// without the descriptor's store; so none does.
fn check_jumps(
    descriptors: &[Descriptor],
    code: &BTreeMap<u64, Instruction>,
    faults: &mut Vec<String>,
) {
    let starts: BTreeMap<u64, &Descriptor> =
        descriptors.iter().map(|descriptor| (descriptor.start, descriptor)).collect();
    for (address, instruction) in code {
        let Some(target) = instruction.target() else { continue };
        let Some((_, into)) = starts.range(..=target).next_back() else { continue };
        if into.contains(target) && !into.contains(*address) {
            faults
                .push(format!("a jump at {address:#x} goes into the section at {:#x}", into.start));
        }
    }
}
