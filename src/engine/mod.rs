//! Engines: what makes a decision atomic and durable.
//!
//! The rule decides on a view; an [`Engine`] provides the view and commits the decision only if
//! nothing in it has changed. [`MemoryEngine`] keeps everything in memory, for tests and
//! simulation; [`RocksEngine`] is the embedded default.

mod decide;
mod memory;
#[cfg(feature = "rocksdb")]
pub(crate) mod rocksdb;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

pub use memory::{Fault, MemoryEngine, MemoryStore};
#[cfg(feature = "rocksdb")]
pub use rocksdb::{RocksEngine, StoreInfo, Verification, info, verify};

use crate::clock::{Clock, SystemClock};
use crate::record::Damage;
use crate::rule::{Footprint, Group, Verdict, View};
use crate::settings::Settings;
use crate::types::ResourceName;

/// A boxed future, so that engines can be used as trait objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes the rule's decisions atomic and durable.
///
/// An engine keeps these obligations; the conformance suite in `testing` has a test for each.
///
/// 1. At the commit point the whole footprint is validated: values, absences, and the head even
///    when it does not change.
/// 2. Once an answer is out, no write below its token commits, however long it was running.
/// 3. An answer leaves only when everything it rests on is durable; so does what a read shows.
/// 4. [`EngineError::Unknown`] if the commit may have happened, [`EngineError::NotApplied`] only
///    if it certainly has not. Dropping a commit's future tears nothing: all of a group is
///    committed, or nothing.
/// 5. Internal retries follow only an attempt that certainly did not commit, and are bounded;
///    after an unknown attempt the answer is unknown.
/// 6. A group that fails does not fail its neighbours in the same physical commit, except with
///    [`EngineError::NotApplied`], or with it as a whole.
/// 7. `evaluate` may run several times; only the committed run's verdicts leave.
/// 8. Two guards on one engine are safe together. What an engine keeps in memory never admits
///    anything that the store would refuse.
pub trait Engine: Send + Sync + fmt::Debug + 'static {
    /// What kind of engine this is.
    fn caps(&self) -> &Caps;

    /// Decides on each group and commits what was decided. One result a group, in order.
    ///
    /// Groups are owned, so that a commit does not depend on who asked for it. Commits take
    /// effect in the order in which their futures are first polled.
    fn commit(&self, groups: Vec<Group>) -> BoxFuture<'static, Vec<GroupResult>>;

    /// Reads a footprint, all at one moment: at least as new as every answer that left before
    /// the read began.
    fn read<'a>(&'a self, footprint: &'a Footprint) -> BoxFuture<'a, Result<View, EngineError>>;
}

/// The verdicts on a group's requests in order, or why there are none.
pub type GroupResult = Result<Vec<Verdict>, EngineError>;

/// What kind of engine it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Caps {
    /// Its name, for logs and `palisade info`.
    pub name: &'static str,
    /// Whether a commit may run on the caller's own thread: it needs no runtime and blocks for no
    /// longer than one sync.
    pub inline_commits: bool,
}

/// Why a group has no verdicts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Certainly not committed.
    #[error("not committed: {0}")]
    NotApplied(String),
    /// Certainly not committed: others got in between too often.
    #[error("contended")]
    Contended,
    /// Certainly not committed: the store is down.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// Certainly not committed: a record of the resource is damaged.
    #[error("the {record} of {:?} is damaged: {damage}", .resource.as_str())]
    Corrupt {
        /// The resource.
        resource: ResourceName,
        /// Which of its records.
        record: &'static str,
        /// What is wrong with it.
        damage: Damage,
    },
    /// It may have been committed.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

/// Where a test can halt an engine: random load never meets these windows.
pub trait Hooks: Send + Sync + fmt::Debug + 'static {
    /// Everything was read and decided, and nothing is committed yet.
    fn between_read_and_commit(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Everything is committed and durable, and nobody has been answered yet.
    fn after_commit_before_reply(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Hooks that do nothing.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to it")]
pub struct NoHooks;

impl Hooks for NoHooks {}

/// What an engine is given from outside.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "built by whoever opens an engine by hand")]
pub struct EngineContext {
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where a test halts it.
    pub hooks: Arc<dyn Hooks>,
    /// Its settings.
    pub settings: Settings,
}

impl Default for EngineContext {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            hooks: Arc::new(NoHooks),
            settings: Settings::default(),
        }
    }
}
