//! Where the sources can be broken: a mutant for each place.

use crate::switch::Switch;
use crate::tokens::{BARRIERS, follows_fence, follows_ordering, is_protocol, weaker};
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Expr, ImplItemFn, Item, ItemFn, ItemImpl, Meta, Stmt};

/// What is done to a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Operator {
    /// An ordering is made one step weaker.
    Weaken,
    /// A barrier is left out.
    Drop,
    /// A condition is turned round.
    Invert,
    /// Two steps are made in the other order.
    Reverse,
}

impl Operator {
    /// The word in a mutant's name.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Weaken => "weaken",
            Self::Drop => "drop",
            Self::Invert => "invert",
            Self::Reverse => "reverse",
        }
    }
}

/// One way to break one file.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// `FILE FUNCTION OPERATOR WHAT [N]`, in words that stay when lines move.
    pub(crate) name: String,
    /// What is done.
    pub(crate) operator: Operator,
    /// The file, from the root of the crate.
    pub(crate) file: String,
    /// The line of the place, from 1.
    pub(crate) line: usize,
    /// Bytes of the file, and what stands there instead.
    pub(crate) edits: Vec<(Range<usize>, String)>,
    /// How it sleeps in a build with others, if it can.
    pub(crate) switch: Option<Switch>,
}

impl Mutant {
    /// The broken text.
    pub(crate) fn apply(&self, text: &str) -> String {
        let mut edits = self.edits.clone();
        edits.sort_by_key(|(range, _)| range.start);
        let mut broken = text.to_owned();
        for (range, new) in edits.into_iter().rev() {
            broken.replace_range(range, &new);
        }
        broken
    }
}

/// The mutants of `text`, the source of `file`, in the order of the text.
///
/// # Errors
///
/// What syn says of a text that is not Rust.
pub(crate) fn find(file: &str, text: &str) -> syn::Result<Vec<Mutant>> {
    let mut finder = Finder { text, found: Vec::new(), path: Vec::new(), home: "crate" };
    finder.visit_file(&syn::parse_file(text)?);
    let mut found = finder.found;
    found.sort_by_key(|place| (place.span.start, place.operator));
    // Places that cannot be told apart are numbered.
    let mut seen = BTreeMap::<String, usize>::new();
    let name = |place: &Place| {
        let base = format!("{file} {} {} {}", place.path, place.operator.word(), place.what);
        let times = seen.entry(base.clone()).or_default();
        *times += 1;
        if *times == 1 { base } else { format!("{base} {times}") }
    };
    let names: Vec<_> = found.iter().map(name).collect();
    let mutants = found.into_iter().zip(names).map(|(place, name)| Mutant {
        name,
        operator: place.operator,
        file: file.to_owned(),
        line: text[..place.span.start].matches('\n').count() + 1,
        edits: place.edits,
        switch: place.switch,
    });
    Ok(mutants.collect())
}

struct Place {
    path: String,
    operator: Operator,
    what: String,
    span: Range<usize>,
    edits: Vec<(Range<usize>, String)>,
    switch: Option<Switch>,
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Place>,
    path: Vec<String>,
    /// What the crate is called where the text stands.
    home: &'static str,
}

/// Methods of atomics.
const ACCESSES: [&str; 10] = [
    "load",
    "store",
    "swap",
    "compare_exchange",
    "compare_exchange_weak",
    "fetch_add",
    "fetch_sub",
    "fetch_or",
    "fetch_and",
    "fetch_update",
];

