//! Refusals of the rule: a decision, made in order with all other writes, that nothing is done.

use std::fmt;
use std::time::Duration;

use crate::types::{
    Condition, FencingToken, Holder, IdempotencyKey, Key, KeyState, ResourceName, Timestamp,
};

/// Why a request was refused. Nothing of this delivery was applied, or ever will be.
///
/// Its text says what was refused, the numbers, and what to do. It never shows a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// The token is older than the highest accepted one: this holder has lost the lock.
    #[non_exhaustive]
    StaleToken {
        /// The resource.
        resource: ResourceName,
        /// The token that was presented.
        presented: FencingToken,
        /// The highest accepted token.
        current: FencingToken,
        /// The holder that is bound to it, where known.
        current_holder: Option<Holder>,
        /// When it was first accepted.
        raised_at: Timestamp,
        /// How long before this refusal that was.
        raised_ago: Duration,
        /// What became of the write's idempotency key, where it has one.
        key_state: Option<KeyState>,
    },
    /// The token's generation was closed.
    #[non_exhaustive]
    Closed {
        /// The resource.
        resource: ResourceName,
        /// The closed token.
        token: FencingToken,
        /// What became of the write's idempotency key, where it has one.
        key_state: Option<KeyState>,
    },
    /// The coordinator gave one token to two holders. The first one keeps it.
    #[non_exhaustive]
    SplitGeneration {
        /// The resource.
        resource: ResourceName,
        /// The token that both present.
        token: FencingToken,
        /// The holder it is bound to.
        first_holder: Holder,
        /// What became of the write's idempotency key, where it has one.
        key_state: Option<KeyState>,
    },
    /// A check of the write does not hold.
    #[non_exhaustive]
    VersionMismatch {
        /// The resource.
        resource: ResourceName,
        /// The key that was checked.
        key: Key,
        /// What was expected of it.
        expected: Condition,
        /// Its version, or none where it is absent.
        found: Option<u64>,
    },
    /// A counter would leave its bounds, or 64 bits.
    #[non_exhaustive]
    BoundExceeded {
        /// The resource.
        resource: ResourceName,
        /// The counter's key.
        key: Key,
        /// Its present value.
        value: i64,
        /// What was to be added.
        delta: i64,
        /// The least value allowed.
        min: Option<i64>,
        /// The greatest value allowed.
        max: Option<i64>,
    },
    /// `add` on bytes.
    #[non_exhaustive]
    TypeMismatch {
        /// The resource.
        resource: ResourceName,
        /// The key that holds bytes.
        key: Key,
    },
    /// The idempotency key belongs to a write with other operations.
    #[non_exhaustive]
    KeyReused {
        /// The resource.
        resource: ResourceName,
        /// The key.
        idempotency_key: IdempotencyKey,
        /// The resource's version after the first write.
        first_version: u64,
        /// The token the first write was applied under.
        first_token: FencingToken,
    },
}

impl Rejection {
    /// Its name in every interface: `STALE_TOKEN`, `BOUND_EXCEEDED` ...
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::StaleToken { .. } => "STALE_TOKEN",
            Self::Closed { .. } => "CLOSED",
            Self::SplitGeneration { .. } => "SPLIT_GENERATION",
            Self::VersionMismatch { .. } => "VERSION_MISMATCH",
            Self::BoundExceeded { .. } => "BOUND_EXCEEDED",
            Self::TypeMismatch { .. } => "TYPE_MISMATCH",
            Self::KeyReused { .. } => "KEY_REUSED",
        }
    }

    /// The resource it is about.
    #[must_use]
    pub fn resource(&self) -> &ResourceName {
        match self {
            Self::StaleToken { resource, .. }
            | Self::Closed { resource, .. }
            | Self::SplitGeneration { resource, .. }
            | Self::VersionMismatch { resource, .. }
            | Self::BoundExceeded { resource, .. }
            | Self::TypeMismatch { resource, .. }
            | Self::KeyReused { resource, .. } => resource,
        }
    }

    /// Whether the fence refused it: the lock is lost, and only a new grant helps.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        match self {
            Self::StaleToken { .. } | Self::Closed { .. } | Self::SplitGeneration { .. } => true,
            Self::VersionMismatch { .. }
            | Self::BoundExceeded { .. }
            | Self::TypeMismatch { .. }
            | Self::KeyReused { .. } => false,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write to {:?} refused: ", self.resource().as_str())?;
        match self {
            Self::StaleToken { presented, current, current_holder, raised_ago, .. } => {
                write!(f, "token {presented} is older than {current}, accepted ")?;
                write!(f, "{:.1} s ago", raised_ago.as_secs_f64())?;
                if let Some(holder) = current_holder {
                    write!(f, " from {:?}", holder.as_str())?;
                }
                f.write_str(
                    "; this holder has lost the lock: stop and acquire again; if a fresh grant \
                     is refused too, the coordinator went back: raise the epoch",
                )
            }
            Self::Closed { token, .. } => write!(
                f,
                "generation {token} was closed; this holder is done: stop, or acquire again"
            ),
            Self::SplitGeneration { token, first_holder, .. } => write!(
                f,
                "token {token} belongs to {:?}; the coordinator gave one number to two holders: \
                 stop, and tell the operator",
                first_holder.as_str()
            ),
            Self::VersionMismatch { key, expected, found, .. } => {
                write!(f, "key \"{}\" should be ", key.as_bytes().escape_ascii())?;
                match expected {
                    Condition::Absent => f.write_str("absent")?,
                    Condition::Present => f.write_str("present")?,
                    Condition::Version(version) => write!(f, "at version {version}")?,
                }
                match found {
                    Some(version) => write!(f, " and is at version {version}")?,
                    None => f.write_str(" and is absent")?,
                }
                f.write_str("; the lock is still held: read again, then decide")
            }
            Self::BoundExceeded { key, .. } => write!(
                f,
                "counter \"{}\" would leave its bounds; nothing was applied: the lock is \
                 still held, so ask for less, or take it as the answer",
                key.as_bytes().escape_ascii()
            ),
            Self::TypeMismatch { key, .. } => write!(
                f,
                "key \"{}\" holds bytes, and only a counter can be added to; put a counter first",
                key.as_bytes().escape_ascii()
            ),
            Self::KeyReused { idempotency_key, first_version, .. } => write!(
                f,
                "idempotency key \"{idempotency_key}\" belongs to another write, applied at \
                 version {first_version}; a retry has to send the same operations, another event \
                 needs a key of its own"
            ),
        }
    }
}

impl std::error::Error for Rejection {}
