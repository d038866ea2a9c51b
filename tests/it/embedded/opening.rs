//! A directory that is not one whole store stays closed, says what to do, and is left as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use palisade::engine::{EngineContext, RocksEngine};
use palisade::record::{StoreRecord, key};
use palisade::{Guard, OpenError, WriteRequest};
use tempfile::TempDir;

use super::{clock, grant, raw};

/// A closed store with `writes` acknowledged writes, each of which put its number under `count`.
fn store_of(writes: u64) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    RocksEngine::init(directory.path(), &*clock()).unwrap();
    let guard = pollster::block_on(Guard::open(directory.path())).unwrap();
    for number in 1..=writes {
        let write = WriteRequest::under(&grant("r", number)).put("count", number.to_string());
        pollster::block_on(guard.write(write.build().unwrap())).unwrap();
    }
    directory
}

fn open(path: &Path) -> Result<Guard, OpenError> {
    pollster::block_on(Guard::open(path))
}

fn create(path: &Path) -> Result<Guard, OpenError> {
    pollster::block_on(Guard::create(path))
}

/// Every file with its bytes, and every folder below.
fn content(path: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        let below = entry.path();
        if below.is_dir() {
            found.extend(content(&below));
            found.insert(below, None);
        } else {
            let bytes = fs::read(&below).unwrap();
            found.insert(below, Some(bytes));
        }
    }
    found
}

fn remove(path: &Path, is_lost: impl Fn(&str) -> bool) {
    for name in fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()) {
        if is_lost(name.to_str().unwrap()) {
            fs::remove_file(path.join(name)).unwrap();
        }
    }
}

fn is_log(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "log")
}

/// Sees `path` stay closed, with a text that names it and `advises`, and every byte as it was.
fn see_refused(path: &Path, advises: &str) -> OpenError {
    let before = path.is_dir().then(|| content(path));
    let error = open(path).expect_err("the store was opened");
    let text = error.to_string();
    assert!(text.contains(path.to_str().unwrap()), "the directory is not named: {text}");
    assert!(text.contains(advises), "{text}");
    let after = path.is_dir().then(|| content(path));
    assert_eq!(after, before, "the directory was touched");
    error
}

#[test]
fn a_missing_directory_is_refused_and_not_made() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("typo");
    let error = see_refused(&path, "make one with `palisade init`, or check the path");
    assert!(matches!(error, OpenError::Missing { .. }), "{error:?}");
    assert!(!path.exists());
}

#[test]
fn an_empty_directory_is_refused_and_stays_empty() {
    let directory = tempfile::tempdir().unwrap();
    let error = see_refused(directory.path(), "there is no store");
    assert!(matches!(error, OpenError::Missing { .. }), "{error:?}");
}

#[test]
fn a_file_is_no_store() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("file");
    fs::write(&path, b"text").unwrap();
    assert!(matches!(open(&path), Err(OpenError::Missing { .. })));
    create(&path).expect_err("a store in place of a file");
    assert_eq!(fs::read(&path).unwrap(), b"text");
}

#[test]
fn a_store_without_its_current_file_is_refused() {
    let store = store_of(3);
    remove(store.path(), |name| name == "CURRENT");
    let error = see_refused(store.path(), "the file CURRENT is missing");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("bring back the missing files, or restore a backup"));
}

#[test]
fn a_store_without_current_and_log_is_refused_rather_than_begun_anew() {
    // RocksDB, told to create what is missing, would open it empty and delete the old tables.
    let store = store_of(3);
    drop(open(store.path()).unwrap());
    remove(store.path(), |name| name == "CURRENT" || is_log(name));
    let error = see_refused(store.path(), "the file CURRENT is missing");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    let error = create(store.path()).unwrap_err();
    assert!(matches!(error, OpenError::Occupied { .. }), "{error:?}");
}

#[test]
fn a_store_without_any_log_is_refused() {
    // RocksDB would open it as if its last writes had never been.
    let store = store_of(3);
    remove(store.path(), is_log);
    let error = see_refused(store.path(), "there is no log file");
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
}

