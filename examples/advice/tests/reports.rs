//! The texts that samples are read from: perf's own, and whatever else someone gives.

#[path = "../../../fuzz/bodies/src/reports.rs"]
#[allow(unreachable_pub, reason = "a library's module elsewhere")]
mod bodies;

use advice::{By, Cpus, Field, Format, Kind, Place, Prices, Problem, Sample, Samples, advise};
use proptest::prelude::*;

const C2C: &[u8] = include_bytes!("../samples/c2c.txt");
const MEM: &[u8] = include_bytes!("../samples/mem.txt");
const RECORDING: &[u8] = include_bytes!("../samples/recording.txt");

fn find(samples: &Samples, tag: &str, place: &Place) -> Vec<Sample> {
    samples.iter().filter(|sample| sample.tag == tag && sample.place == *place).collect()
}

/// The queue that the samples are of: three words that two CPUs use, and a name.
fn queue() -> Problem {
    let field = |name: &str, size, align| Field {
        name: name.to_owned(),
        size,
        align,
        ty: None,
        on_line: false,
    };
    Problem {
        name: "Queue".to_owned(),
        line: 64,
        align: 64,
        fields: vec![
            field("pushed", 8, 8),
            field("limit", 8, 8),
            field("popped", 8, 8),
            field("name", 40, 1),
        ],
        operations: Vec::new(),
        cpus: 8,
        first: None,
        together: Vec::new(),
        prices: Prices::default(),
    }
}

#[test]
fn a_report_of_contended_lines_has_functions_and_words() {
    assert_eq!(Samples::format(C2C), Format::C2c);
    let samples = Samples::read(C2C).unwrap();
    let at = |offset: u64| Place::Address(0x40_4080 + offset);
    let pushes = find(&samples, "queue_push", &at(0));
    // The loads of two instructions together, and the store's row.
    let seen: Vec<_> = pushes.iter().map(|s| (s.writes, s.runs, s.cpus)).collect();
    assert_eq!(seen, [(false, 6000, Cpus::Count(1)), (true, 6000, Cpus::Count(1))]);
    let limits = find(&samples, "queue_limit", &at(8));
    assert_eq!((limits[0].writes, limits[0].cpus), (false, Cpus::Count(2)));
    assert!(find(&samples, "queue_pop", &at(16))[0].writes);
    assert_eq!(samples.len(), 5);
}

#[test]
fn a_report_of_loads_and_stores_has_functions_and_words() {
    assert_eq!(Samples::format(MEM), Format::Mem);
    let samples = Samples::read(MEM).unwrap();
    let at = |offset| Place::Symbol("QUEUE".to_owned(), offset);
    let pushes = find(&samples, "queue_push", &at(0));
    let seen: Vec<_> = pushes.iter().map(|s| (s.writes, s.runs)).collect();
    assert_eq!(seen, [(false, 9000), (true, 3000)]);
    assert_eq!(find(&samples, "queue_limit", &at(8))[0].runs, 3750);
    assert!(find(&samples, "queue_pop", &at(16))[0].writes);
    assert_eq!(samples.len(), 6);
}

/// What the two reports are for: the limit, which is only read, leaves the line of what is written;
/// where the CPUs are known, each has its word on a line of its own.
#[test]
fn from_either_report_the_words_of_two_cpus_are_pulled_apart() {
    for (text, base) in [(C2C, "0x404080"), (MEM, "QUEUE")] {
        let mut problem = queue();
        let samples = Samples::read(text).unwrap();
        let observed = problem.observe(&samples, &Place::parse(base).unwrap(), 1).unwrap();
        assert_eq!((observed.in_gaps, observed.outside, observed.left_out), (0, 0, 0));
        let by: Vec<_> = problem.operations.iter().map(|o| (o.name.as_str(), o.by)).collect();
        let names = ["queue_push", "queue_limit", "queue_pop"];
        assert!(names.iter().all(|name| by.iter().any(|(own, _)| own == name)), "{by:?}");
        if base == "0x404080" {
            // The most frequent operation of one CPU is the owner's, the other is another CPU's.
            assert_eq!(by[0], ("queue_push", By::Owner));
            assert!(
                by.contains(&("queue_pop", By::Others)) && by.contains(&("queue_limit", By::All))
            );
            assert_eq!(problem.cpus, 2);
        }
        let advice = advise(&problem).unwrap();
        let line = |field| advice.line_of(field).unwrap();
        assert!(advice.after().transfers < advice.before().transfers, "{advice}");
        assert_ne!(line("pushed"), line("limit"), "{advice}");
        assert_ne!(line("popped"), line("limit"), "{advice}");
        // Without knowing the CPUs, all of them may push and pop.
        assert!(base == "QUEUE" || line("pushed") != line("popped"), "{advice}");
    }
}

