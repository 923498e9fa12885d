//! Oracles: every order of a small struct, and a machine that runs the operations.

mod every_order;
mod machine;

use crate::{By, Field, Operation, Prices, Problem, Touched};

/// `SplitMix64`: the same problems in each run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A problem of so many fields.
pub(crate) fn problem(random: &mut Random, fields: usize) -> Problem {
    let shapes =
        [(1, 1), (2, 2), (4, 4), (8, 8), (8, 8), (16, 8), (24, 8), (40, 8), (64, 64), (100, 1)];
    let field = |at: usize, random: &mut Random| {
        let (size, align) = shapes[random.below(10) as usize];
        Field { name: format!("f{at}"), size, align, ty: None, on_line: false }
    };
    let fields: Vec<Field> = (0..fields).map(|at| field(at, random)).collect();
    let operation = |at: u64, random: &mut Random| {
        let by = [By::Owner, By::Others, By::All][random.below(3) as usize];
        let mut touches: Vec<Touched> = Vec::new();
        for field in 0..fields.len() {
            if random.below(2) == 0 {
                touches.push(Touched { field, written: random.below(3) == 0 });
            }
        }
        let weight = (1 + random.below(5)) as f64;
        Operation { name: format!("o{at}"), weight, by, touches }
    };
    let operations = (0..1 + random.below(4)).map(|at| operation(at, random)).collect();
    let align = fields.iter().map(|field| field.align).max().unwrap_or(1);
    Problem {
        name: "S".to_owned(),
        line: 64,
        align,
        fields,
        operations,
        cpus: [1, 2, 8][random.below(3) as usize],
        first: None,
        together: Vec::new(),
        prices: Prices::default(),
    }
}
