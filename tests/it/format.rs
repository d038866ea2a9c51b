//! The stored form of every record, pinned byte by byte.
//!
//! A store outlives the version that wrote it. One field that moves, one length that is written in
//! another width, one tag that is given anew, and the next version reads a fence where a version
//! was; no other test notices, because encoder and decoder still agree with each other. So the
//! bytes in [`golden`] were worked out from `src/record/format.md` by another program, not printed
//! from this code. [`damage`] goes the other way: whatever bytes lie in the store, decoding them
//! answers with the very record they spell out, or with an error, and never with "nothing there".
//! [`keys`] shows that two records never share a key and that one resource's data lies together.

mod damage;
mod golden;
mod keys;

use palisade::types::OperationResult;
use palisade::{Fence, FencingToken, Grant, Head, ResourceName, Timestamp};

/// The bytes that `digits` spell out; blanks set the parts of a record apart.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Appends the checksum that makes `framed` a record under `key`.
fn sealed(key: &[u8], framed: &[u8]) -> Vec<u8> {
    let checksum = crc32fast::hash(&[key, framed].concat());
    [framed, &checksum.to_be_bytes()].concat()
}

fn name(text: &str) -> ResourceName {
    ResourceName::try_from(text).unwrap()
}

fn token(epoch: u64, generation: u64) -> FencingToken {
    FencingToken::generation(generation).unwrap().in_epoch(epoch).unwrap()
}

fn time(millis: u64) -> Timestamp {
    Timestamp::from_unix_millis(millis)
}

struct HeadParts<'p> {
    version: u64,
    fence: Option<FencePart<'p>>,
    forgotten: Option<FencingToken>,
}

struct FencePart<'p> {
    token: FencingToken,
    holder: Option<&'p str>,
    closed: bool,
    raised_at: u64,
}

fn head(parts: &HeadParts<'_>) -> Head {
    let mut head = Head::default();
    head.version = parts.version;
    head.forgotten_through = parts.forgotten;
    head.fence = parts.fence.as_ref().map(|part| {
        let grant = Grant::new("orders/7", part.token).unwrap();
        let grant = part.holder.map_or(grant.clone(), |holder| grant.held_by(holder).unwrap());
        let mut fence = Fence::raised_by(&grant, time(part.raised_at));
        fence.closed = part.closed;
        fence
    });
    head
}

const DONE: OperationResult = OperationResult::Done;
