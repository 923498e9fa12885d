//! [`HeatMap`]: lines and the fields in them, coloured by what they went through.

use super::svg::{Anchor, Svg, characters, fitted, grouped};
use super::{Counts, LINE, LineReport};

/// A field of a structure: where it lies and what it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name, as it is to be shown.
    pub name: String,
    /// Bytes from the beginning of its region.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

impl Field {
    /// A field of `size` bytes at `offset`.
    pub fn new(name: impl Into<String>, offset: u64, size: u64) -> Self {
        Self { name: name.into(), offset, size }
    }
}

/// What colours a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    /// [`Counts::transfers`].
    Transfers,
    /// [`Counts::misses`]: the transfers and the upgrades.
    Misses,
}

impl Measure {
    fn of(self, counts: &Counts) -> u64 {
        match self {
            Self::Transfers => counts.transfers(),
            Self::Misses => counts.misses(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Transfers => "transfers",
            Self::Misses => "misses",
        }
    }
}

/// The order of the lines from top to bottom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The hottest first; of equal ones, the first in memory.
    Hottest,
    /// As they lie in memory.
    Address,
}

/// A structure, or an array, at its place.
#[derive(Clone, Debug)]
struct Region {
    name: String,
    base: u64,
    fields: Vec<Field>,
}

/// A picture of lines: each a strip of 64 bytes with the fields that lie in it, coloured by its
/// transfers or misses.
///
/// Fields come in regions, each with its own base address (a structure, the arrays it points to).
/// A line is labelled by the first region that lies in it. The picture is an SVG text without
/// scripts, styles or references; a viewer that shows titles tells offset and size of a field.
/// It is the same for the same input, byte for byte.
///
/// ```
/// use model::coherence::{Directory, Field, HeatMap, Kind, Machine, Numbering};
///
/// let mut directory = Directory::new(Machine::new(1, 2, 1, Numbering::Linux)?);
/// for _ in 0..100 {
///     directory.access(0, 0x1000, 8, Kind::Rmw, 0);
///     directory.access(1, 0x1008, 8, Kind::Rmw, 0);
/// }
/// let fields = vec![Field::new("ours", 0, 8), Field::new("theirs", 8, 8)];
/// let svg = HeatMap::new("False sharing").region("Pair", 0x1000, fields).svg(&directory.lines());
/// assert!(svg.contains(">theirs</text>") && svg.contains(">199</text>"));
/// # Ok::<(), model::coherence::MachineError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HeatMap {
    title: String,
    notes: Vec<String>,
    regions: Vec<Region>,
    measure: Measure,
    order: Order,
    rows: usize,
}

/// From rare to hot: each is for twice as much as the one before.
const HEAT: [&str; 9] = [
    "#fff6d5", "#ffe8ae", "#fed584", "#fdbb63", "#fa9c4b", "#f1753a", "#df4e2d", "#bf2a26",
    "#8e1322",
];
const COLD: &str = "#f1f1f1";
/// From this one on, text is white.
const DARK: usize = 6;
const INK: &str = "#1c1c1c";
const FAINT: &str = "#6b6b6b";
const EDGE: &str = "#9a9a9a";

// Pixels.
const MARGIN: usize = 16;
const LABEL: usize = 200;
const BYTE: usize = 14;
const STRIP: usize = BYTE * LINE as usize;
const STRIP_X: usize = MARGIN + LABEL;
const COLUMN: usize = 94;
const COLUMNS: [&str; 5] = ["transfers", "misses", "invalidated", "across", "share"];
const WIDTH: usize = STRIP_X + STRIP + COLUMNS.len() * COLUMN + MARGIN;
const ROW: usize = 26;
const GAP: usize = 4;