#[test]
fn a_store_whose_tables_or_manifest_are_missing_is_refused() {
    for lost in [".sst", "MANIFEST-"] {
        let store = store_of(3);
        drop(open(store.path()).unwrap());
        let kept = content(store.path());
        remove(store.path(), |name| name.ends_with(lost) || name.starts_with(lost));
        assert_ne!(content(store.path()), kept, "nothing was lost");
        let error = open(store.path()).expect_err(lost);
        assert!(error.to_string().contains(store.path().to_str().unwrap()), "{error}");
        bring_back(store.path(), &kept);
        see_count(store.path(), 3);
    }
}

fn bring_back(path: &Path, kept: &BTreeMap<PathBuf, Option<Vec<u8>>>) {
    remove(path, |_| true);
    for (file, bytes) in kept {
        fs::write(file, bytes.as_ref().unwrap()).unwrap();
    }
}

fn see_count(path: &Path, expected: u64) {
    let guard = open(path).unwrap();
    let seen = pollster::block_on(guard.read("r", ["count"])).unwrap();
    let value = seen.entries[0].as_ref().unwrap().value.as_bytes().unwrap().clone();
    assert_eq!(value, expected.to_string().as_bytes());
    assert_eq!(seen.fence.unwrap().token, grant("r", expected).token());
}

