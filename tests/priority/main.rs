//! The priority vector: every layout through one body of tests.
#![cfg(feature = "std")]

#[path = "../../fuzz/bodies/src/choices.rs"]
#[allow(unreachable_pub, dead_code, reason = "a library's module elsewhere")]
mod choices;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../fuzz/bodies/src/priority.rs"]
#[allow(unreachable_pub, reason = "a library's module elsewhere")]
mod compare;
mod cost;
mod cut;
mod edges;
mod fit;
mod history;
mod levels;
mod oracle;
mod order;
mod slots;
mod space;
mod threads;

use corelocal::priority::{Layout, Words};
use corelocal::{CpuId, CpuMask, CpuSlot, Priority, PriorityVec};
use std::sync::Arc;

/// A test's body for each layout. `$layout` is the body's type parameter.
macro_rules! each_layout {
    ($layout:ident => $body:block) => {{
        fn body<$layout: corelocal::priority::Layout>() {
            eprintln!("layout {}", $layout::NAME);
            $body
        }
        body::<corelocal::Packed>();
        body::<corelocal::Padded>();
        body::<corelocal::Split<9>>();
        body::<corelocal::ByCpu>();
        body::<corelocal::ByCpu<8>>();
    }};
}
use each_layout;

type Shared<L, const LEVELS: usize, W> = Arc<PriorityVec<L, LEVELS, W>>;
type Slots<L, const LEVELS: usize, W> = Vec<CpuSlot<Shared<L, LEVELS, W>>>;

/// A vector of `cpus` with its slots, all at no level.
fn claimed<L: Layout, const LEVELS: usize, W: Words>(
    cpus: &[u32],
) -> (Shared<L, LEVELS, W>, Slots<L, LEVELS, W>) {
    let vector = Arc::new(PriorityVec::try_new(cpus.iter().map(|id| CpuId::new(*id))).unwrap());
    let slots = cpus.iter().map(|id| PriorityVec::claim(vector.clone(), CpuId::new(*id)).unwrap());
    let slots = slots.collect();
    (vector, slots)
}

/// The usual vector over `cpus`.
fn usual<L: Layout>(
    cpus: &[u32],
) -> (Shared<L, 101, corelocal::priority::Atomic>, Slots<L, 101, corelocal::priority::Atomic>) {
    claimed(cpus)
}

fn mask(list: &str) -> CpuMask {
    list.parse().unwrap()
}

/// Level `level`, which some vector has.
fn level(level: u8) -> Priority {
    Priority::from_level(level).unwrap()
}

/// What `find` says: the level and the CPUs as a list.
fn find<L: Layout, const LEVELS: usize, W: Words>(
    vector: &PriorityVec<L, LEVELS, W>,
    priority: Priority,
    allowed: &CpuMask,
) -> Option<(Priority, String)> {
    // What was in it must not matter.
    let mut found = mask("1,64,700");
    let level = vector.find(priority, allowed, &mut found);
    assert_eq!(level.is_none(), found.is_empty(), "CPUs with a level, and none without");
    level.map(|level| (level, found.to_string()))
}
