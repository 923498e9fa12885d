//! Results as Markdown tables and as JSON.

use crate::cases::Goal;
use crate::paired::{Options, Outcome};
use crate::stats::Interval;
use std::fmt::Write;

/// What stands before the tables.
pub fn head([machine, backend, command]: &[String; 3]) -> String {
    format!("* machine: {machine}\n* backend: {backend}\n* command: `{command}`\n")
}

/// One group: a row a scene, a column a peer; nanoseconds with their interval, and the ratio to the
/// baseline of the same row.
pub fn markdown(group: &str, baseline: &str, outcomes: &[Outcome], rounds: usize) -> String {
    let peers = in_order(outcomes.iter().map(|outcome| outcome.peer));
    let scenes = in_order(outcomes.iter().map(|outcome| outcome.scene.as_str()));
    let mut text = format!(
        "\n### {group}\n\nns an operation, median [95 % interval] of {rounds} rounds; in bold, \
         times \"{baseline}\".\n\n| |"
    );
    peers.iter().for_each(|peer| text += &format!(" {peer} |"));
    text += &format!("\n|---|{}\n", "---|".repeat(peers.len()));
    for scene in scenes {
        text += &format!("| {scene} |");
        for peer in &peers {
            let of = |outcome: &&Outcome| outcome.scene == scene && outcome.peer == *peer;
            text += &outcomes.iter().find(of).map_or_else(|| " |".into(), cell);
        }
        text += "\n";
    }
    let rejected: u64 = outcomes.iter().map(|outcome| outcome.rejected).sum();
    text + &format!("\n{rejected} preempted pieces rejected and repeated.\n")
}

/// A row a goal; nothing where there are none.
pub fn goals(reached: &[(Goal, Interval)]) -> String {
    if reached.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n| goal | ratio | 95 % interval | met? |\n|---|---|---|---|\n");
    for (goal, ratio) in reached {
        let Goal { own: (scene, peer), than: (other, than), most } = goal;
        let than = if scene == other { (*than).to_owned() } else { format!("{than} of {other}") };
        let Interval { median, lo, hi } = ratio;
        text += &format!("| {scene}: {peer} at most {most:.2} times {than} | {median:.3} ");
        text += &format!("| {lo:.3} to {hi:.3} | {} |\n", met(*most, *ratio));
    }
    text
}

/// By the median; with a warning where the interval holds both answers.
fn met(most: f64, ratio: Interval) -> &'static str {
    match (ratio.median <= most, ratio.lo <= most, ratio.hi <= most) {
        (true, _, true) => "yes",
        (true, _, false) => "yes, within the noise",
        (false, true, _) => "no, within the noise",
        (false, false, _) => "no",
    }
}

fn cell(outcome: &Outcome) -> String {
    let Interval { median, lo, hi } = outcome.ns;
    let ratio = outcome.ratio.map_or(String::new(), |ratio| format!(" **{:.2}x**", ratio.median));
    format!(" {} [{}, {}]{ratio} |", digits(median), digits(lo), digits(hi))
}

/// Three figures, or all of the whole part.
pub fn digits(ns: f64) -> String {
    let decimals = match ns {
        ns if ns < 1.0 => 3,
        ns if ns < 10.0 => 2,
        ns if ns < 100.0 => 1,
        _ => 0,
    };
    format!("{ns:.decimals$}")
}

/// Each once, in the order of the first appearance.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// Opens the JSON object; [`json`] adds groups to its last array.
pub fn json_head([machine, backend, command]: &[String; 3], options: &Options) -> String {
    let (machine, backend, command) = (quoted(machine), quoted(backend), quoted(command));
    let (rounds, seed) = (options.rounds, options.seed);
    format!(
        "{{\"machine\":{machine},\"backend\":{backend},\"command\":{command},\
         \"rounds\":{rounds},\"seed\":{seed},\"groups\":["
    )
}

