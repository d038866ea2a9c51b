//! One request to a guard as a value, and its answer: what verbs and `apply` have in common.

use std::pin::Pin;

use palisade::{
    Error, FenceChange, Grant, Guard, Head, IdempotencyKey, Key, KeyState, Receipt, ResourceName,
    Snapshot, WriteRequest,
};

/// What a guard can be asked.
#[derive(Debug)]
pub(crate) enum Request {
    Write(WriteRequest),
    Claim(Grant),
    Close(Grant),
    Retire(Grant),
    ReadFenced { grant: Grant, keys: Vec<Key> },
    Read { resource: ResourceName, keys: Vec<Key> },
    Fence(ResourceName),
    KeyState { resource: ResourceName, idempotency_key: IdempotencyKey },
}

/// What it answers.
#[derive(Debug)]
pub(crate) enum Answer {
    Written(Receipt),
    Fenced(FenceChange),
    /// With the keys that were asked for.
    Read {
        keys: Vec<Key>,
        snapshot: Snapshot,
    },
    Head(Head),
    KeyState(KeyState),
}

/// A request under way.
pub(crate) type Running = Pin<Box<dyn Future<Output = Result<Answer, Error>> + Send>>;

impl Request {
    pub(crate) fn resource(&self) -> &ResourceName {
        match self {
            Self::Write(write) => write.grant().resource(),
            Self::Claim(grant)
            | Self::Close(grant)
            | Self::Retire(grant)
            | Self::ReadFenced { grant, .. } => grant.resource(),
            Self::Read { resource, .. }
            | Self::Fence(resource)
            | Self::KeyState { resource, .. } => resource,
        }
    }

    /// Whether the guard decides on it in the order in which requests are submitted. What presents
    /// no grant is read at once, past whatever still waits.
    pub(crate) fn keeps_its_turn(&self) -> bool {
        match self {
            Self::Write(_)
            | Self::Claim(_)
            | Self::Close(_)
            | Self::Retire(_)
            | Self::ReadFenced { .. } => true,
            Self::Read { .. } | Self::Fence(_) | Self::KeyState { .. } => false,
        }
    }

    /// Asks `guard`. The request is submitted when the future is first polled.
    pub(crate) fn run(self, guard: Guard) -> Running {
        Box::pin(async move {
            match self {
                Self::Write(write) => guard.write(write).await.map(Answer::Written),
                Self::Claim(grant) => guard.claim(grant).await.map(Answer::Fenced),
                Self::Close(grant) => guard.close(grant).await.map(Answer::Fenced),
                Self::Retire(grant) => guard.retire(grant).await.map(Answer::Fenced),
                Self::ReadFenced { grant, keys } => {
                    let snapshot = guard.read_fenced(grant, &keys).await?;
                    Ok(Answer::Read { keys, snapshot })
                }
                Self::Read { resource, keys } => {
                    let snapshot = guard.read(resource, &keys).await?;
                    Ok(Answer::Read { keys, snapshot })
                }
                Self::Fence(resource) => guard.fence(resource).await.map(Answer::Head),
                Self::KeyState { resource, idempotency_key } => {
                    guard.key_state(resource, idempotency_key).await.map(Answer::KeyState)
                }
            }
        })
    }
}
