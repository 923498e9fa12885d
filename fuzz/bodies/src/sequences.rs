//! A fuzzer's bytes as sequences of operations.

use crate::allocator::{SHAPES, objects_never_overlap};
use crate::choices::{Bytes, Choices};
use crate::priority::compare;
use crate::rings::{Step, run};
use corelocal::{ByCpu, CpuId, Packed, Padded, Split};

/// The first byte chooses the number of CPUs, each other one a step of the allocator.
///
/// # Panics
///
/// As [`objects_never_overlap`].
pub fn allocator(input: &[u8]) {
    let Some((first, steps)) = input.split_first() else { return };
    let cpus = [0, 5, 64][usize::from(*first) % 3];
    let steps = steps.iter().map(|step| usize::from(*step) % (2 * SHAPES.len()));
    objects_never_overlap(cpus, steps);
}

/// The first bytes choose the CPUs and the layout, what follows is operations until it is used up.
///
/// # Panics
///
/// As [`compare`].
pub fn priority(input: &[u8]) {
    let mut bytes = Bytes(input);
    let layout = bytes.below(8);
    let ids = [1, 9, 64, 65, 130, 600][bytes.below(6)];
    let mut order: Vec<CpuId> = (0..ids).map(CpuId::new).collect();
    // Another order of the ids, and holes among them.
    for at in (1..order.len().min(20)).rev() {
        order.swap(at, bytes.below(at + 1));
    }
    order.truncate(order.len() - bytes.below(order.len()));
    while !bytes.is_empty() {
        // A vector of its own for each stretch.
        let operations = 1 + bytes.below(200) as u64;
        let random = &mut bytes;
        match layout {
            0 => compare::<Packed, 101>(&order, operations, random),
            1 => compare::<Padded, 101>(&order, operations, random),
            2 => compare::<Split, 101>(&order, operations, random),
            3 => compare::<ByCpu, 101>(&order, operations, random),
            4 => compare::<ByCpu<8>, 101>(&order, operations, random),
            5 => compare::<ByCpu<24>, 101>(&order, operations, random),
            6 => compare::<Split<9>, 127>(&order, operations, random),
            _ => compare::<ByCpu, 2>(&order, operations, random),
        }
    }
}

/// A byte or two for each step on a ring.
///
/// # Panics
///
/// As [`run`].
pub fn rings(input: &[u8]) {
    let mut bytes = Bytes(input);
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        steps.push(match bytes.below(16) {
            0 | 1 => Step::Read(bytes.below(12)),
            2 => Step::GiveBack,
            3 => Step::Skip,
            4 => Step::Renew,
            5 => Step::Move(None),
            6 => Step::Move(Some(bytes.below(6) as u32)),
            // Up to what a record may have.
            _ => Step::Write(bytes.below(241)),
        });
    }
    run(&steps);
}
