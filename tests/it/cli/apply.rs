//! `apply` as a whole: order, flushing, concurrency, exit codes.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use super::run::{Conversation, Store};

const FENCE: &str = r#"{"op":"fence","resource":"r"}"#;

#[test]
fn an_answer_comes_before_the_next_line_is_sent() {
    let store = Store::new();
    for flags in ["", "--concurrency 2", "--concurrency 64"] {
        let mut apply = Conversation::with(&store, flags);
        for number in 1..=3 {
            apply.say(&format!(r#"{{"op":"claim","resource":"r{flags}","token":"{number}"}}"#));
            assert_eq!(apply.hear()["ok"]["fence"], number.to_string(), "{flags}");
            apply.say("no JSON");
            assert_eq!(apply.hear()["error"]["reason"], "INVALID", "{flags}");
            apply.say(&format!(r#"{{"op":"fence","resource":"r{flags}"}}"#));
            assert_eq!(apply.hear()["ok"]["fence"], number.to_string(), "{flags}");
        }
        assert_eq!(apply.end(), 2);
    }
}

#[test]
fn a_file_is_read_like_standard_input() {
    let store = Store::new();
    let file = store.path().with_file_name("requests.jsonl");
    fs::write(&file, FENCE).unwrap();
    let from_file = store.run_with(["apply".as_ref(), file.as_os_str()], b"").succeeds();
    let from_input = store.run_with(["apply", "-"], FENCE.as_bytes()).succeeds();
    assert_eq!(from_file.text(), from_input.text());
    assert_eq!(from_file.json_lines().len(), 1);
    let missing = store.run("apply no/such/file").exits(1);
    assert!(missing.complaint().starts_with("palisade: cannot read \"no/such/file\": "));
    assert_eq!(store.run("apply .").exits(1).json_lines(), Vec::<Value>::new());
}

#[test]
fn answers_come_in_the_order_of_their_lines() {
    let store = Store::new();
    // Refusals, reads and mistakes are known sooner than writes, and wait for their turn.
    let mut lines = Vec::new();
    for number in 0..200 {
        lines.push(match number % 4 {
            0 => format!(
                r#"{{"op":"write","resource":"r{number}","token":1,"do":[{{"add":{{"key":"n","delta":{number}}}}}]}}"#
            ),
            1 => format!(r#"{{"op":"read","resource":"r{}","keys":["n"]}}"#, number - 1),
            2 => "{}".to_owned(),
            _ => format!(r#"{{"op":"claim","resource":"r","token":"{number}"}}"#),
        });
    }
    let input = lines.join("\n");
    let done = store.run_with(["apply", "--concurrency", "32"], input.as_bytes()).exits(2);
    let answers = done.json_lines();
    assert_eq!(answers.len(), lines.len());
    for (number, answer) in answers.iter().enumerate() {
        match number % 4 {
            0 => assert_eq!(answer["ok"]["results"], json!([number.to_string()])),
            1 => assert_eq!(answer["ok"]["entries"][0]["counter"], (number - 1).to_string()),
            2 => assert_eq!(answer["error"]["metadata"]["line"], (number + 1).to_string()),
            _ => assert_eq!(answer["ok"]["fence"], number.to_string()),
        }
    }
}

#[test]
fn concurrency_keeps_the_order_of_each_resource() {
    let store = Store::new();
    let mut lines = Vec::new();
    for round in 1..=300 {
        for resource in ["a", "b", "c"] {
            lines.push(format!(
                r#"{{"op":"write","resource":"{resource}","token":{round},"do":[{{"add":{{"key":"n","delta":1}}}}]}}"#
            ));
            // It may see neither less than the write before it nor more.
            if round % 7 == 0 {
                lines.push(format!(r#"{{"op":"read","resource":"{resource}","keys":["n"]}}"#));
            }
            if round % 11 == 0 {
                lines.push(format!(
                    r#"{{"op":"write","resource":"{resource}","token":{},"do":[{{"put":{{"key":"late","value":"x"}}}}]}}"#,
                    round - 1
                ));
            }
        }
    }
    for concurrency in ["1", "2", "3", "64", "1024"] {
        let store = if concurrency == "1" { &store } else { &Store::new() };
        let arguments = ["apply", "--concurrency", concurrency];
        let answers = store.run_with(arguments, lines.join("\n").as_bytes()).succeeds();
        let mut answers = answers.json_lines().into_iter();
        for round in 1..=300 {
            for _ in 0..3 {
                let sum = answers.next().unwrap();
                assert_eq!(sum["ok"]["results"][0], round.to_string(), "{concurrency}");
                if round % 7 == 0 {
                    let read = answers.next().unwrap();
                    assert_eq!(read["ok"]["entries"][0]["counter"], round.to_string());
                    assert_eq!(read["ok"]["fence"], round.to_string(), "{concurrency}");
                }
                if round % 11 == 0 {
                    let late = answers.next().unwrap();
                    assert_eq!(late["error"]["reason"], "STALE_TOKEN", "{concurrency}");
                }
            }
        }
        assert_eq!(answers.next(), None);
    }
}

#[test]
fn large_requests_are_never_refused_for_want_of_room() {
    let store = Store::new();
    let value = "x".repeat(1 << 20);
    let puts: Vec<String> =
        (0..3).map(|key| format!(r#"{{"put":{{"key":"{key}","value":"{value}"}}}}"#)).collect();
    let line = format!(r#"{{"op":"write","resource":"r","token":1,"do":[{}]}}"#, puts.join(","));
    let input = [line.as_str(); 30].join("\n"); // 90 MiB, and a queue takes 64 by itself
    let done = store.run_with(["apply", "--concurrency", "30"], input.as_bytes()).succeeds();
    let answers = done.json_lines();
    assert_eq!(answers.len(), 30);
    assert!(answers.iter().all(|answer| answer["ok"]["outcome"] == "applied"), "{answers:?}");
}

#[test]
fn a_refusal_by_the_rules_is_an_answer_and_no_failure() {
    let store = Store::new();
    let lines = [
        r#"{"op":"claim","resource":"r","token":"2"}"#,
        r#"{"op":"claim","resource":"r","token":"1"}"#,
        r#"{"op":"write","resource":"r","token":"2","do":[{"add":{"key":"n","delta":"-1","min":"0"}}]}"#,
    ];
    let done = store.run_with(["apply"], lines.join("\n").as_bytes()).succeeds();
    let reasons: Vec<Value> =
        done.json_lines().iter().map(|answer| answer["error"]["reason"].clone()).collect();
    assert_eq!(reasons, [json!(null), json!("STALE_TOKEN"), json!("BOUND_EXCEEDED")]);
}

#[test]
fn blank_lines_have_no_answer_and_still_count() {
    let store = Store::new();
    let input = format!("\n  \t\r\n{FENCE}\r\n\n[]\n\n");
    for flags in [&["apply"][..], &["apply", "--concurrency", "8"]] {
        let answers = store.run_with(flags, input.as_bytes()).exits(2).json_lines();
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[0]["ok"]["version"], "0");
        assert_eq!(answers[1]["error"]["metadata"]["line"], "5");
    }
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let store = Store::new();
    for flags in ["--concurrency 1", "--concurrency 16"] {
        let words = ["apply"].into_iter().chain(flags.split_whitespace());
        let mut child = store.command(words).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        writeln!(stdin, "{FENCE}").unwrap();
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        assert!(first.starts_with("{\"ok\""), "{first}");
        drop(out);
        // Until it has noticed: the pipe takes some lines that nobody reads.
        while writeln!(stdin, "{FENCE}").is_ok() {}
        assert_eq!(child.wait().unwrap().code(), Some(1), "{flags}");
        let mut complaints = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        assert_eq!(complaints, "", "{flags}");
    }
}
