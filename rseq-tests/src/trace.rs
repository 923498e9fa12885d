//! Breakpoints in a child, by the kernel's process tracing.

use std::io;

/// A stopped child.
#[derive(Debug)]
pub struct Child {
    id: i32,
}

/// Why a child is not running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It ran into a breakpoint; the address is the breakpoint's.
    Trap(u64),
    /// It has stopped itself.
    Asked,
    /// It has ended, with this status.
    Exit(i32),
    /// It was sent another signal.
    Signal(i32),
}

#[cfg(target_arch = "x86_64")]
const TRAP: (u64, u64) = (0xcc, 0xff);
#[cfg(not(target_arch = "x86_64"))]
const TRAP: (u64, u64) = (0xd420_0000, 0xffff_ffff);

impl Child {
    /// Starts `command`, traced; it is stopped at its first instruction.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn start(command: &mut std::process::Command) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let me_too = || {
            // SAFETY:
            // - asks to be traced; touches no memory.
            match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
                -1 => Err(io::Error::last_os_error()),
                _ => Ok(()),
            }
        };
        // SAFETY:
        // - the closure makes one system call.
        let child = unsafe { command.pre_exec(me_too) }.spawn()?;
        let child = Self { id: child.id() as i32 };
        child.wait()?;
        Ok(child)
    }

    /// Waits until it stops.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn wait(&self) -> io::Result<Stop> {
        let mut status = 0;
        // SAFETY:
        // - `status` is writable.
        if unsafe { libc::waitpid(self.id, &raw mut status, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        if libc::WIFEXITED(status) {
            return Ok(Stop::Exit(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            return Ok(Stop::Exit(128 + libc::WTERMSIG(status)));
        }
        match libc::WSTOPSIG(status) {
            libc::SIGTRAP => {
                let counter = self.counter()?;
                Ok(Stop::Trap(if cfg!(target_arch = "x86_64") { counter - 1 } else { counter }))
            }
            libc::SIGSTOP => Ok(Stop::Asked),
            signal => Ok(Stop::Signal(signal)),
        }
    }

    /// Lets it run on, and waits until it stops again.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn run(&self) -> io::Result<Stop> {
        self.ask(libc::PTRACE_CONT, 0, 0)?;
        self.wait()
    }

    /// Ends it.
    pub fn kill(&self) {
        // SAFETY:
        // - the child is this process's own, and not waited for yet.
        unsafe { libc::kill(self.id, libc::SIGKILL) };
        let _ = self.wait();
    }

    /// Puts a breakpoint at `address`; returns what was there.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn set(&self, address: u64) -> io::Result<u64> {
        let before = self.peek(address)?;
        self.ask(libc::PTRACE_POKETEXT, address, before & !TRAP.1 | TRAP.0)?;
        Ok(before)
    }

    /// Takes a breakpoint away.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn clear(&self, address: u64, before: u64) -> io::Result<()> {
        self.ask(libc::PTRACE_POKETEXT, address, before)
    }

    /// Where the file that it runs is loaded.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn base(&self, file: &std::path::Path) -> io::Result<u64> {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.id))?;
        let name = file.to_string_lossy();
        let line = maps.lines().find(|line| line.ends_with(&*name));
        let start = line.and_then(|line| line.split('-').next());
        let base = start.and_then(|start| u64::from_str_radix(start, 16).ok());
        base.ok_or_else(|| io::Error::other("the child does not run that file"))
    }

    fn peek(&self, address: u64) -> io::Result<u64> {
        let mut word = 0u64;
        // SAFETY:
        // - as a raw call the kernel stores the word at the given place.
        let result = unsafe {
            libc::syscall(libc::SYS_ptrace, libc::PTRACE_PEEKTEXT, self.id, address, &raw mut word)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(word) }
    }

    fn ask(&self, request: Request, address: u64, data: u64) -> io::Result<()> {
        // SAFETY:
        // - the requests in use here take numbers, and touch no memory of ours.
        match unsafe { libc::ptrace(request, self.id, address, data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn registers(&self) -> io::Result<libc::user_regs_struct> {
        let mut registers = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
        self.register_set(libc::PTRACE_GETREGSET, registers.as_mut_ptr())?;
        // SAFETY:
        // - all numbers; zeroed, and filled by the kernel.
        Ok(unsafe { registers.assume_init() })
    }

    fn register_set(
        &self,
        request: Request,
        registers: *mut libc::user_regs_struct,
    ) -> io::Result<()> {
        const STATUS: u64 = 1;
        let mut vector = libc::iovec {
            iov_base: registers.cast(),
            iov_len: size_of::<libc::user_regs_struct>(),
        };
        // SAFETY:
        // - the vector describes the registers, which live for the call.
        match unsafe { libc::ptrace(request, self.id, STATUS, &raw mut vector) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn counter(&self) -> io::Result<u64> {
        let registers = self.registers()?;
        #[cfg(target_arch = "x86_64")]
        return Ok(registers.rip);
        #[cfg(not(target_arch = "x86_64"))]
        return Ok(registers.pc);
    }

    /// Where it goes on.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn go_to(&self, address: u64) -> io::Result<()> {
        let mut registers = self.registers()?;
        #[cfg(target_arch = "x86_64")]
        {
            registers.rip = address;
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            registers.pc = address;
        }
        self.register_set(libc::PTRACE_SETREGSET, &raw mut registers)
    }
}

type Request = libc::c_uint;
