#![doc = include_str!("links.md")]
#![cfg_attr(feature = "std", doc = include_str!("links-std.md"))]
#![cfg_attr(feature = "pool", doc = "[`pools`]: crate::docs::pools")]
#![cfg_attr(feature = "epoch", doc = "[`reclaim`]: crate::docs::reclaim")]
#![doc = include_str!("README.md")]

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
    #[cfg(all(feature = "std", not(corelocal_loom)))]
    tools "tools.md";
}
