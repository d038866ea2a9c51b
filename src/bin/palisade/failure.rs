//! Why a command failed: its exit code, its reason and its text.
//!
//! Invariant: scripts rest on the exit codes and the reasons, so both are given out here only.

use std::io;
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use palisade::{Error, Invalid, Key, OpenError, Rejection, ResourceName};
use serde_json::{Map, Value, json};

/// The exit codes; `palisade --help` explains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or recognised as a retry.
    Done,
    Other,
    Usage,
    /// The store could not be used, or the outcome is unknown.
    Unreachable,
    Fenced,
    VersionMismatch,
    KeyReused,
    BoundExceeded,
    NotFound,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Other => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Fenced => 4,
            Exit::VersionMismatch => 5,
            Exit::KeyReused => 6,
            Exit::BoundExceeded => 7,
            Exit::NotFound => 8,
        })
    }
}

/// Why a command has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The library did not do it.
    #[error(transparent)]
    Refused(#[from] Error),
    /// The store was not opened.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The key is absent, or without one the resource was never seen.
    #[error("{}", not_found(.resource, .key.as_ref()))]
    NotFound { resource: ResourceName, key: Option<Key> },
    /// The input cannot be read.
    #[error("cannot read {}: {source}", shown(.path.as_ref()))]
    Input { path: Option<PathBuf>, source: io::Error },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[source] io::Error),
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(Error::Invalid(invalid))
    }
}

impl Failure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Refused(error) => exit_of(error),
            Self::Store(error) => exit_of_store(error),
            Self::NotFound { .. } => Exit::NotFound,
            Self::Input { .. } | Self::Output(_) => Exit::Other,
        }
    }

    /// Whoever read the output has had enough, and wants to hear nothing more.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Output(error) => error.kind() == io::ErrorKind::BrokenPipe,
            Self::Refused(_) | Self::Store(_) | Self::NotFound { .. } | Self::Input { .. } => false,
        }
    }

    /// As an object with `reason`, `applied`, `message` and `metadata`.
    pub(crate) fn to_json(&self) -> Value {
        let message = self.to_string();
        match self {
            Self::Refused(error) => error_json(error, None),
            Self::Store(error) => object(store_reason(error), &message, store_metadata(error)),
            Self::NotFound { resource, key } => {
                let key =
                    key.as_ref().map(|key| ("key", key.as_bytes().escape_ascii().to_string()));
                let resource = ("resource", resource.as_str().to_owned());
                object("NOT_FOUND", &message, iter::once(resource).chain(key).collect())
            }
            Self::Input { path, .. } => {
                let path = path.as_ref().map(|path| ("path", path.display().to_string()));
                object("INPUT", &message, path.into_iter().collect())
            }
            Self::Output(_) => object("OUTPUT", &message, Vec::new()),
        }
    }
}

/// The exit code that `error` means.
///
/// Every variant is named: the compiler demands a last arm for another crate's enum, and the lint
/// `wildcard_enum_match_arm` still refuses a variant that only that arm would catch.
pub(crate) fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Invalid(_) => Exit::Usage,
        Error::Rejected(rejection) => match rejection {
            Rejection::StaleToken { .. }
            | Rejection::Closed { .. }
            | Rejection::SplitGeneration { .. } => Exit::Fenced,
            Rejection::VersionMismatch { .. } => Exit::VersionMismatch,
            Rejection::BoundExceeded { .. } => Exit::BoundExceeded,
            Rejection::KeyReused { .. } => Exit::KeyReused,
            Rejection::TypeMismatch { .. } | _ => Exit::Other,
        },
        Error::Overloaded { .. }
        | Error::Closing
        | Error::Unavailable { .. }
        | Error::OutcomeUnknown { .. } => Exit::Unreachable,
        Error::Corrupt { .. } | _ => Exit::Other,
    }
}

fn exit_of_store(error: &OpenError) -> Exit {
    match error {
        OpenError::Held { .. } => Exit::Unreachable,
        OpenError::Missing { .. }
        | OpenError::Occupied { .. }
        | OpenError::Unfinished { .. }
        | OpenError::UnknownFormat { .. }
        | OpenError::Damaged { .. }
        | OpenError::Io { .. }
        | _ => Exit::Other,
    }
}

/// A library error as an object; an invalid line of `apply` is named by its number.
pub(crate) fn error_json(error: &Error, line: Option<u64>) -> Value {
    let mut metadata = error.metadata();
    let mut message = error.to_string();
    if let Some(line) = line
        && matches!(error, Error::Invalid(_))
    {
        message = format!("line {line}: {message}");
        metadata.insert(0, ("line", line.to_string()));
    }
    let mut json = object(error.reason(), &message, metadata);
    if !error.definitely_not_applied()
        && let Some(applied) = json.get_mut("applied")
    {
        *applied = json!("unknown");
    }
    json
}

/// An error after which nothing was applied.
pub(crate) fn object(reason: &str, message: &str, metadata: Vec<(&'static str, String)>) -> Value {
    let metadata: Map<String, Value> =
        metadata.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
    json!({ "reason": reason, "applied": false, "message": message, "metadata": metadata })
}

fn store_reason(error: &OpenError) -> &'static str {
    match error {
        OpenError::Missing { .. } => "STORE_MISSING",
        OpenError::Occupied { .. } => "STORE_OCCUPIED",
        OpenError::Held { .. } => "STORE_HELD",
        OpenError::Unfinished { .. } => "STORE_UNFINISHED",
        OpenError::UnknownFormat { .. } => "STORE_FORMAT",
        OpenError::Damaged { .. } => "STORE_DAMAGED",
        OpenError::Io { .. } | _ => "STORE_IO",
    }
}

fn store_metadata(error: &OpenError) -> Vec<(&'static str, String)> {
    let path = |path: &PathBuf| ("path", path.display().to_string());
    match error {
        OpenError::Missing { path: at, .. }
        | OpenError::Occupied { path: at, .. }
        | OpenError::Held { path: at, .. }
        | OpenError::Unfinished { path: at, .. }
        | OpenError::Io { path: at, .. } => vec![path(at)],
        OpenError::UnknownFormat { path: at, found, known, .. } => {
            vec![path(at), ("found", found.to_string()), ("known", known.to_string())]
        }
        OpenError::Damaged { path: at, what, .. } => vec![path(at), ("damage", what.clone())],
        _ => Vec::new(),
    }
}

fn not_found(resource: &ResourceName, key: Option<&Key>) -> String {
    let resource = resource.as_str();
    match key {
        Some(key) => format!("{resource:?} has no key \"{}\"", key.as_bytes().escape_ascii()),
        None => format!("{resource:?} was never seen: no token was ever accepted for it"),
    }
}

fn shown(path: Option<&PathBuf>) -> String {
    path.map_or_else(|| "standard input".to_owned(), |path| format!("{:?}", path.to_string_lossy()))
}
