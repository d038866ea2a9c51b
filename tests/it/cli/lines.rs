//! One line of `apply`: what is understood, and what is refused by name.
//!
//! A field that is ignored, a number that loses its last digit, a missing token that reads as 0:
//! each would turn a program's mistake into a write that it did not ask for.

use serde_json::{Value, json};

use super::run::Store;

#[test]
fn every_operation_is_understood() {
    let store = Store::new();
    let answers = store.apply(&[
        r#"{"op":"write","resource":"r","token":"42","holder":"a","idempotency_key":"k1","do":[{"put":{"key":"x","value":"1"}},{"put_counter":{"key":"n","value":"5"}},{"add":{"key":"n","delta":"-1","min":"0","max":"9"}},{"delete":{"key":"gone"}},{"check":{"key":"gone","is":"absent"}},{"check":{"key":"x","is":"present"}},{"check":{"key":"n","is":{"version":"1"}}}]}"#,
        r#"{"op":"write","resource":"r","token":"43","idempotency_key":"k1","do":[{"put":{"key":"x","value":"1"}},{"put_counter":{"key":"n","value":5}},{"add":{"key":"n","delta":-1,"min":0,"max":9}},{"delete":{"key":"gone"}},{"check":{"key":"gone","is":"absent"}},{"check":{"key":"x","is":"present"}},{"check":{"key":"n","is":{"version":1}}}]}"#,
        r#"{"op":"read","resource":"r","keys":["x","n","gone"]}"#,
        r#"{"op":"claim","resource":"r","token":"44","holder":"b"}"#,
        r#"{"op":"read_fenced","resource":"r","token":45,"holder":null,"keys":[{"key":"x"}]}"#,
        r#"{"op":"read","resource":"r"}"#,
        r#"{"op":"close","resource":"r","token":"45"}"#,
        r#"{"op":"retire","resource":"r","token":"3:1"}"#,
        r#"{"op":"fence","resource":"r"}"#,
        r#"{"op":"fence","resource":"never"}"#,
        r#"{"op":"key_state","resource":"r","idempotency_key":"k1"}"#,
    ]);
    let written = |outcome: &str, fence: &str| {
        let results = json!([null, null, "4", null, null, null, null]);
        json!({ "ok": {
            "outcome": outcome, "version": "1", "token": "42", "fence": fence, "results": results
        } })
    };
    assert_eq!(answers[0], written("applied", "42"));
    assert_eq!(answers[1], written("replayed", "43"));
    let x = json!({ "key": "x", "value": "1", "version": "1" });
    let n = json!({ "key": "n", "counter": "4", "version": "1" });
    assert_eq!(
        answers[2],
        json!({ "ok": { "version": "1", "fence": "43", "entries": [x, n, null] } })
    );
    assert_eq!(answers[3]["ok"]["previous"], "43");
    assert_eq!(answers[4], json!({ "ok": { "version": "1", "fence": "45", "entries": [x] } }));
    assert_eq!(answers[5], json!({ "ok": { "version": "1", "fence": "45", "entries": [] } }));
    assert_eq!(answers[6]["ok"]["version"], "1");
    assert_eq!(answers[7]["ok"]["version"], "2");
    let raised_at = answers[8]["ok"]["raised_at_ms"].clone();
    assert_eq!(
        answers[8],
        json!({ "ok": {
            "version": "2", "fence": "3:1", "holder": null, "closed": true,
            "raised_at_ms": raised_at
        } })
    );
    assert_eq!(
        answers[9],
        json!({ "ok": {
            "version": "0", "fence": null, "holder": null, "closed": null, "raised_at_ms": null
        } })
    );
    assert_eq!(answers[10]["ok"]["receipt"]["results"][2], "4");
}

