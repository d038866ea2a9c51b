//! The directory of a store: the lock on it, and what has to lie in it before RocksDB may look.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::engine::rocksdb::log;
use crate::error::OpenError;

/// A directory that this process holds, alone, until it is dropped.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// The lock lies on the directory itself: a lock file can be deleted under its holder.
    lock: File,
}

/// Lies in the directory while a store is being made, so that one that was interrupted is known.
const UNFINISHED: &str = "UNFINISHED";

impl Directory {
    /// Holds the directory of an existing store.
    pub(super) fn hold(path: &Path) -> Result<Self, OpenError> {
        if !path.is_dir() {
            return Err(OpenError::Missing { path: path.to_owned() });
        }
        let lock = File::open(path).map_err(|source| io_error("open", path, source))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Held { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(io_error("lock", path, source)),
        }
    }

    /// Makes the directory where there is none, holds it, and marks it as unfinished. One that
    /// holds anything but an unfinished store is refused.
    pub(super) fn begin(path: &Path) -> Result<Self, OpenError> {
        fs::create_dir_all(path).map_err(|source| io_error("create", path, source))?;
        let directory = Self::hold(path)?;
        let files = directory.files()?;
        let unfinished = files.iter().any(|name| name == UNFINISHED);
        if unfinished && files.iter().all(|name| name == UNFINISHED || is_of_rocksdb(name)) {
            directory.sweep(&files)?;
        } else if !files.is_empty() {
            return Err(OpenError::Occupied { path: path.to_owned() });
        }
        File::create(directory.mark())
            .and_then(|mark| mark.sync_all())
            .and_then(|()| directory.sync())
            .map_err(|source| io_error("write to", path, source))?;
        Ok(directory)
    }

    /// Takes the mark away: from here the store is one.
    pub(super) fn finish(&self) -> Result<(), OpenError> {
        fs::remove_file(self.mark())
            .and_then(|()| self.sync())
            .map_err(|source| io_error("write to", &self.path, source))
    }

    /// Checks what RocksDB itself would pass over in silence.
    pub(super) fn check(&self) -> Result<(), OpenError> {
        let files = self.files()?;
        let has = |wanted: &dyn Fn(&str) -> bool| files.iter().any(|name| wanted(name));
        let path = self.path.clone();
        if has(&|name| name == UNFINISHED) {
            return Err(OpenError::Unfinished { path });
        }
        if !has(&|name| name == "CURRENT") {
            if !has(&is_of_rocksdb) {
                return Err(OpenError::Missing { path });
            }
            let what = "the file CURRENT is missing".to_owned();
            return Err(OpenError::Damaged { path, what });
        }
        if !has(&is_log) {
            // RocksDB opens such a store as if its last writes had never been.
            let what = "there is no log file, and an intact store always has one".to_owned();
            return Err(OpenError::Damaged { path, what });
        }
        for log in files.iter().filter(|name| is_log(name)) {
            let damage = log::damage(&self.path.join(log));
            if let Some(at) = damage.map_err(|source| io_error("read", &self.path, source))? {
                let what = format!("{log} has a damaged record at byte {at}");
                return Err(OpenError::Damaged { path, what });
            }
        }
        Ok(())
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    fn files(&self) -> Result<Vec<String>, OpenError> {
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        fs::read_dir(&self.path)
            .and_then(|entries| entries.map(name).collect())
            .map_err(|source| io_error("list", &self.path, source))
    }

    /// Removes what an interrupted making has left.
    fn sweep(&self, files: &[String]) -> Result<(), OpenError> {
        for name in files.iter().filter(|name| *name != UNFINISHED) {
            fs::remove_file(self.path.join(name))
                .map_err(|source| io_error("clear", &self.path, source))?;
        }
        Ok(())
    }

    fn mark(&self) -> PathBuf {
        self.path.join(UNFINISHED)
    }

    /// Makes the directory's entries durable, and its own entry in its parent.
    fn sync(&self) -> io::Result<()> {
        self.lock.sync_all()?;
        match self.path.canonicalize()?.parent() {
            Some(parent) => File::open(parent)?.sync_all(),
            None => Ok(()),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing alone lets go only with the last copy of the descriptor, and a process that
        // another thread is just starting has one until it runs its own program.
        let _kept_until_closed = self.lock.unlock().is_err();
    }
}

pub(super) fn io_error(doing: &'static str, path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { doing, path: path.to_owned(), source }
}

/// Whether RocksDB may have made a file of this name.
fn is_of_rocksdb(name: &str) -> bool {
    let named = ["CURRENT", "IDENTITY", "LOCK", "LOG"].contains(&name);
    let numbered = ["MANIFEST-", "OPTIONS-", "LOG.old."].iter().any(|kind| name.starts_with(kind));
    named || numbered || is_log(name) || is_table(name) || is_temporary(name)
}

fn is_log(name: &str) -> bool {
    name.strip_suffix(".log").is_some_and(is_number)
}

fn is_table(name: &str) -> bool {
    name.strip_suffix(".sst").is_some_and(is_number)
}

fn is_temporary(name: &str) -> bool {
    name.strip_suffix(".dbtmp").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
