//! The frame around every record: format byte, body, CRC-32 over key, format byte and body.

use std::fmt;

use crate::types::{FencingToken, Timestamp};

/// The format that this version reads and writes: the first byte of every record.
pub const FORMAT: u8 = 1;

/// A record that does not decode. It is never taken for an absent one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The checksum does not match, or there is no room for one.
    Checksum,
    /// The record has a format that this version does not know.
    Format {
        /// The format found.
        found: u8,
    },
    /// The checksum holds, and the content is not what the format allows.
    Content {
        /// The part that is wrong.
        part: &'static str,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checksum => f.write_str("checksum mismatch"),
            Self::Format { found } => {
                write!(f, "record format {found}, and this version knows format {FORMAT}")
            }
            Self::Content { part } => write!(f, "{part} is not what the format allows"),
        }
    }
}

impl std::error::Error for Damage {}

/// Writes one record after another into a buffer that is used again.
#[derive(Debug)]
pub(super) struct Body<'b> {
    out: &'b mut Vec<u8>,
}

impl<'b> Body<'b> {
    /// Begins a record in `out`, whose former content is dropped.
    pub(super) fn begin(out: &'b mut Vec<u8>) -> Self {
        out.clear();
        out.push(FORMAT);
        Self { out }
    }

    pub(super) fn u8(&mut self, number: u8) {
        self.out.push(number);
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.bytes(&number.to_be_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.bytes(&number.to_be_bytes());
    }

    pub(super) fn i64(&mut self, number: i64) {
        self.bytes(&number.to_be_bytes());
    }

    pub(super) fn token(&mut self, token: FencingToken) {
        self.u64(token.epoch());
        self.u64(token.generation_number());
    }

    pub(super) fn time(&mut self, time: Timestamp) {
        self.u64(time.as_unix_millis());
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Ends the record that is stored under `key`.
    pub(super) fn finish(self, key: &[u8]) {
        let checksum = checksum(key, self.out);
        self.out.extend_from_slice(&checksum.to_be_bytes());
    }
}

/// Reads the body of one record, part by part.
#[derive(Debug)]
pub(super) struct Parts<'r> {
    rest: &'r [u8],
}

impl<'r> Parts<'r> {
    /// Opens the record stored under `key`: checks checksum and format.
    pub(super) fn open(key: &[u8], record: &'r [u8]) -> Result<Self, Damage> {
        let (framed, stored) = record.split_last_chunk::<4>().ok_or(Damage::Checksum)?;
        if checksum(key, framed) != u32::from_be_bytes(*stored) {
            return Err(Damage::Checksum);
        }
        match framed.split_first() {
            Some((&FORMAT, rest)) => Ok(Self { rest }),
            Some((&found, _)) => Err(Damage::Format { found }),
            None => Err(Damage::Content { part: "format byte" }),
        }
    }

    pub(super) fn u8(&mut self, part: &'static str) -> Result<u8, Damage> {
        self.array(part).map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self, part: &'static str) -> Result<u16, Damage> {
        self.array(part).map(u16::from_be_bytes)
    }

    pub(super) fn u64(&mut self, part: &'static str) -> Result<u64, Damage> {
        self.array(part).map(u64::from_be_bytes)
    }

    pub(super) fn i64(&mut self, part: &'static str) -> Result<i64, Damage> {
        self.array(part).map(i64::from_be_bytes)
    }

    pub(super) fn token(&mut self, part: &'static str) -> Result<FencingToken, Damage> {
        let (epoch, generation) = (self.u64(part)?, self.u64(part)?);
        FencingToken::generation(generation)
            .and_then(|token| token.in_epoch(epoch))
            .map_err(|_| Damage::Content { part })
    }

    pub(super) fn time(&mut self, part: &'static str) -> Result<Timestamp, Damage> {
        self.u64(part).map(Timestamp::from_unix_millis)
    }

    pub(super) fn bytes(&mut self, len: usize, part: &'static str) -> Result<&'r [u8], Damage> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Damage::Content { part })?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], Damage> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Damage::Content { part })?;
        self.rest = rest;
        Ok(*taken)
    }

    /// All that is left.
    pub(super) fn rest(self) -> &'r [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub(super) fn end(self) -> Result<(), Damage> {
        if self.rest.is_empty() { Ok(()) } else { Err(Damage::Content { part: "length" }) }
    }
}

fn checksum(key: &[u8], framed: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(framed);
    hasher.finalize()
}
