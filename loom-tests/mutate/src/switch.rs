//! Many mutants in one build: each sleeps until a variable calls its number.
//!
//! Building is what a mutant costs, so one build holds all whose places do not lie in each other's
//! way (a *layer*), and a run of the models wakes one of them.

use crate::find::Mutant;
use std::ops::{Range, RangeInclusive};
use syn::spanned::Spanned;
use syn::{Local, Pat, Stmt};

/// The variable that wakes a mutant, by its number.
pub(crate) const VARIABLE: &str = "CORELOCAL_MUTANT";

/// What is added to the crate's root.
pub(crate) const MODULE: &str = r#"
#[doc(hidden)]
pub mod mutant {
    use core::sync::atomic::Ordering;

    fn awake() -> usize {
        static AWAKE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let read = || std::env::var("CORELOCAL_MUTANT").map_or(0, |n| n.parse().unwrap());
        *AWAKE.get_or_init(read)
    }

    pub fn is(number: usize) -> bool {
        awake() == number
    }

    pub fn order(number: usize, ordering: Ordering, weaker: Ordering) -> Ordering {
        if is(number) { weaker } else { ordering }
    }
}
"#;

/// How a mutant is asleep in a text; `{n}` stands for its number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    /// Something before and after the bytes of its place.
    Around { place: Range<usize>, before: String, after: String },
    /// Something instead of them.
    Instead { place: Range<usize>, text: String },
}

impl Switch {
    /// Of an ordering, where the crate is called `home`.
    pub(crate) fn order(place: Range<usize>, home: &str, weaker: &str) -> Self {
        Self::Around {
            place,
            before: format!("{home}::mutant::order({{n}}, "),
            after: format!(", core::sync::atomic::Ordering::{weaker})"),
        }
    }

    /// Of a condition.
    pub(crate) fn condition(place: Range<usize>) -> Self {
        Self::Around {
            place,
            before: "crate::mutant::is({n}) ^ (".to_owned(),
            after: ")".to_owned(),
        }
    }

    /// Of a statement that can be left out.
    pub(crate) fn statement(place: Range<usize>) -> Self {
        Self::Around {
            place,
            before: "if !crate::mutant::is({n}) { ".to_owned(),
            after: " }".to_owned(),
        }
    }

    /// Of two statements that change places; `None` where one of them may leave the block.
    pub(crate) fn steps(source: &str, first: &Stmt, second: &Stmt) -> Option<Self> {
        let place = first.span().byte_range().start..second.span().byte_range().end;
        let (first, second) = (Step::of(source, first)?, Step::of(source, second)?);
        let names = [("first", &first), ("second", &second)];
        let bound: Vec<_> = names.iter().filter(|(_, step)| step.binds.is_some()).collect();
        // What they bind is made in one order or in the other, and bound in that of the text.
        let made = |step: &Step<'_>, name: &str| match step.binds {
            Some(_) => format!("let {name} = {};", step.does),
            None => step.does.to_owned(),
        };
        let (one, two) = (made(&first, "first"), made(&second, "second"));
        let tuple = |each: &dyn Fn(&str, &Step<'_>) -> String| match &bound[..] {
            [(name, step)] => each(name, step),
            all => {
                let each: Vec<_> = all.iter().map(|(name, step)| each(name, step)).collect();
                format!("({})", each.join(", "))
            }
        };
        let values = tuple(&|name, _| name.to_owned());
        let either = format!(
            "if crate::mutant::is({{n}}) {{ {two} {one} {values} }} else {{ {one} {two} {values} }}"
        );
        let text = if bound.is_empty() {
            either
        } else {
            let patterns = tuple(&|_, step| step.binds.map_or("", |(name, _)| name).to_owned());
            let types = tuple(&|_, step| step.binds.map_or("", |(_, of)| of).to_owned());
            format!("let {patterns}: {types} = {either};")
        };
        Some(Self::Instead { place, text })
    }

    pub(crate) fn place(&self) -> &Range<usize> {
        match self {
            Self::Around { place, .. } | Self::Instead { place, .. } => place,
        }
    }
}

/// A statement, taken apart.
struct Step<'a> {
    /// A pattern and its type.
    binds: Option<(&'a str, &'a str)>,
    /// The whole statement, or what is bound.
    does: &'a str,
}

impl<'a> Step<'a> {
    fn of(source: &'a str, statement: &Stmt) -> Option<Self> {
        let text = |range: Range<usize>| &source[range];
        let Stmt::Local(Local { pat, init, .. }) = statement else {
            return Some(Self { binds: None, does: text(statement.span().byte_range()) });
        };
        let init = init.as_ref()?;
        if init.diverge.is_some() {
            return None;
        }
        let (name, of) = match pat {
            Pat::Type(pat) => (pat.pat.span(), text(pat.ty.span().byte_range())),
            _ => (pat.span(), "_"),
        };
        let does = text(init.expr.span().byte_range());
        Some(Self { binds: Some((text(name.byte_range()), of)), does })
    }
}

