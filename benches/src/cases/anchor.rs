//! Per-CPU memory of C, where `CORELOCAL_C_ANCHOR` names a shared object that has it.
//!
//! What it has to export is declared in `benches/anchor/anchor.h`.
#![allow(unsafe_code, reason = "calls a library of somebody else's choice")]

use super::peers::{COUNTERS, Counters};
use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;
use std::sync::OnceLock;

/// The variable that names the shared object.
const VARIABLE: &str = "CORELOCAL_C_ANCHOR";
/// What `anchor.h` was when this was written.
const ABI: u32 = 1;

type Raw = NonNull<c_void>;

/// The functions of a shared object that stays for ever.
pub(super) struct Anchor {
    /// What its counters are called, and its items with any contents and with zeros.
    pub(super) names: [&'static str; 3],
    pool: unsafe extern "C" fn(usize, u32) -> Option<Raw>,
    drop: unsafe extern "C" fn(Raw),
    allocate: unsafe extern "C" fn(Raw) -> Option<Raw>,
    zeroed: unsafe extern "C" fn(Raw) -> Option<Raw>,
    free: unsafe extern "C" fn(Raw, Raw),
    fill: unsafe extern "C" fn(Raw, Raw),
    add: unsafe extern "C" fn(Raw, *const Raw, u64, u64),
    sum: unsafe extern "C" fn(Raw, Raw) -> u64,
}

/// The one that was asked for, if it is there.
pub(super) fn anchor() -> Option<&'static Anchor> {
    found().as_ref().ok()
}

/// What is measured of C, in a line; or why nothing is.
pub fn anchor_text() -> String {
    match found() {
        Ok(anchor) => anchor.names[0].to_owned(),
        Err(why) => format!("none: {why}; see benches/README.md, \"The C anchor\""),
    }
}

fn found() -> &'static Result<Anchor, String> {
    static FOUND: OnceLock<Result<Anchor, String>> = OnceLock::new();
    FOUND.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(file) => Anchor::load(&file).map_err(|wrong| format!("{VARIABLE}={file}: {wrong}")),
        Err(_) => Err(format!("{VARIABLE} names no shared object")),
    })
}

/// A function of the library.
///
/// # Safety
///
/// It has the type `F`.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY:
    // - the caller's.
    let symbol = unsafe { library.get::<F>(name.as_bytes()) };
    symbol.map(|symbol| *symbol).map_err(|error| error.to_string())
}

impl Anchor {
    fn load(file: &str) -> Result<Self, String> {
        // SAFETY:
        // - who names a library wants its initialisers run.
        let library = unsafe { Library::new(file) }.map_err(|error| error.to_string())?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY:
        // - the header says so.
        let abi =
            unsafe { function::<unsafe extern "C" fn() -> u32>(library, "corelocal_anchor_abi") }?;
        // SAFETY:
        // - it takes nothing.
        let abi = unsafe { abi() };
        if abi != ABI {
            return Err(format!("its interface is version {abi}; {ABI} is right"));
        }
        type Name = unsafe extern "C" fn() -> *const c_char;
        // SAFETY:
        // - the header says so.
        let name = unsafe { function::<Name>(library, "corelocal_anchor_name") }?;
        // SAFETY:
        // - it takes nothing.
        let name = unsafe { name() };
        // SAFETY:
        // - the header promises a text that stays.
        let name = unsafe { CStr::from_ptr(name) };
        let name = name.to_str().map_err(|error| format!("its name: {error}"))?;
        // SAFETY:
        // - of this version, the types are those of the header, here and below.
        let pool = unsafe { function(library, "corelocal_anchor_pool") }?;
        // SAFETY: as above.
        let drop = unsafe { function(library, "corelocal_anchor_drop") }?;
        // SAFETY: as above.
        let allocate = unsafe { function(library, "corelocal_anchor_allocate") }?;
        // SAFETY: as above.
        let zeroed = unsafe { function(library, "corelocal_anchor_zeroed") }?;
        // SAFETY: as above.
        let free = unsafe { function(library, "corelocal_anchor_free") }?;
        // SAFETY: as above.
        let fill = unsafe { function(library, "corelocal_anchor_fill") }?;
        // SAFETY: as above.
        let add = unsafe { function(library, "corelocal_anchor_add") }?;
        // SAFETY: as above.
        let sum = unsafe { function(library, "corelocal_anchor_sum") }?;
        let names = ["", ", any contents", ", zeroed"];
        let names = names.map(|what| &*Box::leak(format!("{name}{what}").into_boxed_str()));
        Ok(Self { names, pool, drop, allocate, zeroed, free, fill, add, sum })
    }
}

/// A pool of items of one size.
pub(super) struct Pool {
    anchor: &'static Anchor,
    raw: Raw,
}

// SAFETY:
// - the header promises that calls may come from several threads at a time.
unsafe impl Send for Pool {}
// SAFETY:
// - as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// `None` if there is no anchor, or it has no such pool.
    pub(super) fn new(bytes: usize, cpus: u32) -> Option<Self> {
        let anchor = anchor()?;
        // SAFETY:
        // - any numbers may be asked for.
        let raw = unsafe { (anchor.pool)(bytes, cpus) }?;
        Some(Self { anchor, raw })
    }

    /// An item; it has to be dropped before the pool.
    pub(super) fn make(&self, zeroed: bool) -> Item {
        let make = if zeroed { self.anchor.zeroed } else { self.anchor.allocate };
        // SAFETY:
        // - the pool is alive.
        let raw = unsafe { make(self.raw) }.expect("memory for the C anchor");
        Item { anchor: self.anchor, pool: self.raw, raw }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY:
        // - nobody else drops it, and its items are gone.
        unsafe { (self.anchor.drop)(self.raw) };
    }
}

