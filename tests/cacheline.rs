//! Cache lines: sizes by target, and values with lines of their own.
#![forbid(unsafe_code)]

use std::mem::{align_of, size_of};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU8, AtomicU32};

use corelocal::cacheline::{CACHE_LINE, CacheLine, LineCount, Lines};

/// Compiles the room alone, as a crate, with `assertion` about it; `cfgs` are the target's.
fn compile(name: &str, line: Option<&str>, cfgs: &[&str], assertion: &str) -> Result<(), String> {
    compile_with(name, line, cfgs, assertion, "")
}

/// The same with `items` beside it, which may use the room's macros.
fn compile_with(
    name: &str,
    line: Option<&str>,
    cfgs: &[&str],
    assertion: &str,
    items: &str,
) -> Result<(), String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (room, field) = (src.join("cacheline/mod.rs"), src.join("field.rs"));
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cacheline").join(name);
    std::fs::create_dir_all(&scratch).expect("the target directory can be written");
    let root = scratch.join("root.rs");
    let source = format!(
        "extern crate alloc;
         // Of what the macros write, only what is about zero bytes needs another crate.
         #[macro_export]
         macro_rules! __zeroable {{ ($($_:tt)*) => {{}} }}
         #[macro_export]
         macro_rules! __exactly {{ ($($_:tt)*) => {{}} }}
         #[path = {field:?}] pub mod field;
         #[path = {room:?}] pub mod cacheline;
         use cacheline::*;
         {items}
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

/// A struct whose promises hold on every line, as its author would write it for 64 bytes.
const GROUPS: &str = "
    #[repr(C, align(64))] pub struct Avg([u8; 60]);
    crate::cacheline_struct! {
        pub struct Queue {
            group hot(bytes <= 48, lines <= 48usize.div_ceil(CACHE_LINE) + 1) { hot: [u64; 6] }
            avg: Avg,
            group throttle(aligned_if(64), bytes == 16) { throttled: u64, on_list: u64 }
            group own(aligned, exclusive, apart(hot, throttle)) { owner: u32 }
            last: u8,
        }
        touches own { mut owner } in == 1 lines;
    }
    use core::mem::offset_of;
";

/// <https://github.com/crossbeam-rs/crossbeam/pull/1118>,
/// <https://github.com/crossbeam-rs/crossbeam/pull/641>: groups on all lines there are. A group
/// that is aligned to lines of 64 bytes wastes nothing where lines are larger.
#[test]
fn groups_keep_their_promises_on_lines_of_any_size() {
    // Offsets of throttled, owner and last, and the size.
    let table = [
        (16, [128, 144, 160, 192]),
        (32, [128, 160, 192, 256]),
        (64, [128, 192, 256, 320]),
        (128, [128, 256, 384, 512]),
        (256, [128, 256, 512, 768]),
        (512, [128, 512, 1024, 1536]),
    ];
    for (line, [throttled, owner, last, size]) in table {
        let assertion = format!(
            "offset_of!(Queue, throttled) == {throttled} && offset_of!(Queue, owner) == {owner}
             && offset_of!(Queue, last) == {last} && size_of::<Queue>() == {size}
             && Queue::LAYOUT.line() == {line} && Queue::LAYOUT.broken().is_none()"
        );
        let text = line.to_string();
        let answer = compile_with(&format!("groups{line}"), Some(&text), &[], &assertion, GROUPS);
        assert_eq!(answer, Ok(()), "{line}");
    }
}

/// The objection of people with lines of 128 bytes: a promise that only holds on 64 is found when
/// building for them, and not by a customer.
#[test]
fn a_promise_that_larger_lines_break_fails_the_build_for_them() {
    let items = "crate::cacheline_struct! {
        #[repr(align(128))]
        pub struct Queue {
            group hot(bytes == 64) { hot: [u64; 8] }
            group cold(apart(hot)) { cold: u64 }
        }
    }";
    let answer = |line| compile_with(&format!("apart{line}"), Some(line), &[], "true", items);
    assert_eq!(answer("64"), Ok(()));
    let report = answer("128").expect_err("they share a line");
    let message = "Queue: group cold: member cold (offset 64, size 8) shares a line with hot (offset \
                   0, size 64); limit: no common line of 128 bytes with group hot";
    assert!(report.contains(message), "{report}");
}

/// Under loom atomics are larger, and no check fires.
#[test]
fn no_check_fires_under_loom() {
    let items =
        "crate::cacheline_struct! { pub struct Queue { group hot(bytes == 1) { hot: u64 } } }
                 crate::cacheline_group! { Queue { group hot(lines == 7) { hot } } }";
    let answer = |cfgs: &[&str]| compile_with("loom", None, cfgs, "true", items);
    assert_eq!(answer(&["corelocal_loom"]), Ok(()));
    assert!(answer(&[]).is_err());
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
