//! The keys under which records are stored.
//!
//! One tag byte, the resource's name, a zero byte, and what follows within the resource. A name
//! has no control characters, so the zero byte ends it beyond doubt: two different records never
//! share a key, and the records of one resource lie together, in the byte order of their keys.

use bytes::Bytes;

use crate::types::{IdempotencyKey, Key, ResourceName};

/// The store record: the only key with this tag.
pub const STORE: &[u8] = b"!store";

/// Tag of heads. Heads lie together so that resources can be listed without their data.
const HEAD: u8 = b'h';
/// Tag of values.
const VALUE: u8 = b'd';
/// Tag of idempotency records.
const IDEMPOTENCY: u8 = b'i';
/// Ends the resource's name.
const END_OF_NAME: u8 = 0;
/// The scope `resource` of an idempotency key; `generation` will be 1.
const SCOPE_RESOURCE: u8 = 0;
/// The kind `text` of an idempotency key; `UUIDv7` will be 1, ordered 2.
const KIND_TEXT: u8 = 0;

/// What a stored key belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// The store itself.
    Store,
    /// The head of a resource.
    Head(ResourceName),
    /// A value of a resource.
    Value(ResourceName, Key),
    /// An idempotency record of a resource.
    Idempotency(ResourceName, IdempotencyKey),
}

/// Writes the key of the head of `resource` into `out`, whose former content is dropped.
pub fn head(resource: &ResourceName, out: &mut Vec<u8>) {
    begin(HEAD, resource, out);
}

/// Writes the key of a value into `out`, whose former content is dropped.
pub fn value(resource: &ResourceName, key: &Key, out: &mut Vec<u8>) {
    begin(VALUE, resource, out);
    out.extend_from_slice(key.as_bytes());
}

/// Writes into `out` what the keys of all values of `resource` begin with.
pub fn values_of(resource: &ResourceName, out: &mut Vec<u8>) {
    begin(VALUE, resource, out);
}

/// Writes the key of an idempotency record into `out`, whose former content is dropped.
pub fn idempotency(resource: &ResourceName, key: &IdempotencyKey, out: &mut Vec<u8>) {
    begin(IDEMPOTENCY, resource, out);
    out.extend_from_slice(&[SCOPE_RESOURCE, KIND_TEXT]);
    out.extend_from_slice(key.as_str().as_bytes());
}

/// The first key after all that begin with `prefix`, which ends in [`values_of`]'s zero byte.
#[must_use]
pub fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last = END_OF_NAME.saturating_add(1);
    }
    end
}

/// What `stored` belongs to; none if it is no key of this format.
#[must_use]
pub fn owner(stored: &[u8]) -> Option<Owner> {
    if stored == STORE {
        return Some(Owner::Store);
    }
    let (&tag, rest) = stored.split_first()?;
    let end = rest.iter().position(|&byte| byte == END_OF_NAME)?;
    let (name, within) = rest.split_at_checked(end)?;
    let within = within.split_first()?.1;
    let resource = ResourceName::try_from(std::str::from_utf8(name).ok()?).ok()?;
    match tag {
        HEAD => within.is_empty().then_some(Owner::Head(resource)),
        VALUE => Some(Owner::Value(resource, key_within(within)?)),
        IDEMPOTENCY => {
            let text = within.strip_prefix(&[SCOPE_RESOURCE, KIND_TEXT])?;
            let key = IdempotencyKey::text(std::str::from_utf8(text).ok()?).ok()?;
            Some(Owner::Idempotency(resource, key))
        }
        _ => None,
    }
}

fn key_within(within: &[u8]) -> Option<Key> {
    Key::try_from(Bytes::copy_from_slice(within)).ok()
}

fn begin(tag: u8, resource: &ResourceName, out: &mut Vec<u8>) {
    out.clear();
    out.push(tag);
    out.extend_from_slice(resource.as_str().as_bytes());
    out.push(END_OF_NAME);
}
