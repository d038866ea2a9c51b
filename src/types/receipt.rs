//! Answers: what a write did, what a read saw, what became of an idempotency key.

use crate::types::{Fence, FencingToken, Key, Timestamp, Value};

/// Whether a write was executed by this call or recognised as a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Executed now.
    Applied,
    /// Recognised by its idempotency key; the receipt is the first one and nothing was executed.
    Replayed,
}

/// What one operation of a write answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationResult {
    /// Done; a blind write stays blind.
    Done,
    /// The counter's new value.
    Counter(i64),
}

/// The answer to a write that was applied or replayed. It is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    pub(crate) outcome: Outcome,
    pub(crate) version: u64,
    pub(crate) token: FencingToken,
    pub(crate) applied_at: Timestamp,
    pub(crate) results: Vec<OperationResult>,
    pub(crate) fence: Option<Fence>,
}

impl Receipt {
    /// Executed now, or recognised as a retry.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The resource's version after the write was applied.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The token it was applied under: for a replay the first call's, not this one's.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// When it was applied.
    #[must_use]
    pub fn applied_at(&self) -> Timestamp {
        self.applied_at
    }

    /// One result an operation, in the order of the request.
    #[must_use]
    pub fn results(&self) -> &[OperationResult] {
        &self.results
    }

    /// The resource's fence now. On a replay it may be above [`Receipt::token`]: the write is done,
    /// and the lock is lost. `None` only where an operator has taken the fence away since.
    #[must_use]
    pub fn fence(&self) -> Option<&Fence> {
        self.fence.as_ref()
    }
}

/// The answer to `claim`, `close` and `retire`. It is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FenceChange {
    /// The fence that this call found.
    pub previous: Option<Fence>,
    /// The fence that it left.
    pub fence: Fence,
    /// The resource's version.
    pub version: u64,
}

/// What a read saw, all at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Snapshot {
    /// One entry for each key asked for, in that order; `None` for an absent one.
    pub entries: Vec<Option<Entry>>,
    /// The resource's version.
    pub version: u64,
    /// The resource's fence.
    pub fence: Option<Fence>,
}

impl Snapshot {
    /// The value of `key`, if it was asked for and is present.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let guard = palisade::Guard::in_memory()?.blocking();
    /// assert_eq!(guard.read("orders/7", ["status"])?.value("status"), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn value(&self, key: impl AsRef<[u8]>) -> Option<&Value> {
        let wanted = key.as_ref();
        let mut present = self.entries.iter().flatten();
        present.find(|entry| entry.key.as_bytes() == wanted).map(|entry| &entry.value)
    }
}

/// A key that is present.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Value,
    /// The resource's version when the key last changed.
    pub version: u64,
}

/// What became of an idempotency key, and the fence it was read under.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyState {
    /// What became of it.
    pub outcome: KeyOutcome,
    /// The fence it was read under.
    pub fence: Option<Fence>,
}

/// What became of an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyOutcome {
    /// A write with this key was applied; this is its receipt.
    Applied(Box<Receipt>),
    /// No write with this key was applied.
    NotApplied,
    /// Nothing is known: records that could have held the key were forgotten.
    Unknown,
}

impl KeyState {
    /// Whether "not applied" is final for every delivery under `token`: the fence is above it, so
    /// that even a duplicate still on its way will be refused.
    #[must_use]
    pub fn is_final_for(&self, token: FencingToken) -> bool {
        let fenced_off = self.fence.as_ref().is_some_and(|fence| token < fence.token);
        match self.outcome {
            KeyOutcome::Applied(_) => true,
            KeyOutcome::NotApplied => fenced_off,
            KeyOutcome::Unknown => false,
        }
    }
}
