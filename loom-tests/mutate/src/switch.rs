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

/// How a mutant is asleep in a text: what stands in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Switch {
    place: Range<usize>,
    instead: Vec<Piece>,
}

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    /// In words of our own; `{n}` stands for the mutant's number.
    Own(String),
    /// Of the source: others may lie asleep in it.
    Source(Range<usize>),
}

impl Switch {
    fn around(place: Range<usize>, before: &str, after: &str) -> Self {
        let own = |text: &str| Piece::Own(text.to_owned());
        let instead = vec![own(before), Piece::Source(place.clone()), own(after)];
        Self { place, instead }
    }

    /// Of an ordering, where the crate is called `home`.
    pub(crate) fn order(place: Range<usize>, home: &str, weaker: &str) -> Self {
        let before = format!("{home}::mutant::order({{n}}, ");
        Self::around(place, &before, &format!(", core::sync::atomic::Ordering::{weaker})"))
    }

    /// Of a condition.
    pub(crate) fn condition(place: Range<usize>) -> Self {
        Self::around(place, "crate::mutant::is({n}) ^ (", ")")
    }

    /// Of a statement that can be left out.
    pub(crate) fn statement(place: Range<usize>) -> Self {
        Self::around(place, "if !crate::mutant::is({n}) { ", " }")
    }

    /// Of two statements that change places; `None` where one of them may leave the block.
    pub(crate) fn steps(source: &str, first: &Stmt, second: &Stmt) -> Option<Self> {
        let place = first.span().byte_range().start..second.span().byte_range().end;
        let both = [("first", Step::of(source, first)?), ("second", Step::of(source, second)?)];
        let bound: Vec<_> =
            both.iter().filter_map(|(name, step)| Some((*name, step.binds?))).collect();
        let names = tuple(&bound.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let patterns = tuple(&bound.iter().map(|(_, (to, _))| *to).collect::<Vec<_>>());
        let types = tuple(&bound.iter().map(|(_, (_, of))| *of).collect::<Vec<_>>());
        // What they bind is made in one order or in the other, and bound in that of the text.
        let own = |text: &str| Piece::Own(text.to_owned());
        let made = |(name, step): &(&str, Step<'_>)| {
            let (before, after) = match step.binds {
                Some(_) => (format!(" let {name} = "), "; "),
                None => (" ".to_owned(), " "),
            };
            [own(&before), Piece::Source(step.does.clone()), own(after)]
        };
        let [one, two] = both.each_ref().map(made);
        let is_awake = "if crate::mutant::is({n}) {";
        let (before, after) = match &bound[..] {
            [] => (is_awake.to_owned(), " }"),
            _ => (format!("let {patterns}: {types} = {is_awake}"), " };"),
        };
        let mut instead = vec![own(&before)];
        instead.extend(two.iter().chain(&one).cloned());
        instead.push(own(&format!("{names} }} else {{")));
        instead.extend(one.iter().chain(&two).cloned());
        instead.push(own(&format!("{names}{after}")));
        Some(Self { place, instead })
    }

    /// Whether both can sleep in one text: they lie apart, or one in a piece of the other.
    fn fits(&self, other: &Self) -> bool {
        let lies_in = |inner: &Range<usize>, outer: &Range<usize>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        let is_in_piece = |inner: &Self, outer: &Self| {
            outer.instead.iter().any(|piece| match piece {
                Piece::Source(piece) => lies_in(&inner.place, piece),
                Piece::Own(_) => false,
            })
        };
        let is_apart = self.place.end <= other.place.start || other.place.end <= self.place.start;
        is_apart || is_in_piece(self, other) || is_in_piece(other, self)
    }
}

/// One alone, or all in parentheses.
fn tuple(each: &[&str]) -> String {
    if each.len() == 2 { format!("({})", each.join(", ")) } else { each.concat() }
}

/// A statement, taken apart.
struct Step<'a> {
    /// A pattern and its type.
    binds: Option<(&'a str, &'a str)>,
    /// The whole statement, or what is bound.
    does: Range<usize>,
}

