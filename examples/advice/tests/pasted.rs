//! The text that is advised, pasted into a program: the compiler proves its promises and lays it out
//! as was said.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "the layout is what matters")]

use advice::{By, Problem, advise};
use corelocal::cacheline::{CACHE_LINE, Layout, LayoutField};
use corelocal::cacheline_struct;

include!("pasted/queue.rs");

/// A queue of which one CPU pushes, others pop, and all read the limits.
fn queue() -> Problem {
    let fields = [
        LayoutField::new("pushed", 0, 8, 8),
        LayoutField::new("capacity", 8, 4, 4),
        LayoutField::new("is_closed", 12, 1, 1),
        LayoutField::new("popped", 16, 8, 8),
        LayoutField::new("name", 24, 20, 1),
        LayoutField::new("slots", 48, 16, 8),
        LayoutField::new("created", 64, 8, 8),
    ];
    let map = Layout::new("Queue", 72, 8, &fields, &[], &[]).with_line(64);
    let mut problem = Problem::from_layout(&map, By::All);
    problem.fields[5].ty = Some("[*const u8; 2]".to_owned());
    problem.touches(
        "push",
        4.0,
        By::Owner,
        &[("pushed", true), ("capacity", false), ("slots", false)],
    );
    problem.touches(
        "pop it",
        4.0,
        By::Others,
        &[("popped", true), ("pushed", false), ("slots", false)],
    );
    problem.touches("look", 20.0, By::All, &[("capacity", false), ("slots", false)]);
    problem.touches("close", 1.0, By::All, &[("is_closed", true), ("capacity", false)]);
    problem
}

/// Run with `PASTE=1` to write the file anew.
#[test]
fn what_is_advised_compiles_and_lies_where_it_should() {
    if CACHE_LINE != 64 {
        // The text is for lines of 64 bytes.
        return;
    }
    let advice = advise(&queue()).unwrap();
    let text = advice.text();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pasted/queue.rs");
    if std::env::var_os("PASTE").is_some() {
        return std::fs::write(file, &text).unwrap();
    }
    assert_eq!(
        text,
        include_str!("pasted/queue.rs"),
        "another text than the one that was compiled"
    );

    let compiled = Queue::LAYOUT.with_line(64);
    advice.with_layout(|map| {
        assert_eq!((compiled.size(), compiled.align()), (map.size(), map.align()));
        for (own, advised) in compiled.fields().iter().zip(map.fields()) {
            assert_eq!((own.name, own.offset), (advised.name, advised.offset));
            assert_eq!((own.size, own.align), (advised.size, advised.align));
        }
        assert_eq!(compiled.fields().len(), map.fields().len());
    });
    assert_eq!(compiled.broken(), None);
    for (access, cost) in compiled.accesses().iter().zip(&advice.after().operations) {
        assert_eq!(compiled.lines_of_access(access).count(), cost.lines, "{}", access.name);
    }
    // What is only read lies apart from what is written.
    assert_ne!(advice.line_of("slots"), advice.line_of("pushed"));
    assert_ne!(advice.line_of("slots"), advice.line_of("popped"));
}

#[test]
fn the_report_has_before_and_after() {
    let advice = advise(&queue()).unwrap();
    let report = advice.to_string();
    let parts = [
        "Queue: 72 bytes on 2 lines -> 192 bytes on 3 lines",
        "operation     weight",
        "Misses of an average operation: ",
        "1 a line, 4 a transfer, 0.01 a line of size.",
        "touches pop_it {",
        "exclusive",
        "apart(written",
    ];
    for part in parts {
        assert!(report.contains(part), "{part:?} is not in\n{report}");
    }
    let best = advise(advice.problem()).unwrap();
    assert_eq!(best, advice);
    let mut kept = queue();
    kept.operations.clear();
    kept.touches("push", 1.0, By::Owner, &[("pushed", true)]);
    assert!(advise(&kept).unwrap().keeps());
    assert!(advise(&kept).unwrap().to_string().starts_with("Queue: no better order was found"));
}

#[test]
fn a_group_with_a_large_field_promises_the_lines_it_takes() {
    let fields = [
        LayoutField::new("count", 0, 8, 8),
        LayoutField::new("name", 8, 100, 1),
        LayoutField::new("limit", 112, 8, 8),
    ];
    let map = Layout::new("Named", 120, 8, &fields, &[], &[]).with_line(64);
    let mut problem = Problem::from_layout(&map, By::All);
    problem.touches("add", 1.0, By::All, &[("count", true)]);
    problem.touches("show", 1.0, By::All, &[("name", false), ("limit", false)]);
    let text = advise(&problem).unwrap().text();
    assert!(text.contains("group read_mostly(lines <= 2, aligned, apart(written)) {"), "{text}");
}
