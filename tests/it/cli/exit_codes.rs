//! Every exit code, with the reason and the text that go with it.

use std::fs::{self, File, OpenOptions};
use std::io;

use rocksdb::{DB, IteratorMode};
use serde_json::Value;

use super::run::{Conversation, Store, program};

/// The error of `arguments`: its exit code, and its reason under `--output json`.
#[track_caller]
fn refused(store: &Store, arguments: &str, code: i32, reason: &str) -> Value {
    let error = store.run(&format!("{arguments} --output json")).exits(code).error();
    assert_eq!(error["reason"], reason, "{error}");
    assert_eq!(error["applied"], false, "{error}");
    let text = store.run(arguments).exits(code);
    let line = text.complaint();
    assert!(line.starts_with("palisade: "), "{line}");
    error
}

#[test]
fn a_missing_store_is_1_and_the_line_names_palisade_init() {
    let store = Store::missing();
    for verb in ["get r k", "put r k v --token 1", "info", "verify", "apply"] {
        let error = refused(&store, verb, 1, "STORE_MISSING");
        assert!(error["message"].as_str().unwrap().contains("`palisade init`"), "{error}");
        assert_eq!(error["metadata"]["path"], store.path().to_str().unwrap());
    }
    assert!(!store.path().exists(), "a store was made by accident");
}

#[test]
fn a_store_is_never_made_over_another() {
    let store = Store::new();
    refused(&store, "init", 1, "STORE_OCCUPIED");
    store.run("info").succeeds();
}

#[test]
fn what_was_typed_wrong_is_2() {
    let store = Store::new();
    for wrong in ["", "put r k", "scan r", "add r n 1.5 --token 1", "apply --concurrency 0"] {
        let done = store.run(wrong).exits(2);
        assert!(done.out.is_empty() && !done.err.is_empty(), "{done:?}");
    }
    let error = store.run("add r n 1.5 --token 1 --output json").exits(2).error();
    assert_eq!(error["reason"], "INVALID");
    let error = store.run("put --output=jsonl r").exits(2).error();
    assert_eq!(error["applied"], false);
}

#[test]
fn an_invalid_request_is_2_and_names_its_field() {
    let store = Store::new();
    let long = "k".repeat(1_025);
    let cases = [
        ("put r k v", "token"),
        ("put r k v --token 0", "token"),
        ("put r k v --token -1", "token"),
        ("put r k v --token 9223372036854775808", "token"),
        ("put r k v --token 1:0", "token"),
        ("put r k v --token 4.2", "token"),
        (&format!("put r {long} v --token 1"), "key"),
        (&format!("get {long} k"), "resource"),
        ("put r k v --token 1 --counter", "value"),
        ("add r k 1 --min 2 --max 1 --token 1", "min"),
    ];
    for (arguments, field) in cases {
        let error = refused(&store, arguments, 2, "INVALID");
        assert_eq!(error["metadata"]["field"], field, "{arguments}");
    }
    let nowhere = program().args(["get", "r", "k"]).output().unwrap();
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8(nowhere.stderr).unwrap().contains("--data-dir"));
}

#[test]
fn a_store_that_another_process_holds_is_3() {
    let store = Store::new();
    let mut holder = Conversation::with(&store, "");
    holder.say(r#"{"op":"fence","resource":"r"}"#);
    holder.hear();
    for verb in ["get r k", "put r k v --token 1", "info", "verify", "apply", "init"] {
        let error = refused(&store, verb, 3, "STORE_HELD");
        assert!(error["message"].as_str().unwrap().contains("another process"), "{error}");
    }
    assert_eq!(holder.end(), 0);
    store.run("info").succeeds();
}

#[test]
fn what_the_fence_refuses_is_4() {
    let store = Store::new();
    store.run("put r k v --token 42 --holder a").succeeds();
    let error = refused(&store, "put r k late --token 41", 4, "STALE_TOKEN");
    assert_eq!(error["metadata"]["presented"], "41");
    assert_eq!(error["metadata"]["current"], "42");
    assert!(!error.to_string().contains("late"), "a value in an error: {error}");
    refused(&store, "claim r --token 42 --holder b", 4, "SPLIT_GENERATION");
    store.run("close r --token 42").succeeds();
    refused(&store, "del r k --token 42", 4, "CLOSED");
}

#[test]
fn every_other_refusal_has_a_code_of_its_own() {
    let store = Store::new();
    store.run("put r k v --token 1 --idempotency-key event").succeeds();
    refused(&store, "put r k v --token 1 --if-absent", 5, "VERSION_MISMATCH");
    refused(&store, "put r k w --token 1 --idempotency-key event", 6, "KEY_REUSED");
    refused(&store, "add r n -1 --min 0 --token 1", 7, "BOUND_EXCEEDED");
    refused(&store, "add r n 1 --max 0 --token 1", 7, "BOUND_EXCEEDED");
    refused(&store, "add r k 1 --token 1", 1, "TYPE_MISMATCH");
    let error = refused(&store, "get r gone", 8, "NOT_FOUND");
    assert_eq!(error["metadata"]["key"], "gone");
    refused(&store, "get never k", 8, "NOT_FOUND");
    refused(&store, "fence never", 8, "NOT_FOUND");
    store.run("put r k v --token 1 --idempotency-key event").succeeds();
}

#[test]
fn a_damaged_record_is_1_and_verify_finds_it() {
    let store = Store::new();
    store.run("put r k v --token 42").succeeds();
    store.run("put other k v --token 42").succeeds();
    damage(&store, b"other");
    refused(&store, "fence other", 1, "CORRUPT");
    refused(&store, "put other k v --token 43", 1, "CORRUPT");
    store.run("put r k v --token 42").succeeds();
    let found = store.run("verify").exits(1);
    assert!(found.text().contains("\nproblem: ") && found.text().contains("damaged"), "{found:?}");
    let found = store.run("verify -q --output json").exits(1).json();
    assert_eq!(found["sound"], false);
    assert_eq!(found["problems"].as_str().unwrap(), "2");
}

/// Flips a bit in every record whose key has `part` in it.
fn damage(store: &Store, part: &[u8]) {
    let db = DB::open_default(store.path()).unwrap();
    let records: Vec<_> = db.iterator(IteratorMode::Start).map(Result::unwrap).collect();
    for (key, mut record) in records {
        if key.windows(part.len()).any(|window| window == part) {
            record[0] ^= 1;
            db.put(key, record).unwrap();
        }
    }
}

#[test]
fn an_output_that_cannot_be_written_is_1() {
    let store = Store::new();
    store.run("put r k v --token 1").succeeds();
    for arguments in [["get", "r", "k"].as_slice(), &["info"], &["verify"], &["fence", "r"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = store.command(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.starts_with("palisade: cannot write the output"), "{error}");
    }
}

#[test]
fn a_reader_that_has_gone_ends_it_quietly() {
    let store = Store::new();
    store.run("put r k v --token 1").succeeds();
    let file = store.path().with_file_name("requests.jsonl");
    fs::write(&file, r#"{"op":"fence","resource":"r"}"#).unwrap();
    let apply = format!("apply {}", file.display());
    for arguments in ["info", "verify", "get r k", "fence r", &apply, "apply --concurrency 4 -"] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let input = File::open(&file).unwrap();
        let mut command = store.command(arguments.split_whitespace());
        let output = command.stdin(input).stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments}");
    }
}