#[test]
fn a_recording_knows_the_cpus() {
    let mut problem = queue();
    let mut samples = Samples::new();
    for run in 0..100 {
        assert!(samples.record(0x40, 8, Kind::Rmw, 3, "push"));
        assert!(samples.record(0x48, 8, Kind::Load, 3, "push"));
        if run % 2 == 0 {
            samples.record(0x50, 8, Kind::Store, 1, "pop");
        }
        samples.record(0x48, 8, Kind::Load, run % 4, "limit");
        samples.record(0x58 + 40, 8, Kind::Load, 0, "elsewhere");
    }
    let observed = problem.observe(&samples, &Place::Address(0x40), 1).unwrap();
    assert_eq!((observed.inside, observed.outside), (350, 100));
    let found: Vec<_> = problem
        .operations
        .iter()
        .map(|o| (o.name.as_str(), o.by, o.weight, o.touches.len()))
        .collect();
    let expected =
        [("limit", By::All, 100.0, 1), ("push", By::Owner, 100.0, 2), ("pop", By::Others, 50.0, 1)];
    assert_eq!(found, expected);
    assert_eq!(problem.cpus, 4);
    let mut other = queue();
    let error = other.observe(&samples, &Place::Address(0x4000), 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "none of 450 accesses is to a field; is the struct's address right?"
    );
    assert_eq!(other, queue());
}

#[test]
fn an_array_is_seen_as_one_element() {
    let mut problem = queue();
    problem.fields.truncate(2);
    problem.align = 8;
    let mut samples = Samples::new();
    samples.record(16 * 7 + 8, 8, Kind::Load, 0, "seventh");
    samples.record(16 * 10, 8, Kind::Load, 0, "behind");
    let observed = problem.observe(&samples, &Place::Address(0), 10).unwrap();
    assert_eq!((observed.inside, observed.outside), (1, 1));
    assert_eq!(problem.operations[0].touches[0].field, 1);
    assert!(Samples::read(RECORDING).unwrap().len() > 8);
}