impl HeatMap {
    /// A picture with a title and no fields yet: all touched lines, hottest first, by transfers.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            notes: Vec::new(),
            regions: Vec::new(),
            measure: Measure::Transfers,
            order: Order::Hottest,
            rows: usize::MAX,
        }
    }

    /// A line of text under the title: what was run, on what.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// A region at an address, with its fields.
    ///
    /// # Panics
    ///
    /// If a field reaches beyond the last address.
    #[must_use]
    pub fn region(mut self, name: impl Into<String>, base: u64, fields: Vec<Field>) -> Self {
        for field in &fields {
            let end = base.checked_add(field.offset).and_then(|at| at.checked_add(field.size));
            assert!(end.is_some(), "{field:?} at {base:#x} reaches beyond the last address");
        }
        self.regions.push(Region { name: name.into(), base, fields });
        self
    }

    /// What colours the lines.
    #[must_use]
    pub fn measure(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    /// The order of the lines.
    #[must_use]
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Shows the `rows` hottest lines only, and says how many were left out.
    #[must_use]
    pub fn rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self
    }

    /// The picture of these lines, each of which is given once.
    pub fn svg(&self, lines: &[LineReport]) -> String {
        let heat = |line: &LineReport| self.measure.of(&line.counts);
        let total: u64 = lines.iter().map(heat).sum();
        let most = lines.iter().map(heat).max().unwrap_or(0);
        let mut shown: Vec<&LineReport> = lines.iter().collect();
        shown.sort_by_key(|line| (std::cmp::Reverse(heat(line)), line.address));
        shown.truncate(self.rows);
        let left_out = total - shown.iter().map(|line| heat(line)).sum::<u64>();
        if self.order == Order::Address {
            shown.sort_by_key(|line| line.address);
        }

        let mut svg = Svg::new(WIDTH);
        let mut y = self.head(&mut svg);
        y = self.legend(&mut svg, y, most);
        y = ruler(&mut svg, y);
        for line in &shown {
            self.row(&mut svg, y, line, (most, total));
            y += ROW + GAP;
        }
        if shown.len() < lines.len() {
            let more = lines.len() - shown.len();
            let text = format!(
                "… and {more} lines more, with {} {} together",
                grouped(left_out),
                self.measure.name()
            );
            svg.text([STRIP_X, y + 14], Anchor::Start, (11, FAINT), &text);
            y += ROW;
        }
        svg.finish(y + MARGIN)
    }

    /// Title and notes; where they end.
    fn head(&self, svg: &mut Svg) -> usize {
        let mut y = MARGIN;
        for (text, largest) in
            [(&self.title, 18)].into_iter().chain(self.notes.iter().map(|note| (note, 12)))
        {
            y += largest + 4;
            if let Some((size, text)) = fitted(text, WIDTH - 2 * MARGIN, largest) {
                let ink = if largest == 18 { INK } else { FAINT };
                svg.text([MARGIN, y], Anchor::Start, (size, ink), &text);
            }
        }
        y + 14
    }

    /// The colours and what they stand for; where it ends.
    fn legend(&self, svg: &mut Svg, y: usize, most: u64) -> usize {
        let text = format!("{}, up to", self.measure.name());
        svg.text([MARGIN, y + 13], Anchor::Start, (12, INK), &text);
        let limits = (0..HEAT.len()).map(|class| (HEAT[class], limit(class, most)));
        let limits = limits.filter(|&(_, limit)| limit > 0);
        for (at, (fill, limit)) in std::iter::once((COLD, 0)).chain(limits).enumerate() {
            let x = STRIP_X + at * 89;
            svg.area([x, y, 89, 18], fill, &format!("at most {limit}"));
            svg.frame([x, y, 89, 18], EDGE);
            if let Some((size, text)) = fitted(&grouped(limit), 85, 11) {
                svg.text([x + 44, y + 32], Anchor::Middle, (size, INK), &text);
            }
        }
        y + 56
    }

    fn row(&self, svg: &mut Svg, y: usize, line: &LineReport, (most, total): (u64, u64)) {
        let heat = self.measure.of(&line.counts);
        let (fill, ink) = colour(heat, most);
        let label = self.label(line.address);
        if let Some((size, text)) = fitted(&label, LABEL - 12, 12) {
            svg.text([STRIP_X - 12, y + 17], Anchor::End, (size, INK), &text);
        }
        svg.area([STRIP_X, y, STRIP, ROW], fill, &label);
        let fields = self.regions.iter().flat_map(|region| {
            let place = move |field| Some((region, field, piece(region, field, line.address)?));
            region.fields.iter().filter_map(place)
        });
        for (at, (region, field, bytes)) in fields.enumerate() {
            if at == 0 {
                // Bytes of no field stand back, unless nothing at all is known of the line.
                svg.veil([STRIP_X, y, STRIP, ROW], &label);
            }
            draw_field(svg, y, bytes, (fill, ink), &region.name, field);
        }
        svg.frame([STRIP_X, y, STRIP, ROW], INK);
        let Counts { invalidations, cross_socket, .. } = line.counts;
        let share = match total {
            0 => "-".to_string(),
            total => format!("{:.1} %", 100.0 * heat as f64 / total as f64),
        };
        let [transfers, misses] = [line.counts.transfers(), line.counts.misses()].map(grouped);
        let cells = [transfers, misses, grouped(invalidations), grouped(cross_socket), share];
        for (at, cell) in cells.iter().enumerate() {
            if let Some((size, text)) = fitted(cell, COLUMN - 6, 12) {
                svg.text([column_end(at), y + 17], Anchor::End, (size, INK), &text);
            }
        }
    }

    /// Region and offset of a line, or its address where no region is.
    fn label(&self, address: u64) -> String {
        let lies_here = |region: &&Region| {
            region.fields.iter().any(|field| piece(region, field, address).is_some())
        };
        match self.regions.iter().find(lies_here) {
            // A region may begin within its first line.
            Some(Region { name, base, .. }) if *base > address => {
                format!("{name} -{:#x}", base - address)
            }
            Some(Region { name, base, .. }) => format!("{name} +{:#x}", address - base),
            None => format!("{address:#x}"),
        }
    }
}