#[test]
fn a_store_record_that_is_damaged_missing_or_of_another_format_closes_the_store() {
    let newer = {
        let mut record = StoreRecord::new([7; 16], palisade::Timestamp::default()).encode();
        record[0] = 2;
        let framed = record.len() - 4;
        let checksum = crc32fast::hash(&[key::STORE, &record[..framed]].concat());
        record[framed..].copy_from_slice(&checksum.to_be_bytes());
        record
    };
    let store = store_of(3);
    raw(store.path(), |db| db.put(key::STORE, newer).unwrap());
    let error = open(store.path()).unwrap_err();
    assert!(matches!(error, OpenError::UnknownFormat { found: 2, known: 1, .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("has format 2") && text.contains("knows format 1"), "{text}");
    assert!(text.contains("use the version that wrote it, or a newer one"), "{text}");

    raw(store.path(), |db| db.put(key::STORE, b"\x01damaged").unwrap());
    let error = open(store.path()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("the store record: checksum mismatch"), "{error}");

    raw(store.path(), |db| db.delete(key::STORE).unwrap());
    let error = open(store.path()).unwrap_err();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("the store record is missing"), "{error}");
}

#[test]
fn a_store_that_is_not_writable_is_refused_with_the_reason() {
    let store = store_of(1);
    raw(store.path(), |db| {
        let stored = db.get(key::STORE).unwrap().unwrap();
        let mut record = StoreRecord::decode(&stored).unwrap();
        record.writable = false;
        db.put(key::STORE, record.encode()).unwrap();
    });
    let error = open(store.path()).unwrap_err();
    assert!(error.to_string().contains("it was restored, and no floor has been set"), "{error}");
}

/// Where each record of a log of one block begins.
fn records(log: &[u8]) -> Vec<usize> {
    let length = |at: usize| usize::from(log[at + 4]) | usize::from(log[at + 5]) << 8;
    let next = |at: &usize| Some(at + 7 + length(*at)).filter(|at| at + 7 <= log.len());
    std::iter::successors(Some(0), next).collect()
}

#[test]
fn a_flipped_bit_in_the_header_of_a_logs_record_is_refused_and_nothing_is_dropped() {
    // A length that runs past the end of the log looks like a write that was cut, and RocksDB
    // drops it with all that follows: one flipped bit would lower the fence.
    let store = store_of(100);
    let log = log_of(store.path());
    let whole = fs::read(&log).unwrap();
    assert!(whole.len() < 32 << 10, "one block");
    let records = records(&whole);
    assert!(records.len() >= 100, "{}", records.len());
    for at in [records[1], records[records.len() / 2], *records.last().unwrap()] {
        for bit in 0..7 * 8 {
            let mut damaged = whole.clone();
            damaged[at + bit / 8] ^= 1 << (bit % 8);
            fs::write(&log, damaged).unwrap();
            let error = open(store.path()).expect_err("opened with a damaged log");
            assert!(matches!(error, OpenError::Damaged { .. }), "byte {at}, bit {bit}: {error:?}");
        }
    }
    fs::write(&log, whole).unwrap();
    see_count(store.path(), 100);
}

#[test]
fn a_log_of_many_blocks_is_examined_from_end_to_end() {
    // Records of every length near the end of a block, and one that spans several blocks: a sound
    // log must never be taken for a damaged one, and a damaged block never be passed over.
    let store = store_of(0);
    let guard = open(store.path()).unwrap();
    for number in 1..=300_u64 {
        let length = usize::try_from(if number == 150 { 100_000 } else { number * 7 % 1_200 });
        let write = WriteRequest::under(&grant("r", number)).put("v", vec![0; length.unwrap()]);
        let write = write.put("count", number.to_string()).build().unwrap();
        pollster::block_on(guard.write(write)).unwrap();
    }
    drop(guard);
    let log = log_of(store.path());
    let whole = fs::read(&log).unwrap();
    assert!(whole.len() > 8 * (32 << 10), "{} bytes", whole.len());
    // A block begins with the header of a record.
    for at in (0..whole.len()).step_by(32 << 10) {
        for bit in [0, 33, 39, 40, 47, 48, 55] {
            let mut damaged = whole.clone();
            damaged[at + bit / 8] ^= 1 << (bit % 8);
            fs::write(&log, damaged).unwrap();
            let error = open(store.path()).expect_err("opened with a damaged log");
            assert!(error.to_string().contains("damaged record at byte"), "{at}, {bit}: {error}");
        }
    }
    fs::write(&log, whole).unwrap();
    see_count(store.path(), 300);
}

#[test]
fn a_log_that_was_cut_inside_its_last_record_opens_without_that_record() {
    let store = store_of(20);
    let log = log_of(store.path());
    let whole = fs::read(&log).unwrap();
    let last = *records(&whole).last().unwrap();
    let kept = tempfile::tempdir().unwrap();
    for cut in (last + 1..whole.len()).step_by(7) {
        let copy = kept.path().join(cut.to_string());
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(store.path()).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
        fs::write(copy.join(log.file_name().unwrap()), &whole[..cut]).unwrap();
        see_count(&copy, 19);
    }
}

#[test]
fn a_flipped_bit_in_the_middle_of_the_log_is_refused_and_nothing_is_dropped() {
    // With RocksDB's own default every write after the flipped bit would be gone, silently.
    let store = store_of(300);
    let log = log_of(store.path());
    let whole = fs::read(&log).unwrap();
    for at in [whole.len() / 4, whole.len() / 2, whole.len() * 3 / 4] {
        // In a record's content; its header is another matter, above.
        let at = (at..whole.len()).find(|&at| whole[at..].starts_with(b"count")).unwrap();
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&log, damaged).unwrap();
        let error = open(store.path()).expect_err("opened with a damaged log");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains("stays closed, because fences could be lost"));
        assert!(error.to_string().contains("damaged record at byte"), "{error}");
    }
    fs::write(&log, whole).unwrap();
    see_count(store.path(), 300);
}

/// The log that holds the writes; the store was closed right after them.
fn log_of(path: &Path) -> PathBuf {
    let logs = content(path).into_iter().filter(|(file, _)| is_log(file.to_str().unwrap()));
    logs.max_by_key(|(_, bytes)| bytes.as_ref().unwrap().len()).unwrap().0
}

#[test]
fn a_log_that_was_cut_inside_its_last_write_loses_that_one_at_most() {
    // What a crash leaves of a write that was never acknowledged.
    let store = store_of(20);
    let log = log_of(store.path());
    let whole = fs::read(&log).unwrap();
    let kept = content(store.path());
    let last = (0..whole.len()).rfind(|&at| whole[at..].starts_with(b"count")).unwrap();
    for cut in [last, last + 3, whole.len() - 1] {
        bring_back(store.path(), &kept);
        fs::write(&log, &whole[..cut]).unwrap();
        see_count(store.path(), 19);
    }
    bring_back(store.path(), &kept);
    see_count(store.path(), 20);
}

