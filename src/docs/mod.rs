//! Pages: which type to take, why the crate is as it is, and how it is checked. Their code blocks are
//! compiled and run as tests.
//!
//! In reading order. To begin with:
//!
//! * [`from_a_vec`]: from `Vec<CachePadded<AtomicU64>>` to `PerCpu`, step by step.
//! * [`design`]: the words, the floors, the allocator, the sections.
//! * [`addresses`]: which byte lies where, in pictures.
//! * [`backends`]: how a process reaches its copies, how that is chosen, what it costs, how a test forces one.
//! * [`promises`]: who may call what, what it costs, what it waits for.
//! * [`numbers`]: what was measured, against whom, and where it loses.
//! * [`limits`]: what the promises do not cover, and what our machines could not show.
//!
//! A structure each: which one is wanted, what it promises, and when none is.
//!
//! * [`counters`], [`histograms`], [`rings`]
//! * `pools` (feature `pool`)
//! * [`refcounts`], [`reader_locks`]
//! * `reclaim`: objects that are replaced while they are read (feature `epoch`).
//! * [`priority`]: which CPU runs at which priority: the layouts, the promises, push and pull.
//! * [`schedulers`]: for user-space schedulers: queues, topology, co-located state, what a section guarantees.
//! * [`layout_maps`]: how to read a layout map, and what to do about it.
//!
//! How we know:
//!
//! * [`proofs`]: every kind of check, with its command, its figure and its date.
//! * [`orderings`]: the numbered edges that the atomics rely on, with their models and mutants.
//! * [`machines`]: what was seen in virtual machines, with more CPUs, other kernels, and AArch64.
//! * [`loom_users`]: your own models, with our types in them.

// Links between pages are written `[`name`]`, with a definition at the end of the file that leads to the
// file beside it, for who reads the repository. Here an earlier definition, which wins, leads to the page. The
// price: a block that fails is reported as one of `links.md`, some twenty lines too far down; the module's
// name is the page's.
macro_rules! page {
    ($($(#[$attr:meta])* $name:ident $file:literal;)+) => {$(
        $(#[$attr])*
        #[doc = include_str!("links.md")]
        #[cfg_attr(feature = "std", doc = include_str!("links-std.md"))]
        #[cfg_attr(feature = "pool", doc = "[`pools`]: crate::docs::pools")]
        #[cfg_attr(feature = "epoch", doc = "[`reclaim`]: crate::docs::reclaim")]
        #[doc = include_str!($file)]
        pub mod $name {}
    )+};
}

page! {
    #[cfg(feature = "std")]
    from_a_vec "from-a-vec.md";
    design "design.md";
    #[cfg(feature = "std")]
    addresses "addresses.md";
    #[cfg(feature = "std")]
    backends "backends.md";
    promises "promises.md";
    numbers "numbers.md";
    limits "limits.md";

    #[cfg(feature = "std")]
    counters "counters.md";
    #[cfg(all(feature = "std", not(corelocal_loom)))]
    histograms "histograms.md";
    #[cfg(all(feature = "std", not(corelocal_loom)))]
    rings "rings.md";
    #[cfg(feature = "pool")]
    pools "pools.md";
    #[cfg(feature = "std")]
    refcounts "refcounts.md";
    #[cfg(all(feature = "std", not(corelocal_loom)))]
    reader_locks "reader-locks.md";
    #[cfg(all(feature = "epoch", not(corelocal_loom)))]
    reclaim "reclaim.md";
    priority "priority.md";
    #[cfg(feature = "std")]
    schedulers "schedulers.md";
    layout_maps "layout-maps.md";

    proofs "proofs.md";
    orderings "orderings.md";
    machines "machines.md";
    #[cfg(feature = "std")]
    loom_users "loom-users.md";
}
