//! The modelled figures against arithmetic, and the crate's claims on a small run.

use super::{Design, FIXED, Mix, Params, Question, Row, Search};

fn params(operations: u64) -> Params {
    let mut params = Params::parse(FIXED).unwrap();
    params.seeds.truncate(1);
    params.think.clear();
    (params.warm_up, params.operations) = (operations / 4, operations);
    params
}

fn row(design: Design, cpus: usize, mix: Mix, params: &Params, around: bool) -> Row {
    let machine = *params.machines.iter().find(|machine| machine.cpus() == cpus).unwrap();
    design.row(Question { machine, mix, search: Search::All, params, around, interleaved: false })
}

#[track_caller]
fn close(value: f64, right: f64) {
    assert!((value / right - 1.0).abs() < 0.03, "{value} is not {right}");
}

#[test]
fn one_line_of_four_cores_misses_as_often_as_chance_says() {
    let params = params(40_000);
    // Changes alone: the last one was another core's three times of four.
    let alone = row(Design::ByCpu(64), 8, Mix::SetOnly, &params, false);
    close(alone.set, 0.75);
    close(alone.invalidations, 0.75);
    // With searches: see rt.md. A change misses unless its core wrote last, and nobody read since.
    let mixed = row(Design::ByCpu(64), 8, Mix::Mix50, &params, false);
    close(mixed.find, 0.6);
    close(mixed.set, 1.0 - 1.0 / 7.0);
    // Count and mask of level 0 are two such lines.
    close(row(Design::Padded, 8, Mix::Wide50, &params, false).find, 1.2);
}

#[test]
fn a_byte_a_cpu_moves_fewer_lines_than_counts_and_masks() {
    let params = params(20_000);
    let of = |design| row(design, 480, Mix::Mix50, &params, false);
    let (padded, by_cpu) = (of(Design::Padded), of(Design::ByCpu(64)));
    assert!(padded.set / by_cpu.set >= 5.0, "{} and {}", padded.set, by_cpu.set);
    assert!(padded.find / by_cpu.find >= 2.0, "{} and {}", padded.find, by_cpu.find);
    // 480 CPUs are seven shards and a half: the fullest one has 64.
    assert!(padded.hottest / by_cpu.hottest >= 7.5, "{}, {}", padded.hottest, by_cpu.hottest);
    assert!(by_cpu.lines <= 21, "{}", by_cpu.lines);
}

#[test]
fn the_same_seed_counts_the_same() {
    let params = params(4000);
    for design in [Design::Packed, Design::Split, Design::ByCpu(16)] {
        let run = || Row { lines: 0, ..row(design, 64, Mix::Spread, &params, true) };
        assert_eq!(run(), run());
    }
}

#[test]
fn only_the_packed_vector_suffers_from_its_neighbours() {
    let params = params(8000);
    let extra = |design, mix| {
        let around = row(design, 480, mix, &params, true);
        let quiet = row(design, 480, mix, &params, false);
        (around.set / quiet.set - 1.0, around.find - quiet.find)
    };
    for design in [Design::Padded, Design::ByCpu(64)] {
        let (set, find) = extra(design, Mix::Spread);
        assert!(set.abs() < 0.02 && find.abs() < 0.1, "{design:?} {set} {find}");
    }
    // Nobody is at level 0 in this load, so its count is never written; but its line is.
    let (_, find) = extra(Design::Packed, Mix::Spread);
    assert!(find > 0.5, "{find}");
}

#[test]
fn a_picture_names_the_fields() {
    let params = params(2000);
    let question = Question {
        machine: params.machines[0],
        mix: Mix::Mix50,
        search: Search::All,
        params: &params,
        around: true,
        interleaved: false,
    };
    let svg = Design::Packed.heat_map(question);
    for name in ["count[0]", "rto_loop", "mask[99]", "cpus at 99"] {
        assert!(svg.contains(name), "{name}");
    }
}
