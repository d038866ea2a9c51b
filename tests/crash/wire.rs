//! The lines that `palisade apply` reads and writes.

use serde_json::{Value, json};

use crate::history::{Answer, Observed, Token, Write};

/// Adds to the counter, leaves a mark of its own, and overwrites what the others overwrite too.
pub(crate) fn write(resource: &str, write: &Write, token: Token) -> String {
    let mut line = json!({
        "op": "write",
        "resource": resource,
        "token": text(token),
        "do": [
            { "add": { "key": "count", "delta": "1" } },
            { "put": { "key": mark(write.id), "value": write.id.to_string() } },
            { "put": { "key": "last", "value": write.id.to_string() } },
        ],
    });
    if write.is_keyed {
        line["idempotency_key"] = json!(format!("event-{}", write.id));
    }
    format!("{line}\n")
}

pub(crate) fn claim(resource: &str, token: Token) -> String {
    format!("{}\n", json!({ "op": "claim", "resource": resource, "token": text(token) }))
}

/// Asks for the counter and the marks of some writes.
pub(crate) fn read(resource: &str, writes: &[u64]) -> String {
    let marks = writes.iter().map(|id| mark(*id));
    let keys: Vec<String> = ["count".to_owned()].into_iter().chain(marks).collect();
    format!("{}\n", json!({ "op": "read", "resource": resource, "keys": keys }))
}

/// The answer to a write or a claim.
pub(crate) fn answer(line: &str) -> Answer {
    let json = parse(line);
    if let Some(ok) = json.get("ok") {
        return Answer::Done {
            replayed: ok["outcome"] == "replayed",
            version: number(&ok["version"]),
            token: token(&ok["token"]),
            fence: token(&ok["fence"]),
            count: ok["results"].get(0).map(number),
        };
    }
    let error = &json["error"];
    assert_eq!(error["reason"], "STALE_TOKEN", "{line}");
    assert_eq!(error["applied"], false, "a refusal is a promise: {line}");
    let metadata = &error["metadata"];
    let key_state = metadata.get("keyState");
    assert!(key_state.is_none_or(|state| state == "not_applied"), "{line}");
    Answer::Stale { presented: token(&metadata["presented"]), current: token(&metadata["current"]) }
}

/// The answer to a read of the marks of `writes`.
pub(crate) fn observed(line: &str, writes: &[u64]) -> Observed {
    let ok = &parse(line)["ok"];
    let entries = ok["entries"].as_array().unwrap_or_else(|| panic!("{line}"));
    let marks = writes.iter().zip(&entries[1..]).map(|(id, entry)| {
        assert!(entry.is_null() || entry["value"] == id.to_string().as_str(), "{line}");
        (*id, entry.get("version").map(number))
    });
    Observed {
        version: number(&ok["version"]),
        fence: (!ok["fence"].is_null()).then(|| token(&ok["fence"])),
        count: entries[0].get("counter").map_or(0, number),
        marks: marks.collect(),
    }
}

fn mark(id: u64) -> String {
    format!("mark-{id}")
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

fn number(json: &Value) -> u64 {
    let text = json.as_str().unwrap_or_else(|| panic!("not a number as text: {json}"));
    text.parse().unwrap()
}

fn token(json: &Value) -> Token {
    let text = json.as_str().unwrap_or_else(|| panic!("not a token: {json}"));
    let (epoch, generation) = text.split_once(':').unwrap_or(("0", text));
    (epoch.parse().unwrap(), generation.parse().unwrap())
}

fn text((epoch, generation): Token) -> String {
    if epoch == 0 { generation.to_string() } else { format!("{epoch}:{generation}") }
}
