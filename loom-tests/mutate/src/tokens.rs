//! What can be told of a text by its tokens alone, whether they parse as an expression or not.

use proc_macro2::{TokenStream, TokenTree};

/// Functions that are barriers. One that is called as a statement can be left out.
pub(crate) const BARRIERS: [&str; 4] = ["fence", "fence_after_rmw", "fence_all", "fence_cpu"];

pub(crate) fn weaker(ordering: &str) -> &'static [&'static str] {
    match ordering {
        "Acquire" | "Release" => &["Relaxed"],
        "AcqRel" => &["Acquire", "Release"],
        _ => &[],
    }
}

fn is_punct(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}

fn is_ident(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == name)
}

/// Whether `before` ends in `Ordering::`.
pub(crate) fn follows_ordering(before: &[TokenTree]) -> bool {
    let mut back = before.iter().rev();
    is_punct(back.next()) && is_punct(back.next()) && is_ident(back.next(), "Ordering")
}

pub(crate) fn follows_fence(before: &[TokenTree]) -> bool {
    BARRIERS.iter().chain(&["compiler_fence"]).any(|name| is_ident(before.last(), name))
}

/// Whether the tokens access an atomic or hold a barrier.
pub(crate) fn is_protocol(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Ordering" || BARRIERS.iter().any(|name| ident == name),
        TokenTree::Group(group) => is_protocol(group.stream()),
        _ => false,
    })
}
