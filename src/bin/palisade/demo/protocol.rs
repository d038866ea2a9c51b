//! What the demo and its holder processes say to each other: one JSON object a line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// From a holder, on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Said {
    /// The coordinator granted it the lock.
    Granted { generation: u64, granted_unix_ms: u64, lease_until_unix_ms: u64 },
    /// It asks the shop for the price that belongs into the cache.
    AsksShop,
    /// It wrote the cache entry to a plain file.
    WroteFile { value: String },
    /// A line for the store. `name` tells its answer apart from the others.
    Request { name: String, request: Value },
    /// The guard refused it: the lock is lost, and it stops.
    LostLock,
    /// It was to send this, and no longer does.
    GaveUp { name: String },
    /// It gave the lock back, if it was still its own.
    Released,
}

/// To a holder, on its standard input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Told {
    /// The shop's answer.
    Price { price: String },
    /// The store's answer to the request of that name.
    Answer { name: String, answer: Value },
    /// A buyer wants one.
    Buyer { number: u32 },
    /// Give the lock back.
    Release,
}
