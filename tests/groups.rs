//! Groups of fields: where they lie, and what is promised of them.
#![forbid(unsafe_code)]

use std::fmt::Debug;
use std::mem::{align_of, offset_of, size_of};

use bytemuck::Zeroable;
use corelocal::cacheline::{CACHE_LINE, Edge, Layout, LayoutField, Limit, Proof, Rule, Touch};
use corelocal::{cacheline_group, cacheline_struct, layout_map};

#[derive(Clone, Copy, Default, Debug, PartialEq)]
#[repr(align(64))]
struct Avg([u64; 8]);

impl Avg {
    const fn new() -> Self {
        Self([0; 8])
    }
}

cacheline_struct! {
    /// What a CPU runs.
    #[derive(Clone, Copy, Default, Debug, PartialEq)]
    pub struct Queue {
        group hot(lines <= 2) {
            load: [u64; 2],
            nr_queued: u32,
            #[cfg(all())]
            throttle_count: i32,
            #[cfg(any())]
            absent: i32,
        }
        avg: [u64; 4],
        /// Documentation of a group.
        group throttle(aligned_if(64), lines <= 1, bytes == 8) {
            throttled: i32,
            on_list: i32,
        },
        group: u8,
        /// Documented.
        pub after: u8,
    }
    touches down { mut throttle_count, on_list, mut throttled, absent };
}

#[test]
fn works() {
    let q = Queue::default();
    println!("{}", Queue::LAYOUT);
    println!("{q:?}");
}

cacheline_struct! {
    #[derive(Default, Debug)]
    struct Generic<'a, T: Debug> where T: Clone, Vec<T>: Debug {
        group own(aligned, exclusive, lines <= 1) { value: T }
        name: &'a str,
    }
}

#[test]
fn generic() {
    let g = Generic {
        _edge0: Edge::new(),
        value: 3u8,
        _edge1: Edge::new(),
        name: "x",
        _proof: Proof::new(),
    };
    println!("{}", Generic::<u8>::LAYOUT);
    println!("{g:?}");
}
