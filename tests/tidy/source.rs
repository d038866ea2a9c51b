//! As much of Rust's grammar as it takes to see which paths a file names.

use std::iter;

#[test]
fn comments_and_literals_are_not_code() {
    let text = "a // b\n/* c /* d */ e */ f \"g \\\" h\" 'i' '\\'' '\\u{1F}' &'j k r#\"l \" m\"# n";
    let code = code(text);
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "f", "&'j", "k", "n"]);
    assert_eq!(code.lines().count(), text.lines().count());
}

#[test]
fn a_path_is_found_in_whatever_form_it_is_written() {
    let text = "use a::{b, c::{self, d as e}, f::*};\nmod m {\n  fn g(_: super::H) { ::i::j() }\n}";
    let names: Vec<String> = names("src/x/y.rs", text)
        .iter()
        .filter(|named| named.path.len() > 1)
        .map(|named| format!("{} {}", named.line, named.path.join("::")))
        .collect();
    let expected =
        ["1 a::b", "1 a::c::self", "1 a::c::d", "1 a::f::*", "3 crate::x::y::H", "3 i::j"];
    assert_eq!(names, expected);
}

/// A path as the file names it.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) line: usize,
    /// `crate`, `self` and `super` are resolved to a path that starts with `crate`.
    pub(crate) path: Vec<String>,
    /// It began with `::`, so that it surely is another crate's.
    pub(crate) is_external: bool,
    /// The word before the path, or before the tree of paths: `use`, `mod`, `fn` ...
    pub(crate) before: String,
}

impl Named {
    pub(crate) fn root(&self) -> &str {
        self.path.first().map_or("", String::as_str)
    }

    /// Whether this names an item; a lone word elsewhere may well be a variable.
    pub(crate) fn is_item(&self) -> bool {
        self.path.len() > 1 || ["use", "crate"].contains(&self.before.as_str())
    }
}

/// Every path that the file at `path` names in its code.
pub(crate) fn names(path: &str, text: &str) -> Vec<Named> {
    let code = code(text);
    let tokens = tokens(&code);
    let mut module = module_of(path);
    let mut depth = 0_usize;
    let mut inline = Vec::new(); // the depths at which inline modules opened
    let mut names = Vec::new();
    let mut at = 0;
    let text_at = |at: usize| tokens.get(at).map_or("", |token| token.text);
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if inline.last() == Some(&depth) {
                    inline.pop();
                    module.pop();
                }
            }
            "mod" if text_at(at + 2) == "{" => {
                inline.push(depth);
                module.push(text_at(at + 1).to_owned());
                at += 2;
                continue;
            }
            word if KEYWORDS.contains(&word) => {}
            word if is_word(word) || (word == "::" && is_word(text_at(at + 1))) => {
                let before = at.checked_sub(1).map_or("", text_at);
                let is_external = word == "::" && before != ">";
                let mut tree = Vec::new();
                at = take_tree(&tokens, at + usize::from(word == "::"), &[], &mut tree);
                names.extend(tree.into_iter().map(|(line, segments)| Named {
                    line,
                    path: resolve(&module, &segments),
                    is_external,
                    before: before.to_owned(),
                }));
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// Words that a path may follow, so that `use ::a` is not taken for one path.
const KEYWORDS: [&str; 12] =
    ["as", "dyn", "else", "extern", "for", "if", "impl", "in", "match", "mut", "return", "use"];

/// Where a file's content lives: `src/rule/state.rs` is `rule::state`.
pub(crate) fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_prefix("src/").unwrap_or(path);
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut module: Vec<String> = path.split('/').map(str::to_owned).collect();
    module.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
    module
}

fn resolve(module: &[String], segments: &[&str]) -> Vec<String> {
    let mut from: Vec<String> =
        iter::once("crate".to_owned()).chain(module.iter().cloned()).collect();
    let mut rest = segments;
    match rest.split_first() {
        Some((&"crate", inner)) => {
            from.truncate(1);
            rest = inner;
        }
        Some((&"self", inner)) => rest = inner,
        Some((&"super", _)) => {
            while let Some((&"super", inner)) = rest.split_first() {
                from.pop();
                rest = inner;
            }
        }
        _ => from.clear(),
    }
    from.extend(rest.iter().map(|&segment| segment.to_owned()));
    from
}

