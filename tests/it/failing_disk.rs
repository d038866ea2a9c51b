//! A real disk that takes no more, under the real program.
//!
//! The shell limits how large a file may grow, so that at some point RocksDB's log cannot be
//! written. The write that met it is unknown; from there everything is unavailable, though the
//! disk would take a small write; and once the store is opened again without the limit, sending
//! all of it again shows one effect for each key.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

const WRITES: usize = 30;

/// Runs `apply` on `requests` under a limit of `blocks` of 512 or 1,024 bytes, as the shell counts.
fn apply(store: &Path, requests: &Path, blocks: Option<u32>) -> Vec<Value> {
    let limit = blocks.map(|blocks| format!("ulimit -f {blocks}; ")).unwrap_or_default();
    // Ignored signals stay ignored across exec: without that the limit would kill the program.
    let script = format!("trap '' XFSZ; {limit}exec \"$0\" apply \"$1\" --data-dir \"$2\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_palisade")])
        .args([requests, store])
        .output()
        .unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn outcome(answer: &Value) -> &str {
    answer["ok"]["outcome"].as_str().or(answer["error"]["reason"].as_str()).unwrap()
}

fn count(answers: &[Value], wanted: &str) -> usize {
    answers.iter().filter(|answer| outcome(answer) == wanted).count()
}

#[test]
fn a_failed_write_is_unknown_and_everything_after_it_unavailable() {
    let directory = TempDir::new().unwrap();
    let (store, requests) = (directory.path().join("store"), directory.path().join("requests"));
    let mut init = Command::new(env!("CARGO_BIN_EXE_palisade"));
    assert!(init.arg("init").arg("--data-dir").arg(&store).output().unwrap().status.success());
    let line = |n| {
        let filler = "x".repeat(4_000);
        format!(
            r#"{{"op":"write","resource":"r","token":"1","idempotency_key":"k{n}","do":[{{"add":{{"key":"n","delta":"1"}}}},{{"put":{{"key":"filler","value":"{filler}"}}}}]}}"#
        )
    };
    let lines: Vec<String> = (0..WRITES).map(line).collect();
    std::fs::write(&requests, lines.join("\n")).unwrap();

    let answers = apply(&store, &requests, Some(64));
    let applied = count(&answers, "applied");
    assert!(applied > 0, "the limit was met before the first write: {answers:?}");
    assert_eq!(count(&answers, "OUTCOME_UNKNOWN"), 1, "{answers:?}");
    assert_eq!(count(&answers, "UNAVAILABLE"), WRITES - applied - 1, "{answers:?}");
    let unknown = answers.iter().position(|answer| outcome(answer) == "OUTCOME_UNKNOWN");
    assert_eq!(unknown, Some(applied), "it came right after the last one that was applied");

    let again = apply(&store, &requests, None);
    let replayed = count(&again, "replayed");
    assert!((applied..=applied + 1).contains(&replayed), "{again:?}");
    assert_eq!(count(&again, "applied"), WRITES - replayed);
    let last = again.last().unwrap();
    assert_eq!(last["ok"]["results"][0], WRITES.to_string(), "one effect for each key");
}
