//! The guard's verbs for plain threads.

use crate::error::Error;
use crate::guard::Guard;
use crate::guard::wait::block_on;
use crate::types::{
    FenceChange, Grant, Head, IdempotencyKey, Invalid, Key, KeyState, Receipt, ResourceName,
    Snapshot, WriteRequest,
};

/// A [`Guard`] for plain threads: the same verbs, and each waits for its answer. Inside an async
/// task it works too, and holds up the tasks beside it.
///
/// ```
/// use palisade::{FencingToken, Grant, Guard, WriteRequest};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let guard = Guard::in_memory()?.blocking();
/// let grant = Grant::new("cache/product:17", FencingToken::generation(7)?)?;
/// guard.write(WriteRequest::under(&grant).put("page", "<html>").build()?)?;
/// let seen = guard.read("cache/product:17", ["page"])?;
/// assert_eq!(seen.version, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Blocking {
    guard: Guard,
}

impl Blocking {
    pub(super) fn new(guard: Guard) -> Self {
        Self { guard }
    }

    /// As [`Guard::write`].
    ///
    /// # Errors
    /// As [`Guard::write`].
    pub fn write(&self, request: WriteRequest) -> Result<Receipt, Error> {
        block_on(self.guard.write(request))
    }

    /// As [`Guard::claim`].
    ///
    /// # Errors
    /// As [`Guard::claim`].
    pub fn claim(&self, grant: Grant) -> Result<FenceChange, Error> {
        block_on(self.guard.claim(grant))
    }

    /// As [`Guard::close`].
    ///
    /// # Errors
    /// As [`Guard::close`].
    pub fn close(&self, grant: Grant) -> Result<FenceChange, Error> {
        block_on(self.guard.close(grant))
    }

    /// As [`Guard::retire`].
    ///
    /// # Errors
    /// As [`Guard::retire`].
    pub fn retire(&self, grant: Grant) -> Result<FenceChange, Error> {
        block_on(self.guard.retire(grant))
    }

    /// As [`Guard::read_fenced`].
    ///
    /// # Errors
    /// As [`Guard::read_fenced`].
    pub fn read_fenced<K>(
        &self,
        grant: Grant,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Snapshot, Error>
    where
        K: TryInto<Key, Error: Into<Invalid>>,
    {
        block_on(self.guard.read_fenced(grant, keys))
    }

    /// As [`Guard::read`].
    ///
    /// # Errors
    /// As [`Guard::read`].
    pub fn read<K>(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Snapshot, Error>
    where
        K: TryInto<Key, Error: Into<Invalid>>,
    {
        block_on(self.guard.read(resource, keys))
    }

    /// As [`Guard::fence`].
    ///
    /// # Errors
    /// As [`Guard::fence`].
    pub fn fence(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
    ) -> Result<Head, Error> {
        block_on(self.guard.fence(resource))
    }

    /// As [`Guard::key_state`].
    ///
    /// # Errors
    /// As [`Guard::key_state`].
    pub fn key_state(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
        key: impl TryInto<IdempotencyKey, Error: Into<Invalid>>,
    ) -> Result<KeyState, Error> {
        block_on(self.guard.key_state(resource, key))
    }

    /// As [`Guard::shut_down`].
    pub fn shut_down(&self) {
        block_on(self.guard.shut_down());
    }
}
