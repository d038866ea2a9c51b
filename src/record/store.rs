//! The stored form of the store record: who this store is.

use crate::record::frame::{Body, Parts};
use crate::record::{Damage, key};
use crate::types::Timestamp;

const WRITABLE: u8 = 1;

/// The one record about the store as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreRecord {
    /// Random, drawn when the store was made.
    pub store_id: [u8; 16],
    /// 1 at first; a restore gives the store the next one.
    pub incarnation: u64,
    /// How often the store was opened.
    pub open_count: u64,
    /// Whether writes are allowed: not after a restore, until an operator has set a floor.
    pub writable: bool,
    /// When the store was made.
    pub created_at: Timestamp,
    /// The store's clock when the record was written: time never goes back behind it.
    pub clock: Timestamp,
}

impl StoreRecord {
    /// The record of a store that is made at `now`.
    #[must_use]
    pub fn new(store_id: [u8; 16], now: Timestamp) -> Self {
        Self {
            store_id,
            incarnation: 1,
            open_count: 0,
            writable: true,
            created_at: now,
            clock: now,
        }
    }

    /// Its stored form, under [`key::STORE`].
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut body = Body::begin(&mut out);
        body.bytes(&self.store_id);
        body.u64(self.incarnation);
        body.u64(self.open_count);
        body.u8(if self.writable { WRITABLE } else { 0 });
        body.time(self.created_at);
        body.time(self.clock);
        body.finish(key::STORE);
        out
    }

    /// Reads it back.
    ///
    /// # Errors
    /// [`Damage`] if the bytes are not a store record of this format.
    pub fn decode(record: &[u8]) -> Result<Self, Damage> {
        let mut parts = Parts::open(key::STORE, record)?;
        let store_id = parts.array("store id")?;
        let incarnation = parts.u64("incarnation")?;
        let open_count = parts.u64("open count")?;
        let writable = match parts.u8("writable")? {
            0 => false,
            WRITABLE => true,
            _ => return Err(Damage::Content { part: "writable" }),
        };
        let created_at = parts.time("created at")?;
        let clock = parts.time("clock")?;
        parts.end()?;
        Ok(Self { store_id, incarnation, open_count, writable, created_at, clock })
    }
}
