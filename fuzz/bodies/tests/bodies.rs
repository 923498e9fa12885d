//! The fuzz targets' bodies on what proptest thinks of: 256 inputs each, fewer where they write files,
//! or `PROPTEST_CASES`.
//!
//! The allocator's and the priority vector's sequences have their large runs in `tests/churn.rs` and
//! `tests/priority/oracle.rs` of the crate, from other choices.

use fuzz_bodies::files::SEPARATOR;
use fuzz_bodies::memory::{Counting, peak, within};
use fuzz_bodies::{advised, cgroups, counters, lists, params, sequences, topology, traces, trees};
use proptest::prelude::*;

#[global_allocator]
static HEAP: Counting = Counting;

const C2C: &[u8] = include_bytes!("../../../examples/advice/samples/c2c.txt");
const MEM: &[u8] = include_bytes!("../../../examples/advice/samples/mem.txt");
const RECORDING: &[u8] = include_bytes!("../../../examples/advice/samples/recording.txt");

const TRACE: &[u8] = include_bytes!("../../../examples/sched/recorded/tar.perf.txt");
const PARAMS: [&[u8]; 4] = [
    include_bytes!("../../../examples/sched/replay.params"),
    include_bytes!("../../../examples/sched/rt.params"),
    include_bytes!("../../../examples/sched/tree.params"),
    b"sockets 2\ncores 3\nthreads 4\nnumbering linux\nsiblings wait\nhit 6\nwithin 7\nacross 8\nmemory 9\n",
];

/// `PROPTEST_CASES`, or `usual` without it; failing inputs are in the message.
fn cases(usual: u32) -> ProptestConfig {
    let usual = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default().cases,
        None => usual,
    };
    ProptestConfig { cases: usual, failure_persistence: None, ..ProptestConfig::default() }
}

/// Bytes that are mostly of `usual`.
fn text(usual: &'static [u8], length: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![9 => prop::sample::select(usual), 1 => any::<u8>()];
    prop::collection::vec(byte, 0..length)
}

