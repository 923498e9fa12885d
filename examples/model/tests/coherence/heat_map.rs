//! The picture: well-formed whatever the names are, complete, and nothing beyond its edges.

use model::coherence::{
    Counts, Directory, Field, HeatMap, Kind, LineReport, Machine, Measure, Numbering, Order,
};
use proptest::prelude::*;
use roxmltree::{Document, Node};

fn line(address: u64, write_misses: u64, upgrades: u64) -> LineReport {
    LineReport { address, counts: Counts { write_misses, upgrades, ..Counts::default() } }
}

fn texts(document: &Document<'_>) -> Vec<String> {
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or("").to_string()).collect()
}

/// Labels of the lines from top to bottom: what is right-aligned before the strip.
fn labels(svg: &str, regions: &[&str]) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed");
    let is_label = |text: &String| {
        text.starts_with("0x") || regions.iter().any(|name| text.starts_with(&format!("{name} ")))
    };
    texts(&document).into_iter().filter(is_label).collect()
}

fn number(node: Node<'_, '_>, attribute: &str) -> f64 {
    node.attribute(attribute).and_then(|value| value.parse().ok()).expect("a number")
}

/// Left and right end of a text, in a wide monospaced font.
fn ends(node: Node<'_, '_>) -> (f64, f64) {
    let length = node.text().unwrap_or("").chars().count() as f64;
    let wide = length * 0.61 * number(node, "font-size");
    let x = number(node, "x");
    let left = match node.attribute("text-anchor") {
        Some("start") => x,
        Some("middle") => x - wide / 2.0,
        Some("end") => x - wide,
        other => panic!("{other:?}"),
    };
    (left, left + wide)
}

/// No text runs into another one of its row, or into a box that it does not lie in.
fn check_gaps(svg: &str) {
    let document = Document::parse(svg).expect("well-formed");
    let texts = || document.descendants().filter(|node| node.has_tag_name("text"));
    for (at, one) in texts().enumerate() {
        for other in texts().take(at) {
            let (left, right) = ends(one);
            let (other_left, other_right) = ends(other);
            let apart = (number(one, "y") - number(other, "y")).abs() >= 10.0;
            assert!(apart || left > other_right || right < other_left, "{one:?} and {other:?}");
        }
        for area in document.descendants().filter(|node| node.attribute("stroke").is_some()) {
            let (top, height) = (number(area, "y"), number(area, "height"));
            let (begin, end) = (number(area, "x"), number(area, "x") + number(area, "width"));
            let (left, right) = ends(one);
            let beside = !(top..=top + height).contains(&number(one, "y"));
            let inside = left >= begin && right <= end;
            let outside = right <= begin || left >= end;
            assert!(beside || inside || outside, "{one:?} runs out of or into {area:?}");
        }
    }
}

/// Every shape and every text lies in the picture.
fn check_edges(svg: &str) {
    let document = Document::parse(svg).expect("well-formed");
    let root = document.root_element();
    let (width, height) = (number(root, "width"), number(root, "height"));
    for node in document.descendants().filter(Node::is_element).skip(1) {
        let (left, right, bottom) = match node.tag_name().name() {
            "rect" if node.attribute("x").is_some() => {
                let left = number(node, "x");
                (left, left + number(node, "width"), number(node, "y") + number(node, "height"))
            }
            "text" => (ends(node).0, ends(node).1, number(node, "y")),
            _ => continue,
        };
        assert!(left >= 0.0 && right <= width && bottom <= height, "{node:?} beyond the picture");
    }
}

#[test]
fn texts_keep_apart_where_fields_do() {
    let names = ["count[0]", "a_rather_long_name_for_a_field", "m", "", "mask of level 100"];
    let fields = (0..40).map(|at| {
        // Sizes 1, 2, 4, 8, 16 in turn, each at a multiple of its size.
        let size = 1 << (at % 5);
        Field::new(names[at as usize * 3 % 5], 32 * (at / 5) + size, size)
    });
    let map = HeatMap::new("Texts").note("and a note").region("region", 0x1000, fields.collect());
    for most in [1, 300, u64::from(u32::MAX), u64::MAX / 4] {
        let lines: Vec<_> =
            (0..5).map(|at| line(0x1000 + 64 * at, most >> at, most >> 9)).collect();
        for measure in [Measure::Transfers, Measure::Misses] {
            let svg = map.clone().measure(measure).rows(4).svg(&lines[..2]);
            check_gaps(&svg);
            check_edges(&svg);
        }
    }
}

