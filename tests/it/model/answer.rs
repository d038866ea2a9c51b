//! Answers in plain values: what the model predicts, and what an engine gave.

use std::time::Duration;

use palisade::{
    Condition, Entry, Error, Fence, FenceChange, FencingToken, Head, Key, KeyOutcome, KeyState,
    OperationResult, Outcome, Receipt, Rejection, Snapshot, Value,
};

/// Epoch, generation.
pub(super) type Token = (u64, u64);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    Written(Written),
    Fenced {
        previous: Option<Fenced>,
        fence: Fenced,
        version: u64,
    },
    Seen {
        entries: Vec<Option<Seen>>,
        version: u64,
        fence: Option<Fenced>,
    },
    Head {
        fence: Option<Fenced>,
        version: u64,
    },
    KeyState(State),
    Refused(String, Refusal),
    /// The outcome is unknown.
    InDoubt,
    /// The store is down; certainly not applied.
    Down,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Written {
    pub(super) replayed: bool,
    pub(super) version: u64,
    pub(super) token: Token,
    pub(super) applied_at: u64,
    pub(super) results: Vec<Option<i64>>,
    pub(super) fence: Option<Fenced>,
}

/// A fence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fenced {
    pub(super) token: Token,
    pub(super) holder: Option<String>,
    pub(super) closed: bool,
    pub(super) raised_at: u64,
}

/// A key that is present.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) key: String,
    pub(super) value: Stored,
    pub(super) version: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Stored {
    Bytes(String),
    Counter(i64),
}

/// What became of an idempotency key; not applied where there is no receipt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    pub(super) applied: Option<Box<Written>>,
    pub(super) fence: Option<Fenced>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    Stale {
        presented: Token,
        current: Token,
        current_holder: Option<String>,
        raised_at: u64,
        raised_ago: u64,
        key_state: Option<State>,
    },
    Closed {
        token: Token,
        key_state: Option<State>,
    },
    Split {
        token: Token,
        first_holder: String,
        key_state: Option<State>,
    },
    Mismatch {
        key: String,
        expected: Condition,
        found: Option<u64>,
    },
    Bound {
        key: String,
        value: i64,
        delta: i64,
        min: Option<i64>,
        max: Option<i64>,
    },
    Type {
        key: String,
    },
    Reused {
        key: String,
        first_version: u64,
        first_token: Token,
    },
}

impl Answer {
    /// What a run has to have met; see `Disk::MEETS`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Written(Written { replayed: false, .. }) => "applied",
            Self::Written(Written { token, fence: Some(fence), .. }) if fence.token > *token => {
                "replayed after the fence moved"
            }
            Self::Written(_) => "replayed",
            Self::Fenced { .. } => "fence changed",
            Self::Seen { .. } | Self::Head { .. } | Self::KeyState(_) => "read",
            Self::Refused(_, Refusal::Stale { .. }) => "stale token",
            Self::Refused(_, Refusal::Closed { .. }) => "closed",
            Self::Refused(_, Refusal::Split { .. }) => "split generation",
            Self::Refused(_, Refusal::Mismatch { .. }) => "version mismatch",
            Self::Refused(_, Refusal::Bound { .. }) => "bound exceeded",
            Self::Refused(_, Refusal::Type { .. }) => "type mismatch",
            Self::Refused(_, Refusal::Reused { .. }) => "key reused",
            Self::InDoubt => "in doubt",
            Self::Down => "down",
        }
    }

    pub(super) fn of<T: Into<Self>>(result: Result<T, Error>) -> Self {
        match result {
            Ok(answer) => answer.into(),
            Err(error) => Self::from(error),
        }
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        let not_applied = error.definitely_not_applied();
        let (answer, expected) = match error {
            Error::Rejected(rejection) => {
                (Self::Refused(rejection.resource().to_string(), rejection.into()), true)
            }
            Error::OutcomeUnknown { .. } => (Self::InDoubt, false),
            Error::Unavailable { .. } => (Self::Down, true),
            other @ (Error::Invalid(_)
            | Error::Overloaded { .. }
            | Error::Closing
            | Error::Corrupt { .. }
            | _) => panic!("no history leads to this: {other:?}"),
        };
        assert_eq!(not_applied, expected, "{answer:?}");
        answer
    }
}

impl From<Receipt> for Answer {
    fn from(receipt: Receipt) -> Self {
        Self::Written((&receipt).into())
    }
}

