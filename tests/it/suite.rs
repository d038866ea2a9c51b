//! The conformance suite on both engines that come with the crate.

use std::path::PathBuf;
use std::sync::Arc;

use palisade::clock::SystemClock;
use palisade::engine::{Engine, EngineContext, Hooks, MemoryEngine, MemoryStore, RocksEngine};
use palisade::testing::Subject;
use tempfile::TempDir;

#[derive(Default)]
struct InMemory(MemoryStore);

impl Subject for InMemory {
    fn open(&mut self, hooks: Arc<dyn Hooks>) -> Arc<dyn Engine> {
        Arc::new(MemoryEngine::open(&self.0, EngineContext { hooks, ..EngineContext::default() }))
    }

    fn overwrite(&mut self, key: &[u8], record: &[u8]) {
        self.0.overwrite(key, Some(record.to_vec()));
    }
}

struct Embedded {
    _directory: TempDir,
    path: PathBuf,
}

impl Embedded {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("store");
        RocksEngine::init(&path, &SystemClock).unwrap();
        Self { _directory: directory, path }
    }
}

impl Subject for Embedded {
    fn open(&mut self, hooks: Arc<dyn Hooks>) -> Arc<dyn Engine> {
        let context = EngineContext { hooks, ..EngineContext::default() };
        Arc::new(RocksEngine::open(&self.path, context).unwrap())
    }

    fn overwrite(&mut self, key: &[u8], record: &[u8]) {
        let db = rocksdb::DB::open_default(&self.path).unwrap();
        db.put(key, record).unwrap();
    }
}

palisade::engine_suite!(in_memory, super::InMemory::default());
palisade::engine_suite!(embedded, super::Embedded::new());
