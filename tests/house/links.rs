//! Links of the Markdown pages: each leads to a file of the repository.

use std::path::{Component, Path, PathBuf};

/// The targets of a page's links and link definitions, code left out.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            // `[x]: words that go on` is text.
            if !target.contains(' ') {
                found.push(target);
            }
        }
        let inline = line.split("](").skip(1);
        found.extend(inline.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target));
    }
    found
}

/// `target`, as seen from the page at `page`.
fn resolved(page: &str, target: &str) -> PathBuf {
    let mut path = Path::new(page).parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    path
}

/// Links that lead to no file. What rustdoc follows (`crate::`, `.html`) is checked by rustdoc.
pub(crate) fn check_links(page: &str, text: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    targets(text)
        .into_iter()
        .filter(|target| !target.contains("://") && !target.contains("::"))
        .filter_map(|target| target.split('#').next())
        .filter(|target| !target.is_empty() && !target.ends_with(".html"))
        .filter(|target| !exists(&resolved(page, target)))
        .map(|target| format!("{page}: no file at {target}"))
        .collect()
}

/// Pages whose name is not defined for rustdoc: a link to such a page would lead to a file there.
pub(crate) fn check_pages(modules: &str, definitions: &str) -> Vec<String> {
    modules
        .lines()
        .filter_map(|line| line.trim().strip_suffix(".md\";")?.split_once(" \""))
        .filter(|(name, _)| !definitions.contains(&format!("[`{name}`]: crate::docs::{name}")))
        .map(|(name, file)| format!("{file}.md: no definition of [`{name}`] in src/docs"))
        .collect()
}
