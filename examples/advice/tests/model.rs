//! A recorded run of the coherence model: what was recorded gives the advice, and what the advice
//! predicts is what the model counts when it runs the same operations on the advised struct.

use advice::{Advice, ArrayShape, By, Field, Kind, Place, Prices, Problem, Samples, advise};
use model::coherence::{self, Directory, Machine, Numbering};

const CPUS: usize = 8;
/// Levels of a priority vector.
const LEVELS: u64 = 101;
/// Where it begins: 8 bytes before the end of a line, as the kernel's does.
const BASE: u64 = 0x7f38;

/// A count and the pointer to a mask, packed.
fn packed() -> Problem {
    let field = |name: &str, size, align| Field {
        name: name.to_owned(),
        size,
        align,
        ty: None,
        on_line: false,
    };
    Problem {
        name: "Level".to_owned(),
        line: 64,
        align: 8,
        fields: vec![field("count", 4, 4), field("mask", 8, 8)],
        operations: Vec::new(),
        cpus: 1,
        first: None,
        together: Vec::new(),
        prices: Prices::default(),
    }
}

/// The steps of an operation: field, and whether it is changed.
const OPERATIONS: [(&str, &[(usize, bool)]); 3] = [
    ("raise", &[(1, false), (0, true)]),
    ("lower", &[(0, true), (1, false)]),
    ("find", &[(0, false), (1, false)]),
];

/// Runs operations of all CPUs on all levels; `at` says where a level's field lies. Misses of an
/// average operation, and what was recorded.
fn run(at: impl Fn(u64, usize) -> u64, operations: u32) -> (f64, Samples) {
    let machine = Machine::new(1, CPUS, 1, Numbering::Linux).unwrap();
    let (mut directory, mut samples, mut state) = (Directory::new(machine), Samples::new(), 7u64);
    let mut below = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state >> 16) * u128::from(bound)) >> 48) as u64
    };
    for _ in 0..operations {
        let (tag, cpu, level) = (below(3) as usize, below(CPUS as u64), below(LEVELS));
        directory.begin(cpu as usize, tag as u32);
        for &(field, changed) in OPERATIONS[tag].1 {
            let (address, size) = (at(level, field), [4, 8][field]);
            let (kind, own) = match changed {
                true => (coherence::Kind::Rmw, Kind::Rmw),
                false => (coherence::Kind::Load, Kind::Load),
            };
            directory.access(cpu as usize, address, size, kind, tag as u32);
            assert!(samples.record(address, size, own, cpu as u32, OPERATIONS[tag].0));
        }
    }
    (directory.total().misses() as f64 / f64::from(operations), samples)
}

/// What the advice says of the array, and what the model counts where it may begin: at any multiple of
/// the struct's alignment.
fn compare(
    advice: &Advice,
    shape: ArrayShape,
    align: u64,
    at: impl Fn(u64, usize) -> u64,
) -> (f64, f64) {
    let shapes = advice.as_array(LEVELS as usize);
    let predicted = shapes.iter().find(|own| own.shape == shape).unwrap().transfers;
    let bases = (0..64).step_by(align as usize);
    let count = bases.clone().count();
    let counted = bases.map(|base| run(|level, field| base + at(level, field), 60_000).0);
    (predicted, counted.sum::<f64>() / count as f64)
}

#[test]
fn a_recorded_run_gives_advice_and_the_model_counts_what_was_predicted() {
    let (_, samples) = run(|level, field| BASE + 16 * level + 8 * field as u64, 20_000);
    let mut problem = packed();
    let observed = problem.observe(&samples, &Place::Address(BASE), LEVELS).unwrap();
    assert_eq!((observed.outside, observed.in_gaps), (0, 0));
    assert_eq!(problem.cpus, CPUS as u32);
    assert!(problem.operations.iter().all(|operation| operation.by == By::All));
    let mut names: Vec<&str> = problem.operations.iter().map(|o| o.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["find", "lower", "raise"]);

    // A recording has no order of steps; it is known here, and halves what `lower` costs.
    let unordered = advise(&problem).unwrap();
    assert_ne!(unordered.line_of("count"), unordered.line_of("mask"));
    problem.operations.clear();
    for (name, steps) in OPERATIONS {
        let steps: Vec<_> =
            steps.iter().map(|&(field, changed)| (["count", "mask"][field], changed)).collect();
        problem.touches(name, 1.0, By::All, &steps);
    }
    let advice = advise(&problem).unwrap();
    assert_eq!(advice.order().collect::<Vec<_>>(), unordered.order().collect::<Vec<_>>());

    let (count, mask) = (advice.line_of("count").unwrap(), advice.line_of("mask").unwrap());
    let lines = [64 * count as u64, 64 * mask as u64];
    let found = [
        compare(&advice, ArrayShape::Given, 8, |level, field| 16 * level + 8 * field as u64),
        compare(&advice, ArrayShape::Advised, 64, |level, field| 128 * level + lines[field]),
        compare(&advice, ArrayShape::Split, 64, |level, field| {
            [4, 8][field] * level + 0x1000 * field as u64
        }),
    ];
    for (predicted, counted) in found {
        assert!((predicted - counted).abs() < 0.03 * counted, "{found:?}");
    }
    let counted = found.map(|(_, counted)| counted);
    assert!(counted[1] < 0.9 * counted[0] && counted[2] < 0.9 * counted[0], "{found:?}");
}