#[test]
fn numbers_above_2_to_the_53_keep_every_digit() {
    let store = Store::new();
    let answers = store.apply(&[
        r#"{"op":"write","resource":"r","token":9007199254740993,"do":[{"put_counter":{"key":"n","value":9007199254740993}}]}"#,
        r#"{"op":"write","resource":"r","token":"9223372036854775807:9223372036854775807","do":[{"put_counter":{"key":"n","value":"9223372036854775806"}},{"add":{"key":"n","delta":1}},{"put_counter":{"key":"m","value":-9223372036854775808}}]}"#,
        r#"{"op":"read","resource":"r","keys":["n","m"]}"#,
    ]);
    assert_eq!(answers[0]["ok"]["token"], "9007199254740993");
    assert_eq!(answers[1]["ok"]["token"], "9223372036854775807:9223372036854775807");
    assert_eq!(answers[1]["ok"]["results"][1], "9223372036854775807");
    assert_eq!(answers[2]["ok"]["entries"][1]["counter"], "-9223372036854775808");
}

#[test]
fn bytes_go_in_and_out_in_base64() {
    let store = Store::new();
    let answers = store.apply(&[
        r#"{"op":"write","resource":"r","token":1,"do":[{"put":{"key_base64":"a/4=","value_base64":"AP8="}},{"put":{"key":"t","value_base64":"dGV4dA=="}},{"check":{"key_base64":"a/4=","is":"present"}}]}"#,
        r#"{"op":"read","resource":"r","keys":[{"key_base64":"a/4="},"t"]}"#,
    ]);
    let entries = json!([
        { "key_base64": "a/4=", "value_base64": "AP8=", "version": "1" },
        { "key": "t", "value": "text", "version": "1" },
    ]);
    assert_eq!(answers[1]["ok"]["entries"], entries);
}

/// Sends a wrong line between two good ones, and gives back its error.
#[track_caller]
fn refused(store: &Store, line: &[u8]) -> Value {
    let good = br#"{"op":"fence","resource":"r"}"#;
    let input = [good.as_slice(), line, good.as_slice()].join(&b'\n');
    let answers = store.run_with(["apply"], &input).exits(2).json_lines();
    let line = String::from_utf8_lossy(&line[..line.len().min(200)]).into_owned();
    assert_eq!(answers.len(), 3, "{line}");
    let error = &answers[1]["error"];
    assert_eq!(error["reason"], "INVALID", "{line}");
    assert_eq!(error["applied"], false, "{line}");
    assert_eq!(error["metadata"]["line"], "2", "{line}");
    assert!(error["message"].as_str().unwrap().starts_with("line 2: "), "{error}");
    assert!(!error.to_string().contains("secret"), "a value in an error: {error}");
    assert_eq!(answers[2], answers[0], "{line} was applied, or stopped what came after");
    error.clone()
}

fn refused_for(store: &Store, cases: &[(&str, &str)]) {
    for (line, field) in cases {
        let error = refused(store, line.as_bytes());
        assert_eq!(error["metadata"]["field"], *field, "{line}");
        assert!(error["message"].as_str().unwrap().contains(field), "{error}");
    }
}

