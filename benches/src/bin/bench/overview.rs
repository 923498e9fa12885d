//! The first two tables of the page: the groups, and the peers that were named in advance.

use crate::against::{self, Beside, Standing};
use crate::plot;
use crate::result::{Group, Report};
use benches::cases::named::{NAMED, Named};
use benches::table::digits;
use maud::{Markup, html};

/// A heading with its place, and the way back.
pub(crate) fn heading(id: &str, text: &str) -> Markup {
    html! {
        h2 id=(id) { (text) " " a class="up" href="#top" aria-label="to the contents" { "\u{2191}" } }
        "\n"
    }
}

pub(crate) fn summary(report: &Report) -> Markup {
    let (pieces, rejected) = (pieces(&report.groups), report.rejected);
    html! {
        (heading("best", "Against the best peer"))
        div class="scroll" { table {
            thead { tr {
                th { "group" } th class="n" { "ahead" } th class="n" { "level" } th class="n" { "behind" }
                th class="n" { "goals held" } th class="n" { "null pair off by" }
                th class="n" { "rejected pieces" } th class="n" { "cases" }
            } }
            tbody { @for group in &report.groups { "\n" (summary_row(group)) } }
            tfoot { "\n" tr {
                th { "all" }
                @for standing in STANDINGS {
                    th class="n" { (report.groups.iter().map(|group| count(group, standing)).sum::<usize>()) }
                }
                th class="n" {
                    (report.groups.iter().map(held).sum::<usize>()) " of "
                    (report.groups.iter().map(|group| group.goals.len()).sum::<usize>())
                }
                th {} th class="n" { (rejected) }
                th class="n" { (report.groups.iter().map(|group| group.cases.len()).sum::<usize>()) }
            } }
        } }
        "\n"
        p class="faint" {
            "Rows of this crate, each against the fastest peer of its scene. Rejected: " (rejected)
            " pieces beside " (pieces) " that were kept. A null pair that is off by more than a tenth \
             is in red: what a group differs by less than that is not told by this run."
        }
        "\n"
    }
}

const STANDINGS: [Standing; 3] = [Standing::Ahead, Standing::Level, Standing::Behind];

fn count(group: &Group, standing: Standing) -> usize {
    against::all(group).iter().filter(|row| row.standing() == standing).count()
}

fn held(group: &Group) -> usize {
    group.goals.iter().filter(|goal| goal.held).count()
}

/// Samples of all cases.
fn pieces(groups: &[Group]) -> usize {
    groups.iter().flat_map(|group| &group.cases).map(|case| case.samples.len()).sum()
}

fn summary_row(group: &Group) -> Markup {
    let off = if against::chance(group) > Some(0.1) { "n not" } else { "n" };
    html! {
        tr {
            td { a href=(format!("#{}", group.name)) { (group.name) } }
            @for standing in STANDINGS {
                @let count = count(group, standing);
                td class=(format!("n {}", if count > 0 { standing.word() } else { "" })) { (count) }
            }
            td class="n" { @if !group.goals.is_empty() { (held(group)) " of " (group.goals.len()) } }
            td class=(off) { (chance(group)) }
            td class="n" { (group.rejected) } td class="n" { (group.cases.len()) }
        }
    }
}

/// Everybody who was named in advance, also where this crate loses.
pub(crate) fn named(report: &Report) -> Markup {
    html! {
        (heading("named", "Every named peer"))
        p class="faint" {
            "What one would use instead, and what every case of ours of the same scenes takes in its time: \
             from the least to the most, logarithmic, with 1 in the middle (a thousandth on the left, a \
             thousand times on the right). Blue is ahead, red is behind."
        }
        "\n"
        div class="scroll" { table {
            thead { tr {
                th { "peer" } th { "in the group" } th { "called" } th class="n" { "our time in its" } th { "" }
                th class="n" { "ahead" } th class="n" { "level" } th class="n" { "behind" }
            } }
            tbody { @for named in NAMED { (named_rows(report, named)) } }
        } }
        "\n"
    }
}

fn named_rows(report: &Report, named: Named) -> Markup {
    let rows = against::beside(report, named);
    html! {
        @for (at, row) in rows.iter().enumerate() {
            "\n"
            tr {
                td { @if at == 0 { (named.name) } }
                (named_row(row))
            }
        }
        @if !named.reason.is_empty() || rows.is_empty() {
            "\n"
            tr {
                td { @if rows.is_empty() { (named.name) } }
                td class="faint" colspan="7" {
                    @if named.measured.is_empty() { "Not measured. " }
                    @else if rows.is_empty() { "Its groups are not in this run. " }
                    (named.reason)
                }
            }
        }
    }
}

fn named_row(row: &Beside<'_>) -> Markup {
    let range = row.range();
    html! {
        td { a href=(format!("#{}", row.group)) { (row.group) } }
        td { (row.peer) }
        @match range {
            Some((least, most)) => {
                td class="n" { (digits(least)) " to " (digits(most)) }
                td { (plot::range(least, most)) }
            },
            None => { td { "nothing of ours beside it" } td {} }
        }
        @for standing in STANDINGS {
            @let count = row.count(standing);
            td class=(format!("n {}", if count > 0 { standing.word() } else { "" })) { (count) }
        }
    }
}

/// The largest difference of the null pairs.
fn chance(group: &Group) -> String {
    against::chance(group).map_or_else(String::new, |off| format!("{:.1} %", off * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The page of a run of all groups: each peer that was promised has a row with figures.
    #[test]
    fn every_named_peer_is_in_the_table() {
        let report = fixture::of_all_groups();
        let table = named(&report).into_string();
        let escaped =
            |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        for Named { name, measured, reason } in NAMED {
            assert!(table.contains(&format!("<td>{}</td>", escaped(name))), "{name}");
            assert!(table.contains(&escaped(reason)), "{name}: {reason}");
            for (group, peer) in measured {
                let row = format!("href=\"#{group}\">{group}</a></td><td>{}</td>", escaped(peer));
                let row = table.split("<tr>").find(|text| text.contains(&row)).expect(peer);
                // Where nothing of ours is beside it there are no figures, and no promise is kept.
                assert!(row.contains(" to ") && row.contains("<svg"), "{name}, {group}: {row}");
            }
        }
    }
}