impl From<&Receipt> for Written {
    fn from(receipt: &Receipt) -> Self {
        let result = |result: &OperationResult| match result {
            OperationResult::Done => None,
            OperationResult::Counter(counter) => Some(*counter),
            other => panic!("no operation answers {other:?}"),
        };
        Self {
            replayed: receipt.outcome() == Outcome::Replayed,
            version: receipt.version(),
            token: plain(receipt.token()),
            applied_at: receipt.applied_at().as_unix_millis(),
            results: receipt.results().iter().map(result).collect(),
            fence: receipt.fence().map(Fenced::from),
        }
    }
}

impl From<FenceChange> for Answer {
    fn from(change: FenceChange) -> Self {
        Self::Fenced {
            previous: change.previous.as_ref().map(Fenced::from),
            fence: (&change.fence).into(),
            version: change.version,
        }
    }
}

impl From<Snapshot> for Answer {
    fn from(snapshot: Snapshot) -> Self {
        let seen = |entry: Entry| Seen {
            key: text(&entry.key),
            value: match entry.value {
                Value::Bytes(bytes) => Stored::Bytes(String::from_utf8(bytes.to_vec()).unwrap()),
                Value::Counter(counter) => Stored::Counter(counter),
                other => panic!("nobody stores {other:?}"),
            },
            version: entry.version,
        };
        Self::Seen {
            entries: snapshot.entries.into_iter().map(|entry| entry.map(seen)).collect(),
            version: snapshot.version,
            fence: snapshot.fence.as_ref().map(Fenced::from),
        }
    }
}

impl From<Head> for Answer {
    fn from(head: Head) -> Self {
        assert_eq!(head.forgotten_through, None, "nothing forgets records yet");
        Self::Head { fence: head.fence.as_ref().map(Fenced::from), version: head.version }
    }
}

impl From<KeyState> for Answer {
    fn from(state: KeyState) -> Self {
        Self::KeyState(state.into())
    }
}

impl From<KeyState> for State {
    fn from(state: KeyState) -> Self {
        let applied = match state.outcome {
            KeyOutcome::Applied(receipt) => Some(Box::new((&*receipt).into())),
            KeyOutcome::NotApplied => None,
            other @ (KeyOutcome::Unknown | _) => panic!("nothing forgets records yet: {other:?}"),
        };
        Self { applied, fence: state.fence.as_ref().map(Fenced::from) }
    }
}

impl From<&Fence> for Fenced {
    fn from(fence: &Fence) -> Self {
        Self {
            token: plain(fence.token),
            holder: fence.holder.as_ref().map(|holder| holder.as_str().to_owned()),
            closed: fence.closed,
            raised_at: fence.raised_at.as_unix_millis(),
        }
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        match rejection {
            Rejection::StaleToken {
                presented,
                current,
                current_holder,
                raised_at,
                raised_ago,
                key_state,
                ..
            } => Self::Stale {
                presented: plain(presented),
                current: plain(current),
                current_holder: current_holder.map(|holder| holder.as_str().to_owned()),
                raised_at: raised_at.as_unix_millis(),
                raised_ago: millis(raised_ago),
                key_state: key_state.map(State::from),
            },
            Rejection::Closed { token, key_state, .. } => {
                Self::Closed { token: plain(token), key_state: key_state.map(State::from) }
            }
            Rejection::SplitGeneration { token, first_holder, key_state, .. } => Self::Split {
                token: plain(token),
                first_holder: first_holder.as_str().to_owned(),
                key_state: key_state.map(State::from),
            },
            Rejection::VersionMismatch { key, expected, found, .. } => {
                Self::Mismatch { key: text(&key), expected, found }
            }
            Rejection::BoundExceeded { key, value, delta, min, max, .. } => {
                Self::Bound { key: text(&key), value, delta, min, max }
            }
            Rejection::TypeMismatch { key, .. } => Self::Type { key: text(&key) },
            Rejection::KeyReused { idempotency_key, first_version, first_token, .. } => {
                Self::Reused {
                    key: idempotency_key.as_str().to_owned(),
                    first_version,
                    first_token: plain(first_token),
                }
            }
            other => panic!("a refusal that the model does not know: {other:?}"),
        }
    }
}

fn plain(token: FencingToken) -> Token {
    (token.epoch(), token.generation_number())
}

fn text(key: &Key) -> String {
    String::from_utf8(key.as_bytes().to_vec()).unwrap()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}
