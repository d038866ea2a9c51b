//! The JSON of requests and answers: a line of `apply` to a request, an answer to JSON.
//!
//! Invariants: nothing in a line is ignored; every 64-bit number is written as text; bytes that
//! are not UTF-8 are written as `key_base64` and `value_base64`, and may be given so.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use palisade::types::ValueBytes;
use palisade::{
    Condition, Entry, Fence, FenceChange, FencingToken, Grant, Head, Holder, IdempotencyKey,
    Invalid, Key, KeyOutcome, KeyState, OperationResult, Outcome, Receipt, ResourceName, Snapshot,
    Value as StoredValue, WriteBuilder, WriteRequest,
};
use serde_json::{Value, json};

use crate::json::{Fields, Json};
use crate::request::{Answer, Request};

/// The request in a line of `apply`.
pub(crate) fn request(line: &[u8]) -> Result<Request, Invalid> {
    let text = std::str::from_utf8(line).map_err(|error| {
        let at = error.valid_up_to().saturating_add(1);
        Invalid::malformed("request", format!("UTF-8, and byte {at} is not"))
    })?;
    let json = Json::parse(text).map_err(|error| not_json(&error))?;
    let mut fields = Fields::of("", json)?;
    match fields.text("op")?.as_str() {
        "write" => write(fields).map(Request::Write),
        "claim" => grant_alone(fields).map(Request::Claim),
        "close" => grant_alone(fields).map(Request::Close),
        "retire" => grant_alone(fields).map(Request::Retire),
        "read_fenced" => {
            let mut fields = fields.only(&["resource", "token", "holder", "keys"])?;
            Ok(Request::ReadFenced { grant: grant(&mut fields)?, keys: keys(&mut fields)? })
        }
        "read" => {
            let mut fields = fields.only(&["resource", "keys"])?;
            Ok(Request::Read { resource: resource(&mut fields)?, keys: keys(&mut fields)? })
        }
        "fence" => resource(&mut fields.only(&["resource"])?).map(Request::Fence),
        "key_state" => {
            let mut fields = fields.only(&["resource", "idempotency_key"])?;
            Ok(Request::KeyState {
                resource: resource(&mut fields)?,
                idempotency_key: IdempotencyKey::try_from(fields.text("idempotency_key")?)?,
            })
        }
        _ => Err(Invalid::malformed(
            "op",
            "one of write, claim, read, read_fenced, close, retire, fence, key_state",
        )),
    }
}

fn write(fields: Fields) -> Result<WriteRequest, Invalid> {
    let mut fields = fields.only(&["resource", "token", "holder", "idempotency_key", "do"])?;
    let mut builder = WriteRequest::under(&grant(&mut fields)?);
    if let Some(key) = fields.optional("idempotency_key") {
        builder = builder.idempotency_key(key.into_text("idempotency_key")?)?;
    }
    for (index, json) in fields.required("do")?.into_list("do")?.into_iter().enumerate() {
        builder = operation(builder, &format!("do[{index}]"), json)?;
    }
    builder.build().map_err(|invalid| {
        // Keys and values were checked, so what is left of an operation is the bound of an `add`.
        let field = invalid.field().replacen("operations", "do", 1).replace("].", "].add.");
        Invalid::new(field, invalid.problem().clone())
    })
}

fn operation(builder: WriteBuilder, path: &str, json: Json) -> Result<WriteBuilder, Invalid> {
    let one = "an object with one operation: put, put_counter, add, delete or check";
    let (name, json) =
        Fields::of(path, json)?.sole().ok_or_else(|| Invalid::malformed(path.to_owned(), one))?;
    let fields = |known: &[&str]| Fields::of(&format!("{path}.{name}"), json)?.only(known);
    match name.as_str() {
        "put" => {
            let mut fields = fields(&["key", "key_base64", "value", "value_base64"])?;
            let key = key(&mut fields)?;
            Ok(builder.put(key, value(&mut fields)?))
        }
        "put_counter" => {
            let mut fields = fields(&["key", "key_base64", "value"])?;
            let key = key(&mut fields)?;
            let value = fields.required("value")?.into_whole(&fields.name("value"), COUNTER)?;
            Ok(builder.put_counter(key, value))
        }
        "add" => {
            let mut fields = fields(&["key", "key_base64", "delta", "min", "max"])?;
            let key = key(&mut fields)?;
            let delta = fields.required("delta")?.into_whole(&fields.name("delta"), COUNTER)?;
            let mut builder = builder.add(key, delta);
            if let Some(min) = fields.optional("min") {
                builder = builder.min(min.into_whole(&fields.name("min"), COUNTER)?);
            }
            if let Some(max) = fields.optional("max") {
                builder = builder.max(max.into_whole(&fields.name("max"), COUNTER)?);
            }
            Ok(builder)
        }
        "delete" => Ok(builder.delete(key(&mut fields(&["key", "key_base64"])?)?)),
        "check" => {
            let mut fields = fields(&["key", "key_base64", "is"])?;
            let key = key(&mut fields)?;
            let is = fields.required("is")?;
            Ok(builder.check(key, condition(is, &fields.name("is"))?))
        }
        _ => Err(Invalid::malformed(path.to_owned(), one)),
    }
}

