//! The page: one file, no scripts, nothing from elsewhere.

use crate::against::{self, Against, NullPair};
use crate::heat;
use crate::maps::Picture;
use crate::overview::{heading, named, summary};
use crate::plot;
use crate::result::{Case, Group, Reached, Report, Role};
use benches::stats::Interval;
use benches::table::digits;
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
                a class="skip" href="#best" { "to the results" }
                h1 id="top" { (title) }
                (facts(report))
                (contents(report))
                main {
                    (reading())
                    (summary(report))
                    (named(report))
                    @for group in &report.groups { (section(group, &report.events.names)) }
                    (heat_maps())
                    (maps(pictures))
                }
            }
        }
        "\n"
    };
    markup.into_string()
}

fn facts(report: &Report) -> Markup {
    let [before, after] = &report.load;
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
        @if before.max(*after) > report.cpus as f64 {
            p { strong {
                "The machine had other work: the load was above its number of CPUs. Differences of a few \
                 tens of percent mean nothing."
            } }
        }
        "\n"
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
        nav aria-label="contents" {
            a href="#best" { "against the best peer" } " "
            a href="#named" { "every named peer" }
            @for group in &report.groups { " " a href=(format!("#{}", group.name)) { (group.name) } }
            " " a href="#heat" { "heat maps" } " " a href="#maps" { "layout maps" }
        }
        "\n"
    }
}

fn reading() -> Markup {
    html! {
        p {
            "Nanoseconds an operation, medians with their 95 % interval. Threads are pinned, each to a CPU \
             of its own, and begin together; every case is made anew for each round, at another place in \
             memory. A piece in which a thread was preempted is rejected, counted, and measured again. \
             Scenes called " em { "cold" } " begin with nothing of the objects in the first and second \
             level of the caches; the others are hot. A " em { "null pair" } " is one case under two \
             names: a difference as small as theirs is chance. A bar with a break in it is longer than \
             drawn. A " em { "floor" } " does less than is \
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

fn section(group: &Group, events: &[String]) -> Markup {
    let (against, scaling) = (against::all(group), against::scaling(group));
    html! {
        (heading(&group.name, &group.name))
        (best_peers(&against))
        (goals(&group.goals))
        (null_pairs(&against::null_pairs(group)))
        @if !scaling.is_empty() {
            h3 { "From one thread to more" }
            p class="faint" {
                "Time of an operation on one thread (ring) and on each of more (discs: "
                (counts(&scaling[0].threads)) "), logarithmic. Where \
                 the discs cover the ring, more threads cost nothing; on the right, the last in the first."
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
        p class="faint" {
            (group.rejected) " preempted pieces rejected in this group. Detours of sections in the process \
             so far: " (group.detours) "."
        }
        "\n"
    }
}

/// Numbers of threads, without the first.
fn counts(threads: &[usize]) -> String {
    threads[1..].iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
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
    let most = pairs.iter().map(NullPair::off).fold(0.0, f64::max) * 100.0;
    html! {
        @if !pairs.is_empty() {
            details {
                summary { (pairs.len()) " null pairs, off by at most " (format!("{most:.1}")) " %" }
                div class="scroll" { table {
                    thead { tr {
                        th { "scene" } th { "twin" } th class="n" { "times the case" }
                    } }
                    tbody {
                        @for NullPair { twin, ratio } in pairs {
                            "\n"
                            tr {
                                td { (twin.scene) } td { (twin.peer) }
                                td class="n" { (with_interval(*ratio)) }
                            }
                        }
                    }
                } }
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

fn heat_maps() -> Markup {
    let maps = heat::all();
    let most = maps.iter().map(heat::Map::most).max().unwrap_or(0);
    html! {
        (heading("heat", "Heat maps: which CPU fetches which line"))
        p class="faint" { (heat::note()) " Counted by this program, in a model: not of this machine." }
        (heat::legend(most))
        @for map in &maps {
            "\n"
            h3 { (map.title()) }
            div class="scroll" { (map.svg(most)) }
        }
        "\n"
    }
}

fn maps(pictures: &[Picture]) -> Markup {
    html! {
        (heading("maps", "Layout maps"))
        @for (at, Picture { title, note, command, svg }) in pictures.iter().enumerate() {
            "\n"
            details open[at < 2] {
                summary { (title) }
                p class="faint" { (note) " " code { (command) } }
                div class="scroll" { div class="paper" { (PreEscaped(svg.as_str())) } }
            }
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

    #[test]
    fn a_busy_machine_is_told() {
        let mut report = fixture::report();
        assert!(!page(&report, &[]).contains("The machine had other work"));
        report.load = [0.5, 2.5];
        assert!(page(&report, &[]).contains("The machine had other work"));
    }

    #[test]
    fn what_was_rejected_is_told_in_all_and_group_by_group() {
        let mut report = fixture::report();
        (report.rejected, report.groups[0].rejected) = (7777, 6666);
        let page = page(&report, &[]);
        for told in
            ["Rejected: 7777 pieces beside 84", "6666 preempted pieces rejected in this group"]
        {
            assert!(page.contains(told), "{told}");
        }
        for column in ["<th class=\"n\">7777</th>", "<td class=\"n\">6666</td>"] {
            assert!(page.contains(column), "{column}");
        }
    }
}
