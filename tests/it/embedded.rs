//! What an embedder rests on, beyond the rule itself: a store that opens only when it is whole,
//! damage that is called damage, and calls that end well however their callers behave.
//!
//! The dangerous failures here look like success. A store whose log was lost opens, a little
//! emptier; a head that cannot be read counts as "no fence"; a retry whose record is damaged counts
//! as new; a caller that goes away takes its write with it half-way. [`opening`] breaks a directory
//! in every way that a copy, a wrong mount or a careless `rm` does; [`damage`] breaks single
//! records; [`callers`] sends many callers at once, lets them go away and lets them be too many;
//! [`retire`] deletes around the number of keys at which the engine changes its way to delete.

mod callers;
mod damage;
mod gate;
mod opening;
mod retire;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use palisade::clock::ManualClock;
use palisade::engine::{EngineContext, Hooks, MemoryEngine, MemoryStore, NoHooks, RocksEngine};
use palisade::{FencingToken, Grant, Guard, Settings, Timestamp};
use tempfile::TempDir;

/// A store of either kind, which can be opened, closed and meddled with.
enum Store {
    Memory(MemoryStore),
    Rocks(TempDir),
}

/// How to open it.
struct Opening {
    settings: Settings,
    hooks: Arc<dyn Hooks>,
}

impl Default for Opening {
    fn default() -> Self {
        Self { settings: Settings::default(), hooks: Arc::new(NoHooks) }
    }
}

/// An empty store of each kind.
fn stores() -> [Store; 2] {
    let directory = tempfile::tempdir().unwrap();
    RocksEngine::init(directory.path(), &*clock()).unwrap();
    [Store::Memory(MemoryStore::new()), Store::Rocks(directory)]
}

impl Store {
    fn open(&self) -> Guard {
        self.open_with(Opening::default())
    }

    fn open_with(&self, Opening { settings, hooks }: Opening) -> Guard {
        let context = EngineContext { clock: clock(), hooks, settings: settings.clone() };
        let builder = Guard::builder().settings(settings);
        match self {
            Self::Memory(store) => builder.on_engine(Arc::new(MemoryEngine::open(store, context))),
            Self::Rocks(directory) => {
                let engine = RocksEngine::open(directory.path(), context).unwrap();
                builder.on_engine(Arc::new(engine))
            }
        }
        .unwrap()
    }

    /// Every stored record by its key; the store has to be closed.
    fn records(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        match self {
            Self::Memory(store) => store.records().into_iter().collect(),
            Self::Rocks(directory) => raw(directory.path(), |db| {
                let all = db.iterator(rocksdb::IteratorMode::Start).map(Result::unwrap);
                all.map(|(key, record)| (key.into_vec(), record.into_vec())).collect()
            }),
        }
    }

    /// Puts `record` in place of what is stored under `key`; the store has to be closed.
    fn overwrite(&self, key: &[u8], record: &[u8]) {
        match self {
            Self::Memory(store) => store.overwrite(key, Some(record.to_vec())),
            Self::Rocks(directory) => raw(directory.path(), |db| db.put(key, record).unwrap()),
        }
    }
}

/// Opens the database past everything that guards it.
fn raw<T>(path: &Path, meddle: impl FnOnce(&rocksdb::DB) -> T) -> T {
    let db = rocksdb::DB::open(&rocksdb::Options::default(), path).unwrap();
    let done = meddle(&db);
    db.flush_wal(true).unwrap();
    done
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(Timestamp::from_unix_millis(1_700_000_000_000)))
}

fn grant(resource: &str, generation: u64) -> Grant {
    Grant::new(resource, FencingToken::generation(generation).unwrap()).unwrap()
}
