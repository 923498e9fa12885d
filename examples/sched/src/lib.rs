//! A user-space model of the kernel's group scheduler state, and what each memory layout of it
//! costs. The binary `sched` is the workspace's main program:
//!
//! ```text
//! cargo run --release -p sched -- tree                       # 1110 groups, as the kernel's benchmark
//! cargo run --release -p sched -- tree --cgroup DIR          # this machine's own groups
//! cargo run --release -p sched -- tree --untimed             # only the model of the caches
//! cargo run --release -p sched -- tree --untimed --cpus 480   # the benchmark on modelled machines
//! cargo run --release -p sched -- churn                      # groups that come and go
//! cargo run --release -p sched -- save --cgroup DIR -o FILE  # to send them to someone,
//! cargo run --release -p sched -- tree --from FILE           # who walks them there
//! cargo run --release -p sched -- rt                         # the priority vector's layouts
//! cargo run --release -p sched -- pick                       # hierarchical and flat pick
//! cargo run --release -p sched -- layout --kernel reorder    # where each byte of the state lies
//! cargo run --release -p sched -- layout --kernel 6.14 --advise # where it should lie
//! cargo run --release -p sched -- real                       # quotas: this kernel beside the model
//! ```
//!
//! The rooms, each using those above it only:
//!
//! | room | what it is |
//! |---|---|
//! | [`word`], [`link`], [`rng`] | what structures are made of; a seeded shuffle |
//! | [`tree`] | the shape of a tree: regular, from a listing, from a live hierarchy |
//! | [`structs`] | the kernels' structures, byte for byte, and the fields that operations touch |
//! | [`map`] | the map of a group's state on one CPU |
//! | [`advise`] | an order of fields that touches fewer lines |
//! | [`layout`] | where the per-CPU state lies: L0, L1, L1b, L2, L3, L3x behind one set of accessors |
//! | [`model`] | a tree in a layout: groups under an epoch, creation and release, leaf lists, tasks, invariants |
//! | [`load`] | load tracking, a group's weight on each CPU, load as seen from the root |
//! | [`ops`] | the walks |
//! | [`bandwidth`] | quotas: pools, throttling, distribution, in virtual time |
//! | [`measure`] | the harness: runs, samples, intervals |
//! | [`churn`] | groups that come and go, from two threads, with a lock and without |
//! | [`trace`] | the lines that the walks use, and what of them misses in modelled caches |
//! | [`replay`] | the kernel's benchmark period by period: in modelled caches of up to 480 CPUs, and timed here |
//! | [`rt`] | the priority vector under the kernel's real-time load, in the coherence model and on this machine |
//! | [`real`] | the model of quotas beside this machine's kernel |
//! | [`pick`] | which task runs: EEVDF once a queue of each group and once flat, in virtual time |
//! | [`report`], [`cli`] | what is printed, what is asked |
//!
//! It is not a scheduler: no task runs but in the virtual time of [`bandwidth`] and [`pick`]. What it
//! keeps is what the kernel's series of 2025 and 2026 changed: which lines a walk touches and how it
//! finds them, and who is picked. What the replays say, and where they differ from another model, is
//! in `replay.md`.

pub mod advise;
pub mod bandwidth;
pub mod churn;
pub mod cli;
pub mod layout;
pub mod link;
pub mod load;
pub mod map;
pub mod measure;
pub mod model;
pub mod ops;
pub mod pick;
pub mod real;
pub mod replay;
pub mod report;
pub mod rng;
pub mod rt;
pub mod structs;
pub mod trace;
pub mod tree;
pub mod word;
