//! What an embedder of the core takes on, and that `full` is full.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::tree::ROOT;

#[test]
fn embedding_the_core_brings_few_packages_and_no_server() {
    let many: Vec<String> = (0..=CORE_PACKAGES_MAX).map(|i| format!("p{i} v1.0.0")).collect();
    assert_eq!(core_breaches(&many.join("\n")).len(), 1);
    assert_eq!(core_breaches("a v1.0.0\ntonic v0.14.0 (*)\nclap v4.0.0").len(), 2);
    assert_eq!(core_breaches(&"a v1.0.0\na v1.0.0 (*)\n".repeat(CORE_PACKAGES_MAX)).len(), 0);

    let tree = Command::new(env!("CARGO"))
        .args("tree --locked --edges normal,build --prefix none".split(' '))
        .args(
            "--no-default-features --features rocksdb --target x86_64-unknown-linux-gnu".split(' '),
        )
        .current_dir(ROOT)
        .output()
        .expect("cargo runs, as it runs this test");
    assert!(tree.status.success(), "cargo tree: {}", String::from_utf8_lossy(&tree.stderr));
    let breaches = core_breaches(&String::from_utf8_lossy(&tree.stdout));
    assert!(
        breaches.is_empty(),
        "default-features = false, features = [\"rocksdb\"]:\n{}",
        breaches.join("\n")
    );
}

/// `palisade` itself included.
const CORE_PACKAGES_MAX: usize = 56;
const NOT_IN_THE_CORE: [&str; 7] =
    ["tonic", "prost", "hyper", "axum", "http", "clap", "serde_json"];

/// Over the output of `cargo tree --prefix none`: a package a line, repeated ones marked.
fn core_breaches(tree: &str) -> Vec<String> {
    let lines = tree.lines().map(|line| line.split_whitespace().take(2).collect::<Vec<_>>());
    let packages: BTreeSet<Vec<&str>> = lines.filter(|words| words.len() == 2).collect();
    let mut breaches: Vec<String> = packages
        .iter()
        .filter(|words| words.first().is_some_and(|name| NOT_IN_THE_CORE.contains(name)))
        .map(|words| format!("{} does not belong into the core", words.join(" ")))
        .collect();
    if packages.len() > CORE_PACKAGES_MAX {
        let list: Vec<String> = packages.iter().map(|words| words.join(" ")).collect();
        breaches.push(format!(
            "{} packages, at most {CORE_PACKAGES_MAX}: {}",
            list.len(),
            list.join(", ")
        ));
    }
    breaches
}

#[test]
fn the_feature_full_lists_every_feature() {
    let planted = "[features]\ndefault = [\"x\"]\nx = [\"dep:x\"] # why\ny = []\n";
    let full = |list| format!("[package]\n{planted}full = [\n{list}\n]\n\n[other]\nz = []\n");
    assert_eq!(features_not_in_full(&full("\"x\",")), ["y"]);
    assert_eq!(features_not_in_full(&full("\"x\", \"y\"")), [""; 0]);
    assert_eq!(features_not_in_full(planted), ["x", "y"]);

    let manifest = fs::read_to_string(Path::new(ROOT).join("Cargo.toml"));
    let manifest = manifest.expect("the manifest is there, as cargo runs this test");
    assert_eq!(features_not_in_full(&manifest), [""; 0], "Cargo.toml, [features]: not in `full`");
}

fn features_not_in_full(manifest: &str) -> Vec<&str> {
    let mut listed = Vec::new();
    let mut features = Vec::new();
    let mut feature = "";
    let in_features = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
    for line in in_features.take_while(|line| !line.starts_with('[')) {
        let line = line.split('#').next().unwrap_or(line);
        if let Some((name, _)) = line.split_once(" = [") {
            feature = name;
            features.push(name);
        }
        if feature == "full" {
            listed.extend(line.split('"').skip(1).step_by(2));
        }
    }
    features.retain(|feature| !["default", "full"].contains(feature) && !listed.contains(feature));
    features
}
