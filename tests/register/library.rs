//! A shared library with the feature registers nothing, so it can be unloaded.

use super::{bare, own};
use crate::common::skip;
use corelocal::sys::{Reason, backend};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;

const SOURCE: &str = r#"
use corelocal::{PerCpuCell, per_cpu};
per_cpu! { static CALLS: PerCpuCell<u64>; }
#[unsafe(no_mangle)]
pub extern "C" fn call() -> u64 {
    CALLS.inc();
    CALLS.sum()
}
#[unsafe(no_mangle)]
pub extern "C" fn is_off() -> bool {
    let reason = corelocal::backend().reason();
    println!("in the library: {} ({reason})", corelocal::backend());
    reason == corelocal::sys::Reason::InLibrary
}
"#;

/// Builds a library around the crate with the feature, as somebody else's package would.
fn build() -> Result<PathBuf, String> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("register-library");
    let source = own.join("package/src");
    let manifest = format!(
        "[package]\nname = \"plugin\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n\
         [dependencies]\ncorelocal = {{ path = {:?}, features = [\"register\"] }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    let write = || {
        std::fs::create_dir_all(&source)?;
        std::fs::write(source.join("lib.rs"), SOURCE)?;
        std::fs::write(source.with_file_name("Cargo.toml"), manifest)
    };
    write().map_err(|error| error.to_string())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--offline", "-q", "--target-dir"]).arg(own.join("target"));
    command.arg("--manifest-path").arg(source.with_file_name("Cargo.toml"));
    for variable in ["CARGO_BUILD_TARGET", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
        command.env_remove(variable);
    }
    let done = command.output().map_err(|error| error.to_string())?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    Ok(own.join("target/debug/libplugin.so"))
}

struct Library(*mut libc::c_void);

impl Library {
    fn open(path: &CStr) -> Self {
        // SAFETY: the library's initialisers are those of the standard library.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "dlopen");
        Self(handle)
    }

    fn function<R>(&self, name: &CStr) -> extern "C" fn() -> R {
        // SAFETY: the handle is open.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "dlsym");
        // SAFETY: the library defines its functions so.
        unsafe { std::mem::transmute::<*mut libc::c_void, extern "C" fn() -> R>(address) }
    }

    fn close(self) {
        // SAFETY: the handle is open, and nothing of the library is used any more.
        assert_eq!(unsafe { libc::dlclose(self.0) }, 0);
    }
}

/// A thread that called the library lives on when it is gone, and then ends.
fn visit(path: &Path) {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap();
    let is_mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(file);
    let path = CString::new(path.to_str().expect("a plain path")).unwrap();
    // Channels, not a barrier: a thread that panics hangs up.
    let ((gone, is_gone), (end, is_over)) = (channel::<()>(), channel::<()>());
    std::thread::scope(|scope| {
        let path = &path;
        scope.spawn(move || {
            let library = Library::open(path);
            assert!((1..=1000).all(|times| library.function::<u64>(c"call")() == times));
            assert!(library.function::<bool>(c"is_off")());
            library.close();
            gone.send(()).unwrap();
            let _ = is_over.recv();
        });
        is_gone.recv().expect("the thread has said what is wrong");
        assert!(!is_mapped(), "still mapped");
        (0..100).for_each(|_| std::thread::yield_now());
        drop(end);
    });
}

#[test]
fn a_library_registers_nothing_and_is_really_unloaded() {
    let name = "library::a_library_registers_nothing_and_is_really_unloaded";
    if cfg!(target_env = "musl") {
        return skip(name, "a static program loads no libraries");
    }
    bare(name, || match build() {
        Ok(path) => visit(&path),
        Err(why) => skip(name, &format!("the library cannot be built: {why}")),
    });
}

/// The program's own copy of the crate is another one, and is not disturbed.
#[test]
fn a_library_registers_nothing_beside_a_program_that_does() {
    let name = "library::a_library_registers_nothing_beside_a_program_that_does";
    if cfg!(target_env = "musl") {
        return skip(name, "a static program loads no libraries");
    }
    own(name, || match build() {
        Ok(path) => {
            visit(&path);
            assert!(matches!(backend().reason(), Reason::OwnRegistration { .. }));
        }
        Err(why) => skip(name, &format!("the library cannot be built: {why}")),
    });
}
