//! The caller's name for one event.

use std::fmt;
use std::sync::Arc;

use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::types::Invalid;

/// The caller's name for one event (order 7, the 03:00 run), not for a job: text of 1 to 255 bytes.
///
/// Choose it *before* the first attempt and keep it for every retry. A retry that carries it is
/// answered with the first receipt and is not executed again, whichever token it presents.
/// The key belongs to its resource: on another resource it names another event.
///
/// ```
/// use palisade::IdempotencyKey;
/// # fn main() -> Result<(), palisade::Invalid> {
/// let key = IdempotencyKey::text("charge-7")?;
/// assert_eq!(key.as_str(), "charge-7");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdempotencyKey(Arc<str>);

impl IdempotencyKey {
    /// A key of plain text.
    ///
    /// # Errors
    /// [`Invalid`] unless it has 1 to 255 bytes.
    pub fn text(key: &str) -> Result<Self, Invalid> {
        Invalid::check_len("idempotency_key", key.len(), IDEMPOTENCY_KEY_BYTES_MAX, "bytes")?;
        Ok(Self(key.into()))
    }

    /// The key's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for IdempotencyKey {
    type Error = Invalid;

    fn try_from(key: &str) -> Result<Self, Invalid> {
        Self::text(key)
    }
}

impl TryFrom<String> for IdempotencyKey {
    type Error = Invalid;

    fn try_from(key: String) -> Result<Self, Invalid> {
        Self::text(&key)
    }
}

impl TryFrom<&String> for IdempotencyKey {
    type Error = Invalid;

    fn try_from(key: &String) -> Result<Self, Invalid> {
        Self::text(key)
    }
}

impl From<&IdempotencyKey> for IdempotencyKey {
    fn from(key: &IdempotencyKey) -> Self {
        key.clone()
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_debug())
    }
}