/// One group.
pub fn json(
    group: &str,
    baseline: &str,
    outcomes: &[Outcome],
    reached: &[(Goal, Interval)],
    detours: &str,
) -> String {
    let (group, baseline, detours) = (quoted(group), quoted(baseline), quoted(detours));
    let results: Vec<String> = outcomes.iter().map(json_result).collect();
    let goals: Vec<String> = reached.iter().map(json_goal).collect();
    let (results, goals) = (results.join(","), goals.join(","));
    format!(
        "\n{{\"group\":{group},\"baseline\":{baseline},\"detours\":{detours},\
         \"results\":[{results}],\"goals\":[{goals}]}}"
    )
}

fn json_interval(interval: &Interval) -> String {
    let Interval { median, lo, hi } = interval;
    format!("{{\"median\":{median},\"lo\":{lo},\"hi\":{hi}}}")
}

fn json_goal((goal, ratio): &(Goal, Interval)) -> String {
    let name = |(scene, peer): &(String, &str)| quoted(&format!("{scene}: {peer}"));
    let (own, than, most) = (name(&goal.own), name(&goal.than), goal.most);
    let (ratio, met) = (json_interval(ratio), quoted(met(most, *ratio)));
    format!("\n {{\"own\":{own},\"than\":{than},\"most\":{most},\"ratio\":{ratio},\"met\":{met}}}")
}

fn json_result(outcome: &Outcome) -> String {
    let Outcome { scene, peer, ns, ratio, rejected, samples: _, events: _ } = outcome;
    let ratio = ratio.as_ref().map_or("null".into(), json_interval);
    let (scene, peer, ns) = (quoted(scene), quoted(peer), json_interval(ns));
    format!(
        "\n {{\"scene\":{scene},\"peer\":{peer},\"ns\":{ns},\"ratio\":{ratio},\
         \"rejected\":{rejected}}}"
    )
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(scene: &str, peer: &'static str, ns: f64, ratio: Option<f64>) -> Outcome {
        let interval = |median| Interval { median, lo: median, hi: median * 2.0 };
        let (ns, ratio) = (interval(ns), ratio.map(interval));
        Outcome {
            scene: scene.into(),
            peer,
            ns,
            ratio,
            rejected: 3,
            samples: Vec::new(),
            events: Vec::new(),
        }
    }

    #[test]
    fn a_row_a_scene_a_column_a_peer_and_gaps_stay_gaps() {
        let outcomes = [
            outcome("one", "base", 100.0, None),
            outcome("one", "us", 0.5, Some(0.005)),
            outcome("two", "base", 20.0, None),
        ];
        let text = markdown("add", "base", &outcomes, 7);
        assert!(text.contains("| | base | us |\n|---|---|---|\n"), "{text}");
        assert!(
            text.contains("| one | 100 [100, 200] | 0.500 [0.500, 1.00] **0.01x** |"),
            "{text}"
        );
        assert!(text.contains("| two | 20.0 [20.0, 40.0] | |\n"), "{text}");
        assert!(text.contains("\n9 preempted"), "{text}");
    }

    #[test]
    fn a_goal_is_met_or_not_and_the_noise_is_told() {
        let interval = |lo, median, hi| Interval { median, lo, hi };
        assert_eq!(met(2.0, interval(1.0, 1.5, 2.0)), "yes");
        assert_eq!(met(2.0, interval(1.0, 1.5, 2.1)), "yes, within the noise");
        assert_eq!(met(2.0, interval(1.9, 2.1, 2.2)), "no, within the noise");
        assert_eq!(met(2.0, interval(2.1, 2.2, 2.3)), "no");
        let (own, than) = (("two".to_owned(), "us"), ("one".to_owned(), "us"));
        let text = goals(&[(Goal { own, than, most: 1.05 }, interval(1.0, 1.01, 1.02))]);
        let row = "| two: us at most 1.05 times us of one | 1.010 | 1.000 to 1.020 | yes |\n";
        assert!(text.ends_with(row), "{text}");
        assert_eq!(goals(&[]), "");
    }

    #[test]
    fn json_escapes_what_it_must() {
        assert_eq!(quoted("a\"b\\c\n"), r#""a\"b\\c\u000a""#);
        let text = json("add", "base", &[outcome("one", "us", 0.5, None)], &[], "none");
        assert!(text.contains(r#""ns":{"median":0.5,"lo":0.5,"hi":1},"ratio":null"#), "{text}");
    }
}
