//! The stored form of an idempotency record.

use crate::limits::{OPERATIONS_MAX, VERSION_MAX};
use crate::record::Damage;
use crate::record::frame::{Body, Parts};
use crate::rule::KeyRecord;
use crate::types::{Fingerprint, OperationResult};

/// What the record keeps is the receipt of an applied write; a bound refusal will be 1.
const APPLIED: u8 = 0;

const DONE: u8 = 0;
const COUNTER: u8 = 1;

/// Writes `record`, stored under `key`, into `out`, whose former content is dropped.
///
/// # Panics
/// If it has more results than a write has operations.
pub fn encode_key_record(key: &[u8], record: &KeyRecord, out: &mut Vec<u8>) {
    let mut body = Body::begin(out);
    body.u8(APPLIED);
    body.bytes(record.fingerprint.as_bytes());
    body.u64(record.version);
    body.token(record.token);
    body.token(record.last_used);
    body.time(record.applied_at);
    body.u8(u8::try_from(record.results.len()).expect("a write has at most 128 operations"));
    for result in &record.results {
        match result {
            OperationResult::Done => body.u8(DONE),
            OperationResult::Counter(counter) => {
                body.u8(COUNTER);
                body.i64(*counter);
            }
        }
    }
    body.finish(key);
}

/// Reads the idempotency record stored under `key`.
///
/// # Errors
/// [`Damage`] if the bytes are not an idempotency record of this format.
pub fn decode_key_record(key: &[u8], record: &[u8]) -> Result<KeyRecord, Damage> {
    let mut parts = Parts::open(key, record)?;
    if parts.u8("outcome")? != APPLIED {
        return Err(Damage::Content { part: "outcome" });
    }
    let fingerprint = Fingerprint::from_bytes(parts.array("fingerprint")?);
    let version = parts.u64("version")?;
    if version > VERSION_MAX {
        return Err(Damage::Content { part: "version" });
    }
    let token = parts.token("token")?;
    let last_used = parts.token("last used token")?;
    if last_used < token {
        return Err(Damage::Content { part: "last used token" });
    }
    let applied_at = parts.time("time")?;
    let results = results(&mut parts)?;
    parts.end()?;
    Ok(KeyRecord { fingerprint, version, token, last_used, applied_at, results })
}

fn results(parts: &mut Parts<'_>) -> Result<Vec<OperationResult>, Damage> {
    let part = "results";
    let count = usize::from(parts.u8(part)?);
    if count == 0 || count > OPERATIONS_MAX {
        return Err(Damage::Content { part });
    }
    let result = |_| match parts.u8(part)? {
        DONE => Ok(OperationResult::Done),
        COUNTER => parts.i64(part).map(OperationResult::Counter),
        _ => Err(Damage::Content { part }),
    };
    (0..count).map(result).collect()
}
