//! [`counters!`](crate::counters!): a struct of cells with names, tokens and snapshots.

use super::PerCpu;
use super::handle::PerCpuRef;
#[cfg(not(corelocal_loom))]
use super::statics::PerCpuStatic;

/// A struct of cells that [`counters!`](crate::counters!) defined.
///
/// ```
/// use corelocal::{Counters, PerCpu, counters};
///
/// counters! { pub struct Cache { hits: u64, misses: u64 } }
/// counters! { pub struct Disk { reads: u64 } }
///
/// /// Prints the names of whatever is counted, as a text format begins.
/// fn head<C: Counters>(_: &PerCpu<C>) -> String {
///     C::NAMES.join(",")
/// }
/// assert_eq!(head(&PerCpu::<Cache>::zeroed()), "hits,misses");
/// assert_eq!(head(&PerCpu::<Disk>::zeroed()), "reads");
/// ```
pub trait Counters: Sized {
    /// The sums of all cells, a plain field for each.
    type Snapshot;
    /// The cells' names, in the order of their definition.
    ///
    /// ```
    /// use corelocal::{Counters, counters};
    /// counters! { pub struct Cache { hits: u64, misses: u64 } }
    /// let widest = Cache::NAMES.iter().map(|name| name.len()).max();
    /// assert_eq!(widest, Some(6));
    /// ```
    const NAMES: &'static [&'static str];

    /// The wrapping sum of every cell over all lanes. Live sums are not of one moment.
    ///
    /// ```
    /// use corelocal::{Counters, PerCpu, PerCpuRef, counters};
    /// counters! { pub struct Cache { hits: u64, misses: u64 } }
    ///
    /// /// Code for any such struct; where the type is known, `cache.snapshot()` is the same.
    /// fn read<C: Counters>(all: &[PerCpuRef<'_, C>]) -> Vec<C::Snapshot> {
    ///     all.iter().map(|of| C::snapshot(*of)).collect()
    /// }
    /// let caches = [PerCpu::<Cache>::zeroed(), PerCpu::zeroed()];
    /// caches[1].at(Cache::HITS).inc();
    /// let sums = read(&caches.each_ref().map(|cache| cache.as_ref()));
    /// assert_eq!([sums[0].hits, sums[1].hits], [0, 1]);
    /// ```
    fn snapshot<O>(of: PerCpuRef<'_, Self, O>) -> Self::Snapshot;
}

impl<T: Counters, O> PerCpuRef<'_, T, O> {
    /// The wrapping sum of every cell over all lanes. Live sums are not of one moment.
    ///
    /// ```
    /// use corelocal::{CoLocated, PerCpu, PerCpuCell, counters};
    /// counters! { pub struct Cache { hits: u64, misses: u64 } }
    ///
    /// // The cells are a part of something larger.
    /// type State = CoLocated<PerCpuCell<u32>, Cache>;
    /// let states = PerCpu::<State>::zeroed();
    /// let cache = states.at(State::PART_B);
    /// cache.at(Cache::MISSES).add(2);
    /// assert_eq!(cache.snapshot().misses, 2);
    /// ```
    pub fn snapshot(self) -> T::Snapshot {
        T::snapshot(self)
    }
}

impl<T: Counters> PerCpu<T> {
    /// See [`PerCpuRef::snapshot`].
    ///
    /// ```
    /// use corelocal::{PerCpu, counters};
    /// counters! { pub struct Cache { hits: u64, misses: u64 } }
    ///
    /// let cache = PerCpu::<Cache>::zeroed();
    /// cache.at(Cache::HITS).add(3);
    /// cache.at(Cache::MISSES).add(1);
    /// let now = cache.snapshot(); // plain fields
    /// assert_eq!(100 * now.hits / (now.hits + now.misses), 75);
    /// ```
    pub fn snapshot(&self) -> T::Snapshot {
        self.as_ref().snapshot()
    }
}

#[cfg(not(corelocal_loom))]
impl<T: Counters> PerCpuStatic<T> {
    /// See [`PerCpuRef::snapshot`].
    ///
    /// ```
    /// use corelocal::{counters, per_cpu};
    /// counters! { pub struct Cache { hits: u64, misses: u64 } }
    /// per_cpu! { static CACHE: Cache; }
    ///
    /// CACHE.at(Cache::HITS).inc();
    /// let before = CACHE.snapshot();
    /// CACHE.at(Cache::HITS).add(2);
    /// assert_eq!(CACHE.snapshot().hits - before.hits, 2);
    /// ```
    pub fn snapshot(&self) -> T::Snapshot {
        self.as_ref().snapshot()
    }
}

