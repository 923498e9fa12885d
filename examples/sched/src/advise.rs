//! Advice on the order of a kernel's structures: `sched layout --advise`.

use crate::structs::operations::{Maps, OPERATIONS};
use crate::structs::{v6_14, v7_2, v7_3};
use advice::{By, Problem};
use corelocal::cacheline::{Layout, LayoutField};

/// A structure that there can be advice on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A group's queue on one CPU.
    CfsRq,
    /// A group's entity on one CPU.
    Se,
    /// A priority's count and mask in the kernel's priority vector, packed as they were.
    CpupriVec,
}

/// Levels of the priority vector.
pub const LEVELS: usize = 101;

impl Subject {
    /// All of them, by name.
    pub const NAMES: [(&'static str, Self); 3] =
        [("cfs_rq", Self::CfsRq), ("se", Self::Se), ("cpupri_vec", Self::CpupriVec)];

    /// How many there are in a row.
    pub fn elements(self) -> usize {
        if self == Self::CpupriVec { LEVELS } else { 1 }
    }

    /// The structure as `kernel` has it, with its operations.
    pub fn problem(self, kernel: &Maps) -> Problem {
        match self {
            Self::CfsRq => of_group(kernel, &kernel.cfs_rq, "CfsRq", |operation| {
                operation.cfs_rq.touches.iter().map(|t| (t.field, t.written)).collect()
            }),
            Self::Se => of_group(kernel, &kernel.se, "SchedEntity", |operation| {
                operation.se.touches.iter().map(|t| (t.field, t.written)).collect()
            }),
            Self::CpupriVec => cpupri_vec(),
        }
    }
}

/// A structure that lies with one CPU's. Its steps are that CPU's, but for `distribute`: the timer
/// that hands out quota runs on any CPU.
fn of_group(
    kernel: &Maps,
    map: &Layout<'static>,
    name: &str,
    touches: impl Fn(&crate::structs::operations::Operation) -> Vec<(&'static str, bool)>,
) -> Problem {
    let mut problem = Problem::from_layout(map, By::Owner);
    problem.name = name.to_owned();
    problem.cpus = 2;
    for field in &mut problem.fields {
        field.ty = type_of(&field.name, name).map(str::to_owned);
    }
    for operation in OPERATIONS {
        let by = if operation.name == "distribute" { By::Others } else { By::Owner };
        let (queue, entity) = operation.lines(kernel);
        let weight = 1.0 / (queue + entity) as f64;
        problem.touches(operation.name, weight, by, &touches(operation));
    }
    problem
}

/// A field's type. A name has the same one in each kernel.
fn type_of(field: &str, structure: &str) -> Option<&'static str> {
    let tables = match structure {
        "CfsRq" => [v6_14::CfsRq::TYPES, v7_2::CfsRq::TYPES, v7_3::CfsRq::TYPES],
        _ => [v6_14::SchedEntity::TYPES, v7_2::SchedEntity::TYPES, v7_3::SchedEntity::TYPES],
    };
    let mut types = tables.into_iter().flatten();
    types.find(|(name, _)| *name == field).map(|(_, ty)| *ty)
}

/// One priority's count and the pointer to its mask, before they were pulled apart. Every CPU that
/// changes its priority raises one level and lowers another, in this order of steps: the bit is set
/// through the pointer, then the count is changed. Whoever looks for a CPU reads both.
fn cpupri_vec() -> Problem {
    let fields = [LayoutField::new("count", 0, 4, 4), LayoutField::new("mask", 8, 8, 8)];
    let map = Layout::new("CpupriVec", 16, 8, &fields, &[], &[]).with_line(64);
    let mut problem = Problem::from_layout(&map, By::All);
    problem.fields[0].ty = Some("AtomicU32".to_owned());
    problem.fields[1].ty = Some("AtomicPtr<u64>".to_owned());
    problem.cpus = 480;
    problem.touches("raise", 1.0, By::All, &[("mask", false), ("count", true)]);
    problem.touches("lower", 1.0, By::All, &[("count", true), ("mask", false)]);
    problem.touches("find", 1.0, By::All, &[("count", false), ("mask", false)]);
    problem
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structs::operations::KERNELS;
    use advice::advise;

    #[test]
    fn scratch() {
        for (name, by) in [("all owner", 1), ("distribute other", 2)] {
            println!("==== {name}");
            let [k, reorder, ..] = &KERNELS;
            let mut sum = [0usize; 3];
            let advised: Vec<_> = [Subject::CfsRq, Subject::Se]
                .iter()
                .map(|s| {
                    let mut p = s.problem(k);
                    p.cpus = by;
                    let t = std::time::Instant::now();
                    let a = advise(&p).unwrap();
                    println!("{:?}", t.elapsed());
                    println!("{:?} {:?}", a.before().cost, a.after().cost);
                    a
                })
                .collect();
            for o in OPERATIONS {
                let (a, b) = o.lines(k);
                let (c, d) = o.lines(reorder);
                let lines = |i: usize| {
                    let p = advised[i].problem();
                    p.operations
                        .iter()
                        .zip(&advised[i].after().operations)
                        .find(|(x, _)| x.name == o.name)
                        .map_or(0, |x| x.1.lines)
                };
                let n = lines(0) + lines(1);
                println!(
                    "{} {} {} {}{}",
                    o.name,
                    a + b,
                    c + d,
                    n,
                    if n > c + d { "  WORSE" } else { "" }
                );
                sum[0] += a + b;
                sum[1] += c + d;
                sum[2] += n;
            }
            println!("{sum:?}");
        }
        let a = advise(&Subject::CpupriVec.problem(&KERNELS[0])).unwrap();
        println!("{a}\n{}\n{}", a.array_table(101), a.split_text(101));
    }
}
