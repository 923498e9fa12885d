//! Advice on the order of a kernel's structures: `sched layout --advise`.

use crate::structs::operations::{Maps, OPERATIONS};
use crate::structs::{v6_14, v7_2, v7_3};
use advice::{Advice, By, Place, Problem, ProblemError, Samples, advise};
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

/// A structure of one CPU's. Its steps run on that CPU, but for `distribute`: the timer that hands out
/// quota runs on any. They are counted as one CPU's all the same unless [`Problem::cpus`] is set,
/// because lines are what was counted for the kernels.
///
/// Nobody knows how often a step runs. Each is taken to touch as many lines in all as any other: what
/// touches few of them runs more often.
fn of_group(
    kernel: &Maps,
    map: &Layout<'static>,
    name: &str,
    touches: impl Fn(&crate::structs::operations::Operation) -> Vec<(&'static str, bool)>,
) -> Problem {
    let mut problem = Problem::from_layout(map, By::Owner);
    problem.name = name.to_owned();
    problem.cpus = 1;
    for field in &mut problem.fields {
        field.ty = type_of(&field.name, name).map(str::to_owned);
    }
    for operation in OPERATIONS {
        let by = if operation.name == "distribute" { By::Others } else { By::Owner };
        let (queue, entity) = operation.lines(kernel);
        let weight = 1.0 / (queue + entity) as f64;
        let weight = (weight * 1000.0).round() / 1000.0;
        let mut touches = touches(operation);
        // A set: what is only read first.
        touches.sort_by_key(|touch| touch.1);
        problem.touches(operation.name, weight, by, &touches);
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
/// changes its priority raises one level, where the bit is set through the pointer and then the count
/// changed, and lowers another, the other way round. Whoever looks for a CPU reads both.
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

/// Advice on a structure: from `samples` of accesses to `base` and what follows, where there are any,
/// else from the sets of fields that are known of its steps.
///
/// # Errors
///
/// One line that says why there is none.
pub fn advice_on(
    subject: Subject,
    kernel: &Maps,
    samples: Option<(&Samples, &Place)>,
    cpus: Option<u32>,
) -> Result<Advice, String> {
    let mut problem = subject.problem(kernel);
    if let Some((samples, base)) = samples {
        problem
            .observe(samples, base, subject.elements() as u64)
            .map_err(|error| error.to_string())?;
    }
    problem.cpus = cpus.unwrap_or(problem.cpus);
    advise(&problem).map_err(|error: ProblemError| error.to_string())
}

/// The advice as it is printed, with the array's shapes where there are many in a row.
pub fn report(subject: Subject, advice: &Advice) -> String {
    let mut text = advice.to_string();
    let elements = subject.elements();
    if elements > 1 {
        text += &format!("\n{}", advice.array_table(elements));
        if !advice.keeps() {
            text += &format!("\nThe split:\n{}", advice.split_text(elements));
        }
    }
    text
}

/// Lines of each step in all, queue and entity together: as the kernel has them, and as advised.
pub fn steps(kernel: &Maps, queue: &Advice, entity: &Advice) -> Vec<(&'static str, usize, usize)> {
    let advised = |advice: &Advice, name: &str| {
        let steps = advice.problem().operations.iter().zip(&advice.after().operations);
        steps.filter(|(step, _)| step.name == name).map(|(_, cost)| cost.lines).sum::<usize>()
    };
    let steps = OPERATIONS.iter().map(|operation| {
        let (own, se) = operation.lines(kernel);
        let name = operation.name;
        (name, own + se, advised(queue, name) + advised(entity, name))
    });
    steps.collect()
}

/// The steps as a table.
pub fn steps_table(kernel: &Maps, queue: &Advice, entity: &Advice) -> String {
    let steps = steps(kernel, queue, entity);
    let wide = steps.iter().map(|step| step.0.len()).max().unwrap_or(0);
    let mut text = format!("{:wide$}  lines of queue and entity\n", "step");
    let mut all = (0, 0);
    for (name, before, after) in steps {
        text += &format!("{name:wide$}  {before:>3} -> {after:>2}\n");
        all = (all.0 + before, all.1 + after);
    }
    text + &format!("{:wide$}  {:>3} -> {:>2}\n", "all", all.0, all.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structs::operations::KERNELS;
    use advice::ArrayShape;
    use corelocal::cacheline::Access;

    #[test]
    fn the_given_order_is_the_kernels_to_the_byte() {
        for kernel in &KERNELS {
            for (subject, map) in [(Subject::CfsRq, &kernel.cfs_rq), (Subject::Se, &kernel.se)] {
                let mut problem = subject.problem(kernel);
                // Nothing to do: the quickest advice.
                problem.operations.truncate(1);
                problem.operations[0].touches.truncate(1);
                let advice = advise(&problem).expect("a problem");
                advice.with_given(|given| {
                    assert_eq!(given.size(), map.size(), "{}", kernel.name);
                    for field in map.fields() {
                        let own = given.field(field.name).map(|own| own.offset);
                        assert_eq!(own, Some(field.offset), "{} {}", kernel.name, field.name);
                    }
                });
                assert!(problem.fields.iter().all(|field| field.ty.is_some()), "{}", kernel.name);
            }
        }
    }

    /// From 6.14, no step may touch more lines than in the RFC's order, and all together must touch
    /// fewer; the structures may not be larger.
    #[test]
    fn from_6_14_the_advice_is_as_good_as_the_rfc_in_every_step() {
        let [kernel, rfc, ..] = &KERNELS;
        let advice = |subject| advice_on(subject, kernel, None, None).expect("advice");
        let (queue, entity) = (advice(Subject::CfsRq), advice(Subject::Se));
        assert_eq!((queue.before().size, queue.after().size), (512, 448));
        assert_eq!((entity.before().size, entity.after().size), (256, 256));
        let (mut advised, mut theirs) = (0, 0);
        for (operation, (name, before, after)) in
            OPERATIONS.iter().zip(steps(kernel, &queue, &entity))
        {
            let (own, se) = operation.lines(rfc);
            assert!(after <= own + se, "{name}: {before} -> {after}, the RFC has {}", own + se);
            // Counted again from the map alone.
            let again = |advice: &Advice, access: &Access<'_>| {
                advice.with_layout(|map| map.lines_of_access(access).count())
            };
            assert_eq!(after, again(&queue, &operation.cfs_rq) + again(&entity, &operation.se));
            (advised, theirs) = (advised + after, theirs + own + se);
        }
        assert_eq!(theirs, 69);
        assert!(advised <= 60, "{advised} lines");
    }

    #[test]
    fn from_the_packed_vector_the_count_leaves_the_masks_line() {
        let advice = advice_on(Subject::CpupriVec, &KERNELS[0], None, None).expect("advice");
        assert_eq!((advice.before().size, advice.after().size), (16, 128));
        assert_ne!(advice.line_of("count"), advice.line_of("mask"));
        assert!(advice.after().transfers < 0.85 * advice.before().transfers, "{advice}");
        let [packed, padded, split] = advice.as_array(LEVELS);
        let sizes = [&packed, &padded, &split].map(|shape| (shape.shape, shape.bytes, shape.lines));
        let expected = [
            (ArrayShape::Given, 1616, 26),
            (ArrayShape::Advised, 12928, 202),
            // 7 lines of counts, 13 of pointers.
            (ArrayShape::Split, 7 * 64 + 808, 20),
        ];
        assert_eq!(sizes, expected);
        assert!(split.cost < padded.cost && padded.cost < packed.cost);
        assert!((split.transfers - padded.transfers).abs() < 1e-6);
        let text = advice.split_text(LEVELS);
        assert!(text.contains("pub count: [AtomicU32; 101],"), "{text}");
    }

    /// Where another CPU hands out quota, what it writes leaves the lines that the owner reads.
    #[test]
    fn with_a_second_cpu_the_transfers_fall() {
        let advice = advice_on(Subject::CfsRq, &KERNELS[0], None, Some(2)).expect("advice");
        assert!(advice.before().transfers > 0.3, "{advice}");
        assert!(advice.after().transfers < 0.6 * advice.before().transfers, "{advice}");
    }
}
