//! Not alone: another library's registration, and a sandbox that refuses.

use super::{bare, id_word, own, rseq};
use crate::common::{allowed, checked, pin, skip};
use corelocal::sys::rseq::detours;
use corelocal::sys::{Backend, Reason, backend};
use corelocal::{PerCpuCell, per_cpu};
use std::alloc::{Layout, alloc_zeroed};
use std::sync::atomic::{AtomicU32, Ordering};

per_cpu! { static HITS: PerCpuCell<u64>; }

/// Registers this thread as another library does, in memory that is never given back.
fn another_librarys() -> *mut u8 {
    // SAFETY: the layout has a size.
    let area = unsafe { alloc_zeroed(Layout::from_size_align(128, 128).unwrap()) };
    rseq(area, 32, 0).expect("nobody registered this thread");
    area
}

#[test]
fn a_thread_that_another_library_registered_keeps_that_registration() {
    own("others::a_thread_that_another_library_registered_keeps_that_registration", || {
        let body = || {
            let area = another_librarys();
            (0..1000).for_each(|_| HITS.add(1));
            assert_eq!(id_word(), -1);
            // It is still there, and taken back by its owner.
            assert_eq!(rseq(area, 32, 1), Ok(()));
            HITS.add(1);
            assert_eq!(id_word(), -1, "not asked for again");
        };
        std::thread::spawn(body).join().unwrap();
        assert_eq!(HITS.sum(), 1001);
        assert_eq!(detours().spills, 1001);
        // The others are not touched by it.
        let others = || {
            (0..1000).for_each(|_| HITS.add(1));
            assert!(id_word() >= 0);
        };
        std::thread::spawn(others).join().unwrap();
        others();
        assert_eq!(HITS.sum(), 3001);
        assert_eq!(detours().spills, 1001);
    });
}

/// It is likely to register all threads: atomics on every lane are better than one spill lane.
#[test]
fn a_process_whose_threads_another_library_registers_uses_atomics() {
    bare("others::a_process_whose_threads_another_library_registers_uses_atomics", || {
        let area = another_librarys();
        assert_eq!(backend(), Backend::Getcpu);
        assert_eq!(backend().reason(), Reason::RegistrationRefused { errno: libc::EINVAL });
        pin(allowed()[0]).unwrap();
        (0..1000).for_each(|_| HITS.add(1));
        std::thread::spawn(|| (0..1000).for_each(|_| HITS.add(1))).join().unwrap();
        assert_eq!((HITS.sum(), detours().spills), (2000, 0));
        assert_eq!(rseq(area, 32, 1), Ok(()));
    });
}

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Answers ENOSYS, and counts.
extern "C" fn on_refusal(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    ASKED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the kernel hands the interrupted thread's registers over.
    let machine = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext };
    #[cfg(target_arch = "x86_64")]
    {
        machine.gregs[libc::REG_RAX as usize] = -i64::from(libc::ENOSYS);
    }
    #[cfg(target_arch = "aarch64")]
    {
        machine.regs[0] = -i64::from(libc::ENOSYS) as u64;
    }
}

/// From now on, threads that this one starts are refused rseq, and it is itself.
fn refuse() -> std::io::Result<()> {
    // SAFETY: all zero is a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_refusal as extern "C" fn(i32, *mut libc::siginfo_t, *mut _) as usize;
    action.sa_flags = libc::SA_SIGINFO;
    // SAFETY: the call reads the action; the handler lives for ever.
    checked(unsafe { libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) })?;
    let statement = |code, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_rseq as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_TRAP),
        statement(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: the call takes plain numbers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) })?;
    let mode = libc::SECCOMP_MODE_FILTER;
    // SAFETY: the program is four instructions, which the kernel copies.
    checked(unsafe { libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) })
}

#[test]
fn a_system_that_refuses_is_asked_once() {
    let name = "others::a_system_that_refuses_is_asked_once";
    bare(name, || {
        if let Err(why) = refuse() {
            return skip(name, &format!("no filter can be set up: {why}"));
        }
        assert_eq!(backend(), Backend::Getcpu);
        assert_eq!(backend().reason(), Reason::RegistrationRefused { errno: libc::ENOSYS });
        let threads = (0..10).map(|_| std::thread::spawn(|| (0..100).for_each(|_| HITS.add(1))));
        threads.for_each(|thread| thread.join().unwrap());
        assert_eq!(HITS.sum(), 1000);
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
    });
}

/// A sandbox that comes after the first threads: the process keeps its backend, new threads work
/// on the spill lane, and the system is asked for one of them.
#[test]
fn a_sandbox_that_comes_later_is_asked_once() {
    let name = "others::a_sandbox_that_comes_later_is_asked_once";
    own(name, || {
        HITS.add(1);
        if let Err(why) = refuse() {
            return skip(name, &format!("no filter can be set up: {why}"));
        }
        for _ in 0..10 {
            // Each refused thread's end would be one more question if it had a registration.
            std::thread::spawn(|| (0..100).for_each(|_| HITS.add(1))).join().unwrap();
        }
        HITS.add(1);
        assert_eq!((HITS.sum(), detours().spills), (1002, 1000));
        assert_eq!(ASKED.load(Ordering::Relaxed), 1);
        assert!(id_word() >= 0, "this thread was registered before");
        assert_eq!(backend(), Backend::Rseq);
    });
}
