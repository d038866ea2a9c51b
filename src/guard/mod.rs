//! The guard: the verbs a user calls, in front of any engine.
//!
//! Owns an engine and its combiner. Every request that presents a grant goes through the combiner
//! to the one place where it is decided; reads go to the engine directly.

mod blocking;
mod builder;
mod combiner;
mod wait;

use std::sync::Arc;

pub use blocking::Blocking;
pub use builder::GuardBuilder;

use crate::engine::Engine;
use crate::error::{Error, OpenError};
use crate::rule::{self, Answer, Footprint, Request, ResourceFootprint, View};
use crate::settings::Settings;
use crate::types::request::check_read_keys;
use crate::types::{
    FenceChange, FencedRead, Grant, Head, IdempotencyKey, Invalid, Key, KeyState, Receipt,
    ResourceName, Snapshot, WriteRequest,
};
use combiner::{Combiner, failed};

/// Guards the resources of one store: the way in to everything.
///
/// Cheap to clone; clones share the store, which is closed when the last one is dropped. Futures
/// need no particular runtime. **Dropping a future changes nothing** once it was polled: a write
/// that was handed over is decided on, and a retry with its idempotency key learns the outcome.
///
/// ```
/// use palisade::{Error, FencingToken, Grant, Guard, Rejection, WriteRequest};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # pollster::block_on(async {
/// let guard = Guard::in_memory()?; // or Guard::create("data/orders").await?
/// let old = Grant::new("orders/7", FencingToken::generation(41)?)?;
/// let new = Grant::new("orders/7", FencingToken::generation(42)?)?;
///
/// guard.claim(new).await?; // the lock has moved on
/// let late = WriteRequest::under(&old).put("status", "paid").build()?;
/// match guard.write(late).await {
///     Err(Error::Rejected(Rejection::StaleToken { current, .. })) => {
///         assert_eq!(current.to_string(), "42");
///     }
///     other => panic!("an older token was not refused: {other:?}"),
/// }
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Guard(Arc<Combiner>);

impl Guard {
    /// Settings, clock and engine of one's own.
    pub fn builder() -> GuardBuilder {
        GuardBuilder::default()
    }

    /// Opens the store in the directory `path`.
    ///
    /// # Errors
    /// [`OpenError`] where there is none, where another process holds it, or where it is damaged.
    #[cfg(feature = "rocksdb")]
    pub async fn open(path: impl AsRef<std::path::Path>) -> Result<Self, OpenError> {
        Self::builder().open(path).await
    }

    /// Makes an empty store in the directory `path`, which is empty or does not exist, and opens
    /// it.
    ///
    /// # Errors
    /// [`OpenError`] where something is there already.
    #[cfg(feature = "rocksdb")]
    pub async fn create(path: impl AsRef<std::path::Path>) -> Result<Self, OpenError> {
        Self::builder().create(path).await
    }

    /// A guard whose store lives in memory and ends with it: for tests and examples.
    ///
    /// # Errors
    /// [`OpenError`] if the machine has no thread left.
    pub fn in_memory() -> Result<Self, OpenError> {
        Self::builder().in_memory()
    }

    /// The same verbs for plain threads.
    #[must_use]
    pub fn blocking(&self) -> Blocking {
        Blocking::new(self.clone())
    }

    /// Applies a write, or recognises it as a retry.
    ///
    /// # Errors
    /// [`Error::Rejected`] where the rule refuses it; [`Error::Overloaded`], [`Error::Closing`],
    /// [`Error::Unavailable`] and [`Error::Corrupt`] where it was not decided on;
    /// [`Error::OutcomeUnknown`] where it may have been applied.
    pub async fn write(&self, request: WriteRequest) -> Result<Receipt, Error> {
        match self.0.decide(Request::Write(request)).await? {
            Answer::Written(receipt) => Ok(receipt),
            other @ (Answer::Fenced(_) | Answer::Read(_)) => Err(unexpected(&other)),
        }
    }

    /// Raises the fence to the grant's token: from here every older holder is shut out.
    ///
    /// # Errors
    /// As [`Guard::write`].
    pub async fn claim(&self, grant: Grant) -> Result<FenceChange, Error> {
        self.fence_change(Request::Claim(grant)).await
    }

    /// Ends the grant's generation: from here only a newer token is admitted. May be repeated.
    ///
    /// # Errors
    /// As [`Guard::write`].
    pub async fn close(&self, grant: Grant) -> Result<FenceChange, Error> {
        self.fence_change(Request::Close(grant)).await
    }

