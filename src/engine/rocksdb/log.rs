//! Reading a write-ahead log before RocksDB does, because of what its recovery does with damage.
//!
//! A crash leaves a log that ends inside its last record, so RocksDB drops a record that claims to
//! be longer than the rest of its log. A single flipped bit in a length says the same of a record
//! in the middle, and everything behind it would be dropped in silence, fences included. The two
//! can be told apart: the checksum covers a record's content and not its length, so it still fits
//! the content that the record really has, and never that of a record that was cut. And a flipped
//! bit in a record's kind can send recovery round in circles for ever.
//!
//! Owns no recovery: it only refuses what is damaged. A log that was cut is none of its business.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Where in the log in `path` a damaged record begins, if there is one.
pub(super) fn damage(path: &Path) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let mut begin: u64 = 0;
    let mut block = Vec::new();
    let mut next = next_block(&mut file)?;
    while !next.is_empty() {
        std::mem::swap(&mut block, &mut next);
        next = next_block(&mut file)?;
        let place = if next.is_empty() { Place::Last } else { Place::Within };
        if let Some(at) = damaged_record(&block, place) {
            return Ok(Some(begin.saturating_add(u64::try_from(at).unwrap_or(u64::MAX))));
        }
        begin = begin.saturating_add(BLOCK_BYTES);
    }
    Ok(None)
}

/// A log is a row of blocks, and no record crosses from one into the next.
fn next_block(file: &mut File) -> io::Result<Vec<u8>> {
    let mut block = Vec::new();
    file.take(BLOCK_BYTES).read_to_end(&mut block)?;
    Ok(block)
}

/// Where a block lies in its log. Only in the last one may a record be cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Within,
    Last,
}

/// Where in a block a damaged record begins. A record is a masked checksum (4), a length (2), a
/// kind (1) and the content; the checksum covers kind and content.
#[expect(clippy::little_endian_bytes, reason = "the format is RocksDB's")]
fn damaged_record(block: &[u8], place: Place) -> Option<usize> {
    let mut at: usize = 0;
    loop {
        let (header, rest) = block.get(at..)?.split_first_chunk::<HEADER_BYTES>()?;
        let [c0, c1, c2, c3, l0, l1, kind] = *header;
        let stored = u32::from_le_bytes([c0, c1, c2, c3]);
        let length = usize::from(u16::from_le_bytes([l0, l1]));
        if (length, kind) == (0, 0) {
            return None; // room that was reserved and never written
        }
        let mut crc = Crc32c::of(kind);
        let sound = match rest.get(..length) {
            Some(content) => {
                for byte in content {
                    crc.add(*byte);
                }
                crc.masked() == stored
            }
            None if place == Place::Within => false,
            // Cut, unless the checksum says that all of it is here.
            None => !rest.iter().any(|byte| {
                crc.add(*byte);
                crc.masked() == stored
            }),
        };
        if !sound {
            return Some(at);
        }
        at = at.saturating_add(HEADER_BYTES).saturating_add(length);
    }
}

/// CRC-32C, which is RocksDB's, byte by byte.
struct Crc32c(u32);

impl Crc32c {
    fn of(first: u8) -> Self {
        let mut crc = Self(u32::MAX);
        crc.add(first);
        crc
    }

    fn add(&mut self, byte: u8) {
        let [.., low] = (self.0 ^ u32::from(byte)).to_be_bytes();
        self.0 = (self.0 >> 8) ^ TABLE.get(usize::from(low)).copied().unwrap_or_default();
    }

    /// The checksum of what was added, as RocksDB stores it.
    fn masked(&self) -> u32 {
        (!self.0).rotate_right(15).wrapping_add(0xa282_ead8)
    }
}

const TABLE: [u32; 256] = table();

#[expect(clippy::indexing_slicing, clippy::as_conversions, reason = "runs in the compiler")]
#[expect(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "likewise")]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ CASTAGNOLI } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

const CASTAGNOLI: u32 = 0x82f6_3b78;
const HEADER_BYTES: usize = 7;
const BLOCK_BYTES: u64 = 32 << 10;
