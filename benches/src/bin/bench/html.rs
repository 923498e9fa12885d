//! The page: one file, no scripts, nothing from elsewhere.

use crate::against::{self, Against, NullPair, Standing};
use crate::maps::Picture;
use crate::plot::{self, digits};
use crate::result::{Case, Group, Reached, Report, Role};
use benches::stats::Interval;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The whole page. The same for the same input, byte for byte.
pub(crate) fn page(report: &Report, pictures: &[Picture]) -> String {
    let title = format!("corelocal, measured: {}", report.name);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            "\n"
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                "\n"
                style { "\n" (PreEscaped(include_str!("page.css"))) }
            }
            "\n"
            body {
                h1 { (title) }
                (facts(report))
                (contents(report))
                (reading())
                (summary(report))
                @for group in &report.groups { (section(group, &report.events.names)) }
                (maps(pictures))
            }
        }
        "\n"
    };
    markup.into_string()
}

fn facts(report: &Report) -> Markup {
    let [before, after] = report.load;
    let Report {
        date,
        machine,
        backend,
        reason,
        command,
        rounds,
        seed,
        seconds,
        events,
        anchor,
        ..
    } = report;
    html! {
        @if report.quick {
            p { strong { "A quick run, which shows only that it works: no figure means anything." } }
        }
        "\n"
        dl {
            dt { "machine" } dd { (machine) }
            "\n" dt { "load" } dd { (before) " before, " (after) " after" }
            "\n" dt { "backend" } dd { (backend) " (" (reason) ")" }
            "\n" dt { "events" } dd { (events.text()) }
            @if !anchor.is_empty() { "\n" dt { "C anchor" } dd { (anchor) } }
            "\n" dt { "date" } dd { (date) }
            "\n" dt { "command" } dd { code { (command) } }
            "\n" dt { "samples" }
            dd { (rounds) " rounds, cases of a group in shuffled order (seed " (seed) "), " (seconds) " s" }
        }
        "\n"
    }
}

fn contents(report: &Report) -> Markup {
    html! {
        nav {
            a href="#best" { "against the best peer" }
            @for group in &report.groups { " " a href=(format!("#{}", group.name)) { (group.name) } }
            " " a href="#maps" { "maps" }
        }
        "\n"
    }
}

fn reading() -> Markup {
    html! {
        p {
            "Nanoseconds an operation, medians with their 95 % interval. A piece in which a thread was \
             preempted is rejected and measured again. A " em { "null pair" } " is one case under two \
             names: a difference as small as theirs is chance. A " em { "floor" } " does less than is \
             asked for, or is wrong: it shows what remains to be won. "
            "\u{201c}Times the best peer\u{201d} is our time in that of the fastest peer of the same row, \
             whoever that is: below 1 this crate is ahead, above 1 it is behind."
        }
        "\n"
        p class="key" {
            i style="background:var(--ours);margin-left:0" {} "this crate"
            i style="background:var(--null)" {} "its null pair"
            i style="background:var(--peer)" {} "peers"
            i style="background:var(--floor)" {} "floors"
        }
        "\n"
    }
}

fn summary(report: &Report) -> Markup {
    html! {
        h2 id="best" { "Against the best peer" }
        "\n"
        table {
            thead { tr {
                th { "group" } th class="n" { "ahead" } th class="n" { "level" } th class="n" { "behind" }
                th class="n" { "goals held" } th class="n" { "null pair off by" }
                th class="n" { "rejected pieces" }
            } }
            tbody {
                @for group in &report.groups {
                    @let (against, goals) = (against::all(group), &group.goals);
                    "\n"
                    tr {
                        td { a href=(format!("#{}", group.name)) { (group.name) } }
                        @for standing in [Standing::Ahead, Standing::Level, Standing::Behind] {
                            @let count = against.iter().filter(|a| a.standing() == standing).count();
                            td class=(format!("n {}", if count > 0 { standing.word() } else { "" })) { (count) }
                        }
                        td class="n" {
                            @if !goals.is_empty() {
                                (goals.iter().filter(|goal| goal.held).count()) " of " (goals.len())
                            }
                        }
                        td class="n" { (chance(group)) }
                        td class="n" { (group.cases.iter().map(|case| case.rejected).sum::<u64>()) }
                    }
                }
            }
        }
        "\n"
    }
}

/// The largest difference of the null pairs.
fn chance(group: &Group) -> String {
    against::chance(group).map_or_else(String::new, |off| format!("{:.1} %", off * 100.0))
}

fn section(group: &Group, events: &[String]) -> Markup {
    let (against, scaling) = (against::all(group), against::scaling(group));
    html! {
        h2 id=(group.name) { (group.name) }
        "\n"
        (best_peers(&against))
        (goals(&group.goals))
        (null_pairs(&against::null_pairs(group)))
        @if !scaling.is_empty() {
            h3 { "From one thread to two" }
            p class="faint" {
                "Time of an operation on one thread (ring) and on each of two (disc), logarithmic. Where \
                 the disc covers the ring, the second thread costs nothing."
            }
            "\n"
            div class="plots" {
                @for scene in &scaling {
                    figure { figcaption { (scene.scene) } (plot::scaling(scene)) }
                    "\n"
                }
            }
        }
        (bars(group))
        (table(group, events))
        p class="faint" { "Detours of the process so far: " (group.detours) "." }
        "\n"
    }
}