/// Of a [`Pool`].
pub(super) struct Item {
    anchor: &'static Anchor,
    pool: Raw,
    raw: Raw,
}

impl Item {
    /// Leaves something in every copy.
    pub(super) fn fill(&mut self) {
        // SAFETY:
        // - the item is alive, as is its pool, and nobody else's.
        unsafe { (self.anchor.fill)(self.pool, self.raw) };
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        // SAFETY:
        // - the item is of this pool, which outlives it, and freed once.
        unsafe { (self.anchor.free)(self.pool, self.raw) };
    }
}

/// Counters of the anchor's.
pub(super) struct CAnchor {
    pool: Pool,
    items: [Raw; COUNTERS],
}

// SAFETY:
// - as for the pool, whose items they are.
unsafe impl Send for CAnchor {}
// SAFETY:
// - as above.
unsafe impl Sync for CAnchor {}

impl Counters for CAnchor {
    const NAME: &'static str = "C anchor";

    fn new() -> Self {
        let pool = Pool::new(size_of::<u64>(), super::peers::cpus() as u32);
        let pool = pool.expect("the C anchor has counters");
        // They go with the pool.
        let items = std::array::from_fn(|_| std::mem::ManuallyDrop::new(pool.make(true)).raw);
        Self { pool, items }
    }

    fn add(&self, which: usize) {
        // SAFETY:
        // - one item of this pool; both are alive.
        unsafe { (self.pool.anchor.add)(self.pool.raw, &raw const self.items[which], 1, 0) };
    }

    fn run(&self, ops: u64, mask: usize) {
        // SAFETY:
        // - items of this pool, as many as the mask can tell.
        unsafe { (self.pool.anchor.add)(self.pool.raw, self.items.as_ptr(), ops, mask as u64) };
    }

    fn sum(&self, which: usize) -> u64 {
        // SAFETY:
        // - an item of this pool.
        unsafe { (self.pool.anchor.sum)(self.pool.raw, self.items[which]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    /// A C compiler's object of `benches/anchor/plain.c`; `None`, having said so, without one.
    fn compiled() -> Option<PathBuf> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("anchor/plain.c");
        let name = format!("corelocal-anchor-{}.so", std::process::id());
        let file = std::env::temp_dir().join(name);
        let mut cc = Command::new("cc");
        cc.args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
        let output = cc.arg(&file).arg(source).output();
        match output {
            Ok(output) if output.status.success() => Some(file),
            Ok(output) if String::from_utf8_lossy(&output.stderr).contains("sys/rseq.h") => {
                eprintln!("skipped: no glibc 2.35 here");
                None
            }
            Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => {
                eprintln!("skipped: no C compiler here");
                None
            }
        }
    }

    /// Runs itself once more, with an anchor.
    #[test]
    fn items_of_c_overlap_or_lose_an_update() {
        if std::env::var_os(VARIABLE).is_some() {
            return with_an_anchor();
        }
        let Some(file) = compiled() else { return };
        let mut again = Command::new(std::env::current_exe().expect("a test"));
        again.args(["--exact", "cases::anchor::tests::items_of_c_overlap_or_lose_an_update"]);
        let output = again.env(VARIABLE, &file).output().expect("a test");
        std::fs::remove_file(file).expect("as it was made");
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }

    fn with_an_anchor() {
        let anchor = anchor().unwrap_or_else(|| panic!("{}", anchor_text()));
        if Pool::new(8, 4).is_none() {
            return eprintln!("skipped: no rseq here");
        }
        assert_eq!(anchor.names[2], format!("{}, zeroed", anchor_text()));
        let counters = CAnchor::new();
        counters.run(1000, 0);
        counters.run(160, COUNTERS - 1);
        assert_eq!([0, 1, 15].map(|which| counters.sum(which)), [1010, 10, 10]);

        // More than one range of them, twice.
        let pool = Pool::new(1088, 4).expect("as above");
        let sum = |item: &Item| {
            // SAFETY:
            // - an item of a pool, both alive.
            unsafe { (item.anchor.sum)(item.pool, item.raw) }
        };
        for _ in 0..2 {
            let mut items: Vec<Item> = (0..200).map(|_| pool.make(true)).collect();
            let places: BTreeSet<usize> = items.iter().map(|item| item.raw.addr().get()).collect();
            let next = places.iter().skip(1);
            let apart = places.iter().zip(next).all(|(one, next)| next - one >= 1088);
            assert!(places.len() == 200 && apart, "{places:x?}");
            assert!(items.iter().all(|item| sum(item) == 0), "not cleared");
            items.iter_mut().for_each(Item::fill);
            assert!(items.iter().all(|item| sum(item) == 4 * 0x0101_0101_0101_0101));
        }
    }

    #[test]
    fn an_anchor_that_is_none_is_named() {
        let Err(wrong) = Anchor::load("no/such.so") else { panic!("loaded") };
        assert!(wrong.contains("no/such.so"), "{wrong}");
        let Err(wrong) = Anchor::load("libc.so.6") else { panic!("libc is an anchor") };
        assert!(wrong.contains("corelocal_anchor_abi") || wrong.contains("libc.so"), "{wrong}");
    }
}
