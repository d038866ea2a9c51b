//! Who may name whom: the order of the layers, the purity of the rule, the one folder for RocksDB.

use crate::source::{Named, module_of, names};
use crate::tree::{Breach, hold_the_tree_to, is_rust, see_caught};

#[test]
fn a_lower_layer_never_names_a_higher_one() {
    let planted = [
        "src/rule/mod.rs: //!\nuse crate::engine::Engine; // caught",
        "src/types/token.rs: use crate::{limits, rule::{Group, Rejection}}; // caught",
        "src/types/token.rs: use crate::{\n limits,\n rule::{\n Group, // caught\n }};",
        "src/record/head.rs: fn f() {\n crate::guard::open() // caught\n}",
        "src/limits.rs: use super::types::Token; // caught",
        "src/rule/state.rs: mod m { use super::super::{group, super::error::Error}; } // caught",
        "src/engine/memory.rs: use crate::coordinator::Lease; // caught",
        "src/http/mod.rs: use crate::rpc::status;\nuse crate::rpc::server; // caught",
        "src/guard/mod.rs: use crate::testing::suite; // caught",
        "src/testing/mod.rs: use crate::rpc::status; // caught",
        "src/rule/mod.rs: use crate::Guard; // caught",
        "src/nowhere.rs: // caught",
        "src/rule/mod.rs: fn f() { $crate::guard::open() } // caught",
        "src/testing/mod.rs: fn f() { $crate::suite!(x) }",
        "src/error.rs: use crate::{clock::Clock, rule::Rejection};",
        "src/limits.rs: mod tests { use super::*; }",
        "src/rule/mod.rs: //! [`crate::guard`]\nconst A: &str = \"crate::rpc::x\";",
        "src/testing/mod.rs: pub(crate) use crate::{engine::Engine, coordinator};",
        "src/lib.rs: pub use crate::guard::Guard;",
    ];
    see_caught(layer_breaches, &planted);
    hold_the_tree_to(layer_breaches);
}

/// On one floor, and yet they may name each other.
const PEERS: [&str; 4] = ["error", "clock", "settings", "metrics"];

/// Lower first. The modules of one row do not name each other, but for [`PEERS`], and for
/// `rpc::status`, which `layer` and `http` may name.
const LAYERS: [&[&str]; 9] = [
    &["limits"],
    &["types"],
    &["rule"],
    &["record"],
    &PEERS,
    &["engine", "coordinator"],
    &["guard"],
    &["testing"],
    &["rpc", "layer", "sql", "http"],
];

fn layer_breaches(path: &str, text: &str) -> Vec<Breach> {
    // The crate root re-exports everything, and the binary is a crate of its own.
    if !path.starts_with("src/") || path == "src/lib.rs" || path.starts_with("src/bin/") {
        return Vec::new();
    }
    let module = module_of(path);
    let own = module.first().map_or("", String::as_str);
    if floor(own).is_none() {
        let rule = format!("`{own}` has no place in LAYERS of tests/tidy/imports.rs");
        return vec![Breach::new(path, 1, rule)];
    }
    let mut breaches = Vec::new();
    let names = names(path, text);
    for named in names.iter().filter(|named| named.root() == "crate" && named.path.len() > 1) {
        let inner = named.path.get(1..).unwrap_or_default();
        let other = inner.first().map_or("", String::as_str);
        // An exported macro lives at the root, whichever module it was written in.
        let is_macro = named.before == "$" && inner.len() == 1;
        if floor(other).is_none() && !is_macro {
            let rule =
                format!("`crate::{other}` goes around the layers: name it through its module");
            breaches.push(Breach::new(path, named.line, rule));
        } else if !is_macro && !may_name(own, inner) {
            let rule = format!(
                "`{own}` may not name `{}` (order: LAYERS in tests/tidy/imports.rs)",
                inner.join("::")
            );
            breaches.push(Breach::new(path, named.line, rule));
        }
    }
    breaches
}

