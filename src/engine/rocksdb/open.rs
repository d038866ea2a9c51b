//! Making a store, and opening one: fail closed.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rocksdb::{DB, ErrorKind};

use crate::clock::{Clock, StoreClock};
use crate::engine::EngineContext;
use crate::engine::decide::Codec;
use crate::engine::rocksdb::directory::{Directory, io_error};
use crate::engine::rocksdb::{Deciding, HeadCache, Inner, RocksEngine, options};
use crate::error::OpenError;
use crate::limits::BLOCK_CACHE_BYTES_DEFAULT;
use crate::record::{Damage, FORMAT, StoreRecord, key};

impl RocksEngine {
    /// Makes an empty store in `path`: a directory that is empty or does not exist yet.
    ///
    /// # Errors
    /// [`OpenError`]; nothing that was in the directory is touched.
    pub fn init(path: &Path, clock: &dyn Clock) -> Result<(), OpenError> {
        let directory = Directory::begin(path)?;
        let failed = |error: &rocksdb::Error| unopened(path, error);
        let options = options::to_make(BLOCK_CACHE_BYTES_DEFAULT).map_err(|e| failed(&e))?;
        let db = DB::open(&options, path).map_err(|e| failed(&e))?;
        let record = StoreRecord::new(uuid::Uuid::new_v4().into_bytes(), clock.now());
        db.put_opt(key::STORE, record.encode(), &options::synced()).map_err(|e| failed(&e))?;
        drop(db);
        directory.finish()
    }

    /// Opens the store in `path`.
    ///
    /// # Errors
    /// [`OpenError`] where there is none, where another holds it, or where it is damaged or
    /// incomplete in a way that could lower a fence.
    pub fn open(path: &Path, context: EngineContext) -> Result<Self, OpenError> {
        let directory = Directory::hold(path)?;
        directory.check()?;
        let settings = &context.settings;
        let db = options::to_open(settings.block_cache_bytes)
            .and_then(|options| DB::open(&options, path))
            .map_err(|error| unopened(path, &error))?;
        let mut record = store_record(path, &db)?;
        if !record.writable {
            let what = "it was restored, and no floor has been set since".to_owned();
            return Err(OpenError::Damaged { path: path.to_owned(), what });
        }
        let clock = StoreClock::new(context.clock, record.clock);
        record.open_count = record.open_count.saturating_add(1);
        record.clock = clock.now();
        let synced = options::synced();
        db.put_opt(key::STORE, record.encode(), &synced).map_err(|e| unopened(path, &e))?;
        tracing::info!(?path, open_count = record.open_count, "opened the store");
        let heads = HeadCache::new(settings.head_cache_entries_max);
        Ok(Self(Arc::new(Inner {
            db,
            directory,
            clock,
            hooks: context.hooks,
            synced,
            deciding: tokio::sync::Mutex::new(Deciding { codec: Codec::default(), heads }),
            poison: Mutex::new(None),
        })))
    }
}

/// Reads the store record of an opened database.
pub(super) fn store_record(path: &Path, db: &DB) -> Result<StoreRecord, OpenError> {
    let damaged = |what: String| OpenError::Damaged { path: path.to_owned(), what };
    let stored = db.get_pinned(key::STORE).map_err(|error| unopened(path, &error))?;
    let stored = stored.ok_or_else(|| damaged("the store record is missing".to_owned()))?;
    StoreRecord::decode(&stored).map_err(|damage| match damage {
        Damage::Format { found } => {
            OpenError::UnknownFormat { path: path.to_owned(), found, known: FORMAT }
        }
        Damage::Checksum | Damage::Content { .. } => damaged(format!("the store record: {damage}")),
    })
}

/// What RocksDB's refusal to open means to a user.
pub(super) fn unopened(path: &Path, error: &rocksdb::Error) -> OpenError {
    // Of an error RocksDB tells its kind and a text, and only the text tells a missing file from a
    // disk that fails.
    let file_missing = error.as_ref().contains("No such file");
    match error.kind() {
        ErrorKind::IOError if !file_missing => {
            io_error("open", path, std::io::Error::other(error.to_string()))
        }
        ErrorKind::IOError
        | ErrorKind::NotFound
        | ErrorKind::Corruption
        | ErrorKind::NotSupported
        | ErrorKind::InvalidArgument
        | ErrorKind::MergeInProgress
        | ErrorKind::Incomplete
        | ErrorKind::ShutdownInProgress
        | ErrorKind::TimedOut
        | ErrorKind::Aborted
        | ErrorKind::Busy
        | ErrorKind::Expired
        | ErrorKind::TryAgain
        | ErrorKind::CompactionTooLarge
        | ErrorKind::ColumnFamilyDropped
        | ErrorKind::Unknown => {
            OpenError::Damaged { path: path.to_owned(), what: error.to_string() }
        }
    }
}