#[test]
fn the_hottest_line_is_on_top_or_memory_is_in_order() {
    let lines = [line(0x1000, 1, 90), line(0x1040, 50, 0), line(0x2000, 7, 0), line(0x2040, 7, 0)];
    let fields = vec![Field::new("a", 0, 64), Field::new("b", 64, 8)];
    let map = HeatMap::new("t").region("R", 0x1000, fields);
    let shown = |map: &HeatMap| labels(&map.svg(&lines), &["R"]);
    assert_eq!(shown(&map), ["R +0x40", "0x2000", "0x2040", "R +0x0"]);
    let by_misses = map.clone().measure(Measure::Misses);
    assert_eq!(shown(&by_misses), ["R +0x0", "R +0x40", "0x2000", "0x2040"]);
    let in_memory = map.clone().order(Order::Address);
    assert_eq!(shown(&in_memory), ["R +0x0", "R +0x40", "0x2000", "0x2040"]);
    // Of the hottest two, in memory order, one has gone; what is left out is said.
    let few = map.order(Order::Address).rows(2);
    assert_eq!(shown(&few), ["R +0x40", "0x2000"]);
    let svg = few.svg(&lines);
    assert!(svg.contains("… and 2 lines more, with 8 transfers together"), "{svg}");
}

#[test]
fn a_region_within_a_line_and_a_field_over_two_are_drawn_where_their_bytes_are() {
    // As the kernel's: 0x38 bytes into a line. 14 pixels a byte, from 216 on.
    let fields = vec![Field::new("count", 0, 4), Field::new("mask", 4, 8), Field::new("c", 12, 4)];
    let map = HeatMap::new("t").region("vec", 0x1038, fields).order(Order::Address);
    let svg = map.svg(&[line(0x1000, 3, 0), line(0x1040, 2, 0)]);
    assert_eq!(labels(&svg, &["vec"]), ["vec -0x38", "vec +0x8"]);
    let document = Document::parse(&svg).unwrap();
    let mut boxes = Vec::new();
    for node in document.descendants().filter(|node| node.has_tag_name("title")) {
        let (text, area) = (node.text().unwrap(), node.parent().unwrap());
        if let Some(field) = text.strip_prefix("vec: ") {
            let byte = (number(area, "x") - 1.0 - 216.0) / 14.0;
            let bytes = (number(area, "width") + 2.0) / 14.0;
            boxes.push((field.split(',').next().unwrap().to_string(), byte, bytes));
        }
    }
    let expected = [("count", 56.0, 4.0), ("mask", 60.0, 4.0), ("mask", 0.0, 4.0), ("c", 4.0, 4.0)];
    assert_eq!(boxes, expected.map(|(name, byte, bytes)| (name.to_string(), byte, bytes)));
}

#[test]
fn a_hostile_name_stays_text() {
    let name = "</text><script>alert(\"&amp;'\u{1}]]>";
    let svg = HeatMap::new(name)
        .note(name)
        .region(name, 0, vec![Field::new(name, 0, 64)])
        .svg(&[line(0, 5, 0)]);
    let document = Document::parse(&svg).expect("well-formed");
    assert!(!document.descendants().any(|node| node.has_tag_name("script")));
    // Read back as it was given, the character aside that XML cannot write.
    let shown = name.replace('\u{1}', "\u{fffd}");
    let texts = texts(&document);
    assert_eq!(texts.iter().filter(|text| **text == shown).count(), 3, "title, note, field");
}

#[test]
fn nothing_to_show_is_a_picture_too() {
    for lines in [&[][..], &[line(0, 0, 0)]] {
        let svg = HeatMap::new("").svg(lines);
        check_edges(&svg);
        assert!(!svg.contains("NaN"));
    }
}

#[test]
fn the_same_accesses_make_the_same_picture() {
    let svg = || {
        let mut directory = Directory::new(Machine::new(2, 3, 2, Numbering::Linux).unwrap());
        for turn in 0..3000_u64 {
            let kind = [Kind::Load, Kind::Rmw, Kind::Store][(turn % 3) as usize];
            directory.access((turn * 7 % 12) as usize, turn * turn % 4099 * 8, 8, kind, 0);
        }
        HeatMap::new("t").rows(50).svg(&directory.lines())
    };
    assert_eq!(svg(), svg());
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[a-z_0-9]{0,300}", Just("<&>\"'\u{0}\u{ffff}".to_string())]
}

proptest! {
    #[test]
    fn whatever_is_given_the_picture_is_well_formed_and_fits(
        title in name(),
        fields in prop::collection::vec((name(), 0..300_u64, 0..100_u64), 0..20),
        base in 0..200_u64,
        lines in prop::collection::btree_map(0..10_u64, (any::<u32>(), any::<u32>()), 0..10),
        rows in 0..12_usize,
    ) {
        let fields = fields.into_iter().map(|(name, at, size)| Field::new(name, at, size));
        let lines: Vec<LineReport> =
            lines.into_iter().map(|(at, (a, b))| line(at * 64, a.into(), b.into())).collect();
        let map = HeatMap::new(title.clone()).note(title.clone()).rows(rows);
        check_edges(&map.region(title, base, fields.collect()).svg(&lines));
    }
}
