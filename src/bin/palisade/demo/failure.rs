//! Why the demo could not be carried through. A claim that does not hold is not a failure.

use std::fmt;

/// In one line: what went wrong.
#[derive(Debug)]
pub(super) struct Failure {
    what: String,
    is_unheard: bool,
}

pub(super) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_unheard: false }
    }

    /// Whoever read the story has gone away, and wants to hear nothing more.
    pub(super) fn unheard() -> Self {
        Self { what: "nobody listens".to_owned(), is_unheard: true }
    }

    pub(super) fn is_unheard(&self) -> bool {
        self.is_unheard
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// Says what was attempted when it went wrong.
pub(super) trait Doing<T> {
    /// `what` reads after "cannot".
    fn doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T, E: fmt::Display> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Failure::new(format!("cannot {what}: {error}")))
    }
}