impl Finder<'_> {
    fn add(
        &mut self,
        operator: Operator,
        what: &str,
        span: Span,
        edits: Vec<(Range<usize>, String)>,
        switch: Option<Switch>,
    ) {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let (path, span) = (self.path.join("::"), span.byte_range());
        self.found.push(Place { path, operator, what, span, edits, switch });
    }

    fn source(&self, span: Span) -> &str {
        &self.text[span.byte_range()]
    }

    /// The orderings in `tokens`, wherever they stand but in calls of `fence`, which takes none
    /// that is weaker.
    fn weaken(&mut self, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) if !follows_fence(&tokens[..at]) => {
                    self.weaken(group.stream())
                }
                TokenTree::Ident(ident) if follows_ordering(&tokens[..at]) => {
                    // `Ordering::` stands before it.
                    let start = tokens[at - 3].span().byte_range().start;
                    for weaker in weaker(&ident.to_string()) {
                        let range = ident.span().byte_range();
                        let switch = Switch::order(start..range.end, self.home, weaker);
                        let edits = vec![(range, (*weaker).to_owned())];
                        let what = format!("{ident}-{weaker}");
                        self.add(Operator::Weaken, &what, ident.span(), edits, Some(switch));
                    }
                }
                _ => {}
            }
        }
    }

    fn function(&mut self, name: String, block: &Block, tokens: TokenStream) {
        self.path.push(name);
        self.weaken(tokens.clone());
        // Conditions and orders matter where words are shared.
        if is_protocol(tokens) {
            self.visit_block(block);
        }
        self.path.pop();
    }

    fn invert(&mut self, condition: &Expr) {
        let source = self.source(condition.span());
        let is_of_the_build = ["cfg!", "usize::BITS"].iter().any(|of| source.starts_with(of));
        if has_let(condition) || is_of_the_build {
            return;
        }
        let span = condition.span();
        let source = self.source(span).to_owned();
        let edits = vec![(span.byte_range(), format!("!({source})"))];
        let switch = Switch::condition(span.byte_range());
        self.add(Operator::Invert, &source, span, edits, Some(switch));
    }

    fn reverse(&mut self, first: &Stmt, second: &Stmt) {
        let (a, b) = (first.span(), second.span());
        let texts = [self.source(a).to_owned(), self.source(b).to_owned()];
        let short = |text: &str| text.split('(').next().unwrap_or_default().trim().to_owned();
        let what = format!("{} | {}", short(&texts[0]), short(&texts[1]));
        let [one, two] = texts;
        let edits = vec![(a.byte_range(), two), (b.byte_range(), one)];
        let switch = Switch::steps(self.text, first, second);
        self.add(Operator::Reverse, &what, a, edits, switch);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let is_left_out = match item {
            Item::Fn(item) => left_out(&item.attrs),
            Item::Impl(item) => left_out(&item.attrs),
            Item::Mod(item) => left_out(&item.attrs),
            Item::Macro(item) => {
                // The body of a macro is not parsed; its orderings are seen all the same.
                self.path.push(item.ident.as_ref().map_or_else(String::new, ToString::to_string));
                self.home = "$crate";
                self.weaken(item.mac.tokens.clone());
                self.home = "crate";
                self.path.pop();
                true
            }
            _ => false,
        };
        if !is_left_out {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let name = self.source(item.self_ty.span());
        self.path.push(name.split('<').next().unwrap_or_default().to_owned());
        visit::visit_item_impl(self, item);
        self.path.pop();
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let tokens = item.block.to_token_stream();
        self.function(item.sig.ident.to_string(), &item.block, tokens);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !left_out(&item.attrs) {
            let tokens = item.block.to_token_stream();
            self.function(item.sig.ident.to_string(), &item.block, tokens);
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::If(expr) => self.invert(&expr.cond),
            Expr::While(expr) => self.invert(&expr.cond),
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            if let Some(barrier) = barrier(statement) {
                let span = statement.span();
                let edits = vec![(span.byte_range(), String::new())];
                let switch = Switch::statement(span.byte_range());
                self.add(Operator::Drop, &barrier, span, edits, Some(switch));
            }
        }
        for pair in block.stmts.windows(2) {
            if pair.iter().all(|statement| is_step(statement, self.text)) {
                self.reverse(&pair[0], &pair[1]);
            }
        }
        visit::visit_block(self, block);
    }
}

/// Whether an item with these attributes is no part of what the models run.
fn left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let text: String = list.tokens.to_string().split_whitespace().collect();
            text == "test" || text.starts_with("not(") && text.contains("corelocal_loom")
        }
        _ => false,
    })
}

/// The barrier that `statement` is.
fn barrier(statement: &Stmt) -> Option<String> {
    let Stmt::Expr(Expr::Call(call), Some(_)) = statement else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    let name = path.path.segments.last()?.ident.to_string();
    BARRIERS.contains(&name.as_str()).then_some(name)
}

fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Whether a statement may be a step of a protocol: it calls something, and does not leave.
fn is_step(statement: &Stmt, text: &str) -> bool {
    let (Stmt::Local(_) | Stmt::Expr(_, Some(_))) = statement else { return false };
    let source = &text[statement.span().byte_range()];
    let accesses = ACCESSES.iter().any(|name| source.contains(&format!(".{name}(")));
    let calls =
        matches!(statement, Stmt::Expr(Expr::Call(_) | Expr::MethodCall(_) | Expr::Try(_), _));
    !source.starts_with("return") && !source.starts_with('#') && (accesses || calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        impl Lock {
            fn unlock(&self) {
                // Ordering::Acquire in a comment
                self.data.store(1, Ordering::Relaxed);
                self.word.store(0, Ordering::Release);
                fence(Ordering::SeqCst);
                if self.waiters.load(Ordering::Acquire) > 0 { self.wake(); }
            }
        }
        fn plain(n: u32) -> bool { if n > 1 { true } else { false } }
        #[cfg(test)]
        fn tested(a: &A) { a.load(Ordering::Acquire); }
    ";

    fn names(text: &str) -> Vec<String> {
        find("f", text).unwrap().into_iter().map(|mutant| mutant.name).collect()
    }

    #[test]
    fn each_place_has_its_mutant_and_nothing_else_has() {
        assert_eq!(
            names(TEXT),
            [
                "f Lock::unlock reverse self.data.store | self.word.store",
                "f Lock::unlock reverse self.word.store | fence",
                "f Lock::unlock weaken Release-Relaxed",
                "f Lock::unlock drop fence",
                "f Lock::unlock invert self.waiters.load(Ordering::Acquire) > 0",
                "f Lock::unlock weaken Acquire-Relaxed",
            ]
        );
    }

    #[test]
    fn an_edit_changes_its_place_alone() {
        let all = find("f", TEXT).unwrap();
        for mutant in &all {
            let broken = mutant.apply(TEXT);
            assert_ne!(broken, TEXT, "{}", mutant.name);
            syn::parse_file(&broken).unwrap();
            assert!(TEXT.lines().count().abs_diff(broken.lines().count()) <= 1);
        }
        let reversed = all[0].apply(TEXT);
        assert!(reversed.find("word.store") < reversed.find("data.store"));
    }

    #[test]
    fn places_that_look_alike_are_numbered() {
        let text = "fn f(a: &A) { a.load(Ordering::Acquire); a.load(Ordering::Acquire); }";
        let names = names(text);
        assert!(names.contains(&"f f weaken Acquire-Relaxed 2".to_owned()), "{names:?}");
    }
}
