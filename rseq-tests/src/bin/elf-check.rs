//! Checks the restartable sequences of any binary: `elf-check FILE...`, itself without one.

use rseq_tests::check::check;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut files: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        files.extend(std::env::current_exe());
    }
    let mut good = true;
    for file in files {
        match check(&file) {
            Ok(findings) => {
                println!(
                    "{}: {} sections, {} instructions, {} stores before a commit, {} faults",
                    file.display(),
                    findings.sections,
                    findings.instructions,
                    findings.stores_before,
                    findings.faults.len()
                );
                findings.faults.iter().for_each(|fault| println!("  {fault}"));
                good &= findings.faults.is_empty();
                if findings.instructions == 0 {
                    println!("  no disassembler: instructions were not looked at");
                }
            }
            Err(error) => {
                println!("{}: {error}", file.display());
                good = false;
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