fn condition(json: Json, path: &str) -> Result<Condition, Invalid> {
    match json {
        Json::Text(text) if text == "absent" => Ok(Condition::Absent),
        Json::Text(text) if text == "present" => Ok(Condition::Present),
        Json::Object(_) => {
            let mut fields = Fields::of(path, json)?.only(&["version"])?;
            let version = fields.required("version")?;
            let version = version.into_whole(&fields.name("version"), (0, u64::MAX))?;
            Ok(Condition::Version(version))
        }
        Json::Null
        | Json::Bool
        | Json::Whole(_)
        | Json::Inexact
        | Json::Text(_)
        | Json::List(_) => Err(Invalid::malformed(
            path.to_owned(),
            "\"absent\", \"present\" or {\"version\": \"3\"}",
        )),
    }
}

fn grant_alone(fields: Fields) -> Result<Grant, Invalid> {
    grant(&mut fields.only(&["resource", "token", "holder"])?)
}

fn grant(fields: &mut Fields) -> Result<Grant, Invalid> {
    let resource = resource(fields)?;
    let grant = Grant::new(resource, token(fields.required("token")?)?)?;
    match fields.optional("holder") {
        Some(holder) => grant.held_by(holder.into_text("holder")?),
        None => Ok(grant),
    }
}

fn token(json: Json) -> Result<FencingToken, Invalid> {
    match json {
        Json::Text(text) => text.parse(),
        Json::Whole(generation) => match (u64::try_from(generation), i64::try_from(generation)) {
            (Ok(generation), _) => FencingToken::generation(generation),
            (Err(_), Ok(negative)) => FencingToken::try_from(negative),
            (Err(_), Err(_)) => Err(not_a_token()),
        },
        Json::Null | Json::Bool | Json::Inexact | Json::List(_) | Json::Object(_) => {
            Err(not_a_token())
        }
    }
}

fn not_a_token() -> Invalid {
    Invalid::malformed("token", "text such as \"42\" or \"3:42\", or a JSON integer")
}

fn resource(fields: &mut Fields) -> Result<ResourceName, Invalid> {
    ResourceName::try_from(fields.text("resource")?)
}

/// Keys of a read: each is text, or an object with `key` or `key_base64`. None need be given.
fn keys(fields: &mut Fields) -> Result<Vec<Key>, Invalid> {
    let Some(list) = fields.optional("keys") else {
        return Ok(Vec::new());
    };
    let read = |(index, json): (usize, Json)| {
        let path = format!("keys[{index}]");
        if let Json::Text(text) = json {
            return Key::try_from(text).map_err(|invalid| rename(&invalid, path));
        }
        key(&mut Fields::of(&path, json)?.only(&["key", "key_base64"])?)
    };
    list.into_list("keys")?.into_iter().enumerate().map(read).collect()
}

fn key(fields: &mut Fields) -> Result<Key, Invalid> {
    let bytes = bytes(fields, "key")?;
    Key::try_from(bytes).map_err(|invalid| rename(&invalid, fields.name("key")))
}

fn value(fields: &mut Fields) -> Result<ValueBytes, Invalid> {
    let bytes = bytes(fields, "value")?;
    ValueBytes::try_from(bytes).map_err(|invalid| rename(&invalid, fields.name("value")))
}

/// The field `name`, or in its stead the one that has it in base64.
fn bytes(fields: &mut Fields, name: &str) -> Result<Vec<u8>, Invalid> {
    let in_base64 = format!("{name}_base64");
    let Some(encoded) = fields.optional(&in_base64) else {
        return Ok(fields.text(name)?.into_bytes());
    };
    if fields.optional(name).is_some() {
        let expected = format!("left out, or {in_base64}: they are two forms of one thing");
        return Err(Invalid::malformed(fields.name(name), expected));
    }
    let path = fields.name(&in_base64);
    let encoded = encoded.into_text(&path)?;
    BASE64_STANDARD
        .decode(encoded)
        .map_err(|_| Invalid::malformed(path, "base64, with its padding"))
}

