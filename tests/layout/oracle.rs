//! Random maps, compared with a list that has one entry a byte.

use std::collections::BTreeSet;

use corelocal::cacheline::{Access, GapKind, Group, Layout, LayoutField, Limit, Rule, Touch};
use proptest::prelude::*;

/// The names of the fields of random maps: enough, and none the start of another's number.
const NAMES: [&str; 8] = ["a", "b", "cc", "dd", "e1", "e2", "long_name", "z"];

#[derive(Clone, Debug)]
struct Random {
    /// Offset, size, group of each field: any, also on top of each other.
    fields: Vec<(usize, usize, Option<&'static str>)>,
    tail: usize,
    align: usize,
    line: usize,
}

fn random() -> impl Strategy<Value = Random> {
    let group = prop::sample::select(vec![None, Some("one"), Some("two")]);
    let field = (0usize..300, 0usize..70, group);
    let power = |most: u32| (0..=most).prop_map(|log| 1usize << log);
    (prop::collection::vec(field, 0..8), 0usize..70, power(8), power(8))
        .prop_map(|(fields, tail, align, line)| Random { fields, tail, align, line })
}

impl Random {
    fn fields(&self) -> Vec<LayoutField<'static>> {
        let named = self.fields.iter().zip(NAMES);
        named
            .map(|(&(offset, size, group), name)| {
                let field = LayoutField::new(name, offset, size, 1);
                group.map_or(field, |group| field.in_group(group))
            })
            .collect()
    }

    fn size(&self) -> usize {
        let end = self.fields.iter().map(|(offset, size, _)| offset + size).max().unwrap_or(0);
        (end + self.tail).next_multiple_of(self.align)
    }