/// Defines a struct of per-CPU cells.
///
/// It is `Zeroable` (so [`PerCpu::zeroed`] makes one without touching memory), has
/// [`Counters::NAMES`] and [`PerCpu::snapshot`], and for each field a constant token to update it
/// through: `Stats::READS` for the field `reads`. A macro cannot make upper case of a name, so the
/// constant's name is written behind the field's (`cold_starts as COLD_STARTS: u64`); for the usual
/// words of counters (reads, writes, hits, misses, requests, errors, bytes, ...) it is built in.
/// [`field!`](crate::field!) makes a token for any field.
///
/// ```
/// use corelocal::{counters, field, PerCpu};
/// counters! {
///     /// What a cache counts.
///     pub struct Stats { hits: u64, misses: u64, cold_starts as COLD_STARTS: u32 }
/// }
/// let stats = PerCpu::<Stats>::zeroed();
/// stats.at(Stats::HITS).add(3);
/// stats.at(Stats::COLD_STARTS).inc();
/// stats.at(field!(Stats, misses)).add(2);
/// let now = stats.snapshot();
/// assert_eq!((now.hits, now.misses, now.cold_starts), (3, 2, 1));
/// assert_eq!(Stats::NAMES, ["hits", "misses", "cold_starts"]);
/// ```
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$about:meta])* $at:vis $field:ident $(as $token:ident)?: $word:ty),+ $(,)?
    }) => {
        $(#[$meta])*
        #[repr(C)]
        $vis struct $name {
            $($(#[$about])* $at $field: $crate::percpu::PerCpuCell<$word>,)+
        }

        #[allow(dead_code, missing_docs, reason = "a token for each field, used or not")]
        impl $name {
            $($crate::__counter_token! { $field $($token)? [$vis $name $word] })+
            /// The cells' names, in the order of their definition.
            $vis const NAMES: &'static [&'static str] = &[$(stringify!($field)),+];
        }

        const _: () = {
            /// The sums of all cells.
            #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
            #[allow(missing_docs, reason = "the names are those of the cells")]
            pub struct CountersSnapshot {
                $(pub $field: $word,)+
            }

            impl $crate::percpu::Counters for $name {
                type Snapshot = CountersSnapshot;
                const NAMES: &'static [&'static str] = Self::NAMES;

                fn snapshot<O>(of: $crate::percpu::PerCpuRef<'_, Self, O>) -> CountersSnapshot {
                    CountersSnapshot { $($field: of.at($crate::field!($name, $field)).sum(),)+ }
                }
            }
        };

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }

        $crate::__zeroable_cells! { $name }
    };
}

/// A loom atomic is not valid in zeroed memory.
#[doc(hidden)]
#[macro_export]
#[cfg(corelocal_loom)]
macro_rules! __zeroable_cells {
    ($name:ident) => {};
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(corelocal_loom))]
macro_rules! __zeroable_cells {
    ($name:ident) => {
        // SAFETY: a struct of cells, each of which is `Zeroable` (any other field type would not
        // have come out of `counters!`).
        unsafe impl $crate::bytemuck::Zeroable for $name {}
    };
}

