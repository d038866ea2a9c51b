//! Why the demo could not be carried through. A claim that does not hold is not a failure.

use std::fmt;
use std::io;

/// In one line: what went wrong.
#[derive(Debug)]
pub(super) struct Failure(String);

pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was attempted when it went wrong.
pub(super) trait Doing<T> {
    /// `what` reads after "cannot".
    fn doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure(format!("cannot {what}: {error}")))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}