    /// Where in a line the struct may begin.
    fn bases(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.line).step_by(self.align)
    }

    /// The lines of some fields, byte by byte.
    fn lines(
        &self,
        fields: &[LayoutField<'_>],
        base: usize,
        pick: impl Fn(&LayoutField<'_>) -> bool,
    ) -> BTreeSet<usize> {
        let picked = fields.iter().filter(|field| pick(field));
        picked.flat_map(|f| f.offset..f.end()).map(|byte| (base + byte) / self.line).collect()
    }

    fn most(&self, fields: &[LayoutField<'_>], pick: impl Fn(&LayoutField<'_>) -> bool) -> usize {
        self.bases().map(|base| self.lines(fields, base, &pick).len()).max().unwrap_or(0)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_of_fields_are_those_of_their_bytes(random in random(), picks in any::<[bool; 8]>()) {
        let fields = random.fields();
        let map = Layout::new("S", random.size(), random.align, &fields, &[], &[])
            .with_line(random.line);
        let names: Vec<&str> =
            fields.iter().zip(picks).filter(|(_, pick)| *pick).map(|(f, _)| f.name).collect();
        let picked = |field: &LayoutField<'_>| names.contains(&field.name);
        let lines = map.lines_of(&names).expect("names of the map");
        let found = random.lines(&fields, 0, picked);
        prop_assert_eq!(lines.iter().collect::<Vec<_>>(), found.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(lines.count(), random.most(&fields, picked));
        for line in 0..random.size() / random.line + 2 {
            prop_assert_eq!(lines.contains(line), found.contains(&line));
        }
        prop_assert_eq!(map.lines_of(&["a", "none"]).unwrap_err().name(),
            if fields.is_empty() { "a" } else { "none" });
    }

    #[test]
    fn gaps_are_the_bytes_of_no_field(random in random()) {
        let fields = random.fields();
        let map = Layout::new("S", random.size(), random.align, &fields, &[], &[]);
        let mut is_used = vec![false; random.size()];
        fields.iter().flat_map(|f| f.offset..f.end()).for_each(|byte| is_used[byte] = true);
        let last = is_used.iter().rposition(|used| *used).map_or(0, |at| at + 1);
        let mut seen = vec![true; random.size()];
        for gap in map.gaps() {
            prop_assert!(gap.size > 0);
            let kind = if gap.offset < last { GapKind::Hole } else { GapKind::Padding };
            prop_assert_eq!(gap.kind, kind);
            seen[gap.offset..gap.offset + gap.size].fill(false);
        }
        prop_assert_eq!(&seen, &is_used);
        prop_assert_eq!(map.used(), is_used.iter().filter(|used| **used).count());
        prop_assert!(map.partial().gaps().all(|gap| gap.kind == GapKind::Unlisted));
    }

    #[test]
    fn promises_hold_where_the_bytes_say_so(random in random(), limit in 0usize..6) {
        let fields = random.fields();
        let is_one = |field: &LayoutField<'_>| field.group == Some("one");
        let is_two = |field: &LayoutField<'_>| field.group == Some("two");
        let bytes = || fields.iter().filter(|f| is_one(f)).flat_map(|f| f.offset..f.end());
        let (start, end) = (bytes().min(), bytes().max().map(|last| last + 1));
        let extent = start.zip(end).map_or(0, |(start, end)| end - start);
        let lines = random.most(&fields, is_one);
        let is_aligned = start.is_none_or(|start| {
            start % random.line == 0 && random.align >= random.line
        });
        let common = |other: &dyn Fn(&LayoutField<'_>) -> bool| random.bases().any(|base| {
            let own = random.lines(&fields, base, is_one);
            own.intersection(&random.lines(&fields, base, other)).next().is_some()
        });
        // What lies beside the struct: a byte before it and a byte behind it.
        let beside = random.bases().any(|base| {
            let own = random.lines(&fields, base, is_one);
            let before = base.checked_sub(1).map(|byte| byte / random.line);
            let behind = (base + random.size()) / random.line;
            before.is_some_and(|line| own.contains(&line)) || own.contains(&behind)
        });
        let unless = |other: bool| limit % 2 == 0 || other;
        let rules = [
            (Rule::Lines(Limit::AtMost(limit)), lines <= limit),
            (Rule::Lines(Limit::Exactly(limit)), start.is_none() || lines == limit),
            (Rule::Bytes(Limit::AtMost(20 * limit)), extent <= 20 * limit),
            (Rule::Bytes(Limit::Exactly(extent)), true),
            (Rule::Bytes(Limit::Exactly(extent + 1)), start.is_none()),
            (Rule::Aligned, is_aligned),
            (Rule::AlignedIf(random.line), is_aligned),
            (Rule::AlignedIf(2 * random.line), true),
            (Rule::Apart("two"), !common(&is_two)),
            (Rule::Exclusive, !beside && !common(&|field| !is_one(field))),
            (Rule::Apart("three"), false),
            (Rule::Holds(&["a"]), fields.first().is_some_and(is_one)),
            (Rule::Holds(&["declared"]), true),
        ];
        prop_assume!(unless(true));
        for (rule, holds) in rules {
            let rules = [rule];
            let groups = [Group::new("one", &rules), Group::new("two", &[])];
            let map = Layout::new("S", random.size(), random.align, &fields, &groups, &[])
                .with_line(random.line)
                .declaring(&["declared"]);
            let broken = map.broken();
            prop_assert_eq!(broken.is_none(), holds, "{:?}: {:?}", rule, broken);
            if let Some(broken) = broken {
                prop_assert!(broken.to_string().starts_with("S: group one: "), "{}", broken);
            }
        }
    }

    #[test]
    fn operations_hold_where_the_bytes_say_so(random in random(), limit in 0usize..6) {
        let fields = random.fields();
        let touches = [Touch::write("a"), Touch::read("cc"), Touch::read("absent")];
        let touched = |field: &LayoutField<'_>| ["a", "cc"].contains(&field.name);
        let accesses = [Access::new("use", &touches).in_lines(Limit::AtMost(limit))];
        let declared = ["a", "cc", "absent"];
        let map = Layout::new("S", random.size(), random.align, &fields, &[], &accesses)
            .with_line(random.line);
        prop_assert!(map.broken().is_some(), "absent was not declared");
        let map = map.declaring(&declared);
        let lines = random.most(&fields, touched);
        prop_assert_eq!(map.lines_of_access(&accesses[0]).count(), lines);
        prop_assert_eq!(map.broken().is_none(), lines <= limit);
        let moved = map.with_line(2 * random.line);
        let diff = moved.diff(&map);
        prop_assert_eq!(diff.fields().count(), 0);
        let (name, before, after) = diff.accesses().next().expect("one operation");
        prop_assert_eq!((name, before), ("use", lines));
        prop_assert!(after <= before);
    }

    #[test]
    fn any_map_can_be_printed_and_drawn(random in random()) {
        let fields = random.fields();
        let groups = [Group::new("one", &[]), Group::new("two", &[])];
        let map = Layout::new("<S & \"T\">", random.size(), random.align, &fields, &groups, &[])
            .with_line(random.line);
        let table = map.to_string();
        for field in fields.iter().filter(|field| field.size > 0) {
            let row = table.lines().find(|line| line.ends_with(&format!("  {}", field.name)));
            let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
            prop_assert_eq!(row[..2].to_vec(), [field.offset.to_string(), field.size.to_string()]);
        }
        let svg = map.to_svg();
        prop_assert!(roxmltree::Document::parse(&svg).is_ok());
    }
}
