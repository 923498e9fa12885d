//! A map as a drawing.

mod name;

use alloc::string::String;
use core::fmt::{self, Write};

use super::Layout;
use super::holes::GapKind;
use super::text::{Counted, Lines, Row};
use name::{Cut, Escaped, Style};

/// Colours of groups, in turn: light enough for black names, and apart for people who do not tell
/// red from green.
const COLOURS: [&str; 8] =
    ["#8dd3e8", "#fdc37e", "#a9d99a", "#d8b4e2", "#f6e58d", "#f4a6a0", "#b5c7f2", "#d2c29d"];
/// Fields of no group.
const PLAIN: &str = "#e9e9e6";

const MARGIN: usize = 16;
/// Room for `line 12` and the offset, left of the boxes.
const LABELS: usize = 76;
const HEAD: usize = 68;
const ROW: usize = 54;
const BETWEEN: usize = 8;
const LEGEND: usize = 30;
const TEXT: usize = 16;
/// A character of a monospaced font is this many thousandths of its size wide.
const ASPECT: usize = 602;

struct Drawing<'a> {
    layout: Layout<'a>,
    /// Pixels a byte.
    byte: usize,
}

impl Layout<'_> {
    /// A drawing of the map as an SVG document: one row a line, fields coloured by group, holes and
    /// padding hatched; each box tells name, offset and size when pointed at.
    ///
    /// ```
    /// # corelocal::cacheline_struct! { struct Queue { running: u32, weight: u64 } }
    /// # let _ = |queue: Queue| (queue.running, queue.weight);
    /// let svg = Queue::LAYOUT.to_svg();
    /// assert!(svg.starts_with("<svg") && svg.contains("weight"));
    /// ```
    pub fn to_svg(&self) -> String {
        let byte = match self.line {
            0..=32 => 28,
            33..=64 => 16,
            65..=128 => 12,
            _ => 8,
        };
        let mut out = String::new();
        // Writing into a `String` cannot fail.
        let _ = Drawing { layout: *self, byte }.draw(&mut out);
        out
    }
}

/// A box: bytes of one field or gap that lie on one line.
struct Piece<'a> {
    row: Row<'a>,
    line: usize,
    from: usize,
    to: usize,
}

