//! The stored form of a head.

use crate::limits::VERSION_MAX;
use crate::record::Damage;
use crate::record::frame::{Body, Parts};
use crate::types::{Fence, Head, Holder};

const HAS_FENCE: u8 = 1;
const HAS_HOLDER: u8 = 1 << 1;
const CLOSED: u8 = 1 << 2;
const HAS_FORGOTTEN: u8 = 1 << 3;
const KNOWN: u8 = HAS_FENCE | HAS_HOLDER | CLOSED | HAS_FORGOTTEN;

/// Writes `head`, stored under `key`, into `out`, whose former content is dropped.
#[expect(clippy::missing_panics_doc, reason = "a holder has at most 256 bytes")]
pub fn encode_head(key: &[u8], head: &Head, out: &mut Vec<u8>) {
    let holder = head.fence.as_ref().and_then(|fence| fence.holder.as_ref());
    let mut flags = 0;
    if let Some(fence) = &head.fence {
        flags |= HAS_FENCE;
        flags |= if fence.closed { CLOSED } else { 0 };
    }
    flags |= if holder.is_some() { HAS_HOLDER } else { 0 };
    flags |= if head.forgotten_through.is_some() { HAS_FORGOTTEN } else { 0 };

    let mut body = Body::begin(out);
    body.u8(flags);
    body.u64(head.version);
    if let Some(fence) = &head.fence {
        body.token(fence.token);
        body.time(fence.raised_at);
    }
    if let Some(holder) = holder {
        let bytes = holder.as_str().as_bytes();
        body.u16(u16::try_from(bytes.len()).expect("a holder has at most 256 bytes"));
        body.bytes(bytes);
    }
    if let Some(token) = head.forgotten_through {
        body.token(token);
    }
    body.finish(key);
}

/// Reads the head stored under `key`.
///
/// # Errors
/// [`Damage`] if the bytes are not a head of this format.
pub fn decode_head(key: &[u8], record: &[u8]) -> Result<Head, Damage> {
    let mut parts = Parts::open(key, record)?;
    let flags = parts.u8("flags")?;
    let has = |flag: u8| flags & flag != 0;
    let of_fence = HAS_HOLDER | CLOSED;
    if flags & !KNOWN != 0 || (!has(HAS_FENCE) && flags & of_fence != 0) {
        return Err(Damage::Content { part: "flags" });
    }
    let version = parts.u64("version")?;
    if version > VERSION_MAX {
        return Err(Damage::Content { part: "version" });
    }
    let mut fence = None;
    if has(HAS_FENCE) {
        let (token, raised_at) = (parts.token("fence")?, parts.time("fence")?);
        let holder = if has(HAS_HOLDER) { Some(holder(&mut parts)?) } else { None };
        fence = Some(Fence { token, holder, closed: has(CLOSED), raised_at });
    }
    let forgotten_through =
        if has(HAS_FORGOTTEN) { Some(parts.token("forgotten_through")?) } else { None };
    parts.end()?;
    Ok(Head { fence, version, forgotten_through })
}

fn holder(parts: &mut Parts<'_>) -> Result<Holder, Damage> {
    let part = "holder";
    let len = parts.u16(part)?;
    let text = std::str::from_utf8(parts.bytes(len.into(), part)?);
    Holder::try_from(text.map_err(|_| Damage::Content { part })?)
        .map_err(|_| Damage::Content { part })
}
