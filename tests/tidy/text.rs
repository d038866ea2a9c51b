//! What no file may contain: too many lines, leftovers, a registry, one machine's folders, no opening.

use crate::source::{code, tokens};
use crate::tree::{Breach, hold_the_tree_to, is_rust, see_caught};

#[test]
fn no_source_file_is_longer_than_600_lines() {
    let full = format!("src/guard/mod.rs: {}", "\n".repeat(FILE_LINES_MAX));
    see_caught(length_breaches, &[&full, &format!("{full}// caught")]);
    hold_the_tree_to(length_breaches);
}

const FILE_LINES_MAX: usize = 600;

fn length_breaches(path: &str, text: &str) -> Vec<Breach> {
    let lines = text.lines().count();
    let is_script = path.starts_with(".ci/");
    if !(is_rust(path) || is_script) || lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    let rule = format!("more than {FILE_LINES_MAX} lines: split it along a noun");
    vec![Breach::new(path, lines, rule)]
}

#[test]
fn nothing_unfinished_is_left_over() {
    for marker in MARKERS {
        let planted = format!("README.md: {marker}ING is a word\n({marker}: later) // caught");
        see_caught(leftover_breaches, &[&planted]);
    }
    let planted = [
        "src/error.rs: dbg!(1); // caught\ntodo!() // caught",
        "src/error.rs: #[ignore = \"slow\"] // caught\n#[test]",
        "src/error.rs: #[rustfmt::skip]\n#![allow(dead_code)] // caught",
        "src/error.rs: #[allow(\n  dead_code,\n  reason = \"x\"\n)]",
        "src/error.rs: /// Not `dbg!(1)`, nor `#[ignore]`.",
    ];
    see_caught(leftover_breaches, &planted);
    hold_the_tree_to(leftover_breaches);
}

/// Put together from halves, so that this file does not catch itself; so are the two lists below.
const MARKERS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("X", "XX"), concat!("HA", "CK")];

fn leftover_breaches(path: &str, text: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if path == "LICENSE" || path == "Cargo.lock" {
        return breaches;
    }
    for (line, content) in (1..).zip(text.lines()) {
        let mut words = content.split(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(marker) = words.find(|word| MARKERS.contains(word)) {
            let rule = format!("`{marker}`: do it, or write an issue");
            breaches.push(Breach::new(path, line, rule));
        }
    }
    if !is_rust(path) {
        return breaches;
    }
    let code = code(text);
    let tokens = tokens(&code);
    for (at, token) in tokens.iter().enumerate() {
        let ahead = || tokens.iter().skip(at).map(|token| token.text);
        let has_reason = || ahead().take_while(|text| *text != "]").any(|text| text == "reason");
        let rule = match ahead().take(4).collect::<Vec<_>>().as_slice() {
            ["dbg" | "todo", "!", ..] => "unfinished code",
            ["#", "[", "ignore", ..] => "a test that never runs: mend it or delete it",
            ["#", "[", "allow" | "expect", ..] | ["#", "!", "[", "allow" | "expect", ..]
                if !has_reason() =>
            {
                "a lint is lifted with a `reason = \"...\"`"
            }
            _ => continue,
        };
        breaches.push(Breach::new(path, token.line, rule));
    }
    breaches
}

#[test]
fn no_file_names_a_package_registry_or_a_path_of_one_machine() {
    for host in REGISTRY_HOSTS {
        let planted = format!("README.md: \nsee {host}/palisade // caught");
        see_caught(machine_breaches, &[&planted]);
    }
    for folder in MACHINE_FOLDERS {
        let planted = format!("Makefile: A = $(HOME){folder}out\nB = {folder}out // caught");
        see_caught(machine_breaches, &[&planted]);
    }
    hold_the_tree_to(machine_breaches);
}

const REGISTRY_HOSTS: [&str; 7] = [
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("pypi", ".org"),
    concat!("proxy.golang", ".org"),
    concat!("deb.debian", ".org"),
    concat!("archive.ubuntu", ".com"),
];
const MACHINE_FOLDERS: [&str; 3] =
    [concat!("/wo", "rk/"), concat!("/fa", "rm/"), concat!("/ro", "ot/")];

fn machine_breaches(path: &str, text: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if path == "Cargo.lock" {
        return breaches;
    }
    for (line, content) in (1..).zip(text.lines()) {
        if let Some(host) = REGISTRY_HOSTS.iter().find(|host| content.contains(*host)) {
            let rule = format!("names the package registry {host}");
            breaches.push(Breach::new(path, line, rule));
        }
        // Where a longer path or a variable goes before it, it is not at the root of the machine.
        let is_absolute = |at: usize| {
            let before = content.get(..at).and_then(|before| before.chars().next_back());
            !before.is_some_and(|c| c.is_alphanumeric() || "._-)}>*".contains(c))
        };
        for folder in MACHINE_FOLDERS {
            if content.match_indices(folder).any(|(at, _)| is_absolute(at)) {
                let rule = format!("{folder} exists on one machine only");
                breaches.push(Breach::new(path, line, rule));
            }
        }
    }
    breaches
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    let planted = [
        "src/rule/mod.rs: use std::fmt; // caught",
        "tests/it/main.rs: // caught",
        "src/rule/mod.rs: //! The rule.",
        "build.md: Any text.",
    ];
    see_caught(opening_breaches, &planted);
    hold_the_tree_to(opening_breaches);
}

fn opening_breaches(path: &str, text: &str) -> Vec<Breach> {
    let is_ours =
        ["src/", "tests/", "benches/", "examples/"].iter().any(|folder| path.starts_with(folder));
    if !is_ours || !is_rust(path) || text.starts_with("//!") {
        return Vec::new();
    }
    let rule = "open the file with `//!`: what it owns, what it keeps true";
    vec![Breach::new(path, 1, rule)]
}