fn rename(invalid: &Invalid, field: String) -> Invalid {
    Invalid::new(field, invalid.problem().clone())
}

fn not_json(error: &serde_json::Error) -> Invalid {
    // Always line 1: the caller counts the lines.
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    Invalid::malformed("request", format!("one JSON object: {what}, at column {}", error.column()))
}

/// An answer, as `apply` puts it under `ok` and as `--output json` prints it.
pub(crate) fn answer(answer: &Answer) -> Value {
    match answer {
        Answer::Written(receipt) => json!({
            "outcome": outcome(receipt.outcome()),
            "version": receipt.version().to_string(),
            "token": receipt.token().to_string(),
            "fence": token_of(receipt.fence()),
            "results": results(receipt),
        }),
        Answer::Fenced(change) => fence_change(change),
        Answer::Read { snapshot, .. } => read(snapshot),
        Answer::Head(head) => fence(head),
        Answer::KeyState(state) => key_state(state),
    }
}

/// What a write, a claim and the like did.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Replayed => "replayed",
        Outcome::Applied | _ => "applied",
    }
}

/// A key that is present.
pub(crate) fn entry(entry: &Entry) -> Value {
    let mut json = json!({});
    if let Some(fields) = json.as_object_mut() {
        let (name, key) = text_or_base64("key", entry.key.as_bytes());
        fields.insert(name, key);
        let (name, value) = match &entry.value {
            StoredValue::Counter(counter) => ("counter".to_owned(), counter.to_string().into()),
            StoredValue::Bytes(bytes) => text_or_base64("value", bytes),
            _ => ("value".to_owned(), Value::Null),
        };
        fields.insert(name, value);
        fields.insert("version".to_owned(), entry.version.to_string().into());
    }
    json
}

/// The name of what became of an idempotency key.
pub(crate) fn key_outcome(outcome: &KeyOutcome) -> &'static str {
    match outcome {
        KeyOutcome::Applied(_) => "applied",
        KeyOutcome::NotApplied => "not_applied",
        KeyOutcome::Unknown | _ => "unknown",
    }
}

fn fence_change(change: &FenceChange) -> Value {
    json!({
        "outcome": outcome(Outcome::Applied),
        "version": change.version.to_string(),
        "token": change.fence.token.to_string(),
        "fence": change.fence.token.to_string(),
        "previous": token_of(change.previous.as_ref()),
        "results": [],
    })
}

fn read(snapshot: &Snapshot) -> Value {
    let entries: Vec<Option<Value>> =
        snapshot.entries.iter().map(|found| found.as_ref().map(entry)).collect();
    json!({
        "version": snapshot.version.to_string(),
        "fence": token_of(snapshot.fence.as_ref()),
        "entries": entries,
    })
}

fn fence(head: &Head) -> Value {
    let fence = head.fence.as_ref();
    json!({
        "version": head.version.to_string(),
        "fence": token_of(fence),
        "holder": fence.and_then(|fence| fence.holder.as_ref()).map(Holder::as_str),
        "closed": fence.map(|fence| fence.closed),
        "raised_at_ms": fence.map(|fence| fence.raised_at.as_unix_millis().to_string()),
    })
}

fn key_state(state: &KeyState) -> Value {
    let receipt = match &state.outcome {
        KeyOutcome::Applied(receipt) => json!({
            "version": receipt.version().to_string(),
            "token": receipt.token().to_string(),
            "applied_at_ms": receipt.applied_at().as_unix_millis().to_string(),
            "results": results(receipt),
        }),
        KeyOutcome::NotApplied | KeyOutcome::Unknown | _ => Value::Null,
    };
    json!({
        "state": key_outcome(&state.outcome),
        "fence": token_of(state.fence.as_ref()),
        "receipt": receipt,
    })
}

fn results(receipt: &Receipt) -> Vec<Option<String>> {
    let counter = |result: &OperationResult| match result {
        OperationResult::Counter(counter) => Some(counter.to_string()),
        OperationResult::Done | _ => None,
    };
    receipt.results().iter().map(counter).collect()
}

fn token_of(fence: Option<&Fence>) -> Option<String> {
    fence.map(|fence| fence.token.to_string())
}

fn text_or_base64(name: &str, bytes: &[u8]) -> (String, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), text.into()),
        Err(_) => (format!("{name}_base64"), BASE64_STANDARD.encode(bytes).into()),
    }
}

/// What a counter can hold, and what can be added to one.
const COUNTER: (i64, i64) = (i64::MIN, i64::MAX);