impl Drawing<'_> {
    fn draw(&self, out: &mut String) -> fmt::Result {
        let map = &self.layout;
        let width = 2 * MARGIN + LABELS + map.line * self.byte;
        let below = HEAD + map.lines() * (ROW + BETWEEN);
        let height = below + LEGEND + map.accesses.len() * TEXT + MARGIN;
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" \
             font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">"
        )?;
        out.push_str(
            "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fff\"/>\
             <line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#c0c0bc\" stroke-width=\"2\"/>\
             </pattern></defs>\n",
        );
        writeln!(out, "<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>")?;
        self.head(out)?;
        for line in 0..map.lines() {
            self.label(out, line)?;
        }
        for row in map.rows().filter(|row| row.size() > 0) {
            self.boxes(out, row)?;
        }
        self.legend(out, below)?;
        self.operations(out, below + LEGEND)?;
        out.push_str("</svg>\n");
        Ok(())
    }

    fn head(&self, out: &mut String) -> fmt::Result {
        let map = &self.layout;
        let x = MARGIN;
        writeln!(
            out,
            "<text x=\"{x}\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{}</text>",
            Escaped(map.name)
        )?;
        writeln!(
            out,
            "<text x=\"{x}\" y=\"42\" font-size=\"11\" fill=\"#555\">{} bytes, aligned to {}; {} \
             of {} bytes; {} bytes of no field</text>",
            map.size,
            map.align,
            Lines(map.lines()),
            map.line,
            map.size.saturating_sub(map.used()),
        )?;
        for at in (0..map.line).step_by(8) {
            let x = self.x(at);
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" font-size=\"9\" fill=\"#777\">+{at}</text>",
                HEAD - 5
            )?;
        }
        Ok(())
    }

    fn label(&self, out: &mut String, line: usize) -> fmt::Result {
        let y = Self::y(line);
        let (up, down) = (y + ROW / 2 - 3, y + ROW / 2 + 11);
        writeln!(out, "<text x=\"{MARGIN}\" y=\"{up}\" font-size=\"12\">line {line}</text>")?;
        let offset = line * self.layout.line;
        writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{down}\" font-size=\"10\" fill=\"#777\">{offset}</text>"
        )
    }

    /// The boxes of a row of the table, one for each line it lies on.
    fn boxes(&self, out: &mut String, row: Row<'_>) -> fmt::Result {
        let (size, line) = (self.layout.line, row.offset() / self.layout.line);
        let end = row.offset() + row.size();
        for line in line..=(end - 1) / size {
            let from = row.offset().max(line * size) - line * size;
            let to = end.min((line + 1) * size) - line * size;
            self.draw_box(out, &Piece { row, line, from, to })?;
        }
        Ok(())
    }

    fn draw_box(&self, out: &mut String, piece: &Piece<'_>) -> fmt::Result {
        let (x, y) = (self.x(piece.from), Self::y(piece.line));
        let width = (piece.to - piece.from) * self.byte;
        let (offset, size) = (piece.row.offset(), piece.row.size());
        let (name, fill, stroke) = match piece.row {
            Row::Field(field) => (field.name, self.colour(field.group), "#444"),
            Row::Gap(gap) => (name_of(gap.kind), "url(#hatch)", "#aaa"),
        };
        let name_escaped = Escaped(name);
        write!(out, "<g><title>{name_escaped}: offset {offset}, size {size}")?;
        if let Row::Field(super::LayoutField { group: Some(group), .. }) = piece.row {
            write!(out, ", group {}", Escaped(group))?;
        }
        writeln!(
            out,
            "</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\" \
             fill=\"{fill}\" stroke=\"{stroke}\"/>"
        )?;
        match piece.row {
            Row::Field(_) => self.write_name(out, piece, name, width)?,
            Row::Gap(_) if width >= 60 => self.write_gap(out, piece, name, width)?,
            Row::Gap(_) => {}
        }
        out.push_str("</g>\n");
        Ok(())
    }

    /// The name as large as the box allows, on two lines or upright where that is larger, cut off
    /// as the last resort; below it, where there is room, the offset.
    fn write_name(
        &self,
        out: &mut String,
        piece: &Piece<'_>,
        name: &str,
        width: usize,
    ) -> fmt::Result {
        let style = Style::of(name, width);
        let (x, y) = (self.x(piece.from) + width / 2, Self::y(piece.line) + ROW / 2);
        let room = if style.is_upright { ROW } else { width };
        let room = room.saturating_sub(2) * 1000 / (style.size * ASPECT);
        let step = style.size as isize + 1;
        let count = style.words.len() as isize;
        for (at, words) in style.words.into_iter().enumerate() {
            // How far below the middle of the box (left of it, when upright) the words stand.
            let aside = (2 * at as isize - count + 1) * step / 2;
            let (size, text) = (style.size, Cut(words, room));
            match style.is_upright {
                true => writeln!(
                    out,
                    "<text transform=\"translate({} {y}) rotate(-90)\" font-size=\"{size}\" \
                     text-anchor=\"middle\">{text}</text>",
                    x as isize + aside + style.size as isize / 3,
                )?,
                false => writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{}\" font-size=\"{size}\" \
                     text-anchor=\"middle\">{text}</text>",
                    y as isize + aside - 1,
                )?,
            }
        }
        if style.is_upright {
            return Ok(());
        }
        let (offset, below) = (piece.row.offset(), y + ROW / 2 - 7);
        let is_start = piece.line == offset / self.layout.line;
        let small = |text: fmt::Arguments<'_>, out: &mut String| {
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{below}\" font-size=\"9\" fill=\"#555\" \
                 text-anchor=\"middle\">{text}</text>"
            )
        };
        match is_start {
            true if width >= 56 => small(format_args!("@{offset}, {} B", piece.row.size()), out),
            false if width >= 80 => small(format_args!("continued"), out),
            _ => Ok(()),
        }
    }

    fn write_gap(
        &self,
        out: &mut String,
        piece: &Piece<'_>,
        name: &str,
        width: usize,
    ) -> fmt::Result {
        let (x, y) = (self.x(piece.from) + width / 2, Self::y(piece.line) + ROW / 2);
        let size = piece.to - piece.from;
        // A white rim keeps the words readable on the hatching.
        writeln!(
            out,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"10\" fill=\"#666\" text-anchor=\"middle\" \
             stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">{name}</text>\n\
             <text x=\"{x}\" y=\"{}\" font-size=\"9\" fill=\"#666\" text-anchor=\"middle\" \
             stroke=\"#fff\" stroke-width=\"4\" paint-order=\"stroke\">{size} B</text>",
            y + 15,
        )
    }

    fn legend(&self, out: &mut String, y: usize) -> fmt::Result {
        let mut x = MARGIN + LABELS;
        let groups = self.layout.groups.iter().map(|group| (group.name, Some(group.name)));
        let plain = self.layout.fields.iter().any(|field| field.group.is_none());
        let entries = groups.chain(plain.then_some(("no group", None)));
        let named = entries.map(|(name, group)| (name, self.colour(group)));
        for (name, fill) in named.chain([("hole or padding", "url(#hatch)")]) {
            writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"14\" height=\"14\" fill=\"{fill}\" \
                 stroke=\"#444\"/><text x=\"{}\" y=\"{}\" font-size=\"11\">{}</text>",
                y + 6,
                x + 20,
                y + 17,
                Escaped(name),
            )?;
            x += 20 + name.chars().count() * 11 * ASPECT / 1000 + 22;
        }
        Ok(())
    }

    fn operations(&self, out: &mut String, y: usize) -> fmt::Result {
        let x = MARGIN + LABELS;
        for (at, access) in self.layout.accesses.iter().enumerate() {
            let lines = self.layout.lines_of_access(access);
            writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" font-size=\"11\">{} touches {}</text>",
                y + (at + 1) * TEXT,
                Escaped(access.name),
                Counted(&lines),
            )?;
        }
        Ok(())
    }

    fn colour(&self, group: Option<&str>) -> &'static str {
        let at = self.layout.groups.iter().position(|own| Some(own.name) == group);
        at.map_or(PLAIN, |at| COLOURS[at % COLOURS.len()])
    }

    fn x(&self, byte: usize) -> usize {
        MARGIN + LABELS + byte * self.byte
    }

    fn y(line: usize) -> usize {
        HEAD + line * (ROW + BETWEEN)
    }
}

fn name_of(kind: GapKind) -> &'static str {
    match kind {
        GapKind::Hole => "hole",
        GapKind::Padding => "padding",
        GapKind::Unlisted => "not listed",
    }
}
