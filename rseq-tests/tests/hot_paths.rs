//! The code of the hot paths, read off an optimised binary without the feature `testing`: no
//! lock prefix, no call, no thread-local function between the entry and the return, and for the
//! compiler that `hot-paths/counts.txt` names not an instruction more than it says. After a change
//! on purpose `CORELOCAL_BLESS=1` writes that file anew, and the difference is for review.

use rseq_tests::disassembly::{Instruction, disassemble};
use rseq_tests::elf::{Descriptor, Elf};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn build() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hot-paths");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let status = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["build", "-q", "--release", "-p", "hot-paths", "--target-dir"])
        .arg(&target)
        .env_remove("RUSTFLAGS")
        .status()
        .unwrap();
    assert!(status.success());
    target.join("release/hot-paths")
}

type Code = BTreeMap<u64, Instruction>;

/// The shortest way from one instruction to another that neither calls nor locks, both ends
/// included; `until` says where it ends.
fn way(code: &Code, from: u64, until: impl Fn(u64, &Instruction) -> bool) -> Option<Vec<u64>> {
    let mut before = BTreeMap::from([(from, None)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        let Some(instruction) = code.get(&at) else { continue };
        if instruction.is_locked() || instruction.mnemonic.starts_with("call") {
            continue;
        }
        if until(at, instruction) {
            let mut path = vec![at];
            while let Some(Some(earlier)) = before.get(path.last()?) {
                path.push(*earlier);
            }
            path.reverse();
            return Some(path);
        }
        let next = code.range(at + 1..).next().map(|(next, _)| *next);
        let next = next.filter(|_| !["jmp", "ret"].contains(&instruction.mnemonic.as_str()));
        for to in next.into_iter().chain(instruction.target()) {
            before.entry(to).or_insert_with(|| {
                queue.push_back(to);
                Some(at)
            });
        }
    }
    None
}

/// From the entry of a function through its section to its return.
fn hot_path(code: &Code, entry: u64, section: &Descriptor) -> Option<Vec<u64>> {
    let mut path = way(code, entry, |at, _| at == section.start)?;
    path.pop();
    path.extend(way(code, section.start, |at, _| at == section.end())?);
    path.pop();
    path.extend(way(code, section.end(), |_, instruction| instruction.mnemonic == "ret")?);
    Some(path)
}

/// The functions of `hot-paths`.
const FUNCTIONS: [&str; 25] = [
    "hot_add",
    "hot_add_byte",
    "hot_add_on",
    "hot_add_static",
    "hot_arc_clone",
    "hot_arc_drop",
    "hot_batched_add",
    "hot_compare_exchange",
    "hot_counter_add",
    "hot_counter_add_static",
    "hot_fetch_add",
    "hot_pool_get",
    "hot_pool_get_idle",
    "hot_pool_get_static",
    "hot_pool_put",
    "hot_record",
    "hot_record_static",
    "hot_refcount_get",
    "hot_refcount_put",
    "hot_refcount_try_get",
    "hot_ring_write",
    "hot_ring_write_static",
    "hot_rwlock_leave",
    "hot_rwlock_read",
    "hot_swap",
];

/// What has to be the same code: the compiler has made one function of two, or their hot paths
/// differ in addresses alone.
const SAME: [(&str, &str); 2] =
    [("hot_add", "hot_counter_add"), ("hot_add_static", "hot_counter_add_static")];

/// `hot_add` of `_ZN9hot_paths7hot_add17h...E`.
fn plain_name(symbol: &str) -> &str {
    let name = &symbol[symbol.rfind("hot_").unwrap_or(0)..];
    name.split("17h").next().unwrap_or(name)
}

/// An instruction, without the addresses that the linker chose.
fn shape(instruction: &Instruction) -> String {
    let blank = instruction.target().is_some() || instruction.operands.contains("rip");
    let operands: String = match instruction.operands.split_once("[rip") {
        Some((before, _)) => before.to_owned(),
        None if blank => String::new(),
        None => instruction.operands.clone(),
    };
    format!("{} {operands}", instruction.mnemonic)
}

/// Whether a section ends in a `mov` to an address without an index. Any other store is as right,
/// and makes adds in a loop over one word twice as slow: see the frame of the sections.
fn commits_in_a_plain_store(code: &Code, section: &Descriptor) -> bool {
    let Some((_, commit)) = code.range(..section.end()).next_back() else { return false };
    commit.mnemonic == "mov" && commit.stored_to().is_some_and(|to| !to.contains('*'))
}

/// The instructions of each hot path; `None`, having said why, where they cannot be read.
fn hot_paths() -> Option<&'static BTreeMap<String, Vec<String>>> {
    static READ: OnceLock<Option<BTreeMap<String, Vec<String>>>> = OnceLock::new();
    READ.get_or_init(read).as_ref()
}