#[test]
fn an_unknown_field_is_refused() {
    let store = Store::new();
    refused_for(
        &store,
        &[
            (r#"{"op":"claim","resource":"r","token":"1","tokn":"2"}"#, "tokn"),
            (r#"{"op":"claim","resource":"r","token":"1","keys":[]}"#, "keys"),
            (r#"{"op":"fence","resource":"r","token":"1"}"#, "token"),
            (r#"{"op":"read","resource":"r","keys":["x"],"token":"1"}"#, "token"),
            (r#"{"op":"read","resource":"r","keys":[{"key":"x","at":1}]}"#, "keys[0].at"),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"put":{"key":"x","value":"1"}},{"check":{"key":"x","is":{"version":1,"or":2}}}]}"#,
                "do[1].check.is.or",
            ),
        ],
    );
}

#[test]
fn what_a_later_version_brings_is_refused_by_name() {
    let store = Store::new();
    refused_for(
        &store,
        &[
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"put":{"key":"x","value":"secret","ttl_ms":"5"}}]}"#,
                "do[0].put.ttl_ms",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","scope":"generation","do":[{"delete":{"key":"x"}}]}"#,
                "scope",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","bind_refusals":true,"do":[{"delete":{"key":"x"}}]}"#,
                "bind_refusals",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","idempotency_key":{"uuid":"secret"},"do":[{"delete":{"key":"x"}}]}"#,
                "idempotency_key",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"delete":{"key":"x"}},{"delete_prefix":{"prefix":"x"}}]}"#,
                "do[1]",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"check_version":{"version":"1"}}]}"#,
                "do[0]",
            ),
            (r#"{"op":"write_all","writes":[]}"#, "op"),
            (r#"{"op":"set_floor","prefix":"r","token":"1:0","reason":"x"}"#, "op"),
            (r#"{"op":"scan","resource":"r"}"#, "op"),
        ],
    );
}

