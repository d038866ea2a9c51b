//! The stored form of a value.

use bytes::Bytes;

use crate::limits::{VALUE_BYTES_MAX, VERSION_MAX};
use crate::record::Damage;
use crate::record::frame::{Body, Parts};
use crate::rule::StoredValue;
use crate::types::Value;

const IS_COUNTER: u8 = 1;
const HAS_EXPIRY: u8 = 1 << 1;
const KNOWN: u8 = IS_COUNTER | HAS_EXPIRY;

/// Writes `stored`, stored under `key`, into `out`, whose former content is dropped.
pub fn encode_value(key: &[u8], stored: &StoredValue, out: &mut Vec<u8>) {
    let mut flags = match stored.value {
        Value::Bytes(_) => 0,
        Value::Counter(_) => IS_COUNTER,
    };
    flags |= if stored.expires_at.is_some() { HAS_EXPIRY } else { 0 };

    let mut body = Body::begin(out);
    body.u8(flags);
    body.u64(stored.version);
    if let Some(end) = stored.expires_at {
        body.time(end);
    }
    match &stored.value {
        Value::Bytes(bytes) => body.bytes(bytes),
        Value::Counter(counter) => body.i64(*counter),
    }
    body.finish(key);
}

/// Reads the value stored under `key`.
///
/// # Errors
/// [`Damage`] if the bytes are not a value of this format.
pub fn decode_value(key: &[u8], record: &[u8]) -> Result<StoredValue, Damage> {
    let mut parts = Parts::open(key, record)?;
    let flags = parts.u8("flags")?;
    if flags & !KNOWN != 0 {
        return Err(Damage::Content { part: "flags" });
    }
    let version = parts.u64("version")?;
    if version > VERSION_MAX {
        return Err(Damage::Content { part: "version" });
    }
    let expires_at = if flags & HAS_EXPIRY != 0 { Some(parts.time("expiry")?) } else { None };
    let value = if flags & IS_COUNTER != 0 {
        let counter = parts.i64("counter")?;
        parts.end()?;
        Value::Counter(counter)
    } else {
        let bytes = parts.rest();
        if bytes.len() > VALUE_BYTES_MAX {
            return Err(Damage::Content { part: "value" });
        }
        Value::Bytes(Bytes::copy_from_slice(bytes))
    };
    Ok(StoredValue { value, version, expires_at })
}
