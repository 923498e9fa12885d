//! The search against every order of a few fields.

use super::{Random, problem};
use crate::cost::Cost;
use crate::place::Plan;
use crate::{Problem, advise};

/// The least cost of all orders with lines forced anywhere.
fn least(problem: &Problem) -> f64 {
    let mut least = Cost::of(problem, &Plan::given(problem).place(problem)).cost;
    let mut order: Vec<usize> = (0..problem.fields.len()).collect();
    each_order(&mut order, 0, &mut |order| {
        for breaks in 0..1 << order.len() {
            for align in [1, problem.line] {
                let breaks = (0..order.len()).map(|at| breaks >> at & 1 == 1).collect();
                let plan = Plan { order: order.to_vec(), breaks, align };
                least = least.min(Cost::of(problem, &plan.place(problem)).cost);
            }
        }
    });
    least
}

fn each_order(order: &mut [usize], from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == order.len() {
        return visit(order);
    }
    for at in from..order.len() {
        order.swap(from, at);
        each_order(order, from + 1, visit);
        order.swap(from, at);
    }
}

#[test]
fn no_order_of_a_few_fields_is_cheaper_than_the_advice() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let fields = 1 + random.below(4) as usize;
        let mut problem = problem(&mut random, fields);
        problem.operations.retain(|operation| !operation.touches.is_empty());
        if problem.operations.is_empty() {
            continue;
        }
        let advice = advise(&problem).expect("a problem");
        let (found, least) = (advice.after().cost, least(&problem));
        assert!(found <= least + 1e-5, "seed {seed}: {found}, but there is {least}: {problem:?}");
    }
}
