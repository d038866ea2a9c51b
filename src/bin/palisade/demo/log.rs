//! Everything the demo saw happen, in order. The claims are judged by it alone, and the timeline is
//! drawn from it alone.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::wire::Answer;

/// A part of the story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Act {
    WithoutGuard,
    WithGuard,
    LostAnswer,
    FlashSale,
}

/// Something that happened, so long after the demo began.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Event {
    #[serde(rename = "at_us", serialize_with = "micros")]
    pub(super) at: Duration,
    pub(super) act: Act,
    #[serde(flatten)]
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum What {
    /// The coordinator granted the lock, by its own clock.
    Granted {
        holder: String,
        generation: u64,
        #[serde(rename = "from_us", serialize_with = "micros")]
        from: Duration,
        #[serde(rename = "lease_until_us", serialize_with = "micros")]
        lease_until: Duration,
    },
    /// The holder gave the lock back.
    Released { holder: String },
    /// The operating system reports the holder's process as stopped.
    Paused { holder: String },
    /// The holder's process goes on.
    Resumed { holder: String },
    /// A holder that was refused has understood that the lock is lost.
    LostLock { holder: String },
    /// The holder says that it wrote the plain file.
    WroteFile { holder: String, value: String },
    /// What the plain file holds.
    FileHolds { value: String },
    /// A request went to the store.
    Sent { holder: String, token: u64, name: String },
    /// The store answered a request.
    Answered { holder: String, token: u64, name: String, answer: Answer, delivery: Delivery },
    /// The store's process was killed with that many requests unanswered.
    StoreKilled { unanswered: usize },
    /// Another process has opened the store.
    StoreOpened,
    /// What a read of a resource returned: the keys that are there.
    Read { resource: String, entries: BTreeMap<String, String>, version: u64, fence: Option<u64> },
    /// What the store says of idempotency keys: the versions of those that were applied.
    KeyStates { resource: String, asked: usize, applied: BTreeMap<String, u64> },
    /// What `palisade verify` found.
    Verified { sound: bool },
}

/// Whether an answer of the store reached the one who asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Delivery {
    Delivered,
    Lost,
}

fn micros<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
}

/// The events of one act.
pub(super) fn of_act(log: &[Event], act: Act) -> impl Iterator<Item = &Event> {
    log.iter().filter(move |event| event.act == act)
}
