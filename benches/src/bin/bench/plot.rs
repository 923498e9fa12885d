//! Plots as inline SVG. Colours come from the page's style, so that they follow light and dark.

use crate::against::Scaling;
use crate::result::{Case, Role};
use benches::table::digits;
use maud::{Markup, html};

// Pixels.
const WIDTH: f64 = 576.0;
const NAMES: f64 = 220.0;
const FIGURES: f64 = 100.0;
const BARS: f64 = WIDTH - NAMES - FIGURES;
const ROW: f64 = 20.0;
/// Longer than so many times the shortest, a bar is cut: the others could not be told apart.
const CUT: f64 = 12.0;

/// The style of a case's marks.
fn class(role: Role) -> &'static str {
    match role {
        Role::Ours => "ours",
        Role::Null => "null",
        Role::Floor => "floor",
        Role::Peer => "peer",
    }
}

/// A scene: a bar a case, the fastest on top, with the interval as a line.
pub(crate) fn bars(cases: &[&Case]) -> Markup {
    let mut cases = cases.to_vec();
    cases.sort_by(|one, other| one.ns.median.total_cmp(&other.ns.median));
    let shortest = cases.first().map_or(1.0, |case| case.ns.median);
    let longest = cases.last().map_or(1.0, |case| case.ns.median);
    let scale = BARS / longest.min(shortest * CUT);
    let height = cases.len() as f64 * ROW + 4.0;
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height) role="img"
            aria-label="nanoseconds an operation" {
            @for (at, case) in cases.iter().enumerate() { "\n" (bar(case, at as f64 * ROW, scale)) }
            "\n"
        }
    }
}

fn bar(case: &Case, y: f64, scale: f64) -> Markup {
    let (x, ns) = (|ns: f64| NAMES + (ns * scale).min(BARS), case.ns);
    let (end, is_cut) = (x(ns.median), ns.median * scale > BARS + 0.5);
    let text = y + 14.0;
    let spread = format!("{} [{}, {}] ns", digits(ns.median), digits(ns.lo), digits(ns.hi));
    html! {
        g class=(class(case.role)) {
            title { (case.peer) ": " (spread) }
            text x=(NAMES - 8.0) y=(text) text-anchor="end" { (short(&case.peer)) }
            rect x=(NAMES) y=(y + 3.0) width=(tenth((end - NAMES).max(1.0))) height="14" {}
            @if is_cut {
                path class="break" d=(format!("M{} {}l6 -8l-6 -4l6 -8", end - 22.0, y + 20.0)) {}
            } @else {
                line class="spread" x1=(tenth(x(ns.lo))) x2=(tenth(x(ns.hi))) y1=(y + 10.0) y2=(y + 10.0) {}
            }
            text x=(tenth(x(ns.hi) + 8.0)) y=(text) { (digits(ns.median)) }
        }
    }
}