/// Sorts mutants into as few layers as need be, by their place in `mutants`; those that cannot
/// sleep are in none.
pub(crate) fn layers(mutants: &[Mutant]) -> Vec<Vec<usize>> {
    // All that stands around something goes into the first layer: one may stand around another.
    let mut layers: Vec<Vec<usize>> = vec![Vec::new()];
    for (at, mutant) in mutants.iter().enumerate() {
        match &mutant.switch {
            None => {}
            Some(Switch::Around { .. }) => layers[0].push(at),
            Some(Switch::Instead { place, .. }) => {
                let in_the_way = |other: &&usize| {
                    let other = &mutants[**other];
                    let lies_across = |switch: &Switch| {
                        let other = switch.place();
                        place.start < other.end && other.start < place.end
                    };
                    other.file == mutant.file && other.switch.as_ref().is_some_and(lies_across)
                };
                let free = (1..layers.len())
                    .find(|&layer| !layers[layer].iter().any(|other| in_the_way(&other)));
                match free {
                    Some(layer) => layers[layer].push(at),
                    None => layers.push(vec![at]),
                }
            }
        }
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

/// `text` with some mutants of its file asleep in it, and the lines on which each of them lies. They
/// come with the numbers that wake them.
pub(crate) fn asleep(
    text: &str,
    mutants: &[(usize, &Mutant)],
) -> (String, Vec<(usize, RangeInclusive<usize>)>) {
    // What is put in at a byte, in order: ends before starts, inner ends first, outer starts first.
    let mut pieces = Vec::new();
    for &(number, mutant) in mutants {
        let named = |text: &str| text.replace("{n}", &number.to_string());
        match &mutant.switch {
            None => {}
            Some(Switch::Around { place: Range { start, end }, before, after }) => {
                let inner_first = (0, usize::MAX - start, usize::MAX - number);
                pieces.push((*end, inner_first, number, named(after), 0));
                let outer_first = (1, usize::MAX - end, number);
                pieces.push((*start, outer_first, number, named(before), 0));
            }
            Some(Switch::Instead { place, text }) => {
                pieces.push((place.start, (1, 0, number), number, named(text), place.len()));
            }
        }
    }
    pieces.sort_unstable_by_key(|&(at, order, ..)| (at, order));
    let mut all = String::with_capacity(text.len() * 2);
    let mut lines = Vec::<(usize, RangeInclusive<usize>)>::new();
    let (mut done, mut line) = (0, 1);
    let mut push = |piece: &str| {
        all.push_str(piece);
        line += piece.matches('\n').count();
        line
    };
    for (at, _, number, piece, skipped) in pieces {
        let first = push(&text[done..at]);
        let last = push(&piece);
        done = at + skipped;
        match lines.iter_mut().find(|(known, _)| *known == number) {
            Some((_, range)) => *range = *range.start()..=last,
            None => lines.push((number, first..=last)),
        }
    }
    push(&text[done..]);
    (all, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find::find;

    const TEXT: &str = "
        fn f(a: &A) -> u8 {
            a.one.store(1, Ordering::Release);
            let x: u8 = a.two.swap(2, Ordering::AcqRel);
            let y = a.three.load(Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if a.four.load(Ordering::Acquire) > 0 { x } else { y }
        }
    ";

    fn layer_texts() -> Vec<String> {
        let mutants = find("f", TEXT).unwrap();
        let layers = layers(&mutants);
        assert_eq!(layers.iter().map(Vec::len).sum::<usize>(), mutants.len());
        let numbered = |layer: &Vec<usize>| {
            let chosen: Vec<_> = layer.iter().map(|&at| (at + 1, &mutants[at])).collect();
            asleep(TEXT, &chosen).0
        };
        layers.iter().map(numbered).collect()
    }

    #[test]
    fn a_layer_is_rust_and_holds_each_of_its_mutants() {
        let texts = layer_texts();
        assert_eq!(texts.len(), 3, "neighbouring pairs of steps lie in each other's way");
        for text in &texts {
            syn::parse_file(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        }
        let first: String = texts[0].split_whitespace().collect();
        // One around another, and two around one ordering.
        assert!(first.contains("^(a.four.load(crate::mutant::order("), "{first}");
        assert!(first.contains("crate::mutant::order(4,crate::mutant::order("), "{first}");
    }

    #[test]
    fn what_steps_bind_is_bound_after_both() {
        let texts = layer_texts().join("\n");
        let text: String = texts.split_whitespace().collect();
        assert!(text.contains("letx:u8=ifcrate::mutant::is("), "{text}");
        assert!(text.contains("let(x,y):(u8,_)=ifcrate::mutant::is("), "{text}");
        assert!(text.contains("lety:_=ifcrate::mutant::is("), "{text}");
    }

    #[test]
    fn lines_are_known_behind_a_text_that_grew() {
        let text =
            "fn f(a: &A) {\n  a.x.store(\n1, R);\n  a.y.store(1, R);\n Ordering; fence(S);\n}";
        let mutants = find("f", text).unwrap();
        for layer in layers(&mutants) {
            let chosen: Vec<_> = layer.iter().map(|&at| (at + 1, &mutants[at])).collect();
            let (broken, lines) = asleep(text, &chosen);
            assert_eq!(lines.len(), chosen.len());
            for (number, range) in lines {
                let lines: Vec<_> = broken.lines().collect();
                let here = lines[range.start() - 1..*range.end()].join("\n");
                assert!(here.contains(&format!("::is({number})")), "{number} {here}");
            }
        }
    }
}