/// The constant of one field: named by the user, or one of the usual words, or none.
#[doc(hidden)]
#[macro_export]
#[rustfmt::skip]
macro_rules! __counter_token {
    (@ $token:ident $field:ident [$vis:vis $name:ident $word:ty]) => {
        $vis const $token: $crate::field::Field<$name, $crate::percpu::PerCpuCell<$word>> =
            $crate::field!($name, $field);
    };
    ($field:ident $token:ident $of:tt) => { $crate::__counter_token!(@ $token $field $of); };
    (reads $of:tt) => { $crate::__counter_token!(@ READS reads $of); };
    (writes $of:tt) => { $crate::__counter_token!(@ WRITES writes $of); };
    (hits $of:tt) => { $crate::__counter_token!(@ HITS hits $of); };
    (misses $of:tt) => { $crate::__counter_token!(@ MISSES misses $of); };
    (requests $of:tt) => { $crate::__counter_token!(@ REQUESTS requests $of); };
    (responses $of:tt) => { $crate::__counter_token!(@ RESPONSES responses $of); };
    (errors $of:tt) => { $crate::__counter_token!(@ ERRORS errors $of); };
    (failures $of:tt) => { $crate::__counter_token!(@ FAILURES failures $of); };
    (retries $of:tt) => { $crate::__counter_token!(@ RETRIES retries $of); };
    (timeouts $of:tt) => { $crate::__counter_token!(@ TIMEOUTS timeouts $of); };
    (bytes $of:tt) => { $crate::__counter_token!(@ BYTES bytes $of); };
    (packets $of:tt) => { $crate::__counter_token!(@ PACKETS packets $of); };
    (messages $of:tt) => { $crate::__counter_token!(@ MESSAGES messages $of); };
    (events $of:tt) => { $crate::__counter_token!(@ EVENTS events $of); };
    (items $of:tt) => { $crate::__counter_token!(@ ITEMS items $of); };
    (tasks $of:tt) => { $crate::__counter_token!(@ TASKS tasks $of); };
    (jobs $of:tt) => { $crate::__counter_token!(@ JOBS jobs $of); };
    (calls $of:tt) => { $crate::__counter_token!(@ CALLS calls $of); };
    (ticks $of:tt) => { $crate::__counter_token!(@ TICKS ticks $of); };
    (samples $of:tt) => { $crate::__counter_token!(@ SAMPLES samples $of); };
    (allocs $of:tt) => { $crate::__counter_token!(@ ALLOCS allocs $of); };
    (frees $of:tt) => { $crate::__counter_token!(@ FREES frees $of); };
    (allocations $of:tt) => { $crate::__counter_token!(@ ALLOCATIONS allocations $of); };
    (opens $of:tt) => { $crate::__counter_token!(@ OPENS opens $of); };
    (closes $of:tt) => { $crate::__counter_token!(@ CLOSES closes $of); };
    (connections $of:tt) => { $crate::__counter_token!(@ CONNECTIONS connections $of); };
    (disconnects $of:tt) => { $crate::__counter_token!(@ DISCONNECTS disconnects $of); };
    (accepts $of:tt) => { $crate::__counter_token!(@ ACCEPTS accepts $of); };
    (drops $of:tt) => { $crate::__counter_token!(@ DROPS drops $of); };
    (enqueued $of:tt) => { $crate::__counter_token!(@ ENQUEUED enqueued $of); };
    (dequeued $of:tt) => { $crate::__counter_token!(@ DEQUEUED dequeued $of); };
    (pushed $of:tt) => { $crate::__counter_token!(@ PUSHED pushed $of); };
    (popped $of:tt) => { $crate::__counter_token!(@ POPPED popped $of); };
    (inserted $of:tt) => { $crate::__counter_token!(@ INSERTED inserted $of); };
    (removed $of:tt) => { $crate::__counter_token!(@ REMOVED removed $of); };
    (created $of:tt) => { $crate::__counter_token!(@ CREATED created $of); };
    (deleted $of:tt) => { $crate::__counter_token!(@ DELETED deleted $of); };
    (updates $of:tt) => { $crate::__counter_token!(@ UPDATES updates $of); };
    (lookups $of:tt) => { $crate::__counter_token!(@ LOOKUPS lookups $of); };
    (evictions $of:tt) => { $crate::__counter_token!(@ EVICTIONS evictions $of); };
    (flushes $of:tt) => { $crate::__counter_token!(@ FLUSHES flushes $of); };
    (syncs $of:tt) => { $crate::__counter_token!(@ SYNCS syncs $of); };
    (commits $of:tt) => { $crate::__counter_token!(@ COMMITS commits $of); };
    (aborts $of:tt) => { $crate::__counter_token!(@ ABORTS aborts $of); };
    (rollbacks $of:tt) => { $crate::__counter_token!(@ ROLLBACKS rollbacks $of); };
    (locks $of:tt) => { $crate::__counter_token!(@ LOCKS locks $of); };
    (waits $of:tt) => { $crate::__counter_token!(@ WAITS waits $of); };
    (wakeups $of:tt) => { $crate::__counter_token!(@ WAKEUPS wakeups $of); };
    (sleeps $of:tt) => { $crate::__counter_token!(@ SLEEPS sleeps $of); };
    (switches $of:tt) => { $crate::__counter_token!(@ SWITCHES switches $of); };
    (migrations $of:tt) => { $crate::__counter_token!(@ MIGRATIONS migrations $of); };
    (sent $of:tt) => { $crate::__counter_token!(@ SENT sent $of); };
    (received $of:tt) => { $crate::__counter_token!(@ RECEIVED received $of); };
    (bytes_in $of:tt) => { $crate::__counter_token!(@ BYTES_IN bytes_in $of); };
    (bytes_out $of:tt) => { $crate::__counter_token!(@ BYTES_OUT bytes_out $of); };
    (bytes_read $of:tt) => { $crate::__counter_token!(@ BYTES_READ bytes_read $of); };
    (bytes_written $of:tt) => { $crate::__counter_token!(@ BYTES_WRITTEN bytes_written $of); };
    (packets_in $of:tt) => { $crate::__counter_token!(@ PACKETS_IN packets_in $of); };
    (packets_out $of:tt) => { $crate::__counter_token!(@ PACKETS_OUT packets_out $of); };
    (active $of:tt) => { $crate::__counter_token!(@ ACTIVE active $of); };
    (idle $of:tt) => { $crate::__counter_token!(@ IDLE idle $of); };
    (total $of:tt) => { $crate::__counter_token!(@ TOTAL total $of); };
    (count $of:tt) => { $crate::__counter_token!(@ COUNT count $of); };
    ($other:ident $of:tt) => {};
}
