//! Taking idle objects out of a pool: [`Drain`], `shrink_to`.

use super::objects::Objects;
use super::take_over::Refused;
use super::{DrainError, PerCpuPool};
use core::fmt;

/// Idle objects of a pool that do not count any more. What is left is dropped with it.
///
/// ```
/// use corelocal::PerCpuPool;
///
/// // Connections are closed with a word of goodbye, not just dropped.
/// let connections = PerCpuPool::builder(|| vec!["hello"]).prefill(3).build()?;
/// let mut closed = 0;
/// for mut connection in connections.drain()? {
///     connection.push("goodbye");
///     closed += 1;
/// }
/// assert_eq!((closed, connections.objects()), (3, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the objects are dropped at once"]
pub struct Drain<'a, T>(Objects<'a, T>);

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop().map(|(value, _credit)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

impl<T> ExactSizeIterator for Drain<'_, T> {}
impl<T> core::iter::FusedIterator for Drain<'_, T> {}

impl<T> fmt::Debug for Drain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("left", &self.0.len()).finish()
    }
}

// SAFETY: it owns the objects, which any thread may have (`T: Send`), and shares a pool that any
// thread may use then.
unsafe impl<T: Send> Send for Drain<'_, T> {}
// SAFETY: shared, it tells a number.
unsafe impl<T: Send> Sync for Drain<'_, T> {}

impl<T> PerCpuPool<T> {
    /// Takes out every idle object, of every CPU, also of those that never come back.
    ///
    /// Objects in use are not idle: they come back later. One that is on its way while this runs
    /// is in the one place or in the other. (One more exception: a try-lock, of the spill lane or of
    /// a magazine, whose holder does not come back within some 60 ms; in a child of `fork` it may
    /// have vanished. What it guards is found by another drain, or when the pool is dropped.)
    ///
    /// Makes every CPU of the process run through a barrier (`membarrier`, about 20 us where another
    /// CPU is busy), looks at each lane and each place of the shared queue, and allocates. Not for
    /// signal handlers. Other threads go on meanwhile; a second thread that drains is refused.
    ///
    /// # Errors
    ///
    /// [`DrainError`]; nothing is lost.
    ///
    /// ```
    /// use corelocal::PerCpuPool;
    /// let pool = PerCpuPool::new(String::new);
    /// drop([pool.get(), pool.get(), pool.get()]);
    /// let in_use = pool.get();
    /// assert_eq!((pool.drain()?.count(), pool.objects()), (2, 1));
    /// # drop(in_use);
    /// # Ok::<(), corelocal::pool::DrainError>(())
    /// ```
    pub fn drain(&self) -> Result<Drain<'_, T>, DrainError> {
        Ok(Drain(self.take_all()?))
    }

    /// Drops idle objects until at most `idle` are left, which then lie in the shared queue (so no
    /// more stay than that has room for). Returns how many were dropped. See
    /// [`drain`](Self::drain) for what it reaches and what it costs.
    ///
    /// # Errors
    ///
    /// [`DrainError`]; nothing was dropped.
    ///
    /// # Panics
    ///
    /// If the drop of an object does; the others are dropped, and those that stay have stayed.
    ///
    /// ```
    /// use corelocal::PerCpuPool;
    /// let pool = PerCpuPool::new(String::new);
    /// drop([pool.get(), pool.get(), pool.get()]);
    /// assert_eq!((pool.shrink_to(1)?, pool.objects()), (2, 1));
    /// # Ok::<(), corelocal::pool::DrainError>(())
    /// ```
    pub fn shrink_to(&self, idle: usize) -> Result<usize, DrainError> {
        let mut taken = self.take_all()?;
        let mut gone = Objects::new(self);
        let mut left = idle;
        gone.reserve(taken.chains().len());
        while let Some(mut chain) = taken.chains().pop() {
            while chain.len() > left {
                let Some(node) = chain.pop() else { break };
                // SAFETY:
                // - the list owned its node.
                unsafe { gone.push(node) };
            }
            let stays = chain.len();
            match self.shared().put(chain) {
                Ok(()) => left -= stays,
                // SAFETY:
                // - objects of this pool.
                Err(chain) => unsafe { gone.add(chain) },
            }
        }
        Ok(gone.len())
    }

    fn take_all(&self) -> Result<Objects<'_, T>, DrainError> {
        let mut taken = Objects::new(self);
        taken.reserve(self.lists() + self.shared().batches());
        // SAFETY:
        // - what the pool's lists hold are its objects.
        let refused = self.take_lanes(|chain| unsafe { taken.add(chain) });
        // The lanes first: what goes from them to the shared queue meanwhile is found there.
        refused.map_err(|refused| match refused {
            Refused::Taken => DrainError::InProgress,
            Refused::NoFence => DrainError::NoFence,
        })?;
        while let Some(batch) = self.shared().take() {
            // SAFETY:
            // - as above.
            unsafe { taken.add(batch) };
        }
        Ok(taken)
    }
}
