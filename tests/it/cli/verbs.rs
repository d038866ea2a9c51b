//! Each verb once, as a person and as a program see it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::run::{Store, program};

#[test]
fn a_person_reads_columns() {
    let store = Store::missing();
    let said = |arguments: &str| store.run(arguments).succeeds().text().to_owned();
    assert_eq!(said("init"), format!("made an empty store in {:?}\n", store.path()));
    assert_eq!(
        said("put r status paid --token 42 --holder a --idempotency-key k"),
        "outcome  applied\nversion  1\ntoken    42\nfence    42, held by \"a\"\n"
    );
    assert!(said("put r status paid --token 42 --idempotency-key k").starts_with("outcome  repl"));
    assert_eq!(said("get r status"), "paid\n");
    let sum = said("add r stock 7 --token 42");
    assert!(sum.ends_with("counter  7\n"), "{sum}");
    assert_eq!(said("get r stock"), "7\n");
    assert_eq!(
        said("read r status stock gone"),
        "fence    42, held by \"a\"\nversion  2\n\n\
         KEY     VERSION  VALUE\nstatus  1        paid\nstock   2        7 (counter)\n\
         gone    -        (absent)\n"
    );
    assert_eq!(said("read r"), "fence    42, held by \"a\"\nversion  2\n");
    assert!(said("del r stock --token 42").contains("version  3\n"));
    assert_eq!(
        said("claim r --token 3:1"),
        "fence     3:1\nprevious  42, held by \"a\"\nversion   3\n"
    );
    let state = said("key-state r k");
    assert!(state.starts_with("state       applied\nversion     1\ntoken       42\n"), "{state}");
    assert!(said("close r --token 3:1").starts_with("fence     3:1, closed\n"));
    assert!(said("fence r").starts_with("fence      3:1, closed\nraised at  2"));
    assert!(said("retire r --token 3:2").ends_with("version   4\n"));
    assert!(said("info").starts_with("store id     "));
    assert_eq!(
        said("verify"),
        "resources            1\nvalues               0\nidempotency records  1\n\
         problems             0\nthe store is sound\n"
    );
}

#[test]
fn a_program_reads_json() {
    let store = Store::missing();
    let said = |arguments: &str| {
        let done = store.run(&format!("{arguments} --output jsonl")).succeeds();
        assert_eq!(done.text().lines().count(), 1, "{}", done.text());
        done.json()
    };
    let written = |outcome: &str, version: &str, results: Value| {
        json!({
            "outcome": outcome, "version": version, "token": "42", "fence": "42",
            "results": results
        })
    };
    assert_eq!(said("init")["data_dir"], store.path().to_str().unwrap());
    let put = "put r status paid --token 42 --holder a --idempotency-key k";
    assert_eq!(said(put), written("applied", "1", json!([null])));
    assert_eq!(said(put), written("replayed", "1", json!([null])));
    assert_eq!(said("add r n -7 --token 42"), written("applied", "2", json!(["-7"])));
    let status = json!({ "key": "status", "value": "paid", "version": "1" });
    let counter = json!({ "key": "n", "counter": "-7", "version": "2" });
    assert_eq!(said("get r status"), status);
    assert_eq!(
        said("read r status n gone"),
        json!({ "version": "2", "fence": "42", "entries": [status, counter, null] })
    );
    assert_eq!(said("del r n --token 42"), written("applied", "3", json!([null])));
    assert_eq!(
        said("claim r --token 43"),
        json!({
            "outcome": "applied", "version": "3", "token": "43", "fence": "43",
            "previous": "42", "results": []
        })
    );
    let state = said("key-state r k");
    assert_eq!(state["state"], "applied");
    assert_eq!(state["receipt"]["version"], "1");
    assert_eq!(
        said("key-state r other"),
        json!({ "state": "not_applied", "fence": "43", "receipt": null })
    );
    assert_eq!(said("close r --token 43")["previous"], "43");
    let fence = said("fence r");
    assert_eq!(fence["fence"], "43");
    assert_eq!(fence["holder"], Value::Null);
    assert_eq!(fence["closed"], true);
    assert!(fence["raised_at_ms"].is_string());
    assert_eq!(said("retire r --token 44")["version"], "4");
    let info = said("info");
    assert_eq!(info["incarnation"], "1");
    assert!(info["open_count"].is_string());
    assert_eq!(said("verify")["sound"], true);
}

#[test]
fn json_is_indented_for_whoever_looks_at_it() {
    let store = Store::new();
    let text = store.run("info --output json").succeeds();
    assert!(text.text().starts_with("{\n  \"store_id\""), "{}", text.text());
    text.json();
}