/// The bytes of a line that a field takes: first, and one past the last.
fn piece(region: &Region, field: &Field, line: u64) -> Option<(usize, usize)> {
    let begin = region.base + field.offset;
    // In 128 bits: the last line's end is no address.
    let end = u128::from(begin) + u128::from(field.size);
    let line_end = u128::from(line) + u128::from(LINE);
    let first = begin.saturating_sub(line);
    let past = end.min(line_end).saturating_sub(u128::from(line)) as u64;
    (first < past).then_some((first as usize, past as usize))
}

fn draw_field(
    svg: &mut Svg,
    y: usize,
    (first, past): (usize, usize),
    (fill, ink): (&str, &str),
    region: &str,
    field: &Field,
) {
    let (x, width) = (STRIP_X + first * BYTE, (past - first) * BYTE);
    let Field { name, offset, size } = field;
    let tip = format!("{region}: {name}, offset {offset:#x}, {size} bytes");
    svg.area([x + 1, y + 2, width - 2, ROW - 4], fill, &tip);
    svg.frame([x + 1, y + 2, width - 2, ROW - 4], EDGE);
    if let Some((size, text)) = fitted(name, width - 6, 11) {
        svg.text([x + width / 2, y + 17], Anchor::Middle, (size, ink), &text);
    }
}

/// Byte offsets over the strip, and the names of the columns; where it ends.
fn ruler(svg: &mut Svg, y: usize) -> usize {
    for byte in (0..=LINE as usize).step_by(8) {
        svg.text([STRIP_X + byte * BYTE, y], Anchor::Middle, (10, FAINT), &byte.to_string());
    }
    for (at, name) in COLUMNS.iter().enumerate() {
        svg.text([column_end(at), y], Anchor::End, (11, FAINT), name);
    }
    debug_assert!(COLUMNS.iter().all(|name| name.len() <= characters(COLUMN - 6, 11)));
    y + 6
}

/// The right end of a column.
fn column_end(at: usize) -> usize {
    STRIP_X + STRIP + (at + 1) * COLUMN
}

/// The most that a class of [`HEAT`] stands for.
fn limit(class: usize, most: u64) -> u64 {
    most >> (HEAT.len() - 1 - class)
}

/// Colours of a line and of text on it.
fn colour(heat: u64, most: u64) -> (&'static str, &'static str) {
    if heat == 0 {
        return (COLD, INK);
    }
    let class = (0..HEAT.len()).find(|&class| heat <= limit(class, most));
    let class = class.expect("no line is hotter than the hottest");
    (HEAT[class], if class >= DARK { "#ffffff" } else { INK })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_halve() {
        assert_eq!(
            (0..9).map(|class| limit(class, 1000)).collect::<Vec<_>>()[6..],
            [250, 500, 1000]
        );
        assert_eq!(colour(1000, 1000).0, HEAT[8]);
        assert_eq!((colour(501, 1000).0, colour(500, 1000).0), (HEAT[8], HEAT[7]));
        assert_eq!((colour(1, 1000).0, colour(0, 1000).0), (HEAT[0], COLD));
        // One of one: hot.
        assert_eq!(colour(1, 1), (HEAT[8], "#ffffff"));
    }

    #[test]
    fn a_field_lies_in_the_lines_that_its_bytes_lie_in() {
        let region = Region { name: "r".into(), base: 0x1038, fields: vec![] };
        let field = |offset, size| Field::new("f", offset, size);
        assert_eq!(piece(&region, &field(0, 8), 0x1000), Some((56, 64)));
        assert_eq!(piece(&region, &field(0, 8), 0x1040), None);
        assert_eq!(piece(&region, &field(4, 8), 0x1000), Some((60, 64)));
        assert_eq!(piece(&region, &field(4, 8), 0x1040), Some((0, 4)));
        assert_eq!(piece(&region, &field(0, 200), 0x1080), Some((0, 64)));
        assert_eq!(piece(&region, &field(0, 0), 0x1000), None);
        let last = Region { name: "r".into(), base: u64::MAX - 63, fields: vec![] };
        assert_eq!(piece(&last, &field(56, 7), u64::MAX - 63), Some((56, 63)));
    }
}