fn read() -> Option<BTreeMap<String, Vec<String>>> {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: what is read here is x86-64");
        return None;
    }
    let file = build();
    let Some(code) = disassemble(&file) else {
        eprintln!("skipped: no disassembler here");
        return None;
    };
    let elf = Elf::parse(&std::fs::read(&file).unwrap()).unwrap();
    let descriptors = elf.descriptors().unwrap();
    let mut read = BTreeMap::new();
    for descriptor in &descriptors {
        let name = elf.function(descriptor.start);
        if !name.contains("hot_") {
            continue;
        }
        let entry = elf.entry_of(descriptor.start).unwrap();
        let Some(path) = hot_path(&code, entry, descriptor) else {
            let all = code.range(entry..descriptor.end() + 64);
            panic!("{name}: no way through the section without a call or a lock: {all:#x?}");
        };
        assert!(commits_in_a_plain_store(&code, descriptor), "{name}: commits otherwise");
        let text: Vec<String> = path
            .iter()
            .map(|at| format!("  {at:x}: {} {}", code[at].mnemonic, code[at].operands))
            .collect();
        let text = text.join("\n");
        println!("{name}: {} instructions\n{text}", path.len());
        let shapes: Vec<String> = path.iter().map(|at| shape(&code[at])).collect();
        read.insert(plain_name(name).to_owned(), shapes);
    }
    for (cell, counter) in SAME {
        match (read.get(cell), read.get(counter)) {
            (Some(one), Some(other)) => assert_eq!(one, other, "{cell} and {counter}"),
            (Some(one), None) => drop(read.insert(counter.to_owned(), one.clone())),
            (None, Some(one)) => drop(read.insert(cell.to_owned(), one.clone())),
            (None, None) => {}
        }
    }
    Some(read)
}

#[test]
fn the_hot_paths_call_nothing_and_lock_nothing() {
    let Some(read) = hot_paths() else { return };
    let names: Vec<&str> = read.keys().map(String::as_str).collect();
    assert_eq!(names, FUNCTIONS, "a hot path is not in a function of its own");
}

/// Whose code is counted: another compiler's has other counts.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let about = Command::new(rustc).arg("-vV").output().unwrap().stdout;
    let about = String::from_utf8(about).unwrap();
    let lines = about.lines();
    let part = |name: &&str| name.starts_with("rustc ") || name.starts_with("LLVM ");
    let parts: Vec<&str> = lines.filter(part).collect();
    parts.join(", ")
}

#[test]
fn a_hot_path_has_grown_by_an_instruction() {
    let Some(read) = hot_paths() else { return };
    let compiler = compiler();
    let mut counted = compiler.clone() + "\n";
    for (name, instructions) in read {
        counted += &format!("{name} {}\n", instructions.len());
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("hot-paths/counts.txt");
    if std::env::var_os("CORELOCAL_BLESS").is_some() {
        std::fs::write(&file, &counted).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    if expected.lines().next() != Some(&compiler) {
        let other = expected.lines().next().unwrap_or_default();
        eprintln!("skipped: the counts are of {other}, and this is {compiler}");
        return;
    }
    let only = |text: &str, in_none: &str, sign: &str| {
        let differs = |line: &&str| !in_none.lines().any(|other| other == *line);
        text.lines().filter(differs).map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    let changes = only(&expected, &counted, "-") + &only(&counted, &expected, "+");
    assert!(changes.is_empty(), "CORELOCAL_BLESS=1 if this is on purpose:\n{changes}");
}
