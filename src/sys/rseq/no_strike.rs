//! Without sections nobody waits at a point, and nobody strikes.

use super::inject::Hold;

/// Runs `body`.
pub(super) fn beside<R>(_hold: &Hold, body: impl FnOnce() -> R) -> R {
    body()
}
