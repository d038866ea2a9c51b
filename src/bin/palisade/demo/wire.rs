//! The lines of `palisade apply`: the requests that the demo sends, and what it reads in answers.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::failure::{Failure, Result};

/// What the coordinator handed out: a resource, the token under which, and to whom.
#[derive(Clone, Debug)]
pub(super) struct Grant {
    pub(super) resource: String,
    pub(super) token: u64,
    pub(super) holder: String,
}

impl Grant {
    /// A write; without an idempotency key where that is empty.
    pub(super) fn write(&self, idempotency_key: Option<&str>, operations: &Value) -> Value {
        let mut request = json!({
            "op": "write",
            "resource": self.resource,
            "token": self.token.to_string(),
            "holder": self.holder,
            "do": operations,
        });
        if let (Some(key), Some(fields)) = (idempotency_key, request.as_object_mut()) {
            fields.insert("idempotency_key".to_owned(), json!(key));
        }
        request
    }
}

pub(super) fn put(key: &str, value: &str) -> Value {
    json!({ "put": { "key": key, "value": value } })
}

pub(super) fn put_counter(key: &str, value: i64) -> Value {
    json!({ "put_counter": { "key": key, "value": value.to_string() } })
}

/// Takes `amount` from a counter that may not go below 0.
pub(super) fn take(key: &str, amount: i64) -> Value {
    let delta = amount.saturating_neg();
    json!({ "add": { "key": key, "delta": delta.to_string(), "min": "0" } })
}

pub(super) fn read(resource: &str, keys: &[String]) -> Value {
    json!({ "op": "read", "resource": resource, "keys": keys })
}

pub(super) fn key_state(resource: &str, key: &str) -> Value {
    json!({ "op": "key_state", "resource": resource, "idempotency_key": key })
}

/// The answer to a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Applied(Receipt),
    Replayed(Receipt),
    Refused(Refusal),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Receipt {
    pub(super) version: u64,
    /// The token it was applied under.
    pub(super) token: u64,
    /// What the counter came to, where the write has one.
    pub(super) counter: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Refusal {
    pub(super) reason: String,
    /// Both tokens, where the fence refused it.
    pub(super) presented: Option<u64>,
    pub(super) current: Option<u64>,
    /// The counter's value, where a bound refused it.
    pub(super) counter: Option<i64>,
}

impl Answer {
    pub(super) fn parse(line: &Value) -> Result<Self> {
        if let Some(error) = line.get("error") {
            return Ok(Self::Refused(Refusal {
                reason: text(error, "reason")?.to_owned(),
                presented: optional(error, "/metadata/presented"),
                current: optional(error, "/metadata/current"),
                counter: optional(error, "/metadata/value"),
            }));
        }
        let ok = done(line)?;
        let results = ok.get("results").and_then(Value::as_array).into_iter().flatten();
        let receipt = Receipt {
            version: number(ok, "/version")?,
            token: number(ok, "/token")?,
            counter: results.into_iter().find_map(|result| optional(result, "")),
        };
        match text(ok, "outcome")? {
            "applied" => Ok(Self::Applied(receipt)),
            "replayed" => Ok(Self::Replayed(receipt)),
            _ => Err(not_understood(line)),
        }
    }

    /// What a holder is told about a request whose answer was lost on the way.
    pub(super) fn unknown() -> Value {
        json!({ "error": { "reason": OUTCOME_UNKNOWN } })
    }

    pub(super) fn is_refused_for(&self, reason: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.reason == reason)
    }

    pub(super) fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Applied(receipt) | Self::Replayed(receipt) => Some(receipt),
            Self::Refused(_) => None,
        }
    }
}

/// As the story tells it.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (outcome, receipt) = match self {
            Self::Applied(receipt) => ("applied", receipt),
            Self::Replayed(receipt) => ("replayed", receipt),
            Self::Refused(Refusal { reason, presented, current, .. }) => {
                write!(f, "refused, {reason}")?;
                if let (Some(presented), Some(current)) = (presented, current) {
                    write!(f, ": presented {presented}, current {current}")?;
                }
                return Ok(());
            }
        };
        write!(f, "{outcome}, version {}", receipt.version)?;
        match receipt.counter {
            Some(left) => write!(f, ", {left} left"),
            None => Ok(()),
        }
    }
}

pub(super) const STALE_TOKEN: &str = "STALE_TOKEN";
pub(super) const BOUND_EXCEEDED: &str = "BOUND_EXCEEDED";
pub(super) const KEY_REUSED: &str = "KEY_REUSED";
pub(super) const OUTCOME_UNKNOWN: &str = "OUTCOME_UNKNOWN";

/// The answer to a read: the keys that are there, with bytes and counters as text.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) entries: BTreeMap<String, String>,
    pub(super) version: u64,
    pub(super) fence: Option<u64>,
}

impl Reading {
    pub(super) fn parse(line: &Value) -> Result<Self> {
        let ok = done(line)?;
        let mut entries = BTreeMap::new();
        for entry in ok.get("entries").and_then(Value::as_array).into_iter().flatten() {
            if entry.is_null() {
                continue;
            }
            let value = entry.get("counter").or(entry.get("value")).and_then(Value::as_str);
            let value = value.ok_or_else(|| not_understood(line))?;
            entries.insert(text(entry, "key")?.to_owned(), value.to_owned());
        }
        Ok(Self { entries, version: number(ok, "/version")?, fence: optional(ok, "/fence") })
    }
}

/// The answer to `key_state`: the version at which the key's write was applied, if it was.
pub(super) fn parse_key_state(line: &Value) -> Result<Option<u64>> {
    let ok = done(line)?;
    match text(ok, "state")? {
        "applied" => number(ok, "/receipt/version").map(Some),
        "not_applied" => Ok(None),
        _ => Err(not_understood(line)),
    }
}

fn done(line: &Value) -> Result<&Value> {
    line.get("ok").ok_or_else(|| not_understood(line))
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str> {
    value.get(field).and_then(Value::as_str).ok_or_else(|| not_understood(value))
}

fn number(value: &Value, pointer: &str) -> Result<u64> {
    optional(value, pointer).ok_or_else(|| not_understood(value))
}

/// 64-bit numbers are texts in JSON.
fn optional<N: std::str::FromStr>(value: &Value, pointer: &str) -> Option<N> {
    value.pointer(pointer)?.as_str()?.parse().ok()
}

fn not_understood(line: &Value) -> Failure {
    Failure::new(format!("the store answered with a line that the demo does not know: {line}"))
}
