//! Examining a store that nobody uses: what it is, and whether every record holds.

use std::path::Path;

use rocksdb::{DB, IteratorMode};

use crate::engine::rocksdb::directory::Directory;
use crate::engine::rocksdb::open::{store_record, unopened};
use crate::engine::rocksdb::options;
use crate::error::OpenError;
use crate::limits::BLOCK_CACHE_BYTES_DEFAULT;
use crate::record::key::{self, Owner};
use crate::record::{self, FORMAT};
use crate::types::{Head, ResourceName, Timestamp};

/// What a store says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreInfo {
    /// The format of its records.
    pub format: u8,
    /// Random, drawn when it was made; in hexadecimal.
    pub store_id: String,
    /// 1, and one more with every restore.
    pub incarnation: u64,
    /// How often it was opened.
    pub open_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What an examination found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Resources, which are as many as heads.
    pub resources: u64,
    /// Values.
    pub values: u64,
    /// Idempotency records.
    pub idempotency_records: u64,
    /// How many problems there are.
    pub problems: u64,
    /// The first problems, in words.
    pub first_problems: Vec<String>,
}

/// What the store in `path` says of itself.
///
/// # Errors
/// [`OpenError`], as for opening it.
pub fn info(path: &Path) -> Result<StoreInfo, OpenError> {
    let (directory, db) = examine(path)?;
    let record = store_record(path, &db)?;
    drop(db);
    drop(directory);
    Ok(StoreInfo {
        format: FORMAT,
        store_id: uuid::Uuid::from_bytes(record.store_id).simple().to_string(),
        incarnation: record.incarnation,
        open_count: record.open_count,
        created_at: record.created_at,
    })
}

/// Reads every record of the store in `path` and checks that it holds: checksum, format, and that
/// no value or idempotency record is newer than the head of its resource. Nothing is changed.
/// `progress` is told how many records were read, now and then.
///
/// # Errors
/// [`OpenError`], as for opening it, or where RocksDB cannot read on.
///
/// ```no_run
/// # fn main() -> Result<(), palisade::OpenError> {
/// let found = palisade::engine::verify("data/orders".as_ref(), |read| eprintln!("{read} records"))?;
/// assert_eq!(found.problems, 0, "{:?}", found.first_problems);
/// # Ok(())
/// # }
/// ```
pub fn verify(path: &Path, mut progress: impl FnMut(u64)) -> Result<Verification, OpenError> {
    let (directory, db) = examine(path)?;
    store_record(path, &db)?;
    let mut found = Verification::default();
    let mut known: Option<(ResourceName, Option<Head>)> = None;
    let mut read: u64 = 0;
    for item in db.iterator(IteratorMode::Start) {
        let (stored, record) = item.map_err(|error| unopened(path, &error))?;
        read = read.saturating_add(1);
        if read.is_multiple_of(PROGRESS_EVERY) {
            progress(read);
        }
        if let Err(problem) = check(&db, &stored, &record, &mut known, &mut found) {
            found.problems = found.problems.saturating_add(1);
            if found.first_problems.len() < PROBLEMS_TOLD_MAX {
                found.first_problems.push(format!("{}: {problem}", stored.escape_ascii()));
            }
        }
    }
    progress(read);
    drop(db);
    drop(directory);
    Ok(found)
}

fn examine(path: &Path) -> Result<(Directory, DB), OpenError> {
    let directory = Directory::hold(path)?;
    directory.check()?;
    let db = options::to_open(BLOCK_CACHE_BYTES_DEFAULT)
        .and_then(|options| DB::open_for_read_only(&options, path, false))
        .map_err(|error| unopened(path, &error))?;
    Ok((directory, db))
}

fn check(
    db: &DB,
    stored: &[u8],
    record: &[u8],
    known: &mut Option<(ResourceName, Option<Head>)>,
    found: &mut Verification,
) -> Result<(), String> {
    let owner = key::owner(stored).ok_or("the key is not one of this format")?;
    let damage = |damage: record::Damage| damage.to_string();
    match owner {
        Owner::Store => Ok(()),
        Owner::Head(_) => {
            found.resources = found.resources.saturating_add(1);
            record::decode_head(stored, record).map(|_| ()).map_err(damage)
        }
        Owner::Value(resource, _) => {
            found.values = found.values.saturating_add(1);
            let value = record::decode_value(stored, record).map_err(damage)?;
            let head = head_of(db, resource, known)?;
            hold(value.version <= head.version, "it is newer than its resource's version")
        }
        Owner::Idempotency(resource, _) => {
            found.idempotency_records = found.idempotency_records.saturating_add(1);
            let kept = record::decode_key_record(stored, record).map_err(damage)?;
            let head = head_of(db, resource, known)?;
            hold(kept.version <= head.version, "it is newer than its resource's version")?;
            let fence = head.fence.as_ref().map(|fence| fence.token);
            hold(Some(kept.last_used) <= fence, "its token is above its resource's fence")
        }
    }
}

/// The head of `resource`; the last one is remembered, as records of one resource lie together.
fn head_of<'k>(
    db: &DB,
    resource: ResourceName,
    known: &'k mut Option<(ResourceName, Option<Head>)>,
) -> Result<&'k Head, String> {
    if known.as_ref().is_none_or(|(name, _)| *name != resource) {
        let mut stored = Vec::new();
        key::head(&resource, &mut stored);
        let record = db.get_pinned(&stored).map_err(|error| error.to_string())?;
        let head = record.and_then(|record| record::decode_head(&stored, &record).ok());
        *known = Some((resource, head));
    }
    let head = known.as_ref().and_then(|(_, head)| head.as_ref());
    head.ok_or_else(|| "its resource has no sound head".to_owned())
}

fn hold(holds: bool, problem: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem.to_owned()) }
}

/// Records between two reports of progress.
const PROGRESS_EVERY: u64 = 10_000;
/// Problems that are told in words; the rest is counted.
const PROBLEMS_TOLD_MAX: usize = 100;