#[test]
fn a_token_that_is_missing_or_out_of_range_is_refused() {
    let store = Store::new();
    let tokens = [
        "null",
        "0",
        r#""0""#,
        "-1",
        r#""-1""#,
        "9223372036854775808",
        r#""9223372036854775808""#,
        "18446744073709551616",
        r#""9223372036854775808:1""#,
        r#""1:0""#,
        r#""""#,
        r#"" 1""#,
        "1.0",
        "1e3",
        "true",
        "[1]",
        r#"{"generation":1}"#,
        r#""+1""#,
        r#""1:2:3""#,
    ];
    for token in tokens {
        let claim = format!(r#"{{"op":"claim","resource":"r","token":{token}}}"#);
        refused_for(&store, &[(&claim, "token")]);
    }
    refused_for(
        &store,
        &[
            (r#"{"op":"claim","resource":"r"}"#, "token"),
            (r#"{"op":"write","resource":"r","do":[{"delete":{"key":"x"}}]}"#, "token"),
            (r#"{"op":"read_fenced","resource":"r","keys":[]}"#, "token"),
        ],
    );
}

#[test]
fn a_field_of_the_wrong_kind_is_refused() {
    let store = Store::new();
    let write = |operation: &str| {
        format!(r#"{{"op":"write","resource":"r","token":"1","do":[{operation}]}}"#)
    };
    let cases = [
        (write(""), "do"),
        (write("null"), "do[0]"),
        (write("{}"), "do[0]"),
        (write(r#"{"put":{"key":"x","value":"secret"},"delete":{"key":"x"}}"#), "do[0]"),
        (write(r#"{"put":null}"#), "do[0].put"),
        (write(r#"{"put":{"key":"x"}}"#), "do[0].put.value"),
        (write(r#"{"put":{"value":"secret"}}"#), "do[0].put.key"),
        (write(r#"{"put":{"key":"","value":"secret"}}"#), "do[0].put.key"),
        (write(r#"{"put":{"key":"x","value":5}}"#), "do[0].put.value"),
        (write(r#"{"put":{"key":"x","value":"secret","value_base64":"AA=="}}"#), "do[0].put.value"),
        (write(r#"{"delete":{"key":"x","key_base64":"AA=="}}"#), "do[0].delete.key"),
        (write(r#"{"put":{"key":"x","value_base64":"AA"}}"#), "do[0].put.value_base64"),
        (write(r#"{"put_counter":{"key":"x","value":1.5}}"#), "do[0].put_counter.value"),
        (write(r#"{"put_counter":{"key":"x","value":"secret"}}"#), "do[0].put_counter.value"),
        (write(r#"{"add":{"key":"x","delta":9223372036854775808}}"#), "do[0].add.delta"),
        (write(r#"{"add":{"key":"x"}}"#), "do[0].add.delta"),
        (write(r#"{"add":{"key":"x","delta":1,"min":"2","max":"1"}}"#), "do[0].add.min"),
        (write(r#"{"check":{"key":"x","is":"secret"}}"#), "do[0].check.is"),
        (write(r#"{"check":{"key":"x","is":{"version":"-1"}}}"#), "do[0].check.is.version"),
        (write(&[r#"{"delete":{"key":"x"}}"#; 129].join(",")), "do"),
        (r#"{"op":"write","resource":"r","token":"1"}"#.to_owned(), "do"),
        (r#"{"op":"write","resource":"r","token":"1","do":{}}"#.to_owned(), "do"),
        (r#"{"op":"claim","resource":"","token":"1"}"#.to_owned(), "resource"),
        (r#"{"op":"claim","resource":"a\nb","token":"1"}"#.to_owned(), "resource"),
        (r#"{"op":"claim","resource":"r","token":"1","holder":""}"#.to_owned(), "holder"),
        (r#"{"op":"read","resource":"r","keys":["x",""]}"#.to_owned(), "keys[1]"),
        (r#"{"op":"read","resource":"r","keys":[7]}"#.to_owned(), "keys[0]"),
        (r#"{"op":"key_state","resource":"r"}"#.to_owned(), "idempotency_key"),
        (r#"{"resource":"r"}"#.to_owned(), "op"),
        (r#"{"op":"Claim","resource":"r","token":"1"}"#.to_owned(), "op"),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|(line, field)| (&**line, *field)).collect();
    refused_for(&store, &cases);
}

#[test]
fn a_field_that_is_given_twice_is_refused() {
    let store = Store::new();
    refused_for(
        &store,
        &[
            (r#"{"op":"claim","resource":"r","token":"1","token":"1"}"#, "token"),
            (r#"{"op":"fence","resource":"r","op":"claim"}"#, "op"),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"put":{"key":"x","value":"1"},"put":{"key":"y","value":"2"}}]}"#,
                "do[0].put",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"put":{"key":"x","value":"1","value":"secret"}}]}"#,
                "do[0].put.value",
            ),
            (
                r#"{"op":"write","resource":"r","token":"1","do":[{"check":{"key":"x","is":{"version":1,"version":2}}}]}"#,
                "do[0].check.is.version",
            ),
        ],
    );
}

#[test]
fn a_line_that_is_no_json_object_is_refused() {
    let store = Store::new();
    let deep = "[".repeat(100_000);
    let lines: [&[u8]; 11] = [
        b"no JSON",
        b"[]",
        b"7",
        b"\"secret\"",
        b"{",
        br#"{"op":"fence","resource":"r"} {}"#,
        br#"{"op":"fence","resource":"r",}"#,
        br#"{"op":"fence","resource":"\ud800"}"#,
        b"{\"op\":\"fence\",\"resource\":\"\xff\"}",
        b"\xef\xbb\xbf{}",
        deep.as_bytes(),
    ];
    for line in lines {
        assert_eq!(refused(&store, line)["metadata"]["field"], "request");
    }
}

#[test]
fn a_line_of_more_than_8_mib_is_refused() {
    let store = Store::new();
    let max = 8 << 20;
    let padded = |length: usize| {
        let mut line = br#"{"op":"fence","resource":"r"}"#.to_vec();
        line.resize(length, b' ');
        line
    };
    let answers = store.run_with(["apply"], &padded(max)).succeeds().json_lines();
    assert_eq!(answers[0]["ok"]["version"], "0");
    for length in [max + 1, max + 2, 2 * max + 7] {
        let error = refused(&store, &padded(length));
        let message = error["message"].as_str().unwrap();
        assert_eq!(
            message,
            format!("line 2: request has {length} bytes: at most {max} are allowed")
        );
        let last = store.run_with(["apply"], &padded(length)).exits(2).json_lines();
        assert_eq!(last.len(), 1, "as the last line, without an end");
    }
}
