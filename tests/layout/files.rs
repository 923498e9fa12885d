//! One map as text, as a comparison and as a drawing, each against a file that people look at.
//!
//! `CORELOCAL_BLESS=1 cargo test --test layout` writes the files anew.

use std::collections::BTreeMap;
use std::path::Path;

use corelocal::cacheline::{Layout, LayoutField};
use corelocal::{cacheline_struct, layout_map};

/// An average on a line of its own, wherever lines have 64 bytes.
#[derive(Default)]
#[repr(C, align(64))]
struct Avg([u32; 15]);

// The bytes lie alike on every target, and the maps are looked at with lines of 64 bytes.
cacheline_struct! {
    /// A run queue, somewhat like the kernel's.
    #[derive(Default)]
    struct CfsRq {
        group hot(lines <= 4, bytes <= 64) {
            load: [u32; 4],
            nr_queued: u32,
            h_nr_runnable: u32,
            throttle_count: i32,
            runtime_enabled: i32,
        }
        avg: Avg,
        group throttle(bytes == 37) {
            throttled_clock_pelt_time_total: [u32; 8],
            on_list: i32,
            pelt_clock_throttled: u8,
        }
        propagated_sums: [u32; 30],
    }
    touches throttle_down { mut throttle_count, mut on_list, pelt_clock_throttled };
    touches enqueue { mut load, mut nr_queued, avg, propagated_sums };
}

#[repr(C, align(64))]
struct Before {
    load: [u32; 4],
    nr_queued: u32,
    idle: u8,
    avg: Avg,
    on_list: i32,
    pelt_clock_throttled: u8,
    propagated_sums: [u32; 30],
    throttle_count: i16,
}

layout_map! {
    const BEFORE: Before {
        load, nr_queued, idle, avg, on_list, pelt_clock_throttled, propagated_sums, throttle_count,
    }
    touches enqueue { load };
    touches peek { idle, on_list };
}

fn compare(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/layout").join(name);
    if std::env::var_os("CORELOCAL_BLESS").is_some() {
        std::fs::write(&file, text).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&file).expect("the file is there");
    assert!(text == expected, "{name} is not what the file says; it is now:\n{text}");
}

#[test]
fn the_table_is_the_files() {
    compare("map.txt", &CfsRq::LAYOUT.with_line(64).to_string());
    // No struct has this alignment; the words for it are looked at here.
    let fields = [LayoutField::new("a", 2, 2, 2), LayoutField::new("b", 62, 4, 2)];
    let small = Layout::new("Small", 66, 2, &fields, &[], &[]).with_line(64);
    compare("small.txt", &format!("{small}\n{}", small.partial()));
}

#[test]
fn the_comparison_is_the_files() {
    let (before, after) = (BEFORE.with_line(64), CfsRq::LAYOUT.with_line(64));
    compare("diff.txt", &after.diff(&before).to_string());
    assert!(after.diff(&after).to_string().contains("no field moved"));
}

#[test]
fn the_drawing_is_the_files() {
    compare("map.svg", &CfsRq::LAYOUT.with_line(64).to_svg());
}

/// x, y, width, height.
type Rectangle = [u32; 4];

/// The boxes of a drawing with the words that show when one points at them.
fn boxes(svg: &str) -> Vec<(String, Rectangle)> {
    let document = roxmltree::Document::parse(svg).expect("well-formed");
    let groups = document.descendants().filter(|node| node.has_tag_name("g"));
    groups
        .map(|group| {
            let child = |name| group.children().find(|node| node.has_tag_name(name)).expect(name);
            let rectangle = child("rect");
            let side = |name: &str| rectangle.attribute(name).and_then(|v| v.parse().ok());
            let sides = ["x", "y", "width", "height"].map(|name| side(name).expect("a number"));
            (child("title").text().expect("words").to_owned(), sides)
        })
        .collect()
}

#[test]
fn the_drawing_has_a_box_for_each_piece_and_none_lies_on_another() {
    for line in [16, 32, 64, 128, 256] {
        let map = CfsRq::LAYOUT.with_line(line);
        let boxes = boxes(&map.to_svg());
        let overlap = |a: &Rectangle, b: &Rectangle| {
            a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]
        };
        for (i, (words, one)) in boxes.iter().enumerate() {
            let other = boxes[..i].iter().find(|(_, other)| overlap(one, other));
            assert_eq!(other, None, "{words}");
        }
        // All bytes are drawn, once: each line's boxes are as wide as a line.
        let mut width: BTreeMap<u32, u32> = BTreeMap::new();
        boxes.iter().for_each(|(_, [_, y, w, _])| *width.entry(*y).or_default() += w);
        assert_eq!(width.len(), map.lines());
        assert!(width.values().all(|w| w % line as u32 == 0), "{width:?}");
        for field in map.fields() {
            let words = format!("{}: offset {}, size {}", field.name, field.offset, field.size);
            let pieces = boxes.iter().filter(|(own, _)| own.starts_with(&words)).count();
            let lines = map.lines_of(&[field.name]).expect("a field").iter().count();
            assert_eq!(pieces, lines, "{words}");
        }
    }
}

/// Names are cut or shrunk, never written over the box beside them: a character of a monospaced
/// font is 0.6 of its size wide.
#[test]
fn names_stay_within_their_boxes() {
    let names = ["x", "a_rather_long_name", "an_even_longer_name_that_nobody_would_ever_give", "ß"];
    for (line, size) in [(64, 1), (64, 2), (64, 4), (64, 8), (128, 4), (256, 3), (16, 16)] {
        let fields: Vec<_> =
            (0..4).map(|i| LayoutField::new(names[i], i * size, size, 1)).collect();
        let svg = Layout::new("S", 4 * size, 256, &fields, &[], &[]).with_line(line).to_svg();
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        let mut seen = 0;
        for group in document.descendants().filter(|node| node.has_tag_name("g")) {
            let rectangle = group.children().find(|n| n.has_tag_name("rect")).expect("a box");
            let number = |node: &roxmltree::Node<'_, '_>, name: &str| -> f64 {
                node.attribute(name).and_then(|v| v.parse().ok()).expect("a number")
            };
            for text in group.children().filter(|node| node.has_tag_name("text")) {
                let side = if text.has_attribute("transform") { "height" } else { "width" };
                let long = text.text().expect("words").chars().count() as f64;
                let needed = long * 0.602 * number(&text, "font-size");
                assert!(needed <= number(&rectangle, side), "{line} {size}: {:?}", text.text());
                seen += 1;
            }
        }
        assert!(seen >= 4, "{line} {size}");
    }
}

#[test]
fn names_of_any_kind_make_a_well_formed_drawing() {
    let fields = [LayoutField::new("a<b>&\"'\u{1}\n]]>", 0, 40, 1).in_group("<&>")];
    let svg = Layout::new("Q<'a, T>", 40, 8, &fields, &[], &[]).to_svg();
    let document = roxmltree::Document::parse(&svg).expect("well-formed");
    assert!(document.descendants().any(|node| node.text() == Some("Q<'a, T>")));
}
