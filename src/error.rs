//! The errors of every verb, and of opening a store.
//!
//! Each says whether the request was applied and what to do about it. The names in
//! [`Error::reason`] and the entries of [`Error::metadata`] are the same in every interface.

use std::path::PathBuf;

use crate::record::Damage;
use crate::rule::Rejection;
use crate::types::{Invalid, KeyOutcome, KeyState, ResourceName};

/// Why a request was not answered with success.
///
/// [`Error::definitely_not_applied`] tells the two kinds apart that a caller must not mix up: a
/// refusal, and an outcome that is unknown.
///
/// ```
/// use palisade::{Error, Guard, Receipt, WriteRequest};
///
/// /// Sends a write that has an idempotency key, and once more if its outcome is unknown.
/// async fn send(guard: &Guard, write: &WriteRequest) -> Result<Receipt, Error> {
///     let unknown = match guard.write(write.clone()).await {
///         Err(error) if !error.definitely_not_applied() => error,
///         decided => return decided,
///     };
///     // A receipt settles it. An error is about the second delivery only: the first one may
///     // have been applied all the same, so the outcome stays unknown.
///     guard.write(write.clone()).await.map_err(|_| unknown)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request cannot be built. Fix it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The request was decided on, and refused.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// Too much is waiting. Back off, then ask again with the same idempotency key.
    #[error(
        "overloaded: {waiting_requests} requests ({waiting_bytes} bytes) are waiting, and the \
         queue takes no more; nothing was applied: back off and ask again"
    )]
    #[non_exhaustive]
    Overloaded {
        /// Requests that are waiting.
        waiting_requests: usize,
        /// Their bytes.
        waiting_bytes: usize,
    },
    /// The guard is shutting down. Ask again once it is back, with the same idempotency key.
    #[error("the guard is shutting down; nothing was applied: ask again when it is back")]
    Closing,
    /// The store cannot be used now.
    #[error("the store is unavailable: {why}; nothing was applied: ask again when it is back")]
    #[non_exhaustive]
    Unavailable {
        /// What is known of the cause.
        why: String,
    },
    /// The request may have been applied. Ask again with the same idempotency key.
    #[error(
        "the outcome is unknown: {why}; the request may have been applied: ask again with the \
         same idempotency key, or look"
    )]
    #[non_exhaustive]
    OutcomeUnknown {
        /// What is known of the cause.
        why: String,
    },
    /// A stored record of the resource is damaged. It is never read as "nothing there".
    #[error(
        "the {record} of {:?} is damaged ({damage}); nothing was applied: stop using this \
         resource and run `palisade verify`", .resource.as_str()
    )]
    #[non_exhaustive]
    Corrupt {
        /// The resource.
        resource: ResourceName,
        /// Which of its records: `head`, `value` or `idempotency record`.
        record: &'static str,
        /// What is wrong with it.
        damage: Damage,
    },
}

impl Error {
    /// Whether this delivery of the request was certainly not applied, and will not be. It says
    /// nothing of an earlier delivery whose outcome was unknown.
    #[must_use]
    pub fn definitely_not_applied(&self) -> bool {
        match self {
            Self::Invalid(_)
            | Self::Rejected(_)
            | Self::Overloaded { .. }
            | Self::Closing
            | Self::Unavailable { .. }
            | Self::Corrupt { .. } => true,
            Self::OutcomeUnknown { .. } => false,
        }
    }

    /// Its name in every interface: `STALE_TOKEN`, `OVERLOADED` ...
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "INVALID",
            Self::Rejected(rejection) => rejection.reason(),
            Self::Overloaded { .. } => "OVERLOADED",
            Self::Closing => "CLOSING",
            Self::Unavailable { .. } => "UNAVAILABLE",
            Self::OutcomeUnknown { .. } => "OUTCOME_UNKNOWN",
            Self::Corrupt { .. } => "CORRUPT",
        }
    }

    /// Everything variable in its text, by name, for programs. Numbers are in decimal.
    #[must_use]
    pub fn metadata(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Invalid(invalid) => {
                let mut entries = vec![("field", invalid.field().to_owned())];
                entries.extend(invalid.limit().map(|limit| ("limit", limit)));
                entries
            }
            Self::Rejected(rejection) => rejection_metadata(rejection),
            Self::Overloaded { waiting_requests, waiting_bytes } => vec![
                ("waitingRequests", waiting_requests.to_string()),
                ("waitingBytes", waiting_bytes.to_string()),
            ],
            Self::Closing => Vec::new(),
            Self::Unavailable { why } | Self::OutcomeUnknown { why } => vec![("why", why.clone())],
            Self::Corrupt { resource, record, damage } => vec![
                ("resource", resource.to_string()),
                ("record", (*record).to_owned()),
                ("damage", damage.to_string()),
            ],
        }
    }
}

