//! The one error of building a request: which field, which limit, what to do.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;

/// A value that a request cannot carry. Nothing was sent and nothing was applied.
///
/// ```
/// let error = palisade::FencingToken::generation(0).unwrap_err();
/// assert_eq!(error.field(), "token");
/// assert!(error.to_string().contains("from 1 to 9223372036854775807"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    field: Cow<'static, str>,
    problem: Problem,
}

/// What is wrong with the field that an [`Invalid`] names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The field is required and was not given.
    Missing,
    /// The field was given and is empty.
    Empty,
    /// Longer than allowed.
    TooLong {
        /// The length found.
        found: usize,
        /// The greatest length allowed.
        max: usize,
        /// What is counted: `bytes`, `operations` ...
        unit: &'static str,
    },
    /// A number outside its range.
    OutOfRange {
        /// The number found, in decimal.
        found: String,
        /// The least number allowed.
        min: i128,
        /// The greatest number allowed.
        max: i128,
    },
    /// Text or bytes that cannot be read as what the field holds.
    Malformed {
        /// What the field has to look like.
        expected: Cow<'static, str>,
    },
}

impl Invalid {
    /// An error about `field`.
    #[must_use]
    pub fn new(field: impl Into<Cow<'static, str>>, problem: Problem) -> Self {
        Self { field: field.into(), problem }
    }

    /// An error about a field that has to look like `expected`.
    #[must_use]
    pub fn malformed(
        field: impl Into<Cow<'static, str>>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(field, Problem::Malformed { expected: expected.into() })
    }

    /// Checks that `len` lies in `1 ..= max`.
    pub(crate) fn check_len(
        field: &'static str,
        len: usize,
        max: usize,
        unit: &'static str,
    ) -> Result<(), Self> {
        match len {
            0 => Err(Self::new(field, Problem::Empty)),
            _ if len > max => Err(Self::new(field, Problem::TooLong { found: len, max, unit })),
            _ => Ok(()),
        }
    }

    /// The field, by the name it has in the interfaces: `resource`, `token`, `key` ...
    #[must_use]
    pub fn field(&self) -> &str {
        &self.field
    }

    /// What is wrong with it.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The limit that was passed, as text, where there is one.
    #[must_use]
    pub fn limit(&self) -> Option<String> {
        match &self.problem {
            Problem::Missing | Problem::Empty => Some("at least 1".to_owned()),
            Problem::TooLong { max, unit, .. } => Some(format!("at most {max} {unit}")),
            Problem::OutOfRange { min, max, .. } => Some(format!("from {min} to {max}")),
            Problem::Malformed { .. } => None,
        }
    }

    /// The same error about a field further out: `do[3].put` and `key` give `do[3].put.key`.
    #[must_use]
    pub fn within(self, outer: &str) -> Self {
        Self { field: format!("{outer}.{}", self.field).into(), problem: self.problem }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        match &self.problem {
            Problem::Missing => write!(f, "{field} is missing: it is required"),
            Problem::Empty => write!(f, "{field} is empty: give at least 1 byte or item"),
            Problem::TooLong { found, max, unit } => {
                write!(f, "{field} has {found} {unit}: at most {max} are allowed")
            }
            Problem::OutOfRange { found, min, max } => {
                write!(f, "{field} is {found}: it has to lie from {min} to {max}")
            }
            Problem::Malformed { expected } => write!(f, "{field} has to be {expected}"),
        }
    }
}

impl std::error::Error for Invalid {}

impl From<Infallible> for Invalid {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