fn may_name(own: &str, other: &[String]) -> bool {
    let part = |at: usize| other.get(at).map_or("", String::as_str);
    let status = own != "sql" && part(0) == "rpc" && part(1) == "status";
    let testing = part(0) == "testing"; // for authors of engines; nothing of ours rests on it
    own == part(0)
        || (PEERS.contains(&own) && PEERS.contains(&part(0)))
        || (status && floor(own) == floor("rpc"))
        || (!testing && floor(part(0)) < floor(own))
}

fn floor(module: &str) -> Option<usize> {
    LAYERS.iter().position(|floor| floor.contains(&module))
}

#[test]
fn the_rule_sees_no_clock_no_files_and_no_runtime() {
    let planted = [
        "src/rule/mod.rs: use std::{fmt, time::{Duration, Instant}}; // caught",
        "src/rule/state.rs: \nfn now() -> ::std::time::Instant {} // caught",
        "src/rule/group.rs: use tokio; // caught\nuse rocksdb::DB; // caught",
        "src/rule/group.rs: use std::time::Duration; // not std::io\nlet tokio = 1;",
        "src/clock.rs: use std::time::Duration;",
    ];
    see_caught(purity_breaches, &planted);
    hold_the_tree_to(purity_breaches);
}

fn purity_breaches(path: &str, text: &str) -> Vec<Breach> {
    let mut breaches = Vec::new();
    if !path.starts_with("src/rule/") && path != "src/rule.rs" {
        return breaches;
    }
    for named in names(path, text) {
        let parts: Vec<&str> = named.path.iter().map(String::as_str).collect();
        let impure = match parts.as_slice() {
            // How long something took is a value; only reading a clock is not pure.
            ["std" | "core", "time", "Duration", ..] => false,
            ["std" | "core", "env" | "fs" | "io" | "net" | "process" | "thread" | "time", ..] => {
                true
            }
            ["rocksdb" | "tokio", ..] => named.is_item(),
            _ => false,
        };
        if impure {
            let rule = format!("`rule` is pure; it may not name `{}`", named.path.join("::"));
            breaches.push(Breach::new(path, named.line, rule));
        }
    }
    breaches
}

#[test]
fn only_the_rocksdb_engine_names_rocksdb() {
    let planted = [
        "src/guard/mod.rs: use rocksdb::DB; // caught",
        "src/engine/mod.rs: mod rocksdb;\nuse ::rocksdb::DB; // caught",
        "src/error.rs: impl From<rocksdb::Error> for Error {} // caught",
        "examples/embed.rs: extern crate rocksdb; // caught",
        "src/engine/mod.rs: #[cfg(feature = \"rocksdb\")]\npub mod rocksdb;",
        "src/lib.rs: pub use crate::engine::rocksdb::RocksEngine;",
        "src/guard/mod.rs: use crate::engine::rocksdb;\nfn f() { rocksdb::open() }",
        "src/engine/rocksdb/open.rs: use rocksdb::DB;",
    ];
    see_caught(rocksdb_breaches, &planted);
    hold_the_tree_to(rocksdb_breaches);
}

/// What uses the store directly: the engine, and what measures or damages a store on purpose.
const MAY_NAME_ROCKSDB: [&str; 3] = ["src/engine/rocksdb", "benches/", "tests/it/"];

fn rocksdb_breaches(path: &str, text: &str) -> Vec<Breach> {
    let is_allowed = MAY_NAME_ROCKSDB.iter().any(|folder| path.starts_with(folder));
    if !is_rust(path) || is_allowed {
        return Vec::new();
    }
    let names = names(path, text);
    // Where our own module of that name is declared or imported, the bare name means that one.
    let is_ours = |named: &Named| match named.before.as_str() {
        "mod" => named.root() == "rocksdb",
        "use" => named.path.len() > 1 && named.path.last().is_some_and(|last| last == "rocksdb"),
        _ => false,
    };
    let ours = names.iter().any(is_ours);
    let rule = "only src/engine/rocksdb/ names the crate rocksdb";
    names
        .iter()
        .filter(|named| ["rocksdb", "librocksdb_sys"].contains(&named.root()))
        .filter(|named| named.is_item() && (named.is_external || !ours))
        .map(|named| Breach::new(path, named.line, rule))
        .collect()
}