fn rejection_metadata(rejection: &Rejection) -> Vec<(&'static str, String)> {
    let mut entries = vec![("resource", rejection.resource().to_string())];
    let optional = |name, value: Option<String>| value.map(|value| (name, value));
    let text = |key: &crate::types::Key| key.as_bytes().escape_ascii().to_string();
    match rejection {
        Rejection::StaleToken {
            presented, current, current_holder, raised_at, key_state, ..
        } => {
            entries.push(("presented", presented.to_string()));
            entries.push(("current", current.to_string()));
            let holder = current_holder.as_ref().map(|holder| holder.as_str().to_owned());
            entries.extend(optional("currentHolder", holder));
            entries.push(("raisedAtMs", raised_at.as_unix_millis().to_string()));
            entries.extend(optional("keyState", key_state.as_ref().map(state_name)));
        }
        Rejection::Closed { token, key_state, .. } => {
            entries.push(("token", token.to_string()));
            entries.extend(optional("keyState", key_state.as_ref().map(state_name)));
        }
        Rejection::SplitGeneration { token, first_holder, key_state, .. } => {
            entries.push(("token", token.to_string()));
            entries.push(("firstHolder", first_holder.as_str().to_owned()));
            entries.extend(optional("keyState", key_state.as_ref().map(state_name)));
        }
        Rejection::VersionMismatch { key, found, .. } => {
            entries.push(("key", text(key)));
            let version = found.map_or_else(|| "absent".to_owned(), |found| found.to_string());
            entries.push(("version", version));
        }
        Rejection::BoundExceeded { key, value, delta, min, max, .. } => {
            entries.push(("key", text(key)));
            entries.push(("value", value.to_string()));
            entries.push(("delta", delta.to_string()));
            entries.extend(optional("min", min.map(|min| min.to_string())));
            entries.extend(optional("max", max.map(|max| max.to_string())));
        }
        Rejection::TypeMismatch { key, .. } => entries.push(("key", text(key))),
        Rejection::KeyReused { idempotency_key, first_version, first_token, .. } => {
            entries.push(("idempotencyKey", idempotency_key.as_str().to_owned()));
            entries.push(("firstVersion", first_version.to_string()));
            entries.push(("firstToken", first_token.to_string()));
        }
    }
    entries
}

fn state_name(state: &KeyState) -> String {
    match state.outcome {
        KeyOutcome::Applied(_) => "applied",
        KeyOutcome::NotApplied => "not_applied",
        KeyOutcome::Unknown => "unknown",
    }
    .to_owned()
}

/// Why a store was not made, opened or examined. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no store.
    #[error("there is no store in {path:?}: make one with `palisade init`, or check the path")]
    #[non_exhaustive]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// A store cannot be made where something is already.
    #[error("{path:?} is not empty, and a store is made in an empty or new directory only")]
    #[non_exhaustive]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
    /// Another process, or another guard in this one, holds the directory.
    #[error("the store in {path:?} is held by another process: stop that one first, or ask it")]
    #[non_exhaustive]
    Held {
        /// The directory.
        path: PathBuf,
    },
    /// The making of the store was interrupted, so that nothing was ever written to it.
    #[error("the store in {path:?} was never finished: run `palisade init` on it again")]
    #[non_exhaustive]
    Unfinished {
        /// The directory.
        path: PathBuf,
    },
    /// The store's format is not this version's.
    #[error(
        "the store in {path:?} has format {found}, and this version of palisade knows format \
         {known}: use the version that wrote it, or a newer one"
    )]
    #[non_exhaustive]
    UnknownFormat {
        /// The directory.
        path: PathBuf,
        /// The format of the store.
        found: u8,
        /// The format that this version reads and writes.
        known: u8,
    },
    /// The store is damaged or incomplete. Opening it could lower fences, so it stays closed.
    #[error(
        "the store in {path:?} is damaged: {what}; it stays closed, because fences could be \
         lost: bring back the missing files, or restore a backup"
    )]
    #[non_exhaustive]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The operating system refused.
    #[error("cannot {doing} {path:?}: {source}")]
    #[non_exhaustive]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// The directory.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}
