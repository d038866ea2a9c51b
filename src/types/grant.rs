//! What a lock coordinator hands out, and the only way to build a write.

use crate::types::{FencingToken, Holder, Invalid, ResourceName};

/// A resource, the token under which it was granted and, where known, to whom.
///
/// There is no write without a grant, and no way to obtain one from the guard: the token is the
/// one the coordinator returned *when the lock was taken*. Looking up the present one at write
/// time would let a holder that was replaced borrow its successor's.
///
/// ```
/// use palisade::{FencingToken, Grant};
/// # fn main() -> Result<(), palisade::Invalid> {
/// let grant = Grant::new("orders/7", FencingToken::generation(42)?)?.held_by("lease-7f3a")?;
/// assert_eq!(grant.token().to_string(), "42");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    resource: ResourceName,
    token: FencingToken,
    holder: Option<Holder>,
}

impl Grant {
    /// A grant of `resource` under `token`, to a holder that is not named.
    ///
    /// # Errors
    /// [`Invalid`] if the resource's name is.
    pub fn new(
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
        token: FencingToken,
    ) -> Result<Self, Invalid> {
        let resource = resource.try_into().map_err(Into::into)?;
        Ok(Self { resource, token, holder: None })
    }

    /// The same grant with the holder named.
    ///
    /// # Errors
    /// [`Invalid`] if the holder is.
    pub fn held_by(
        self,
        holder: impl TryInto<Holder, Error: Into<Invalid>>,
    ) -> Result<Self, Invalid> {
        let holder = holder.try_into().map_err(Into::into)?;
        Ok(Self { holder: Some(holder), ..self })
    }

    /// The resource.
    #[must_use]
    pub fn resource(&self) -> &ResourceName {
        &self.resource
    }

    /// The token.
    #[must_use]
    pub fn token(&self) -> FencingToken {
        self.token
    }

    /// The holder, where one is named.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.holder.as_ref()
    }
}
