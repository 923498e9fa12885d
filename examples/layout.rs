//! The layout map of a struct: a table, what a reordering changes, and a drawing.
//!
//! ```text
//! cargo run --example layout                  # the table and the comparison
//! cargo run --example layout -- layout.svg    # and the drawing of the second map
//! ```

#![allow(
    missing_debug_implementations,
    dead_code,
    reason = "only the layout of these structs is used"
)]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use corelocal::Topology;
use corelocal::cacheline::LineWarning;
use corelocal::{cacheline_struct, layout_map};

/// A connection as it grew over the years: fields in the order in which they were added.
#[repr(C, align(64))]
pub struct Grown {
    id: u64,
    peer: [u8; 28],
    state: AtomicU32,
    opened_at: u64,
    bytes_in: AtomicU64,
    label: [u8; 48],
    bytes_out: AtomicU64,
    timeout_ms: u32,
    is_closing: AtomicBool,
    queue_head: AtomicU32,
    errors: AtomicU32,
    queue_tail: AtomicU32,
}

layout_map! {
    /// Where its bytes lie; and what an arriving packet and a peek at the queue touch.
    pub const GROWN: Grown {
        id, peer, state, opened_at, bytes_in, label, bytes_out, timeout_ms, is_closing,
        queue_head, errors, queue_tail,
    }
    touches receive { state, mut bytes_in, mut queue_tail };
    touches poll { state, is_closing, queue_head, queue_tail };
}

cacheline_struct! {
    /// The same, by use: what each packet writes, what is read and hardly written, and the rest.
    #[repr(align(64))]
    pub struct Connection {
        group traffic(lines <= 1) {
            state: AtomicU32,
            is_closing: AtomicBool,
            queue_head: AtomicU32,
            queue_tail: AtomicU32,
            bytes_in: AtomicU64,
            bytes_out: AtomicU64,
        }
        group setup(aligned, apart(traffic)) {
            id: u64,
            opened_at: u64,
            peer: [u8; 28],
            timeout_ms: u32,
        }
        errors: AtomicU32,
        label: [u8; 48],
    }
    touches receive { state, mut bytes_in, mut queue_tail } in <= 1 lines;
    touches poll { state, is_closing, queue_head, queue_tail } in <= 1 lines;
}

fn main() -> ExitCode {
    if let Some(warning) = Topology::current().cache_line().and_then(LineWarning::for_line) {
        eprintln!("warning: {warning}");
    }
    println!("{GROWN}");
    println!("{}", Connection::LAYOUT);
    println!("{}", Connection::LAYOUT.diff(&GROWN));

    let Some(file) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return ExitCode::SUCCESS;
    };
    match std::fs::write(&file, Connection::LAYOUT.to_svg()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}
