//! Rust source as text, split into code and comments, line for line and byte for byte.

use std::path::{Path, PathBuf};

/// One file. `code` and `comments` have the text's length and line breaks; what is not theirs is
/// blank. Strings are blank in both; items under `cfg(test)` are blank in `code`.
pub(crate) struct Source {
    /// Relative to the repository, with `/`.
    pub(crate) path: String,
    pub(crate) code: String,
    pub(crate) comments: String,
    pub(crate) lines: usize,
    /// Modules in other files that are declared under `cfg(test)`.
    test_modules: Vec<String>,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let (code, comments) = split(text.as_bytes());
        let mut code = code;
        let test_modules = blank_tests(&mut code);
        Self {
            path: path.to_string(),
            code: into_text(code),
            comments: into_text(comments),
            lines: text.lines().count(),
            test_modules,
        }
    }

    /// `src/percpu/alloc.rs` is in the room `percpu`, `src/cpu.rs` in `cpu`.
    pub(crate) fn room(&self) -> &str {
        let inner = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs")
    }

    /// The line, from 1, of a byte of `code`.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        self.code.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    pub(crate) fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, self.line_of(at))
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every `.rs` file under `folders`, without the files of modules that exist for tests only.
pub(crate) fn read_sources(folders: &[&str]) -> Vec<Source> {
    let mut files = Vec::new();
    for folder in folders {
        collect(&root().join(folder), &mut files);
    }
    files.sort();
    let sources: Vec<Source> = files
        .iter()
        .map(|file| {
            let text = std::fs::read_to_string(file).expect("a source file can be read");
            let path = file.strip_prefix(root()).expect("the file is in the repository");
            Source::new(&path.to_string_lossy().replace('\\', "/"), &text)
        })
        .collect();
    without_test_modules(sources)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
}

/// Leaves out the files of `#[cfg(test)] mod name;`.
pub(crate) fn without_test_modules(sources: Vec<Source>) -> Vec<Source> {
    let mut hidden = Vec::new();
    for source in &sources {
        let folder = match source.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => source.path.trim_end_matches(".rs"),
        };
        for module in &source.test_modules {
            hidden.push(format!("{folder}/{module}.rs"));
            hidden.push(format!("{folder}/{module}/"));
        }
    }
    let is_hidden = |path: &str| hidden.iter().any(|h| path == h || path.starts_with(h));
    sources.into_iter().filter(|source| !is_hidden(&source.path)).collect()
}

/// Where `word` stands in `text` as a whole word.
pub(crate) fn words(text: &str, word: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    text.match_indices(word)
        .map(|(at, _)| at)
        .filter(|&at| at == 0 || !is_word(bytes[at - 1]))
        .filter(|&at| bytes.get(at + word.len()).is_none_or(|&next| !is_word(next)))
        .collect()
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The identifier at the start of `text`; empty where there is none.
pub(crate) fn ident(text: &str) -> &str {
    let end = text.bytes().position(|byte| !is_word(byte)).unwrap_or(text.len());
    &text[..end]
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("comments are cut at ASCII bytes, code is ASCII")
}

fn blank(byte: u8) -> u8 {
    if byte == b'\n' { b'\n' } else { b' ' }
}

/// Code and comments of `text`, each blank where the other stands.
fn split(text: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut code: Vec<u8> = text.iter().map(|&byte| blank(byte)).collect();
    let mut comments = code.clone();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (len, is_comment) = if rest.starts_with(b"//") {
            (rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with(b"/*") {
            (block_comment(rest), true)
        } else if let Some(len) = literal(text, at) {
            (len, false)
        } else {
            // Non-ASCII code would be an identifier; none of ours is.
            code[at] = if text[at].is_ascii() { text[at] } else { b'?' };
            at += 1;
            continue;
        };
        if is_comment {
            comments[at..at + len].copy_from_slice(&text[at..at + len]);
        }
        at += len;
    }
    (code, comments)
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

/// The length of the string or character literal at `at`, its prefix left to the code.
fn literal(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let after_word = at > 0 && is_word(text[at - 1]);
    match rest[0] {
        b'"' => Some(quoted(rest)),
        b'r' if !after_word || matches!(text[at - 1], b'b' | b'c') => raw(rest),
        b'\'' => character(rest),
        _ => None,
    }
}

fn quoted(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != b'"' {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

fn raw(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let mut end = vec![b'"'];
    end.resize(1 + hashes, b'#');
    let body = 2 + hashes;
    let found = rest[body..].windows(end.len()).position(|window| window == end);
    Some(found.map_or(rest.len(), |at| body + at + end.len()))
}

/// A character, and not a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        let end = rest[3..].iter().position(|&byte| byte == b'\'')?;
        return Some(3 + end + 1);
    }
    let width = match rest.get(1)? {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    };
    (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
}

/// Blanks each item under `#[cfg(test)]` or `#[cfg(all(test, ..))]`; names its modules elsewhere.
fn blank_tests(code: &mut [u8]) -> Vec<String> {
    let mut modules = Vec::new();
    loop {
        let text = String::from_utf8_lossy(code).into_owned();
        let starts = ["#[cfg(test)]", "#[cfg(all(test"];
        let Some(start) = starts.iter().filter_map(|start| text.find(start)).min() else {
            return modules;
        };
        let attribute = start + text[start..].find(']').map_or(0, |at| at + 1);
        let end = attribute + item_length(&text[attribute..]);
        let item = &text[attribute..end];
        if item.ends_with(';') {
            if let Some(at) = words(item, "mod").first() {
                modules.push(ident(item[at + 3..].trim_start()).to_string());
            }
        }
        for byte in &mut code[start..end] {
            *byte = blank(*byte);
        }
    }
}

/// Up to the item's closing brace, or its semicolon where no brace comes first.
pub(crate) fn item_length(item: &str) -> usize {
    let mut depth = 0_i32;
    for (at, byte) in item.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth -= 1;
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

#[test]
fn strings_and_comments_are_not_code() {
    let text = r##"let a = "unsafe // no"; /* unsafe /* nested */ still */ let b = 'x'; // unsafe
let c: &'static str = r#"unsafe " yes"#; let d = b'\''; call(); let e = '"'; let f = "\"unsafe";"##;
    let source = Source::new("src/a.rs", text);
    assert!(words(&source.code, "unsafe").is_empty(), "{}", source.code);
    assert_eq!(words(&source.comments, "unsafe").len(), 2);
    assert!(source.code.contains("'static str") && source.code.contains("call();"));
    assert!(source.code.contains("let f ="));
    assert_eq!(source.code.len(), text.len());
}

#[test]
fn items_under_cfg_test_are_not_code() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { one(); } }\nfn c() {}\n\
                #[cfg(test)]\nmod elsewhere;\n#[cfg(not(test))]\nfn d() {}";
    let source = Source::new("src/bitmap/mod.rs", text);
    assert!(!source.code.contains("one") && source.code.contains("fn c"));
    assert!(source.code.contains("fn d"));
    let other = Source::new("src/bitmap/elsewhere.rs", "");
    let kept = without_test_modules(vec![source, other]);
    assert_eq!(kept.len(), 1);
}
