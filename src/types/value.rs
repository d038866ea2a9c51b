//! Data inside a resource: keys and values.

use bytes::Bytes;

use crate::limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use crate::types::{Invalid, Problem};

/// A key inside a resource: 1 to 1,024 bytes of any kind. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Bytes);

impl Key {
    /// The key's bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl TryFrom<Bytes> for Key {
    type Error = Invalid;

    fn try_from(bytes: Bytes) -> Result<Self, Invalid> {
        Invalid::check_len("key", bytes.len(), KEY_BYTES_MAX, "bytes")?;
        Ok(Self(bytes))
    }
}

/// The bytes of a value: 0 bytes to 1 MiB. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueBytes(Bytes);

impl ValueBytes {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl TryFrom<Bytes> for ValueBytes {
    type Error = Invalid;

    fn try_from(bytes: Bytes) -> Result<Self, Invalid> {
        if bytes.len() > VALUE_BYTES_MAX {
            let problem =
                Problem::TooLong { found: bytes.len(), max: VALUE_BYTES_MAX, unit: "bytes" };
            return Err(Invalid::new("value", problem));
        }
        Ok(Self(bytes))
    }
}

/// What is stored under a key: bytes, or a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// Bytes, as they were put.
    Bytes(Bytes),
    /// A counter.
    Counter(i64),
}

impl Value {
    /// The bytes, unless this is a counter.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Counter(_) => None,
        }
    }

    /// The counter, unless this is bytes.
    #[must_use]
    pub fn as_counter(&self) -> Option<i64> {
        match self {
            Self::Counter(counter) => Some(*counter),
            Self::Bytes(_) => None,
        }
    }
}

/// What a caller may have at hand where bytes are wanted; each is checked like [`Bytes`].
macro_rules! from_common_bytes {
    ($target:ty) => {
        impl TryFrom<&str> for $target {
            type Error = Invalid;

            fn try_from(text: &str) -> Result<Self, Invalid> {
                Self::try_from(Bytes::copy_from_slice(text.as_bytes()))
            }
        }

        impl TryFrom<&[u8]> for $target {
            type Error = Invalid;

            fn try_from(bytes: &[u8]) -> Result<Self, Invalid> {
                Self::try_from(Bytes::copy_from_slice(bytes))
            }
        }

        impl<const N: usize> TryFrom<&[u8; N]> for $target {
            type Error = Invalid;

            fn try_from(bytes: &[u8; N]) -> Result<Self, Invalid> {
                Self::try_from(bytes.as_slice())
            }
        }

        impl TryFrom<String> for $target {
            type Error = Invalid;

            fn try_from(text: String) -> Result<Self, Invalid> {
                Self::try_from(Bytes::from(text))
            }
        }

        impl TryFrom<&String> for $target {
            type Error = Invalid;

            fn try_from(text: &String) -> Result<Self, Invalid> {
                Self::try_from(text.as_str())
            }
        }

        impl TryFrom<Vec<u8>> for $target {
            type Error = Invalid;

            fn try_from(bytes: Vec<u8>) -> Result<Self, Invalid> {
                Self::try_from(Bytes::from(bytes))
            }
        }

        impl From<&$target> for $target {
            fn from(other: &$target) -> Self {
                other.clone()
            }
        }
    };
}

from_common_bytes!(Key);
from_common_bytes!(ValueBytes);
