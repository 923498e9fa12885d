//! What is left of a writer that panicked.

use super::PerCpuRwLock;

impl<T: ?Sized> PerCpuRwLock<T> {
    /// Whether a writer panicked. Advice, unless one holds a guard.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let lock = PerCpuRwLock::new(0);
    /// std::thread::scope(|scope| {
    ///     let writer = scope.spawn(|| {
    ///         let _guard = lock.write().unwrap();
    ///         panic!("in the middle of a change");
    ///     });
    ///     assert!(writer.join().is_err());
    /// });
    /// assert!(lock.is_poisoned());
    /// ```
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.gate.is_poisoned()
    }

    /// Forgets that a writer panicked.
    ///
    /// ```
    /// # use corelocal::PerCpuRwLock;
    /// let lock = PerCpuRwLock::new(vec![1]);
    /// let thrown = std::panic::catch_unwind(|| {
    ///     let mut table = lock.write().unwrap();
    ///     table.clear();
    ///     panic!("before it is filled again");
    /// });
    /// assert!(thrown.is_err());
    /// let mut table = lock.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    /// table.push(1); // mended
    /// lock.clear_poison();
    /// drop(table);
    /// assert_eq!(*lock.read().unwrap(), [1]);
    /// ```
    pub fn clear_poison(&self) {
        self.gate.clear_poison();
    }
}
