//! What holds of every advice.

use advice::{By, Field, Operation, Prices, Problem, Touched, advise};
use proptest::prelude::*;

fn field(at: usize) -> impl Strategy<Value = Field> {
    (0usize..5, 1usize..20).prop_map(move |(shift, count)| Field {
        name: format!("f{at}"),
        size: count << shift,
        align: 1 << shift,
        ty: None,
        on_line: false,
    })
}

fn operation(at: usize, fields: usize) -> impl Strategy<Value = Operation> {
    let by = prop_oneof![Just(By::Owner), Just(By::Others), Just(By::All)];
    let touches = prop::collection::btree_map(0..fields, any::<bool>(), 1..=fields);
    (1u32..50, by, touches).prop_map(move |(weight, by, touches)| Operation {
        name: format!("o{at}"),
        weight: f64::from(weight),
        by,
        touches: touches.into_iter().map(|(field, written)| Touched { field, written }).collect(),
    })
}

prop_compose! {
    fn problems()(count in 1usize..10, operations in 1usize..5)(
        fields in (0..count).map(field).collect::<Vec<_>>(),
        operations in (0..operations).map(|at| operation(at, count)).collect::<Vec<_>>(),
        cpus in 1u32..9,
        line in prop_oneof![Just(32usize), Just(64), Just(128)],
        first in prop::option::of(0..count),
        together in 0..count,
    ) -> Problem {
        let align = fields.iter().map(|field| field.align).max().unwrap_or(1);
        // Two fields that stay together, unless the one is to be first and behind the other.
        let pair = vec![together, (together + 1) % fields.len()];
        let is_pair = pair[0] != pair[1] && first != Some(pair[1]);
        Problem {
            name: "S".to_owned(), line, align, fields, operations, cpus, first,
            together: if is_pair { vec![pair] } else { Vec::new() },
            prices: Prices::default(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn advice_is_never_worse_keeps_every_field_and_is_laid_out_as_it_says(problem in problems()) {
        let advice = advise(&problem).unwrap();
        prop_assert!(advice.after().cost <= advice.before().cost);
        prop_assert!(!advice.keeps() || advice.after() == advice.before());

        let mut names: Vec<&str> = advice.order().collect();
        let order: Vec<&str> = advice.order().collect();
        names.sort_unstable();
        let mut all: Vec<&str> = problem.fields.iter().map(|field| field.name.as_str()).collect();
        all.sort_unstable();
        prop_assert_eq!(names, all);
        if !advice.keeps() {
            if let Some(first) = problem.first {
                prop_assert_eq!(order[0], &problem.fields[first].name);
            }
            for pair in &problem.together {
                let at = |field: usize| order.iter().position(|n| *n == problem.fields[field].name);
                prop_assert_eq!(at(pair[0]).map(|at| at + 1), at(pair[1]));
            }
        }

        // By the rules of `repr(C)`, with no more than the start of a line to be forced.
        advice.with_layout(|map| {
            let mut end = 0usize;
            for field in map.fields() {
                let next = end.next_multiple_of(field.align);
                let forced = end.next_multiple_of(problem.line).next_multiple_of(field.align);
                prop_assert!([next, forced].contains(&field.offset), "{}", map);
                prop_assert!(field.offset == next || map.begins_on_a_line());
                end = field.end();
            }
            prop_assert_eq!(map.size(), end.next_multiple_of(map.align()));
            for (operation, cost) in problem.operations.iter().zip(&advice.after().operations) {
                let names: Vec<&str> = operation.touches.iter()
                    .map(|touch| problem.fields[touch.field].name.as_str()).collect();
                prop_assert_eq!(map.lines_of(&names).unwrap().count(), cost.lines);
            }
            Ok(())
        })?;
        prop_assert_eq!(&advise(&problem).unwrap(), &advice, "the same again");
    }
}

#[test]
fn what_is_no_problem_is_refused_and_said() {
    let field = |name: &str, size, align| Field {
        name: name.to_owned(),
        size,
        align,
        ty: None,
        on_line: false,
    };
    let mut problem = Problem {
        name: "S".to_owned(),
        line: 64,
        align: 8,
        fields: vec![field("a", 8, 8), field("b", 4, 4)],
        operations: Vec::new(),
        cpus: 2,
        first: None,
        together: Vec::new(),
        prices: Prices::default(),
    };
    let said = |problem: &Problem| advise(problem).unwrap_err().to_string();
    assert_eq!(said(&problem), "no operation touches a field, so any order is as good");
    problem.touches("read", 1.0, By::Owner, &[("a", false), ("not there", true)]);
    assert_eq!(problem.operations[0].touches, [Touched { field: 0, written: false }]);
    problem.touches("both", 1.0, By::Owner, &[("b", true), ("b", false)]);
    assert_eq!(problem.operations[1].touches, [Touched { field: 1, written: true }]);
    assert!(advise(&problem).is_ok());
    let with = |change: &dyn Fn(&mut Problem)| {
        let mut other = problem.clone();
        change(&mut other);
        said(&other)
    };
    type Case<'c> = (&'c dyn Fn(&mut Problem), &'c str);
    let cases: [Case<'_>; 9] = [
        (&|p| p.line = 48, "a line of 48 bytes: not a power of two"),
        (&|p| p.fields.clear(), "0 fields; there must be 1 to 256"),
        (&|p| p.fields[0].size = 7, "field a: alignment 8 is not a power of two that divides its"),
        (&|p| p.fields[1].name = "se.load".to_owned(), "\"se.load\" is not a field's name"),
        (&|p| p.fields[1].name = "a".to_owned(), "field a is there twice"),
        (&|p| p.operations[0].weight = f64::NAN, "operation read: weight NaN is not a number"),
        (&|p| p.operations[0].touches[0].field = 2, "read names a field that is not there"),
        (&|p| p.together = vec![vec![0, 1], vec![1]], "field b is there twice"),
        (&|p| (p.first, p.together) = (Some(1), vec![vec![0, 1]]), "field b cannot be first"),
    ];
    for (change, expected) in cases {
        let said = with(change);
        assert!(said.starts_with(expected), "{said:?} does not say {expected:?}");
    }
}

/// Moving fields around costs work and reviews: it must save something.
#[test]
fn an_order_that_costs_the_same_is_not_advised() {
    let field =
        |name: &str, on_line| Field { name: name.to_owned(), size: 8, align: 8, ty: None, on_line };
    let mut problem = Problem {
        name: "S".to_owned(),
        line: 64,
        align: 64,
        fields: vec![field("a", false), field("b", true), field("c", false)],
        operations: Vec::new(),
        cpus: 1,
        first: None,
        together: Vec::new(),
        prices: Prices { line: 1.0, transfer: 0.0, memory: 0.0 },
    };
    problem.touches("read", 1.0, By::Owner, &[("c", false)]);
    assert!(advise(&problem).unwrap().keeps());
    problem.touches("both", 1.0, By::Owner, &[("a", false), ("c", false)]);
    assert!(!advise(&problem).unwrap().keeps());
}
