//! The CPUs that this thread may run on, however many the kernel was built for.

use super::machine::MAX_CPUS;
use super::os;

/// The first attempt: enough for 1024 CPUs.
const FIRST_BYTES: usize = 128;
/// The last: half a million CPUs, 64 times what Linux can be built for.
const LAST_BYTES: usize = 64 * 1024;

/// The mask as words, lowest CPU in the lowest bit of the first word.
///
/// The kernel refuses a buffer that is shorter than its own mask with the error
/// of a wrong argument, which says nothing about the CPUs: ask again with more.
///
/// # Errors
///
/// The system's error number: the call is refused or does not exist.
pub(super) fn allowed_words() -> Result<Vec<usize>, i32> {
    grow(os::affinity)
}

/// Highest CPU that this thread may run on + 1; 0 where the system does not say. Asks the heap only
/// where the kernel's mask is longer than any Linux can be built for.
pub(super) fn allowed_bound() -> u32 {
    let mut words = [0; MAX_CPUS as usize / usize::BITS as usize];
    match os::affinity(&mut words) {
        Ok(()) => bound(&words),
        Err(os::TOO_SHORT) => allowed_words().map_or(0, |words| bound(&words)),
        Err(_) => 0,
    }
}

/// [`allowed_words`] of a system that tests made up.
#[cfg(feature = "testing")]
pub(super) fn fake_words(
    ask: impl FnMut(&mut [usize]) -> Result<(), i32>,
) -> Result<Vec<usize>, i32> {
    grow(ask)
}

/// Calls `ask` with longer and longer buffers until it stops answering "too short".
fn grow(mut ask: impl FnMut(&mut [usize]) -> Result<(), i32>) -> Result<Vec<usize>, i32> {
    let mut bytes = FIRST_BYTES;
    loop {
        let mut words = vec![0; bytes / size_of::<usize>()];
        match ask(&mut words) {
            Ok(()) => return Ok(words),
            Err(os::TOO_SHORT) if bytes < LAST_BYTES => bytes *= 2,
            Err(error) => return Err(error),
        }
    }
}

/// Highest set bit + 1; 0 for an empty mask.
pub(super) fn bound(words: &[usize]) -> u32 {
    let bits = usize::BITS;
    words.iter().rposition(|word| *word != 0).map_or(0, |at| {
        // At most LAST_BYTES * 8 bits: fits.
        at as u32 * bits + (bits - words[at].leading_zeros())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// B1, <https://github.com/eclipse-omr/omr/issues/6206>.
    #[test]
    fn a_kernel_that_needs_256_bytes_gets_them() {
        let mut sizes = Vec::new();
        let words = grow(|words| {
            sizes.push(size_of_val(words));
            if size_of_val(words) < 256 {
                return Err(os::TOO_SHORT);
            }
            words[1919 / usize::BITS as usize] |= 1 << (1919 % usize::BITS);
            Ok(())
        });
        assert_eq!(sizes, [128, 256]);
        assert_eq!(bound(&words.unwrap()), 1920);
    }

    #[test]
    fn a_call_that_is_always_refused_ends() {
        let mut calls = 0;
        let mut refuse = |error| {
            calls = 0;
            let answer = grow(|_| {
                calls += 1;
                Err(error)
            });
            (answer, calls)
        };
        assert_eq!(refuse(1), (Err(1), 1));
        assert_eq!(refuse(os::TOO_SHORT), (Err(os::TOO_SHORT), 10));
    }
}
