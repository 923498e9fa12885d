//! The gate over lanes that a test scripts: what a scan finds when others come and go in the middle of
//! it, and who goes before whom.

use super::gate::{Count, Gate};
use crate::percpu::Added;
use crate::sync::{AtomicUsize, Mutex, Ordering};
use crate::sys::rseq::NoFence;
use std::sync::mpsc::channel;
use std::sync::{Arc, atomic};
use std::thread;