    /// Deletes all data of the resource, then closes the generation. May be repeated. The fence,
    /// the version and the idempotency records stay.
    ///
    /// # Errors
    /// As [`Guard::write`].
    pub async fn retire(&self, grant: Grant) -> Result<FenceChange, Error> {
        self.fence_change(Request::Retire(grant)).await
    }

    /// Claims and reads in one step: shut the old holder out, then look.
    ///
    /// # Errors
    /// As [`Guard::write`], and [`Error::Invalid`] for a key that is invalid or more than 128.
    pub async fn read_fenced<K>(
        &self,
        grant: Grant,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Snapshot, Error>
    where
        K: TryInto<Key, Error: Into<Invalid>>,
    {
        let read = FencedRead::new(grant, collect_keys(keys)?)?;
        match self.0.decide(Request::ReadFenced(read)).await? {
            Answer::Read(snapshot) => Ok(snapshot),
            other @ (Answer::Written(_) | Answer::Fenced(_)) => Err(unexpected(&other)),
        }
    }

    /// Reads keys of a resource, all at one moment. Needs no grant, and proves none.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or key that is, or more than 128 keys;
    /// [`Error::Unavailable`] and [`Error::Corrupt`] where the store cannot be read.
    pub async fn read<K>(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Snapshot, Error>
    where
        K: TryInto<Key, Error: Into<Invalid>>,
    {
        let resource = resource.try_into().map_err(Into::into)?;
        let keys = collect_keys(keys)?;
        let mut needs = ResourceFootprint::of(resource);
        needs.keys.clone_from(&keys);
        Ok(rule::read(&self.view(needs).await?, &keys))
    }

    /// The head of a resource: its fence and its version.
    ///
    /// # Errors
    /// As [`Guard::read`].
    pub async fn fence(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
    ) -> Result<Head, Error> {
        let resource = resource.try_into().map_err(Into::into)?;
        let view = self.view(ResourceFootprint::of(resource)).await?;
        Ok(view.only().head.clone())
    }

    /// What became of an idempotency key.
    ///
    /// # Errors
    /// As [`Guard::read`].
    pub async fn key_state(
        &self,
        resource: impl TryInto<ResourceName, Error: Into<Invalid>>,
        key: impl TryInto<IdempotencyKey, Error: Into<Invalid>>,
    ) -> Result<KeyState, Error> {
        let resource = resource.try_into().map_err(Into::into)?;
        let key = key.try_into().map_err(Into::into)?;
        let mut needs = ResourceFootprint::of(resource);
        needs.idempotency_keys.push(key.clone());
        Ok(rule::key_state(&self.view(needs).await?, &key))
    }

    /// Takes no more requests, and returns once all that were taken are answered. The store is
    /// closed when the last clone is dropped.
    pub async fn shut_down(&self) {
        self.0.stop().await;
    }

    fn on(engine: Arc<dyn Engine>, settings: Settings) -> Result<Self, OpenError> {
        let path = std::path::PathBuf::from(engine.caps().name);
        let no_thread = |source| OpenError::Io { doing: "start a thread for", path, source };
        Ok(Self(Arc::new(Combiner::start(engine, settings).map_err(no_thread)?)))
    }

    async fn fence_change(&self, request: Request) -> Result<FenceChange, Error> {
        match self.0.decide(request).await? {
            Answer::Fenced(change) => Ok(change),
            other @ (Answer::Written(_) | Answer::Read(_)) => Err(unexpected(&other)),
        }
    }

    async fn view(&self, needs: ResourceFootprint) -> Result<View, Error> {
        let footprint = Footprint::from(needs);
        self.0.engine().read(&footprint).await.map_err(failed)
    }
}

fn collect_keys<K>(keys: impl IntoIterator<Item = K>) -> Result<Vec<Key>, Invalid>
where
    K: TryInto<Key, Error: Into<Invalid>>,
{
    // One more than may be read is enough to see that there are too many.
    let taken = keys.into_iter().take(crate::limits::READ_KEYS_MAX.saturating_add(1));
    let keys: Vec<Key> =
        taken.map(|key| key.try_into().map_err(Into::into)).collect::<Result<_, Invalid>>()?;
    check_read_keys(&keys)?;
    Ok(keys)
}

/// An engine that answers one request with the answer to another cannot be believed.
fn unexpected(answer: &Answer) -> Error {
    Error::OutcomeUnknown { why: format!("the engine answered with {answer:?}") }
}