/// Time on one thread and on more, a row a case, on a logarithmic axis: where the marks lie on each
/// other, more threads cost nothing.
pub(crate) fn scaling(scaling: &Scaling<'_>) -> Markup {
    let rows: Vec<_> = scaling.peers.iter().filter(|cases| cases[0].role != Role::Null).collect();
    let all = || rows.iter().flat_map(|cases| cases.iter().map(|case| case.ns.median));
    let low = all().fold(f64::MAX, f64::min).log10().floor();
    let high = all().fold(0.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |ns: f64| NAMES + 6.0 + (ns.log10() - low) / (high - low) * (BARS - 12.0);
    let bottom = rows.len() as f64 * ROW + 4.0;
    let height = bottom + 18.0;
    let most = scaling.threads.last().copied().unwrap_or(1);
    html! {
        svg viewBox=(format!("0 0 {WIDTH} {height}")) width=(WIDTH) height=(height) role="img"
            aria-label=(format!("time on one thread and on up to {most}")) {
            @for power in low as i32..=high as i32 {
                @let at = tenth(x(10.0_f64.powi(power)));
                "\n"
                g class="axis" {
                    line x1=(at) x2=(at) y1="0" y2=(bottom) {}
                    text x=(at) y=(height - 4.0) text-anchor="middle" { (power_of_ten(power)) " ns" }
                }
            }
            @for (at, cases) in rows.iter().enumerate() {
                "\n"
                (marks(&scaling.threads, cases, at as f64 * ROW, x))
            }
            "\n"
        }
    }
}

/// A ring for one thread, and discs for more, the larger the more.
fn marks(threads: &[usize], cases: &[&Case], y: f64, x: impl Fn(f64) -> f64) -> Markup {
    let at: Vec<f64> = cases.iter().map(|case| tenth(x(case.ns.median))).collect();
    let (left, right) =
        (at.iter().copied().fold(f64::MAX, f64::min), at.iter().copied().fold(0.0, f64::max));
    let (middle, text, one) = (y + 10.0, y + 14.0, cases[0]);
    let told: Vec<String> = threads
        .iter()
        .zip(cases)
        .map(|(threads, case)| format!("{} ns on {threads}", digits(case.ns.median)))
        .collect();
    let last = cases[cases.len() - 1].ns.median;
    html! {
        g class=(class(one.role)) {
            title { (one.peer) ": " (told.join(", ")) }
            text x=(NAMES - 8.0) y=(text) text-anchor="end" { (short(&one.peer)) }
            line class="way" x1=(left) x2=(right) y1=(middle) y2=(middle) {}
            circle class="hollow" cx=(at[0]) cy=(middle) r="4.5" {}
            @for (more, at) in at.iter().enumerate().skip(1) {
                @let radius = 4.0 - (at_most_two(cases.len() - 1 - more)) * 0.8;
                circle cx=(at) cy=(middle) r=(radius) {}
            }
            text x=(WIDTH - FIGURES + 8.0) y=(text) { (digits(last / one.ns.median)) " times" }
        }
    }
}

fn at_most_two(count: usize) -> f64 {
    count.min(2) as f64
}

// Pixels of a range, and the decades it shows to each side of 1.
const RANGE: f64 = 180.0;
const DECADES: f64 = 3.0;

/// From the least to the most ratio on a logarithmic axis with 1 in the middle: what is left of it
/// is ahead, what is right of it behind.
pub(crate) fn range(least: f64, most: f64) -> Markup {
    let x = |ratio: f64| {
        let decades = ratio.log10().clamp(-DECADES, DECADES);
        tenth(RANGE / 2.0 + decades / DECADES * (RANGE / 2.0 - 4.0))
    };
    let (from, to, middle) = (x(least), x(most), x(1.0));
    let part = |class: &'static str, from: f64, to: f64| {
        html! { @if to > from { line class=(class) x1=(from) x2=(to) y1="7" y2="7" {} } }
    };
    html! {
        svg class="range" viewBox=(format!("0 0 {RANGE} 14")) width=(RANGE) height="14" role="img"
            aria-label=(format!("{} to {} times", digits(least), digits(most))) {
            line class="one" x1=(middle) x2=(middle) y1="0" y2="14" {}
            (part("ahead", from.min(middle), to.min(middle)))
            (part("behind", from.max(middle), to.max(middle)))
            @for (ratio, at) in [(least, from), (most, to)] {
                circle class=(if ratio > 1.0 { "behind" } else { "ahead" }) cx=(at) cy="7" r="3" {}
            }
        }
    }
}

fn power_of_ten(power: i32) -> String {
    format!("{}", 10.0_f64.powi(power))
}

/// A tenth of a pixel is enough.
fn tenth(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// A name that fits beside the bars. The whole one shows when pointed at, and in the table.
fn short(name: &str) -> String {
    const MOST: usize = 32;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).collect::<String>() + "\u{2026}"
}
