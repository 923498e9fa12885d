//! The words that the model's structures are made of.
//!
//! Each is an atomic with relaxed loads and stores, which compile to plain moves: the walks cost
//! what the kernel's plain fields cost, and a reader beside a writer is no data race.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering};

macro_rules! word {
    ($($(#[$doc:meta])* $name:ident, $atomic:ident, $plain:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name($atomic);

        impl $name {
            /// The value.
            #[inline(always)]
            pub fn get(&self) -> $plain {
                // Relaxed: a field's value publishes nothing; the run queue's lock or the
                // group table orders what must be ordered.
                self.0.load(Ordering::Relaxed)
            }

            /// Stores `value`.
            #[inline(always)]
            pub fn set(&self, value: $plain) {
                // Relaxed: as in `get`.
                self.0.store(value, Ordering::Relaxed);
            }

            /// The value, and what came before its [`set_release`](Self::set_release) is seen.
            #[inline(always)]
            pub fn get_acquire(&self) -> $plain {
                // Acquire: pairs with the Release in `set_release`.
                self.0.load(Ordering::Acquire)
            }

            /// Stores `value` for [`get_acquire`](Self::get_acquire).
            #[inline(always)]
            pub fn set_release(&self, value: $plain) {
                // Release: pairs with the Acquire in `get_acquire`.
                self.0.store(value, Ordering::Release);
            }

            /// Adds `value`, wrapping, by a load and a store: the caller is the only writer.
            #[inline(always)]
            pub fn add(&self, value: $plain) {
                self.set(self.get().wrapping_add(value));
            }

            /// Adds `value`, wrapping, beside other writers; returns what was there.
            #[inline(always)]
            pub fn fetch_add(&self, value: $plain) -> $plain {
                // Relaxed: as in `get`; a sum needs no order.
                self.0.fetch_add(value, Ordering::Relaxed)
            }

            /// Stores what `of` makes of the value, beside other writers, or nothing when it makes
            /// `None`. What came before the update that is met is seen.
            ///
            /// # Errors
            ///
            /// The value of which nothing was made.
            pub fn try_update(
                &self,
                of: impl FnMut($plain) -> Option<$plain>,
            ) -> Result<$plain, $plain> {
                // AcqRel: pairs with itself, from one update of the word to the next. Relaxed on
                // failure: nothing was handed over.
                self.0.fetch_update(Ordering::AcqRel, Ordering::Relaxed, of)
            }
        }
    )*};
}

word! {
    /// A `u64` field.
    U64, AtomicU64, u64;
    /// An `i64` field.
    I64, AtomicI64, i64;
    /// A `u32` field.
    U32, AtomicU32, u32;
    /// An `i32` field.
    I32, AtomicI32, i32;
    /// A `u8` field.
    U8, AtomicU8, u8;
}
