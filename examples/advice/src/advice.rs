//! [`advise`]: the whole way from a problem to an order.

use crate::bins::Space;
use crate::cost::Cost;
use crate::place::{Placed, Plan};
use crate::search::{search, sorted};
use crate::{Problem, ProblemError};
use corelocal::cacheline::{Layout, LayoutField};

/// An order of fields, and what it saves. Printed, it is a report with the text of the struct.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    pub(crate) problem: Problem,
    pub(crate) plan: Plan,
    pub(crate) placed: Placed,
    pub(crate) given: Placed,
    before: Cost,
    after: Cost,
}

/// Finds an order that costs less than the given one, if it can.
///
/// The same problem gives the same advice. The number of tries is bounded: 40 fields and 16 operations
/// take half a second, and 256 fields take seconds.
///
/// # Errors
///
/// If the problem is none: see [`ProblemError`].
pub fn advise(problem: &Problem) -> Result<Advice, ProblemError> {
    problem.check()?;
    let space = Space::new(problem);
    let given = Plan::given(problem);
    let before = Cost::of(problem, &given.place(problem));
    let (mut best, mut least) = (given.clone(), price(problem, &given));
    for bins in search(&space) {
        for plan in plans(&space, sorted(&space, bins)) {
            let cost = price(problem, &plan);
            if cost < least - 1e-9 {
                (best, least) = (plan, cost);
            }
        }
    }
    let mut best = polish(&space, best, least);
    let mut after = Cost::of(problem, &best.place(problem));
    if after.cost >= before.cost - 1e-9 {
        (best, after) = (given.clone(), before.clone());
    }
    let (placed, given) = (best.place(problem), given.place(problem));
    Ok(Advice { problem: problem.clone(), plan: best, placed, given, before, after })
}

/// What a plan costs; of two that cost the same, the one that forces fewer lines is cheaper.
fn price(problem: &Problem, plan: &Plan) -> f64 {
    let forced = plan.breaks.iter().filter(|&&is| is).count();
    Cost::of(problem, &plan.place(problem)).cost + FORCED * forced as f64
}

const FORCED: f64 = 1e-6;

/// How many orders are looked at in the end.
const POLISH: u32 = 4000;

/// Moves units in the order itself, forces lines or does not, as long as that is exactly cheaper: bins
/// know nothing of the struct's size, nor of structs that begin in the middle of a line.
fn polish(space: &Space<'_>, plan: Plan, mut least: f64) -> Plan {
    let (mut best, mut left, mut is_better) = (plan, POLISH, true);
    while is_better && left > 0 {
        is_better = false;
        let units = space.units_in(&best);
        for (from, to) in
            (0..units.len()).flat_map(|from| (0..units.len()).map(move |to| (from, to)))
        {
            let mut other = units.clone();
            if from == to {
                other[from].1 ^= true;
            } else {
                let unit = other.remove(from);
                other.insert(to, unit);
            }
            for align in [1, space.problem.line] {
                let plan = space.plan_of(&other, align);
                let is_kept = space.problem.first.is_none_or(|first| plan.order[0] == first);
                left = left.saturating_sub(1);
                if !is_kept || left == 0 {
                    continue;
                }
                let cost = price(space.problem, &plan);
                if cost < least - 1e-9 {
                    (best, least, is_better) = (plan, cost, true);
                }
            }
            if is_better {
                break;
            }
        }
    }
    best
}

/// More bins than this are left in their order.
const MOVABLE: usize = 24;

/// Some orders of the bins: the order of use, one that has fewer forced lines, and the same without
/// any, on a struct that may begin anywhere.
fn plans(space: &Space<'_>, mut bins: Vec<Vec<usize>>) -> Vec<Plan> {
    let forced = |bins: &[Vec<usize>]| {
        let plan = space.plan(bins);
        (plan.place(space.problem).size, plan.breaks.iter().filter(|&&is| is).count())
    };
    let mut plans = vec![space.plan(&bins)];
    let mut least = forced(&bins);
    let mut is_better = bins.len() <= MOVABLE;
    while is_better {
        is_better = false;
        for from in 0..bins.len() {
            for to in 0..bins.len() {
                let mut other = bins.clone();
                let bin = other.remove(from);
                other.insert(to, bin);
                let is_kept = space.problem.first.is_none() || space.is_first(&other[0]);
                let found = forced(&other);
                if is_kept && found < least {
                    (bins, least, is_better) = (other, found, true);
                }
            }
        }
    }
    plans.push(space.plan(&bins));
    let mut loose = plans[1].clone();
    loose.breaks.fill(false);
    loose.align = 1;
    plans.push(loose);
    plans
}

impl Advice {
    /// What was asked.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// Whether the given order was as good as anything that was found, and is therefore kept.
    pub fn keeps(&self) -> bool {
        self.placed == self.given
    }

    /// What the given order costs.
    pub fn before(&self) -> &Cost {
        &self.before
    }

    /// What the advised order costs.
    pub fn after(&self) -> &Cost {
        &self.after
    }

    /// The fields' names in the advised order.
    pub fn order(&self) -> impl Iterator<Item = &str> {
        self.plan.order.iter().map(|&field| self.problem.fields[field].name.as_str())
    }

    /// The line that a field begins on, counted from the struct's first byte.
    pub fn line_of(&self, field: &str) -> Option<usize> {
        Some(self.placed.offsets[self.problem.index_of(field)?] / self.problem.line)
    }

    /// Calls `use_map` with the map of the advised struct, without groups and operations.
    pub fn with_layout<R>(&self, use_map: impl FnOnce(&Layout<'_>) -> R) -> R {
        self.with_map(&self.placed, &self.plan.order, use_map)
    }

    /// Calls `use_map` with the map of the given struct, as it is taken to be.
    pub fn with_given<R>(&self, use_map: impl FnOnce(&Layout<'_>) -> R) -> R {
        let order: Vec<usize> = (0..self.problem.fields.len()).collect();
        self.with_map(&self.given, &order, use_map)
    }

    fn with_map<R>(
        &self,
        placed: &Placed,
        order: &[usize],
        use_map: impl FnOnce(&Layout<'_>) -> R,
    ) -> R {
        let field = |&at: &usize| {
            let field = &self.problem.fields[at];
            LayoutField::new(&field.name, placed.offsets[at], field.size, field.align)
        };
        let fields: Vec<_> = order.iter().map(field).collect();
        let map = Layout::new(&self.problem.name, placed.size, placed.align, &fields, &[], &[]);
        use_map(&map.with_line(self.problem.line))
    }
}
