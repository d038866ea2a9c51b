//! The name of a resource.

use std::fmt;
use std::sync::Arc;

use crate::limits::RESOURCE_NAME_BYTES_MAX;
use crate::types::Invalid;

/// What a lock protects: `inventory/sku-42`, `cache/product:17`.
///
/// UTF-8, 1 to 512 bytes, without control characters. Names are opaque: `r1` and `r10` share
/// nothing, and nothing is normalised. Cheap to clone.
///
/// ```
/// use palisade::ResourceName;
/// # fn main() -> Result<(), palisade::Invalid> {
/// let name = ResourceName::try_from("inventory/sku-42")?;
/// assert_eq!(name.as_str(), "inventory/sku-42");
/// assert!(ResourceName::try_from("two\nlines").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceName(Arc<str>);

impl ResourceName {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for ResourceName {
    type Error = Invalid;

    fn try_from(name: &str) -> Result<Self, Invalid> {
        Invalid::check_len("resource", name.len(), RESOURCE_NAME_BYTES_MAX, "bytes")?;
        if name.chars().any(char::is_control) {
            return Err(Invalid::malformed("resource", "text without control characters"));
        }
        Ok(Self(name.into()))
    }
}

impl TryFrom<String> for ResourceName {
    type Error = Invalid;

    fn try_from(name: String) -> Result<Self, Invalid> {
        Self::try_from(name.as_str())
    }
}

impl TryFrom<&String> for ResourceName {
    type Error = Invalid;

    fn try_from(name: &String) -> Result<Self, Invalid> {
        Self::try_from(name.as_str())
    }
}

impl From<&ResourceName> for ResourceName {
    fn from(name: &ResourceName) -> Self {
        name.clone()
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
