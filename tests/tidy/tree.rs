//! The files of the checkout, and what a breach looks like.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

pub(crate) const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// A rule broken at a place.
#[derive(Debug)]
pub(crate) struct Breach {
    path: String,
    line: usize,
    rule: String,
}

impl Breach {
    pub(crate) fn new(path: &str, line: usize, rule: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, rule: rule.into() }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.rule)
    }
}

/// From a file's path, below the root and with `/`, and its text.
pub(crate) type Rule = fn(&str, &str) -> Vec<Breach>;

/// Sees `rule` find fault with exactly those lines of planted files that end in `// caught`, so
/// that its silence over the tree means something. A planted file is written `path: text`.
pub(crate) fn see_caught(rule: Rule, planted: &[&str]) {
    for file in planted {
        let (path, text) = file.split_once(": ").expect("planted as `path: text`");
        let breaches = rule(path, text);
        let found: BTreeSet<usize> = breaches.iter().map(|breach| breach.line).collect();
        let marked = (1..).zip(text.lines()).filter(|(_, line)| line.ends_with("// caught"));
        let expected: BTreeSet<usize> = marked.map(|(line, _)| line).collect();
        assert_eq!(found, expected, "planted {file}\n{breaches:?}");
    }
}

pub(crate) fn hold_the_tree_to(rule: Rule) {
    let files = files();
    assert!(
        files.iter().any(|(path, _)| path == "src/lib.rs"),
        "the listing has lost the sources, so nothing would be checked"
    );
    let breaches: Vec<String> = files
        .iter()
        .flat_map(|(path, text)| rule(path, text))
        .map(|breach| breach.to_string())
        .collect();
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

pub(crate) fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// Every text file under version control or about to be, as (path below the root, text).
fn files() -> Vec<(String, String)> {
    let mut paths = git_files();
    // Unpacked from a package, or under somebody else's git: then everything that is there.
    if paths.is_empty() {
        walk(Path::new(ROOT), &mut paths);
    }
    let read = |path: String| {
        // Binary files are not text, and a deleted one may still be listed.
        let text = fs::read_to_string(Path::new(ROOT).join(&path)).ok()?;
        Some((path, text))
    };
    paths.into_iter().filter_map(read).collect()
}

fn git_files() -> Vec<String> {
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(ROOT)
        .output();
    let Ok(listing) = listing else {
        return Vec::new();
    };
    String::from_utf8_lossy(&listing.stdout).split_terminator('\0').map(str::to_owned).collect()
}

fn walk(folder: &Path, paths: &mut Vec<String>) {
    let entries = fs::read_dir(folder).expect("the checkout can be read");
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let below = path.strip_prefix(ROOT).expect("the walk starts at the root");
        let below = below.to_string_lossy().replace('\\', "/");
        if [".git", ".cargo", "target"].contains(&below.as_str()) {
            continue;
        }
        if path.is_dir() {
            walk(&path, paths);
        } else {
            paths.push(below);
        }
    }
}
