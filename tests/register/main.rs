//! The feature `register`: threads that the crate registers itself, since libc does not.
//!
//! With glibc the children run with libc's own registration switched off; with musl there is none.
#![cfg(all(feature = "register", feature = "testing", target_os = "linux"))]
#![allow(unsafe_code, reason = "handles signals, forks, and registers threads as others do")]

#[path = "../common/mod.rs"]
mod common;
mod ends;
mod library;
mod others;
mod sums;

use common::{alone_after, skip};
use corelocal::sys::rseq::{HAS_SECTIONS, is_trusted, thread_area, verify};
use corelocal::sys::{Backend, Reason, backend};

/// Runs `body` in a process whose libc registers nothing, on a thread that was not registered yet,
/// with the crate's registrations; says so where the system has none to give.
fn own(name: &str, body: impl FnOnce() + Send) {
    bare(name, || {
        if HAS_SECTIONS && !is_trusted() {
            verify().unwrap();
        }
        let backend = backend();
        println!("backend: {backend} ({})", backend.reason());
        match backend.reason() {
            Reason::RegistrationRefused { errno: libc::ENOSYS | libc::EPERM } if !required() => {
                skip(name, "the system has no rseq");
            }
            reason => {
                assert!(matches!(reason, Reason::OwnRegistration { .. }), "{reason}");
                body();
            }
        }
    });
}

/// As [`own`], with the backend not chosen yet.
fn bare(name: &str, body: impl FnOnce() + Send) {
    alone_after(
        name,
        |command| {
            command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        },
        || std::thread::scope(|scope| scope.spawn(body).join().unwrap()),
    );
}

/// Whether this machine is known to have rseq.
fn required() -> bool {
    std::env::var_os("RSEQ_REQUIRED").is_some()
}

/// The id word of this thread's area.
fn id_word() -> i32 {
    let area = thread_area().expect("an area").cast::<i32>();
    // SAFETY: the area is at least 32 bytes, and this thread's own.
    unsafe { area.wrapping_add(1).read_volatile() }
}

/// The system call, as any library would make it.
fn rseq(area: *mut u8, length: u32, flags: i32) -> Result<(), i32> {
    const SIGNATURE: u32 = if cfg!(target_arch = "x86_64") { 0x5305_3053 } else { 0xd428_bc00 };
    // SAFETY: the caller's area is as long and as aligned as it says, and outlives its thread.
    let result = unsafe { libc::syscall(libc::SYS_rseq, area, length, flags, SIGNATURE) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap()) }
}

#[test]
fn where_libc_registers_nothing_the_crate_does() {
    own("where_libc_registers_nothing_the_crate_does", || {
        assert_eq!(backend(), Backend::Rseq);
        let reason = backend().reason();
        assert!(matches!(reason, Reason::OwnRegistration { size } if size >= 32), "{reason:?}");
        assert!(reason.to_string().starts_with("own registration"), "{reason}");
        assert!(id_word() >= 0);
        let fields = corelocal::sys::rseq::fields();
        println!("{fields:?}");
        assert_eq!(fields.libc_size, fields.kernel_size.max(32));
    });
}

/// Where it does, the feature is as if it were not there.
#[test]
fn where_libc_registers_the_crate_does_not() {
    let reason = backend().reason();
    println!("backend: {} ({reason})", backend());
    // SAFETY: asks for the address of a name.
    let libcs = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    // SAFETY: null, or the address of the C library's constant.
    match unsafe { libcs.cast::<u32>().as_ref() } {
        Some(&size) if size > 0 => {
            assert!(!matches!(reason, Reason::OwnRegistration { .. }), "{reason}");
            // The area is registered already, with the same signature: by libc, so it is libc's.
            let area = thread_area().unwrap();
            assert_eq!(rseq(area, size.max(32), 0), Err(libc::EBUSY));
        }
        _ => skip("where_libc_registers_the_crate_does_not", "this libc registers nothing"),
    }
}
