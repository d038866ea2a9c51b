//! The demonstration as a user runs it.
//!
//! It stops, kills and starts processes, so what could go wrong is that it leaves some behind, that
//! it tells a story which did not happen, or that it never ends. The judge of its claims is tested
//! beside it, in the program; here the real program has to convince that judge.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[test]
fn every_claim_of_the_demo_holds_and_no_process_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, svg) = (folder.path().join("demo"), folder.path().join("timeline.svg"));
    let output = demo(&dir, &svg);
    let told = String::from_utf8(output.stdout).unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{told}\n{complaints}", output.status);
    assert_eq!(complaints, "");
    assert_eq!(left_behind(&dir), [""; 0]);

    let claims = told.lines().filter(|line| line.starts_with("   [held] ")).count();
    assert!(claims >= 14, "{told}");
    assert!(!told.contains("[BROKEN]"), "{told}");
    let last: Vec<&str> = told.lines().rev().take(2).collect();
    assert_eq!(last[1], format!("{claims} of {claims} claims held"));
    assert!(last[0].starts_with(&format!("timeline: {}", svg.display())), "{}", last[0]);
    for word in ["token", "generation", "fence", "lease", "refused", "replayed", "STALE_TOKEN"] {
        assert!(told.contains(word), "the story does without {word:?}");
    }
    assert_picture(&fs::read_to_string(&svg).unwrap());
}

#[test]
fn a_folder_with_something_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("mine");
    fs::write(&mine, "precious").unwrap();
    let output = demo(folder.path(), &folder.path().join("timeline.svg"));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not empty"));
    let inside: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(inside, [mine]);
}

fn demo(dir: &Path, svg: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_palisade"))
        .arg("demo")
        .args(["--dir".as_ref(), dir])
        .args(["--svg".as_ref(), svg])
        .output()
        .unwrap()
}

/// Processes that have the demo's folder in their arguments, as all of its children do.
fn left_behind(dir: &Path) -> Vec<String> {
    let dir = dir.to_string_lossy().into_owned();
    let commands: Vec<String> = if cfg!(target_os = "linux") {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            // One that ends meanwhile is not left behind.
            let command = fs::read(entry.ok()?.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&command).replace('\0', " "))
        });
        processes.collect()
    } else {
        let listing = Command::new("ps").args(["-axo", "command"]).output().unwrap();
        String::from_utf8_lossy(&listing.stdout).lines().map(str::to_owned).collect()
    };
    commands.into_iter().filter(|command| command.contains(&dir)).collect()
}

fn assert_picture(svg: &str) {
    assert_well_formed(svg);
    for lane in ["holder A", "lock", "holder B", "file", "guard", "holder C"] {
        assert!(svg.contains(&format!("aria-label=\"{lane}\"")), "no lane {lane:?}");
    }
    // Without the legend, which has one of each.
    let (_, drawn) = svg.split_once("aria-label=\"1. Without the guard\"").unwrap();
    for mark in ["accepted", "damage", "refused", "replayed"] {
        assert!(drawn.contains(&format!("<g class=\"{mark}\"")), "no mark {mark:?}");
    }
    for alien in ["http://", "https://", "href", "<script", "<image", "NaN", "inf"] {
        let own = svg.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(alien), "the picture has {alien:?}");
    }
}

/// Every element that begins also ends, in the right order, and text has no stray marks.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    let mut pieces = svg.split('<');
    assert_eq!(pieces.next(), Some(""), "it begins with an element");
    for piece in pieces {
        let (tag, text) = piece.split_once('>').expect("an element ends");
        assert!(tag.matches('"').count() % 2 == 0, "an open quote in <{tag}>");
        for after in text.split('&').skip(1) {
            assert!(after.split_once(';').is_some_and(|(name, _)| name.len() < 6), "&{after}");
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "<{tag}> closes something else");
        } else if !tag.ends_with('/') {
            open.push(tag.split_whitespace().next().unwrap());
            assert!(!open.is_empty());
        }
        assert!(!open.is_empty() || text.trim().is_empty(), "text after the end: {text:?}");
    }
    assert_eq!(open, [""; 0], "never closed");
}
