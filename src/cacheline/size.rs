//! The line size by target.

/// The size of a cache line in bytes, as this build assumes it: the unit in which the target's
/// CPUs pass memory between each other.
///
/// | target | bytes | said by |
/// |---|--:|---|
/// | x86, x86-64 | 64 | Intel's optimization manual; Go `cpu_x86.go`. A prefetcher fetches *pairs* of lines: use `CacheLine<T, 2>` where that matters |
/// | AArch64 | 64 | Arm's Cortex-A and Neoverse manuals; Linux reads it from `CTR_EL0`. Fujitsu A64FX has 256: override |
/// | AArch64 of Apple | 128 | `sysctl hw.cachelinesize` on the M series. Linux on that hardware: override |
/// | POWER (64 bits) | 128 | Go `cpu_ppc64x.go`; Linux `arch/powerpc/include/asm/cache.h` |
/// | s390x | 256 | Go `cpu_s390x.go`; Linux `arch/s390/include/asm/cache.h` |
/// | Arm (32 bits), MIPS, SPARC (32 bits), Hexagon | 32 | Go `cpu_arm.go`, `cpu_mips.go`; Linux `arch/sparc/include/asm/cache.h`, `arch/hexagon/include/asm/cache.h` |
/// | m68k | 16 | Linux `arch/m68k/include/asm/cache.h` |
/// | all others (RISC-V, LoongArch, WebAssembly, SPARC64) | 64 | Linux `arch/riscv/include/asm/cache.h`; Go `cpu_riscv64.go`, `cpu_wasm.go` |
///
/// `crossbeam_utils::CachePadded` takes 128 on x86-64 and on all of AArch64, to be safe from the
/// pair prefetcher and for the parts with longer lines; elsewhere the tables agree.
///
/// # Override
///
/// Set the environment variable `CORELOCAL_CACHE_LINE` when building, to a power of two from 16 to
/// 512: `CORELOCAL_CACHE_LINE=256 cargo build --release`. Anything else fails the build. A value
/// that is too small costs speed, never safety.
///
/// ```
/// use corelocal::cacheline::CACHE_LINE;
/// assert!(CACHE_LINE.is_power_of_two());
/// ```
pub const CACHE_LINE: usize = match option_env!("CORELOCAL_CACHE_LINE") {
    Some(text) => parse(text),
    None => BY_TARGET,
};

const BY_TARGET: usize = if cfg!(target_arch = "s390x") {
    256
} else if cfg!(target_arch = "powerpc64") || APPLE_SILICON {
    128
} else if cfg!(target_arch = "m68k") {
    16
} else if cfg!(any(
    target_arch = "arm",
    target_arch = "mips",
    target_arch = "mips32r6",
    target_arch = "mips64",
    target_arch = "mips64r6",
    target_arch = "sparc",
    target_arch = "hexagon",
)) {
    32
} else {
    64
};

const APPLE_SILICON: bool = cfg!(all(target_arch = "aarch64", target_vendor = "apple"));

/// The line size in an override: decimal digits that make a power of two from 16 to 512.
const fn parse(text: &str) -> usize {
    let digits = text.as_bytes();
    let mut value = 0;
    let mut i = 0;
    while i < digits.len() {
        assert!(digits[i].is_ascii_digit() && value <= 512, "{}", REFUSED);
        value = value * 10 + (digits[i] - b'0') as usize;
        i += 1;
    }
    assert!(value.is_power_of_two() && value >= 16 && value <= 512, "{}", REFUSED);
    value
}

const REFUSED: &str = "the environment variable CORELOCAL_CACHE_LINE must be a cache line's size \
                       in bytes: 16, 32, 64, 128, 256 or 512";