#[test]
fn a_value_passes_through_as_it_is() {
    let store = Store::new();
    let value = b"a\0b\xff\r\n\n";
    store.run_with(["put", "r", "k", "-", "--token", "1"], value).succeeds();
    let mut expected = value.to_vec();
    expected.push(b'\n');
    assert_eq!(store.run("get r k").succeeds().out, expected);
    store.run_with(["put", "r", "k", "", "--token", "1"], b"").succeeds();
    assert_eq!(store.run("get r k").succeeds().text(), "\n");
}

#[test]
fn bytes_that_are_not_text_are_escaped_or_in_base64() {
    let store = Store::new();
    let key = OsStr::from_bytes(b"k\xfe");
    let words = |verb: &'static str| [OsStr::new(verb), OsStr::new("r"), key];
    let put = words("put").into_iter().chain(["\u{1b}[31mred", "--token", "1"].map(OsStr::new));
    store.run_with(put, b"").succeeds();
    let seen = store.run_with(words("read"), b"").succeeds();
    assert!(seen.text().contains("k\\xfe  1        \\u{1b}[31mred\n"), "{}", seen.text());
    let json = words("get").into_iter().chain(["--output", "json"].map(OsStr::new));
    let entry = store.run_with(json, b"").succeeds().json();
    assert_eq!(entry, json!({ "key_base64": "a/4=", "value": "\u{1b}[31mred", "version": "1" }));
}

#[test]
fn a_value_that_is_too_large_is_refused() {
    let store = Store::new();
    let value = vec![b'x'; (1 << 20) + 1];
    let done = store.run_with(["put", "r", "k", "-", "--token", "1"], &value).exits(2);
    assert_eq!(done.complaint(), "palisade: value has 1048577 bytes: at most 1048576 are allowed");
    store.run_with(["put", "r", "k", "-", "--token", "1"], &value[1..]).succeeds();
}

#[test]
fn quiet_leaves_only_what_was_asked_for() {
    let store = Store::new();
    let said = |arguments: &str| store.run(arguments).succeeds().text().to_owned();
    assert_eq!(said("put r n 5 --counter --token 1 --quiet"), "");
    assert_eq!(said("add r n -2 --token 1 -q"), "3\n");
    assert_eq!(said("claim r --token 2 -q --output json"), "");
    assert_eq!(said("get r n -q"), "3\n");
    assert_eq!(said("verify -q"), "");
    assert!(store.run("get r gone -q").exits(8).complaint().contains("gone"));
}

#[test]
fn conditions_guard_a_write() {
    let store = Store::new();
    store.run("put r k a --token 1 --if-present").exits(5);
    store.run("put r k a --token 1 --if-absent").succeeds();
    store.run("put r k b --token 1 --if-absent").exits(5);
    store.run("put r k b --token 1 --if-version 1").succeeds();
    store.run("put r k c --token 1 --if-version 1").exits(5);
    store.run("add r n 1 --token 1 --if-present").exits(5);
    store.run("del r k --token 1 --if-version 1").exits(5);
    assert_eq!(store.run("get r k").succeeds().text(), "b\n");
    store.run("del r k --token 1 --if-version 2").succeeds();
    store.run("put r k a --token 1 --if-absent --if-present").exits(2);
}

#[test]
fn a_fenced_read_shuts_the_old_holder_out() {
    let store = Store::new();
    store.run("put r k a --token 1").succeeds();
    let seen = store.run("read r k --fenced --token 2 --output json").succeeds().json();
    assert_eq!(seen["entries"][0]["value"], "a");
    assert_eq!(seen["fence"], "2");
    store.run("put r k b --token 1").exits(4);
    store.run("read r k --fenced --token 1").exits(4);
    store.run("read r k --fenced").exits(2);
    store.run("read r k").succeeds();
}

#[test]
fn flags_may_come_from_the_environment() {
    let store = Store::new();
    let mut command = program();
    command
        .args(["put", "r", "k", "v"])
        .env("PALISADE_DATA_DIR", store.path())
        .env("PALISADE_TOKEN", "3:42")
        .env("PALISADE_HOLDER", "h")
        .env("PALISADE_IDEMPOTENCY_KEY", "event")
        .env("PALISADE_OUTPUT", "json");
    let answer: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(answer["token"], "3:42");
    let fence = store.run("fence r --output json").succeeds().json();
    assert_eq!(fence["holder"], "h");
    let state = store.run("key-state r event --output json").succeeds().json();
    assert_eq!(state["state"], "applied");
}

#[test]
fn help_comes_to_standard_output_and_tells_the_exit_codes() {
    let store = Store::missing();
    let help = store.run("--help").succeeds();
    for line in ["  4  refused by the fence", "  put ", "PALISADE_DATA_DIR"] {
        assert!(help.text().contains(line), "no {line:?} in {}", help.text());
    }
    assert!(!help.text().contains("demo-holder"));
    assert!(store.run("apply --help").succeeds().text().contains(r#"{"op":"write""#));
    assert_eq!(store.run("--version").succeeds().text(), "palisade 0.1.0\n");
}
