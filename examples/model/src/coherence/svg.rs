//! Shapes and texts of an SVG picture, as text.

use std::fmt::Write as _;

/// The width of a character in a font of size 1. No common monospaced font is wider.
const CHARACTER: f64 = 0.61;

/// How a text stands to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture that is being written.
pub(super) struct Svg {
    body: String,
    width: usize,
}

impl Svg {
    pub(super) fn new(width: usize) -> Self {
        Self { body: String::new(), width }
    }

    /// A filled rectangle; `tip` is what a viewer shows when asked about it.
    pub(super) fn area(&mut self, area: [usize; 4], fill: &str, tip: &str) {
        self.filled(area, fill, 1.0, tip);
    }

    /// A rectangle that darkens what is behind it.
    pub(super) fn veil(&mut self, area: [usize; 4], tip: &str) {
        self.filled(area, "#000000", 0.25, tip);
    }

    fn filled(&mut self, [x, y, width, height]: [usize; 4], fill: &str, opacity: f32, tip: &str) {
        let tip = escape(tip);
        self.line(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\" \
             fill-opacity=\"{opacity}\"><title>{tip}</title></rect>"
        ));
    }

    /// A rectangle that is only an outline.
    pub(super) fn frame(&mut self, [x, y, width, height]: [usize; 4], stroke: &str) {
        self.line(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"{stroke}\"/>"
        ));
    }

    /// A text on the base line through a point. Characters that are not a letter, digit or sign of
    /// the ASCII set may be wider than [`fitted`] thinks; the font decides.
    pub(super) fn text(
        &mut self,
        [x, y]: [usize; 2],
        anchor: Anchor,
        (size, fill): (usize, &str),
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let text = escape(text);
        self.line(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" \
             fill=\"{fill}\">{text}</text>"
        ));
    }

    /// The whole picture.
    pub(super) fn finish(self, height: usize) -> String {
        let Self { body, width } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" \
             font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }

    fn line(&mut self, what: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{what}").expect("a String takes everything");
    }
}

/// How many characters of a font fit into a width.
pub(super) fn characters(width: usize, size: usize) -> usize {
    (width as f64 / (CHARACTER * size as f64)) as usize
}

/// The largest font up to `largest` in which the text fits into `width`, and the text: cut, with an
/// ellipsis, where not even the smallest one does. `None` if that would leave a single character.
pub(super) fn fitted(text: &str, width: usize, largest: usize) -> Option<(usize, String)> {
    /// Smaller is not readable.
    const SMALLEST: usize = 7;
    let length = text.chars().count();
    let fits = (SMALLEST..=largest).rev().find(|&size| length <= characters(width, size));
    if let Some(size) = fits {
        return Some((size, text.to_string()));
    }
    let room = characters(width, SMALLEST);
    let cut: String = text.chars().take(room.checked_sub(1)?).collect();
    (room > 2).then(|| (SMALLEST, cut + "…"))
}

/// The text as XML character data, also within quotes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // XML 1.0 has no way at all to write these.
            '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                escaped.push('\u{fffd}');
            }
            character => escaped.push(character),
        }
    }
    escaped
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let texts = [0, 999, 1000, 12_345, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1 000", "12 345", "1 234 567"]);
    }

    #[test]
    fn a_text_shrinks_before_it_is_cut() {
        assert_eq!(fitted("count[0]", 100, 11), Some((11, "count[0]".into())));
        assert_eq!(fitted("count[0]", 50, 11), Some((10, "count[0]".into())));
        assert_eq!(fitted("rto_loop_start", 50, 11), Some((7, "rto_loop_s…".into())));
        assert_eq!(fitted("abc", 10, 11), None);
        assert_eq!(fitted("a", 6, 11), Some((9, "a".into())));
        assert_eq!(fitted("ab", 0, 11), None);
        assert_eq!(fitted("", 0, 11), Some((11, String::new())));
    }

    #[test]
    fn what_xml_reads_otherwise_is_escaped() {
        assert_eq!(
            escape("Vec<'a> & \"b\"\0\n"),
            "Vec&lt;&apos;a&gt; &amp; &quot;b&quot;\u{fffd}\n"
        );
    }
}