/// Columns that came and went: no node, a process, a peer, a name with blanks, a cut line.
#[test]
fn rows_of_other_versions_are_read() {
    let table = |row: &str| {
        format!(
            "= Shared Cache Line Distribution Pareto =\n#\n  ---\n    0 13642 19392 9012 63  \
             0xff1ddd3f0c8a3b00\n  ---\n{row}\n"
        )
    };
    let rows = [
        "  9.22%    7.37%    0.00%    0.00%    0x0     0       1  0xffffffffab344052  518  334  354  \
         5490  160  [k] vma_remove    [kernel.kallsyms]  vma_remove+18   0  1",
        "  9.22%    7.37%    0.00%    0.00%    0x0   16878  0x40052  518  334  354  5490  160  \
         [.] vma_remove  app  a.c:1  0",
        "  0.00%  7.37%  1.00%  0.00%  0.00%  0.00%  0x0  N/A  0  0x40052  0  0  43  375  5490  160  \
         [.] vma_remove  app  app[25ac]  0",
    ];
    for row in rows {
        let samples = Samples::read(table(row).as_bytes()).expect(row);
        let sample = samples.iter().next().unwrap();
        assert_eq!(sample.place, Place::Address(0xff1d_dd3f_0c8a_3b00));
        assert_eq!((sample.runs, sample.cpus, sample.writes), (5490, Cpus::Count(160), false));
        assert_eq!(sample.tag, "vma_remove");
    }
    let row = "  0.00%  0.00%  0.00%  4.00%  0.00%  0x38  0  1  0x4  0  0  9  7  2  \
               [.] core::ops::FnOnce::call_once<fn(u8, u8)>  app  a.rs:1  0";
    let sample = Samples::read(table(row).as_bytes()).unwrap().iter().next().unwrap();
    assert_eq!(
        (sample.tag.as_str(), sample.writes),
        ("core::ops::FnOnce::call_once<fn(u8, u8)>", true)
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let c2c = |row: &str| {
        format!("Shared Cache Line Distribution Pareto\n  0  4  2  9  0  0x80\n{row}\n")
    };
    let mem = |row: &str| {
        format!(
            "# Samples: 4 of event 'cpu/mem-loads/P'\n# Samples  Symbol    Data Symbol\n\
             # .......  ........  ...........\n{row}\n"
        )
    };
    let cases = [
        (String::new(), "neither a report of"),
        ("0x10 8 load 3\n".to_owned(), "line 1: address, size, load or store or rmw, CPU and oper"),
        (
            "\n16 8 load 3 a\n".to_owned(),
            "line 2: an address such as 0x1000 is expected, not \"16\"",
        ),
        ("0x10 8 read 3 a\n".to_owned(), "line 1: load, store or rmw is expected, not \"read\""),
        ("0x10 8 load 99999999999 a\n".to_owned(), "line 1: a CPU's number is expected"),
        (c2c(""), "there is no row below \"Shared Cache Line"),
        (c2c("  1  2  nothing"), "line 3: a line's counts end with its address, such as 0x7f80"),
        (c2c("  1%  2%  0x1"), "line 3: 4 to 6 shares are expected, not 2"),
        (c2c("  1%  2%  3%  x%  0x1"), "line 3: a share such as 49.62% is expected, not \"x%\""),
        (c2c("  1%  2%  3%  4%  1"), "line 3: an offset such as 0x30 is expected, not \"1\""),
        (c2c("  1%  2%  3%  4%  0x1  0  1"), "line 3: the code's address is missing"),
        (c2c("  1%  2%  3%  4%  0x1  0  0x5  9"), "line 3: records and CPUs are missing"),
        (c2c("  1%  2%  3%  4%  0x1  0  0x5  9  z"), "line 3: a number is expected, not \"z\""),
        (c2c("  1%  2%  3%  4%  0x1  0  0x5  9  2"), "line 3: the function is missing"),
        (mem(""), "there is no row below the column \"Data Symbol\""),
        (
            mem("  many     [.] main  [.] 0x0"),
            "line 4: a number of samples is expected, not \"many\"",
        ),
        (mem("  7        main      [.] 0x0"), "line 4: a function such as [.] push is expected"),
        (mem("  7        [.] main"), "line 4: an address is expected, not \"\""),
        (
            "# Sum  Symbol    Data Symbol\n# ...  ........  ...........\n".to_owned(),
            "line 2: the column \"Samples\" is missing",
        ),
        (format!("0x1{}", "0".repeat(20000)), "line 1: longer than 16384 bytes"),
    ];
    for (text, expected) in cases {
        let said = Samples::read(text.as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with(expected), "{text:?}: {said:?} does not say {expected:?}");
        assert!(!said.contains('\n') && said.len() < 200, "{said:?}");
    }
    // Before the line's head.
    let early =
        "Shared Cache Line Distribution Pareto\n  1%  2%  3%  4%  0x1  0  0x5  9  2  [.] a\n";
    let error = Samples::read(early.as_bytes()).unwrap_err();
    assert_eq!(error.line(), 2);
}

#[test]
fn places_are_addresses_or_symbols() {
    let symbol = |name: &str, offset| Some(Place::Symbol(name.to_owned(), offset));
    assert_eq!(Place::parse("00007ffcac77e3c8"), Some(Place::Address(0x7ffc_ac77_e3c8)));
    assert_eq!(Place::parse("0xffffffffffffffff"), Some(Place::Address(u64::MAX)));
    assert_eq!(Place::parse("0x1ffffffffffffffff"), symbol("0x1ffffffffffffffff", 0));
    assert_eq!(Place::parse("operator+"), symbol("operator+", 0));
    assert_eq!(Place::parse("operator++0x8"), symbol("operator+", 8));
    assert_eq!(Place::parse(""), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(
        text in prop::collection::vec(any::<u8>(), 0..600),
        which in 0usize..4,
        at in any::<prop::sample::Index>(),
        replaced in 0usize..40,
    ) {
        // Bytes alone, and in place of a piece of a text that is right.
        let whole: &[u8] = [&[], C2C, MEM, RECORDING][which];
        let from = if whole.is_empty() { 0 } else { at.index(whole.len()) };
        let to = whole.len().min(from + replaced);
        let text = [&whole[..from], &text, &whole[to..]].concat();
        bodies::read_and_observe(&text, &mut queue());
    }

    #[test]
    fn words_of_reports_in_any_order_are_read_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "Shared Cache Line Distribution Pareto", "\n", "\n", "#", "  ", "0x30", "49.62%", "1%",
            "12", "[.] push", "[k]", "-----", "Data Symbol", "# Samples: 4 of event 'x'", "\n# ....  ...",
            "load", "N/A", "%", "\u{e9}\u{1f600}", "18446744073709551615", "0xffffffffffffffff", "NaN%",
        ]), 0..60),
    ) {
        if let Ok(samples) = Samples::read(words.join(" ").as_bytes()) {
            prop_assert!(samples.len() <= words.len());
        }
    }
}
