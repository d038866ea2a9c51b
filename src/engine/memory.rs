//! An engine in memory, with two halves.
//!
//! A [`MemoryStore`] stands in for a disk: what was written is *unsynced* until a sync makes it
//! durable, and a power cut loses what is not. A [`MemoryEngine`] is opened on it, as often as a
//! test likes. Invariants: reads and decisions see durable data only; after a failed write or sync
//! the engine is poisoned and serves nothing more.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::clock::StoreClock;
use crate::engine::decide::{self, Batch, Codec, NoHeads, Table};
use crate::engine::{BoxFuture, Caps, Engine, EngineContext, EngineError, GroupResult, Hooks};
use crate::rule::{Footprint, Group, View};
use crate::types::Timestamp;

/// A disk in memory. Cheap to clone; clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    disk: Mutex<Disk>,
    /// Held by whoever decides: decisions are made one run at a time, whichever engine makes them.
    deciding: tokio::sync::Mutex<Codec>,
}

#[derive(Debug, Default)]
struct Disk {
    durable: Records,
    unsynced: Vec<Change>,
    fault: Option<Fault>,
}

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Debug)]
enum Change {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Vec<u8>, Vec<u8>),
}

/// What goes wrong with the next commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The write fails: nothing reaches the disk.
    Write,
    /// The sync fails: the data was written, and may or may not be there after a restart.
    Sync,
}

impl MemoryStore {
    /// An empty disk.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets the next commit fail.
    pub fn fail_next(&self, fault: Fault) {
        self.0.disk.lock().fault = Some(fault);
    }

    /// A power cut: what was not synced is gone. Without one it is there when the store is opened
    /// again, as the page cache outlives a process.
    pub fn cut_power(&self) {
        self.0.disk.lock().unsynced.clear();
    }

    /// Every durable record, by its key, as it is stored.
    #[must_use]
    pub fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let disk = self.0.disk.lock();
        disk.durable.iter().map(|(key, record)| (key.clone(), record.clone())).collect()
    }

    /// Replaces a stored record by whatever bytes, as damage would; none removes it.
    pub fn overwrite(&self, key: &[u8], record: Option<Vec<u8>>) {
        let mut disk = self.0.disk.lock();
        match record {
            Some(record) => disk.durable.insert(key.to_vec(), record),
            None => disk.durable.remove(key),
        };
    }
}

impl Disk {
    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            match change {
                Change::Put(key, record) => {
                    self.durable.insert(key, record);
                }
                Change::Delete(key) => {
                    self.durable.remove(&key);
                }
                Change::DeleteRange(from, to) => {
                    self.durable.retain(|key, _| *key < from || *key >= to);
                }
            }
        }
    }

    fn commit(&mut self, changes: Vec<Change>) -> Result<(), Fault> {
        let fault = self.fault.take();
        if fault == Some(Fault::Write) {
            return Err(Fault::Write);
        }
        self.unsynced.extend(changes);
        if fault == Some(Fault::Sync) {
            return Err(Fault::Sync);
        }
        self.sync();
        Ok(())
    }
}

impl Table for Disk {
    fn get<T>(
        &self,
        key: &[u8],
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        Ok(self.durable.get(key).map(|record| decode(record)))
    }

    fn keys(&self, prefix: &[u8], max: usize) -> Result<Vec<Vec<u8>>, EngineError> {
        let from = (Bound::Included(prefix.to_vec()), Bound::Unbounded);
        let keys = self.durable.range(from).map(|(key, _)| key);
        Ok(keys.take_while(|key| key.starts_with(prefix)).take(max).cloned().collect())
    }
}

impl Batch for Vec<Change> {
    fn put(&mut self, key: &[u8], record: &[u8]) {
        self.push(Change::Put(key.to_vec(), record.to_vec()));
    }

    fn delete(&mut self, key: &[u8]) {
        self.push(Change::Delete(key.to_vec()));
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) {
        self.push(Change::DeleteRange(from.to_vec(), to.to_vec()));
    }
}

/// An engine on a [`MemoryStore`]. Nothing outlives the process.
#[derive(Clone)]
pub struct MemoryEngine(Arc<Inner>);

struct Inner {
    store: MemoryStore,
    clock: StoreClock,
    hooks: Arc<dyn Hooks>,
    poison: Mutex<Option<String>>,
}

impl MemoryEngine {
    /// An engine on `store`.
    #[must_use]
    pub fn open(store: &MemoryStore, context: EngineContext) -> Self {
        store.0.disk.lock().sync();
        Self(Arc::new(Inner {
            store: store.clone(),
            clock: StoreClock::new(context.clock, Timestamp::default()),
            hooks: context.hooks,
            poison: Mutex::new(None),
        }))
    }
}

impl Engine for MemoryEngine {
    fn caps(&self) -> &Caps {
        &Caps { name: "memory", inline_commits: true }
    }

    fn commit(&self, groups: Vec<Group>) -> BoxFuture<'static, Vec<GroupResult>> {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let mut codec = inner.store.0.deciding.lock().await;
            let mut results = Vec::with_capacity(groups.len());
            for run in decide::runs(groups) {
                results.extend(inner.commit(&mut codec, &run).await);
            }
            results
        })
    }

    fn read<'a>(&'a self, footprint: &'a Footprint) -> BoxFuture<'a, Result<View, EngineError>> {
        Box::pin(async move {
            self.0.serving()?;
            let disk = self.0.store.0.disk.lock();
            Codec::default().load(&*disk, footprint, &mut NoHeads, self.0.clock.now())
        })
    }
}

impl Inner {
    async fn commit(&self, codec: &mut Codec, run: &[Group]) -> Vec<GroupResult> {
        if let Err(error) = self.serving() {
            return run.iter().map(|_| Err(error.clone())).collect();
        }
        let mut changes = Vec::new();
        let now = self.clock.now();
        let decided = {
            let mut disk = self.store.0.disk.lock();
            // Left by an engine whose sync failed: in the page cache, hence seen.
            disk.sync();
            decide::decide(codec, &*disk, &mut NoHeads, (run, now), &mut changes)
        };
        self.hooks.between_read_and_commit().await;
        if !changes.is_empty() {
            let committed = self.store.0.disk.lock().commit(changes);
            if let Err(fault) = committed {
                let why = format!("the {fault:?} of a commit failed").to_lowercase();
                *self.poison.lock() = Some(why.clone());
                return run.iter().map(|_| Err(EngineError::Unknown(why.clone()))).collect();
            }
        }
        self.hooks.after_commit_before_reply().await;
        decided.results
    }

    fn serving(&self) -> Result<(), EngineError> {
        match &*self.poison.lock() {
            Some(why) => Err(EngineError::Unavailable(format!("{why}; reopen the store"))),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for MemoryEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEngine").field("store", &self.0.store).finish_non_exhaustive()
    }
}
