//! What the processor counts while a piece is measured: instructions, cycles, cache misses.
//!
//! The counters are those of Linux (`perf_event_open`), of one thread, and of its user code alone.
//! Many machines have none for us: virtual ones, containers, `perf_event_paranoid` above 2. That is a
//! normal state, with a reason to print.
//!
//! They are read in pieces of their own, after those whose time counts: switching them on and off
//! costs system calls, which would find their way into the caches.
//!
//! With `CORELOCAL_EVENTS=software` the kernel's own counts stand in, which every machine has.

use std::ops::AddAssign;

pub use os::{begin, names, open, while_on};

/// Events that are counted at a time: as many as every processor with counters has.
pub const MOST: usize = 4;

/// How often each event came, in the order of [`names`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts(pub [u64; MOST]);

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            *own += other;
        }
    }
}

#[cfg(target_os = "linux")]
mod os {
    use super::{Counts, MOST};
    use perf_event::events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware, Software};
    use perf_event::{Builder, Counter, Group};
    use std::cell::{Cell, RefCell};
    use std::io;

    /// The counters of a thread, off.
    struct Open {
        group: Group,
        counters: Vec<(&'static str, Counter)>,
    }

    thread_local! {
        static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    /// Opens the counters of this thread, as many as there are.
    ///
    /// # Errors
    ///
    /// Why there are none, in a line.
    pub fn open() -> Result<(), String> {
        let software = std::env::var_os("CORELOCAL_EVENTS").is_some_and(|kind| kind == "software");
        let open = if software { Open::software() } else { Open::hardware() };
        let mut open = open.map_err(|error| format!("the kernel gives none: {error}"))?;
        open.check()?;
        OPEN.set(Some(open));
        Ok(())
    }

    /// What is counted on this thread; nothing before [`open`].
    pub fn names() -> Vec<&'static str> {
        OPEN.with_borrow(|open| {
            open.iter().flat_map(|open| &open.counters).map(|(name, _)| *name).collect()
        })
    }

    /// Lets what is measured in `work` on this thread be counted.
    pub fn while_on<T>(work: impl FnOnce() -> T) -> T {
        ON.set(OPEN.with_borrow(Option::is_some));
        let result = work();
        ON.set(false);
        result
    }

    /// Begins to count, where [`while_on`] wants it.
    #[inline]
    pub fn begin() -> Counting {
        let on = ON.get();
        if on {
            with(Open::start);
        }
        Counting(on)
    }

    /// Between [`begin`] and [`Counting::end`].
    #[derive(Debug)]
    pub struct Counting(bool);

    impl Counting {
        /// What came since [`begin`].
        #[inline]
        pub fn end(self) -> Counts {
            if self.0 { with(Open::stop) } else { Counts::default() }
        }
    }

    /// # Panics
    ///
    /// If the kernel takes back what it gave.
    fn with<T>(work: impl FnOnce(&mut Open) -> io::Result<T>) -> T {
        OPEN.with_borrow_mut(|open| work(open.as_mut().expect("`while_on` asked")))
            .expect("counters that were opened")
    }

    impl Open {
        fn hardware() -> io::Result<Self> {
            let misses =
                |which| Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
            let mut open = Self::new()?;
            open.add("instructions", Hardware::INSTRUCTIONS)?;
            open.add("cycles", Hardware::CPU_CYCLES)?;
            // Not every processor tells these.
            let _ = open.add("L1 read misses", misses(CacheId::L1D));
            let _ = open.add("last-level read misses", misses(CacheId::LL));
            Ok(open)
        }

        fn software() -> io::Result<Self> {
            let mut open = Self::new()?;
            open.add("page faults", Software::PAGE_FAULTS)?;
            open.add("task clock, ns", Software::TASK_CLOCK)?;
            Ok(open)
        }

        fn new() -> io::Result<Self> {
            Ok(Self { group: Group::new()?, counters: Vec::with_capacity(MOST) })
        }

        fn add(&mut self, name: &'static str, event: impl Event) -> io::Result<()> {
            let counter = self.group.add(&Builder::new(event))?;
            self.counters.push((name, counter));
            Ok(())
        }

        /// Opened is not counted: somebody else may have the processor's counters.
        fn check(&mut self) -> Result<(), String> {
            let run = |open: &mut Self| {
                open.start()?;
                open.group.disable()?;
                open.group.read()
            };
            let data = run(self).map_err(|error| format!("they cannot be read: {error}"))?;
            match data.time_running() {
                Some(time) if time.is_zero() => {
                    Err("they do not run: there are too few, or somebody else has them".into())
                }
                _ => Ok(()),
            }
        }

        fn start(&mut self) -> io::Result<()> {
            self.group.reset()?;
            self.group.enable()
        }

        fn stop(&mut self) -> io::Result<Counts> {
            self.group.disable()?;
            let data = self.group.read()?;
            let mut counts = Counts::default();
            for ((_, counter), count) in self.counters.iter().zip(&mut counts.0) {
                *count = data[counter];
            }
            Ok(counts)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use super::Counts;

    /// Fails.
    ///
    /// # Errors
    ///
    /// That this is not Linux.
    pub fn open() -> Result<(), String> {
        Err("only Linux is asked for them".into())
    }

    /// Nothing.
    pub fn names() -> Vec<&'static str> {
        Vec::new()
    }

    /// Does the work.
    pub fn while_on<T>(work: impl FnOnce() -> T) -> T {
        work()
    }

    /// Does nothing.
    #[inline]
    pub fn begin() -> Counting {
        Counting
    }

    /// Nothing is counted.
    #[derive(Debug)]
    pub struct Counting;

    impl Counting {
        /// Nothing.
        #[inline]
        pub fn end(self) -> Counts {
            Counts::default()
        }
    }
}