fn best_peers(against: &[Against<'_>]) -> Markup {
    html! {
        @if against.is_empty() { p { "No peer does what this group measures." } "\n" } @else {
            h3 { "Against the best peer" }
            div class="scroll" { table {
                thead { tr {
                    th { "scene" } th { "ours" } th class="n" { "ns" } th { "best peer" } th class="n" { "ns" }
                    th class="n" { "times the best peer" } th { "" }
                } }
                tbody {
                    @for row in against {
                        @let (Against { own, peer, ratio }, word) = (row, row.standing().word());
                        "\n"
                        tr {
                            td { (own.scene) } td { (own.peer) } td class="n" { (digits(own.ns.median)) }
                            td { (peer.peer) } td class="n" { (digits(peer.ns.median)) }
                            td class="n" { (with_interval(*ratio)) } td class=(word) { (word) }
                        }
                    }
                }
            } }
            "\n"
        }
    }
}

fn with_interval(Interval { median, lo, hi }: Interval) -> String {
    format!("{} [{}, {}]", digits(median), digits(lo), digits(hi))
}

fn goals(goals: &[Reached]) -> Markup {
    html! {
        @if !goals.is_empty() {
            h3 { "Goals" }
            div class="scroll" { table {
                thead { tr { th { "goal" } th class="n" { "reached" } th { "" } } }
                tbody {
                    @for goal in goals {
                        "\n"
                        tr {
                            td { (goal.text()) } td class="n" { (with_interval(goal.ratio)) }
                            td class=(if goal.held { "held" } else { "not" }) { (goal.answer()) }
                        }
                    }
                }
            } }
            "\n"
        }
    }
}

fn null_pairs(pairs: &[NullPair<'_>]) -> Markup {
    html! {
        @if !pairs.is_empty() {
            p class="faint" {
                "Null pairs: "
                @for (at, NullPair { twin, ratio }) in pairs.iter().enumerate() {
                    @if at > 0 { "; " }
                    (twin.scene) ", " (twin.peer) " " (with_interval(*ratio))
                }
                "."
            }
            "\n"
        }
    }
}

/// So many scenes are drawn; the rest opens on demand.
const DRAWN: usize = 6;

fn bars(group: &Group) -> Markup {
    let scenes = group.scenes();
    let (first, rest) = scenes.split_at(scenes.len().min(DRAWN));
    let plots = |scenes: &[&str]| {
        html! {
            div class="plots" {
                @for scene in scenes {
                    @let cases: Vec<&Case> = group.of_scene(scene).collect();
                    figure { figcaption { (scene) ", ns" } (plot::bars(&cases)) }
                    "\n"
                }
            }
        }
    };
    html! {
        h3 { "Every case" }
        (plots(first))
        @if !rest.is_empty() { details { summary { (rest.len()) " more plots" } (plots(rest)) } }
        "\n"
    }
}

/// With a column for each event that was counted.
fn table(group: &Group, events: &[String]) -> Markup {
    let row = |case: &Case| {
        let class = if case.role == Role::Ours { "ours" } else { "" };
        html! {
            tr class=(class) {
                td { (case.scene) } td { (case.peer) } td class="n" { (digits(case.ns.median)) }
                td class="n" { (digits(case.ns.lo)) " to " (digits(case.ns.hi)) }
                td class="n" { (case.samples.len()) } td class="n" { (case.rejected) }
                @for count in &case.events { td class="n" { (digits(*count)) } }
            }
        }
    };
    html! {
        details {
            summary { "All " (group.cases.len()) " cases as a table" }
            div class="scroll" { table {
                thead { tr {
                    th { "scene" } th { "peer" } th class="n" { "ns, median" } th class="n" { "95 % interval" }
                    th class="n" { "samples" } th class="n" { "rejected" }
                    @for event in events { th class="n" { (event) } }
                } }
                tbody { @for case in &group.cases { "\n" (row(case)) } }
            } }
        }
        "\n"
    }
}

fn maps(pictures: &[Picture]) -> Markup {
    html! {
        h2 id="maps" { "Maps" }
        @for Picture { title, note, command, svg } in pictures {
            "\n"
            h3 { (title) }
            p class="faint" { (note) " " code { (command) } }
            div class="paper" { (PreEscaped(svg.as_str())) }
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn pictures() -> [Picture; 1] {
        [Picture {
            title: "A map".into(),
            note: "To look at.".into(),
            command: "draw".into(),
            svg: "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n".into(),
        }]
    }

    /// Writes the file anew if `CORELOCAL_BLESS` is set.
    #[test]
    fn the_page_of_a_fixed_result_is_the_golden_file() {
        let page = page(&fixture::report(), &pictures());
        fixture::golden("fixture.html", &page);
    }

    #[test]
    fn events_have_columns_if_they_were_counted() {
        let mut report = fixture::report();
        let without = page(&report, &pictures());
        assert!(without.contains("<dd>none: they are made up</dd>"), "{without}");
        report.events.names = vec!["instructions".into(), "cycles".into()];
        for case in report.groups.iter_mut().flat_map(|group| &mut group.cases) {
            case.events = vec![12.0, 0.25];
        }
        let with = page(&report, &pictures());
        let head = "<th class=\"n\">instructions</th><th class=\"n\">cycles</th></tr>";
        let row = "<td class=\"n\">12.0</td><td class=\"n\">0.250</td></tr>";
        assert_eq!(with.matches(head).count(), 2, "a table a group: {with}");
        assert_eq!(with.matches(row).count(), 12, "a row a case: {with}");
        assert!(!without.contains("instructions</th>"), "{without}");
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_escapes_names() {
        let page = page(&fixture::report(), &pictures());
        for outside in ["<script", "<link", "src=", "@import", "https:"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("&lt;odd&gt; &amp; scene") && !page.contains("<odd>"));
        assert!(page.contains("<td class=\"behind\">behind</td>"));
    }
}
