//! The stored form of every record, shared by all engines.
//!
//! Owns the bytes: keys in [`key`], and the bodies of heads, values, idempotency records and the
//! store record, each in a frame of a format byte and a CRC-32 over key and value. Invariants:
//! decoding never panics on any bytes; bytes that are not exactly what encoding would write are
//! refused, never read as "nothing there"; the same record always encodes to the same bytes.
//!
//! The format is specified in [`mod@format`]; golden bytes in the tests pin it.

mod frame;
mod head;
mod idempotency;
pub mod key;
mod store;
mod value;

pub use frame::{Damage, FORMAT};
pub use head::{decode_head, encode_head};
pub use idempotency::{decode_key_record, encode_key_record};
pub use store::StoreRecord;
pub use value::{decode_value, encode_value};

#[doc = include_str!("format.md")]
pub mod format {}