impl<'a> Step<'a> {
    fn of(source: &'a str, statement: &Stmt) -> Option<Self> {
        let Stmt::Local(Local { pat, init, .. }) = statement else {
            return Some(Self { binds: None, does: statement.span().byte_range() });
        };
        let init = init.as_ref()?;
        if init.diverge.is_some() {
            return None;
        }
        let (name, of) = match pat {
            Pat::Type(pat) => (pat.pat.span(), &source[pat.ty.span().byte_range()]),
            _ => (pat.span(), "_"),
        };
        let binds = Some((&source[name.byte_range()], of));
        Some(Self { binds, does: init.expr.span().byte_range() })
    }
}

/// Sorts mutants into few layers, by their place in `mutants`; those that cannot sleep are in none.
pub(crate) fn layers(mutants: &[Mutant]) -> Vec<Vec<usize>> {
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for (at, mutant) in mutants.iter().enumerate() {
        let Some(switch) = &mutant.switch else { continue };
        let fits = |other: &usize| {
            let other = &mutants[*other];
            let fits = other.switch.as_ref().is_none_or(|other| switch.fits(other));
            other.file != mutant.file || fits
        };
        match layers.iter_mut().find(|layer| layer.iter().all(fits)) {
            Some(layer) => layer.push(at),
            None => layers.push(vec![at]),
        }
    }
    layers
}

/// `text` with some mutants of its file asleep in it, and the lines on which each of them lies. They
/// come with the numbers that wake them, and fit each other.
pub(crate) fn asleep(
    text: &str,
    mutants: &[(usize, &Mutant)],
) -> (String, Vec<(usize, RangeInclusive<usize>)>) {
    let mut all: Vec<_> = mutants
        .iter()
        .filter_map(|&(number, mutant)| Some((number, mutant.switch.as_ref()?)))
        .collect();
    // Whatever lies in another one comes after it.
    all.sort_by_key(|(_, switch)| (switch.place.start, usize::MAX - switch.place.end));
    let broken = rendered(text, 0..text.len(), &all);
    let mut lines = Vec::new();
    for (number, _) in all {
        let marked = broken.lines().enumerate().filter(|(_, line)| line.contains(&mark(number)));
        let marked: Vec<_> = marked.map(|(at, _)| at + 1).collect();
        if let (Some(first), Some(last)) = (marked.first(), marked.last()) {
            lines.push((number, *first..=*last));
        }
    }
    (broken, lines)
}

/// What stands before and after a mutant, for the compiler's faults to be told whose they are.
fn mark(number: usize) -> String {
    format!("/*mutant {number}*/")
}

fn rendered(text: &str, range: Range<usize>, asleep: &[(usize, &Switch)]) -> String {
    let (mut all, mut done, mut left) = (String::new(), range.start, asleep);
    while let Some((&(number, outer), rest)) = left.split_first() {
        left = rest;
        if outer.place.start < done || outer.place.end > range.end {
            // In what was rendered already, or outside.
            continue;
        }
        all.push_str(&text[done..outer.place.start]);
        all.push_str(&mark(number));
        for piece in &outer.instead {
            match piece {
                Piece::Own(own) => all.push_str(&own.replace("{n}", &number.to_string())),
                Piece::Source(inner) => all.push_str(&rendered(text, inner.clone(), rest)),
            }
        }
        all.push_str(&mark(number));
        done = outer.place.end;
    }
    all.push_str(&text[done..range.end]);
    all
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

    fn without_marks(text: &str) -> String {
        let plain = text.split("/*").map(|part| part.split("*/").last().unwrap_or_default());
        plain.collect::<String>().split_whitespace().collect()
    }

    #[test]
    fn a_layer_is_rust_and_holds_each_of_its_mutants() {
        let texts = layer_texts();
        assert_eq!(texts.len(), 2, "neighbouring pairs of steps lie in each other's way");
        for text in &texts {
            syn::parse_file(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        }
        // One around another, and two around one ordering.
        let first = without_marks(&texts[0]);
        assert!(first.contains("^(a.four.load(crate::mutant::order("), "{first}");
        assert!(first.contains("crate::mutant::order(4,crate::mutant::order("), "{first}");
        // In a step that has two places.
        assert_eq!(first.matches("crate::mutant::order(4,").count(), 2, "{first}");
    }

    #[test]
    fn what_steps_bind_is_bound_after_both() {
        let texts = layer_texts().join("\n");
        let text = without_marks(&texts);
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
