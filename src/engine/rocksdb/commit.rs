//! Reading footprints, and committing decisions with one synced write.

use rocksdb::{DB, Direction, IteratorMode, ReadOptions, SnapshotWithThreadMode, WriteBatch};

use crate::engine::decide::{self, Batch, Codec, NoHeads, Table};
use crate::engine::rocksdb::{Deciding, Inner};
use crate::engine::{EngineError, GroupResult};
use crate::record::key;
use crate::rule::{Footprint, Group, View};

impl Inner {
    pub(super) async fn commit(&self, groups: Vec<Group>) -> Vec<GroupResult> {
        let mut deciding = self.deciding.lock().await;
        let mut results = Vec::with_capacity(groups.len());
        for run in decide::runs(groups) {
            results.extend(self.commit_run(&mut deciding, &run).await);
        }
        results
    }

    pub(super) fn read(&self, footprint: &Footprint) -> Result<View, EngineError> {
        self.serving()?;
        let now = self.clock.now();
        let mut codec = Codec::default();
        codec.load(&Snapshot(self.db.snapshot()), footprint, &mut NoHeads, now)
    }

    async fn commit_run(&self, deciding: &mut Deciding, run: &[Group]) -> Vec<GroupResult> {
        if let Err(error) = self.serving() {
            return run.iter().map(|_| Err(error.clone())).collect();
        }
        let mut batch = WriteBatch::default();
        let now = self.clock.now();
        let Deciding { codec, heads } = deciding;
        let decided = decide::decide(codec, &self.db, heads, (run, now), &mut batch);
        self.hooks.between_read_and_commit().await;
        if !batch.is_empty() {
            if let Err(error) = self.db.write_opt(batch, &self.synced) {
                let why = format!("a write failed: {error}");
                self.poison(&why);
                return run.iter().map(|_| Err(EngineError::Unknown(why.clone()))).collect();
            }
            for (resource, head) in decided.heads {
                heads.0.put(resource, head);
            }
        }
        self.hooks.after_commit_before_reply().await;
        decided.results
    }

    fn poison(&self, why: &str) {
        tracing::error!(path = ?self.directory.path(), why, "the store is poisoned");
        *self.poison.lock() = Some(why.to_owned());
    }

    /// After a failed write or sync what the disk holds is not known until it is read anew.
    fn serving(&self) -> Result<(), EngineError> {
        match &*self.poison.lock() {
            Some(why) => Err(EngineError::Unavailable(format!("{why}; reopen the store"))),
            None => Ok(()),
        }
    }
}

impl Table for DB {
    fn get<T>(
        &self,
        key: &[u8],
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        let record = self.get_pinned(key).map_err(|error| unread(&error))?;
        Ok(record.map(|record| decode(&record)))
    }

    fn keys(&self, prefix: &[u8], max: usize) -> Result<Vec<Vec<u8>>, EngineError> {
        let iterator = self.iterator_opt(from(prefix), up_to_end_of(prefix));
        first_keys(iterator, max)
    }
}

/// The store at one moment.
struct Snapshot<'d>(SnapshotWithThreadMode<'d, DB>);

impl Table for Snapshot<'_> {
    fn get<T>(
        &self,
        key: &[u8],
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, EngineError> {
        let record = self.0.get_pinned(key).map_err(|error| unread(&error))?;
        Ok(record.map(|record| decode(&record)))
    }

    fn keys(&self, prefix: &[u8], max: usize) -> Result<Vec<Vec<u8>>, EngineError> {
        let iterator = self.0.iterator_opt(from(prefix), up_to_end_of(prefix));
        first_keys(iterator, max)
    }
}

impl Batch for WriteBatch {
    fn put(&mut self, key: &[u8], record: &[u8]) {
        Self::put(self, key, record);
    }

    fn delete(&mut self, key: &[u8]) {
        Self::delete(self, key);
    }

    fn delete_range(&mut self, from: &[u8], to: &[u8]) {
        Self::delete_range(self, from, to);
    }
}

type Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>;

fn first_keys(items: impl Iterator<Item = Item>, max: usize) -> Result<Vec<Vec<u8>>, EngineError> {
    let key = |item: Item| item.map(|(key, _)| key.into_vec()).map_err(|error| unread(&error));
    items.take(max).map(key).collect()
}

fn from(prefix: &[u8]) -> IteratorMode<'_> {
    IteratorMode::From(prefix, Direction::Forward)
}

fn up_to_end_of(prefix: &[u8]) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.set_iterate_upper_bound(key::end_of(prefix));
    options
}

/// Nothing was written yet where a read fails, so the request was certainly not applied.
fn unread(error: &rocksdb::Error) -> EngineError {
    EngineError::Unavailable(format!("a read failed: {error}"))
}
