//! The embedded engine on RocksDB.
//!
//! Owns a directory, alone: an exclusive lock on the directory itself, besides RocksDB's own.
//! Invariants: every write is synced before anything rests on it; whoever decides holds the decide
//! lock from the first read to the end of the commit; the head cache holds durable heads only;
//! after a failed write or sync nothing is served any more.

mod commit;
mod directory;
mod log;
mod open;
mod options;
mod verify;

use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;
use rocksdb::{DB, WriteOptions};

use crate::clock::StoreClock;
use crate::engine::decide::{Codec, Heads};
use crate::engine::{BoxFuture, Caps, Engine, EngineError, GroupResult, Hooks};
use crate::rule::{Footprint, Group, View};
use crate::types::{Head, ResourceName};
use directory::Directory;

pub use verify::{StoreInfo, Verification, info, verify};

/// The embedded store: one directory, one process.
///
/// It never makes a store by accident: [`RocksEngine::init`] does, [`RocksEngine::open`] refuses
/// where there is none, or where what is there could have lost a fence.
#[derive(Clone)]
pub struct RocksEngine(Arc<Inner>);

struct Inner {
    // Fields are dropped in order: RocksDB is closed before the directory is let go.
    db: DB,
    directory: Directory,
    clock: StoreClock,
    hooks: Arc<dyn Hooks>,
    synced: WriteOptions,
    /// Held by whoever decides, from the first read to the end of the commit.
    deciding: tokio::sync::Mutex<Deciding>,
    poison: Mutex<Option<String>>,
}

/// What only whoever decides may touch.
struct Deciding {
    codec: Codec,
    heads: HeadCache,
}

/// Heads as they are stored, the least recently used one dropped first.
struct HeadCache(LruCache<ResourceName, Head>);

impl HeadCache {
    fn new(entries_max: usize) -> Self {
        Self(LruCache::new(NonZeroUsize::new(entries_max).unwrap_or(NonZeroUsize::MIN)))
    }
}

impl Heads for HeadCache {
    fn cached(&mut self, resource: &ResourceName) -> Option<Head> {
        self.0.get(resource).cloned()
    }
}

impl RocksEngine {
    /// The directory it owns.
    #[must_use]
    pub fn path(&self) -> &PathBuf {
        self.0.directory.path()
    }
}

impl Engine for RocksEngine {
    fn caps(&self) -> &Caps {
        &Caps { name: "rocksdb", inline_commits: true }
    }

    fn commit(&self, groups: Vec<Group>) -> BoxFuture<'static, Vec<GroupResult>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move { inner.commit(groups).await })
    }

    fn read<'a>(&'a self, footprint: &'a Footprint) -> BoxFuture<'a, Result<View, EngineError>> {
        Box::pin(std::future::ready(self.0.read(footprint)))
    }
}

impl fmt::Debug for RocksEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RocksEngine").field("path", self.path()).finish_non_exhaustive()
    }
}
