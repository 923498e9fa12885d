//! Cache lines: sizes by target, and values with lines of their own.
#![forbid(unsafe_code)]

use std::mem::{align_of, size_of};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU32};

use corelocal::cacheline::{CACHE_LINE, CacheLine, LineCount, Lines};

/// Compiles the room alone, as a crate, with `assertion` about it; `cfgs` are the target's.
fn compile(name: &str, line: Option<&str>, cfgs: &[&str], assertion: &str) -> Result<(), String> {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cacheline/mod.rs");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cacheline").join(name);
    std::fs::create_dir_all(&scratch).expect("the target directory can be written");
    let root = scratch.join("root.rs");
    let source = format!(
        "#[path = {room:?}] pub mod cacheline;
         use cacheline::*;
         const _: () = assert!({assertion}, \"not as the test says\");"
    );
    std::fs::write(&root, source).expect("the target directory can be written");

    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "-Awarnings"]);
    // Setting another target's cfgs by hand is refused as a mistake otherwise.
    rustc.args(["-Aunknown_lints", "-Aexplicit_builtin_cfgs_in_flags"]);
    for cfg in cfgs {
        rustc.args(["--cfg", cfg]);
    }
    match line {
        Some(line) => rustc.env("CORELOCAL_CACHE_LINE", line),
        None => rustc.env_remove("CORELOCAL_CACHE_LINE"),
    };
    let output = rustc.arg("--out-dir").arg(&scratch).arg(&root).output().expect("rustc runs");
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// <https://github.com/crossbeam-rs/crossbeam/pull/331>, 636, 967, 1139: a line size that is
/// another target's.
///
/// The compiler of this machine is told the other target's name; its own name stays there too, so
/// only targets that differ from the rule "all others" can be told apart, which is what is asked.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[test]
fn each_target_has_its_own_line_size() {
    let table = [
        ("s390x", "", 256),
        ("powerpc64", "", 128),
        ("aarch64", "apple", 128),
        ("aarch64", "", 64),
        ("arm", "", 32),
        ("mips64", "", 32),
        ("hexagon", "", 32),
        ("riscv64", "", 64),
        ("m68k", "", 16),
        ("x86_64", "", 64),
        ("x86_64", "apple", 64),
    ];
    for (arch, vendor, bytes) in table {
        let cfgs = [format!("target_arch={arch:?}"), format!("target_vendor={vendor:?}")];
        let cfgs = [cfgs[0].as_str(), cfgs[1].as_str()];
        let assertion = format!("CACHE_LINE == {bytes}");
        let answer = compile(&format!("{arch}{vendor}"), None, &cfgs, &assertion);
        assert_eq!(answer, Ok(()), "{arch} {vendor}");
    }
}

/// <https://github.com/crossbeam-rs/crossbeam/pull/1118>: the real line is larger than the table's.
#[test]
fn the_line_size_can_be_overridden_at_build() {
    for bytes in [16, 32, 64, 128, 256, 512] {
        let assertion = format!(
            "CACHE_LINE == {bytes} && size_of::<CacheLine<u8>>() == {bytes}
             && align_of::<CacheLine<u8, 8>>() == 8 * {bytes}"
        );
        let line = bytes.to_string();
        assert_eq!(compile(&line, Some(&line), &[], &assertion), Ok(()), "{bytes}");
    }
}

#[test]
fn a_bad_override_fails_the_build_and_says_what_is_right() {
    let bad = ["", "0", "8", "63", "96", "1024", "64 ", "+64", "-64", "0x40", "line"];
    let overflow = "18446744073709551680"; // 2^64 + 64
    for (i, line) in bad.into_iter().chain([overflow]).enumerate() {
        let report = compile(&format!("bad{i}"), Some(line), &[], "true").expect_err(line);
        let message = "CORELOCAL_CACHE_LINE must be a cache line's size";
        assert!(report.contains(message), "{line:?}: {report}");
    }
}

/// What the layout page promises, for `T` of any size and alignment.
fn check_layout<T: Default, const N: usize>()
where
    Lines<N>: LineCount,
{
    let align = align_of::<T>().max(N * CACHE_LINE);
    assert_eq!(align_of::<CacheLine<T, N>>(), align);
    assert_eq!(size_of::<CacheLine<T, N>>(), size_of::<T>().next_multiple_of(align));

    let two = [CacheLine::<T, N>::default(), CacheLine::<T, N>::default()];
    let start = |i: usize| &raw const two[i] as usize;
    let value = |i: usize| &raw const *two[i] as usize;
    assert_eq!(start(0) % (N * CACHE_LINE), 0);
    assert_eq!(start(0), value(0));
    let end = value(0) + size_of::<T>().max(1);
    assert!(
        size_of::<T>() == 0 || end.next_multiple_of(CACHE_LINE) <= value(1),
        "lines are shared"
    );
}

/// <https://github.com/Amanieu/atomic-rs/issues/1>, <https://github.com/ocaml/ocaml/pull/12212>:
/// a padded value that still shares its first or last line with a neighbour.
#[test]
fn neighbours_share_no_line() {
    #[derive(Default)]
    #[repr(align(4096))]
    struct Page(#[allow(dead_code)] u8);
    #[derive(Default)]
    struct Odd(#[allow(dead_code)] [u64; 3], #[allow(dead_code)] [[u8; 31]; 4]);

    macro_rules! check {
        ($($ty:ty)+) => { $(
            check_layout::<$ty, 1>();
            check_layout::<$ty, 2>();
            check_layout::<$ty, 4>();
            check_layout::<$ty, 8>();
        )+ };
    }
    check!(() u8 u64 AtomicU32 Odd Page [u64; 8]);
}

#[test]
fn a_line_is_used_as_its_value() {
    let mut line: CacheLine<Vec<u8>> = vec![1].into();
    line.push(2);
    assert_eq!(line.len(), 2);
    assert_eq!(line.clone(), line);
    assert_eq!(format!("{line:?}"), "CacheLine([1, 2])");
    assert_eq!(line.into_inner(), [1, 2]);

    static SHARED: CacheLine<AtomicU8, 2> = CacheLine::new(AtomicU8::new(3));
    assert_eq!(SHARED.load(std::sync::atomic::Ordering::Relaxed), 3);
    let copied: CacheLine<u8> = CacheLine::new(4);
    let twice = (copied, copied);
    assert_eq!(*twice.0 + *twice.1, 8);
    assert_eq!(*<CacheLine<u64, 4> as bytemuck::Zeroable>::zeroed(), 0);
}

#[cfg(feature = "crossbeam-utils")]
#[test]
fn cache_padded_converts_both_ways() {
    use crossbeam_utils::CachePadded;

    let line: CacheLine<u64, 2> = CachePadded::new(5).into();
    let padded: CachePadded<u64> = line.into();
    assert_eq!(*padded, 5);
}