#[test]
fn a_store_is_not_made_in_a_directory_with_anything_in_it() {
    for foreign in ["notes.txt", ".hidden", "CURRENT", "000001.log", "lost+found"] {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(foreign), b"mine").unwrap();
        see_occupied(directory.path());
    }
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("folder")).unwrap();
    fs::write(directory.path().join("folder/notes.txt"), b"mine").unwrap();
    see_occupied(directory.path());
}

#[test]
fn a_store_is_not_made_over_another_one_and_the_other_one_is_left_alone() {
    let store = store_of(3);
    see_occupied(store.path());
    see_count(store.path(), 3);
}

fn see_occupied(path: &Path) {
    let before = content(path);
    let error = create(path).expect_err("a store was made");
    assert!(matches!(error, OpenError::Occupied { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("a store is made in an empty or new directory only"), "{text}");
    assert_eq!(content(path), before, "the directory was touched");
}

#[test]
fn a_store_is_made_in_an_empty_directory_and_in_one_that_does_not_exist_yet() {
    let parent = tempfile::tempdir().unwrap();
    drop(create(parent.path().join("a/b/c").as_path()).unwrap());
    drop(open(parent.path().join("a/b/c").as_path()).unwrap());
    let empty = tempfile::tempdir().unwrap();
    drop(create(empty.path()).unwrap());
    drop(open(empty.path()).unwrap());
}

#[test]
fn a_store_whose_making_was_interrupted_is_refused_and_can_be_made_again() {
    let store = store_of(0);
    fs::write(store.path().join("UNFINISHED"), b"").unwrap();
    let error = see_refused(store.path(), "was never finished: run `palisade init` on it again");
    assert!(matches!(error, OpenError::Unfinished { .. }), "{error:?}");
    drop(create(store.path()).unwrap());
    drop(open(store.path()).unwrap());
}

#[test]
fn making_a_store_again_never_removes_what_is_not_of_a_store() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("UNFINISHED"), b"").unwrap();
    fs::write(directory.path().join("thesis.txt"), b"mine").unwrap();
    let error = create(directory.path()).unwrap_err();
    assert!(matches!(error, OpenError::Occupied { .. }), "{error:?}");
    assert_eq!(fs::read(directory.path().join("thesis.txt")).unwrap(), b"mine");
}

#[test]
fn a_second_guard_on_a_directory_is_refused_until_the_first_one_is_gone() {
    let store = store_of(3);
    let guard = open(store.path()).unwrap();
    let clone = guard.clone();
    for _ in 0..2 {
        let error = open(store.path()).unwrap_err();
        assert!(matches!(error, OpenError::Held { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("is held by another process: stop that one first"), "{text}");
        let error = create(store.path()).unwrap_err();
        assert!(matches!(error, OpenError::Held { .. }), "{error:?}");
        let error = palisade::engine::verify(store.path(), |_| {}).unwrap_err();
        assert!(matches!(error, OpenError::Held { .. }), "{error:?}");
        let error = palisade::engine::info(store.path()).unwrap_err();
        assert!(matches!(error, OpenError::Held { .. }), "{error:?}");
        // RocksDB's own lock file can be deleted under its holder; the lock on the directory
        // stays.
        fs::remove_file(store.path().join("LOCK")).unwrap_or_default();
    }
    drop(guard);
    open(store.path()).expect_err("a clone still holds it");
    drop(clone);
    see_count(store.path(), 3);
}

#[test]
fn every_opening_is_counted_and_the_store_keeps_its_name() {
    let store = store_of(0);
    let before = palisade::engine::info(store.path()).unwrap();
    for _ in 0..3 {
        drop(RocksEngine::open(store.path(), EngineContext::default()).unwrap());
    }
    let after = palisade::engine::info(store.path()).unwrap();
    assert_eq!(after.open_count, before.open_count + 3);
    assert_eq!((after.store_id, after.incarnation, after.format), (before.store_id, 1, 1));
}

#[test]
fn a_store_opens_again_at_once_while_other_threads_start_processes() {
    let store = store_of(1);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                std::process::Command::new("true").status().unwrap();
            }
        });
        let refused = (0..300).find_map(|_| open(store.path()).err());
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(refused.is_none(), "{refused:?}");
    });
}