/// A path with its line.
type Placed<'a> = (usize, Vec<&'a str>);

/// Takes the path or `use` tree at `at` apart; answers with where it ends.
fn take_tree<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    out: &mut Vec<Placed<'a>>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut line = 0;
    while let Some(token) = tokens.get(at) {
        if token.text == "{" {
            return take_group(tokens, at + 1, &path, out);
        } else if !is_word(token.text) && token.text != "*" {
            break;
        }
        path.push(token.text);
        line = token.line;
        at += 1;
        if tokens.get(at).is_none_or(|token| token.text != "::") {
            break;
        }
        at += 1;
    }
    out.push((line, path));
    at
}

/// The inside of `{b, c::d}` after `prefix::`.
fn take_group<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &[&'a str],
    out: &mut Vec<Placed<'a>>,
) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text {
            "}" => return at + 1,
            "as" => at += 2,
            word if KEYWORDS.contains(&word) => {}
            word if is_word(word) || word == "*" => at = take_tree(tokens, at, prefix, out),
            _ => at += 1,
        }
    }
    at
}

/// A word, `::`, or one character of anything else.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The tokens of what [`code`] returned.
pub(crate) fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, mut rest) in (1..).zip(code.lines()) {
        loop {
            rest = rest.trim_start();
            let Some(first) = rest.chars().next() else {
                break;
            };
            let length = if is_word(rest) {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            let (text, after) = rest.split_at(length);
            tokens.push(Token { line, text });
            rest = after;
        }
    }
    tokens
}

/// `text` with comments and literals blanked out, line for line.
pub(crate) fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = blank_length(rest);
        let (taken, after) = rest.split_at(if length == 0 { first.len_utf8() } else { length });
        if length == 0 {
            code.push(first);
        } else {
            code.extend(taken.chars().map(|c| if c == '\n' { c } else { ' ' }));
        }
        rest = after;
    }
    code
}

/// How long the comment or literal is that `text` starts with; 0 if it starts with neither.
fn blank_length(text: &str) -> usize {
    let up_to = |end: Option<usize>| end.unwrap_or(text.len());
    if text.starts_with("//") {
        up_to(text.find('\n'))
    } else if text.starts_with("/*") {
        up_to(block_comment(text))
    } else if text.starts_with('"') {
        up_to(string(text))
    } else if text.starts_with("'\\") {
        // The escaped character may be a quote itself.
        up_to(text.char_indices().skip(3).find(|(_, c)| *c == '\'').map(|(at, _)| at + 1))
    } else if let Some(inner) = text.strip_prefix('\'') {
        // A lifetime has no second quote.
        let mut chars = inner.chars();
        let length = chars.next().map_or(0, char::len_utf8);
        if chars.next() == Some('\'') { length + 2 } else { 0 }
    } else if let Some(inner) = text.strip_prefix('r') {
        let hashes = inner.len() - inner.trim_start_matches('#').len();
        if !inner.trim_start_matches('#').starts_with('"') {
            return 0;
        }
        let close = format!("\"{}", "#".repeat(hashes));
        let opening = hashes + 2;
        let inside = text.get(opening..).unwrap_or_default();
        up_to(inside.find(&close).map(|at| opening + at + close.len()))
    } else {
        0
    }
}

fn block_comment(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut skip = false; // the second character of a mark that was just seen
    for (at, c) in text.char_indices() {
        let mark = text.get(at..at + 2).unwrap_or_default();
        if skip {
            skip = false;
        } else if mark == "/*" {
            depth += 1;
            skip = true;
        } else if mark == "*/" {
            depth -= 1;
            skip = true;
            if depth == 0 {
                return Some(at + c.len_utf8() + 1);
            }
        }
    }
    None
}

fn string(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
