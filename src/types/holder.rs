//! Who was granted a token.

use std::fmt;
use std::sync::Arc;

use crate::limits::HOLDER_BYTES_MAX;
use crate::types::Invalid;

/// Who was *granted* a token: the coordinator's attempt or session, 1 to 256 bytes of text.
///
/// Never the process that forwards a write. All who work under one grant send the same text, or
/// none. It lets the guard notice that a coordinator gave one number to two holders. Control
/// characters are kept, and escaped wherever a holder is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(Arc<str>);

impl Holder {
    /// The holder as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Holder {
    type Error = Invalid;

    fn try_from(holder: &str) -> Result<Self, Invalid> {
        Invalid::check_len("holder", holder.len(), HOLDER_BYTES_MAX, "bytes")?;
        Ok(Self(holder.into()))
    }
}

impl TryFrom<String> for Holder {
    type Error = Invalid;

    fn try_from(holder: String) -> Result<Self, Invalid> {
        Self::try_from(holder.as_str())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_debug())
    }
}
