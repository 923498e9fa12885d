//! The check of a binary's sections, on this one: it passes, and each fault is found.

use corelocal::sys::rseq::{Entry, HERE, Words};
use rseq_tests::check::check;
use rseq_tests::churn;
use rseq_tests::elf::Elf;
use rseq_tests::implementation::{Entries, sections};
use rseq_tests::lanes::{Far, Lanes};
use std::path::PathBuf;

fn own() -> Vec<u8> {
    // So that this binary has a section.
    let on = Entries::new();
    let lanes = Lanes::new(on.cpus);
    #[allow(unsafe_code, reason = "raw lanes")]
    // SAFETY:
    // - the lanes cover every CPU.
    let _ = unsafe { Entry(churn::cpus).add::<Far, u64, _>(lanes.word(), 1, HERE) };
    std::fs::read(std::env::current_exe().unwrap()).unwrap()
}

/// Checks a changed copy; the change gets the file, and the place of a section's bytes.
fn faults(name: &str, change: impl FnOnce(&mut [u8], &Elf)) -> Vec<String> {
    let mut file = own();
    let elf = Elf::parse(&file).unwrap();
    change(&mut file, &elf);
    let path: PathBuf = std::env::temp_dir().join(format!("elf-{}-{name}", std::process::id()));
    std::fs::write(&path, file).unwrap();
    let findings = check(&path);
    std::fs::remove_file(&path).unwrap();
    findings.unwrap().faults
}

/// Where the bytes for `address` are in the file.
fn place(file: &[u8], elf: &Elf, address: u64) -> usize {
    let part = elf.parts.iter().find(|part| {
        part.address != 0
            && (part.address..part.address + part.bytes.len() as u64).contains(&address)
    });
    let part = part.unwrap();
    let from = file.windows(part.bytes.len()).position(|window| window == part.bytes).unwrap();
    from + (address - part.address) as usize
}

#[test]
fn this_binary_has_no_fault() {
    if sections().is_none() {
        return;
    }
    assert_eq!(faults("same", |_, _| {}), Vec::<String>::new());
    let findings = check(&std::env::current_exe().unwrap()).unwrap();
    assert!(findings.sections > 0);
    if findings.instructions == 0 {
        eprintln!("no disassembler here: instructions were not looked at");
    }
}

#[test]
fn a_wrong_signature_version_or_length_is_found() {
    if sections().is_none() {
        return;
    }
    let first = |elf: &Elf| elf.descriptors().unwrap()[0];
    let signature = faults("signature", |file, elf| {
        let at = place(file, elf, first(elf).abort - 4);
        file[at] ^= 1;
    });
    assert!(signature.iter().any(|fault| fault.contains("signature")), "{signature:?}");
    let version = faults("version", |file, elf| {
        let at = place(file, elf, first(elf).address);
        file[at] = 1;
    });
    assert!(version.iter().any(|fault| fault.contains("version")), "{version:?}");
    if check(&std::env::current_exe().unwrap()).unwrap().instructions == 0 {
        return;
    }
    // One byte less: the end is in the middle of the commit. Ten more: not the last store.
    for (name, change) in [("short", 255u8), ("long", 20)] {
        let found = faults(name, |file, elf| {
            let at = place(file, elf, first(elf).address + 16);
            file[at] = file[at].wrapping_add(change);
        });
        assert!(!found.is_empty(), "{name}");
    }
}