const LISTS: &[u8] = b"0123456789,,,--- \nxfa";

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn a_list_of_cpus_is_what_it_says_or_an_error(text in text(LISTS, 60)) {
        lists::lists(&text);
    }

    /// Numbers with commas and dashes: most of these are right.
    #[test]
    fn a_list_that_is_nearly_right_is_what_it_says_or_an_error(
        text in r"( ?[0-9a-f]{1,5}( ?- ?[0-9]{1,6})?,?){0,9}\n?",
    ) {
        lists::lists(text.as_bytes());
    }

    #[test]
    fn a_saved_tree_is_read_back_or_an_error(
        lines in r"((/[a-b\\#]{1,2}){1,3}(\\[0-3][0-7]{2})? [0-9]{1,6} (max|[0-9]{1,5}) [0-9]{1,3}\r?\n){0,9}",
        noise in text(b"/a \\0\n#", 20),
        at in any::<prop::sample::Index>(),
    ) {
        trees::trees(lines.as_bytes());
        let (head, tail) = lines.as_bytes().split_at(at.index(lines.len() + 1));
        trees::trees(&[head, &noise, tail].concat());
    }

    #[test]
    fn a_file_of_parameters_with_anything_in_it_is_read_or_an_error(
        which in 0..4_usize,
        from in any::<prop::sample::Index>(),
        removed in 0..12_usize,
        noise in text(b"0123456789 \n#-KMG", 25),
    ) {
        let whole = PARAMS[which];
        let from = from.index(whole.len());
        let to = whole.len().min(from + removed);
        params::params(&[&whole[..from], &noise, &whole[to..]].concat());
    }

    #[test]
    fn a_sequence_of_updates_agrees_with_the_numbers(
        input in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        counters::counters(&input);
    }

    #[test]
    fn a_sequence_of_priorities_agrees_with_the_map(
        input in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        sequences::priority(&input);
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn a_sequence_of_allocations_agrees_with_the_model(
        input in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        sequences::allocator(&input);
    }

    #[test]
    fn a_recording_with_anything_in_it_is_read_and_compared(
        groups in prop_oneof![
            Just(""), Just("* /rest\n"), Just("pid 7 /a/b\ncomm ma* /c\nweight /a/b 1\n* /\n"),
        ],
        first in any::<prop::sample::Index>(),
        lines in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, text(LISTS, 6)), 0..60),
    ) {
        let whole: Vec<&[u8]> = TRACE.split(|byte| *byte == b'\n').collect();
        let mut input = groups.as_bytes().to_vec();
        input.extend((!groups.is_empty()).then_some(SEPARATOR));
        for (offset, (at, change, noise)) in lines.iter().enumerate() {
            // Lines in a row, of which some come from elsewhere and some are broken.
            let next = (first.index(whole.len()) + offset) % whole.len();
            let line = if *change == 1 { whole[at.index(whole.len())] } else { whole[next] };
            let cut = at.index(line.len() + 1);
            match change {
                2 => input.extend([&line[..cut], noise, &line[cut..]].concat()),
                3 => input.extend([&line[..cut], noise].concat()),
                _ => input.extend(line),
            }
            input.push(b'\n');
        }
        traces::traces(&input);
    }

    #[test]
    fn a_hierarchy_with_anything_in_its_files_is_saved_and_read_back(
        files in prop::collection::vec(
            prop_oneof![
                1 => text(b"0123456789 max\n-", 20),
                3 => prop::sample::select(vec!["", "100\n", "max 100000\n", "1", "2 1\n", "1024\n",
                    "0\n", "-1\n", "nr_periods 1\nnr_throttled 2\n"]).prop_map(|text| text.into()),
            ],
            0..13,
        ),
    ) {
        cgroups::cgroups(&files.join(&SEPARATOR));
    }

    #[test]
    fn a_machine_with_anything_in_its_files_has_an_answer_to_every_question(
        files in prop::collection::vec(
            prop_oneof![
                3 => text(LISTS, 20),
                2 => prop::sample::select(vec!["0-3\n", "0\n", "1", "0-1", "10 20\n", "0-1023",
                    "Node 0 MemTotal: 64 kB\n", "f,00000001\n"]).prop_map(|text| text.into()),
            ],
            0..14,
        ),
    ) {
        topology::topology(&files.join(&SEPARATOR));
    }

    #[test]
    fn a_report_with_anything_in_it_is_read_or_an_error(
        which in 0..3_usize,
        from in any::<prop::sample::Index>(),
        removed in 0..40_usize,
        noise in text(b"0123456789 %\n#.[]x-", 60),
    ) {
        let whole = [C2C, MEM, RECORDING][which];
        let from = from.index(whole.len());
        let to = whole.len().min(from + removed);
        advised::reports(&[&whole[..from], &noise, &whole[to..]].concat());
    }
}

/// The longest texts that the parsers look at, and longer ones.
#[test]
fn the_longest_texts_take_no_more_than_they_may() {
    for unit in ["0,", "0-65535,", "ffffffff,", "65535-0,", ",", "\n", "9"] {
        for length in [1 << 10, 6 << 16, (6 << 16) + 100] {
            lists::lists(unit.repeat(length / unit.len()).as_bytes());
        }
    }
    for unit in ["/a 2 max 1\n", "/", "\\", "\n", "#", "/a\\057b 2 max 1\n"] {
        trees::trees(unit.repeat((1 << 18) / unit.len()).as_bytes());
    }
    let many: String = (0..20_000).map(|name| format!("/{name} 2 max 1\n")).collect();
    trees::trees(many.as_bytes());
    let deep: String = (1..500).map(|depth| "/a".repeat(depth) + " 2 max 1\n").collect();
    trees::trees(deep.as_bytes());
}

#[test]
fn the_heap_is_counted() {
    let (kept, most) = peak(|| {
        drop(vec![0_u8; 10_000]);
        vec![0_u8; 1000]
    });
    assert_eq!((kept.len(), most), (1000, 10_000));
    let too_much = || within(10, 2, 100, || vec![0_u8; 200]);
    assert!(std::panic::catch_unwind(too_much).is_err(), "more than it may");
    within(10, 2, 100, || vec![0_u8; 100]);
}
