//! What a decision has to see, what it saw, and what it writes.
//!
//! An engine reads the [`Footprint`] into a [`View`], and commits the [`WriteSet`] only if nothing
//! in the footprint has changed meanwhile: absences and the head included.

use std::collections::HashMap;

use crate::types::FencingToken;
use crate::types::{
    Fingerprint, Head, IdempotencyKey, Key, OperationResult, ResourceName, Timestamp, Value,
};

/// Everything a decision has to see.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Footprint {
    /// One part for each resource, each resource once.
    pub resources: Vec<ResourceFootprint>,
}

/// What a decision has to see of one resource. Its head is always part of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceFootprint {
    /// The resource.
    pub resource: ResourceName,
    /// Keys whose values matter, each once.
    pub keys: Vec<Key>,
    /// Idempotency keys, each once.
    pub idempotency_keys: Vec<IdempotencyKey>,
    /// How many of the keys that are present have to be listed, whichever they are.
    pub listed_keys_max: usize,
}

impl ResourceFootprint {
    /// The head of `resource` alone.
    #[must_use]
    pub fn of(resource: ResourceName) -> Self {
        Self { resource, keys: Vec::new(), idempotency_keys: Vec::new(), listed_keys_max: 0 }
    }
}

impl From<ResourceFootprint> for Footprint {
    fn from(resource: ResourceFootprint) -> Self {
        Self { resources: vec![resource] }
    }
}

/// What an engine read for a [`Footprint`], all at one moment.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "engines outside this crate build it")]
pub struct View {
    /// The store's time at which the decision is made.
    pub now: Timestamp,
    /// One part for each resource of the footprint, in its order.
    pub resources: Vec<ResourceView>,
}

impl View {
    /// The one resource it shows.
    ///
    /// # Panics
    /// If it shows none or several: reading "nothing there" out of a view that was never filled
    /// would be reading "no fence".
    #[must_use]
    pub fn only(&self) -> &ResourceView {
        assert!(self.resources.len() == 1, "a view of one resource has one part");
        self.resources.first().expect("just counted")
    }
}

/// What an engine read of one resource.
#[derive(Clone, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "engines outside this crate build it")]
pub struct ResourceView {
    /// The head; the default one where none is stored.
    pub head: Head,
    /// The values of the footprint's keys that are present.
    pub values: HashMap<Key, StoredValue>,
    /// The records of the footprint's idempotency keys that exist.
    pub records: HashMap<IdempotencyKey, KeyRecord>,
    /// As many of the present keys as the footprint wants listed, or all if there are fewer.
    pub listed: Vec<Key>,
}

/// A value as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "engines outside this crate build it")]
pub struct StoredValue {
    /// The value.
    pub value: Value,
    /// The resource's version when it was stored.
    pub version: u64,
    /// The moment from which it counts as absent.
    pub expires_at: Option<Timestamp>,
}

impl StoredValue {
    /// Whether it is present at `now`.
    #[must_use]
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// The record of an idempotency key: what the first call was, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "engines outside this crate build it")]
pub struct KeyRecord {
    /// What a retry has to have in common with the first call.
    pub fingerprint: Fingerprint,
    /// The resource's version after the write.
    pub version: u64,
    /// The token it was applied under.
    pub token: FencingToken,
    /// The highest token that applied or replayed it when it was admitted.
    pub last_used: FencingToken,
    /// When it was applied.
    pub applied_at: Timestamp,
    /// One result an operation.
    pub results: Vec<OperationResult>,
}

/// What a decision writes, all of it or nothing.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriteSet {
    /// One part for each resource in which anything is written.
    pub resources: Vec<ResourceWrites>,
}

/// What a decision writes in one resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceWrites {
    /// The resource.
    pub resource: ResourceName,
    /// Its new head. Whatever is written in a resource, its head is written with it.
    pub head: Head,
    /// Whether all data is deleted before `values` are stored.
    pub clear: bool,
    /// The keys that change: their new value, or none where they are deleted.
    pub values: Vec<(Key, Option<StoredValue>)>,
    /// The idempotency records that change.
    pub records: Vec<(IdempotencyKey, KeyRecord)>,
}

impl WriteSet {
    /// Whether nothing is written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }
}
