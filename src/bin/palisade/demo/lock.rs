//! A small lock coordinator in one file: a counter, a holder and a lease.
//!
//! It is what a demo needs of etcd or ZooKeeper, and like them it knows nothing of the guard.
//! Invariants: the counter grows with every grant and never goes back, whatever becomes of the
//! lease; there is one holder at a time until its lease runs out by the wall clock; a reader sees
//! the state before a change or after it. A missing or damaged file is an error: a coordinator that
//! started again at 1 would issue old numbers a second time.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::time;

/// The lock that the file at a path stands for.
#[derive(Clone, Debug)]
pub(super) struct LockFile {
    path: PathBuf,
}

/// What became of an attempt to take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The lock is the caller's until the lease runs out.
    Granted { generation: u64, granted_unix_ms: u64, lease_until_unix_ms: u64 },
    /// Somebody's lease still runs.
    Held,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// The number of the last grant.
    generation: u64,
    holder: Option<String>,
    lease_until_unix_ms: u64,
}

impl LockFile {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// A free lock whose last grant had the number `generation`.
    pub(super) fn create(path: &Path, generation: u64) -> io::Result<Self> {
        let lock = Self::at(path);
        lock.store(&State { generation, holder: None, lease_until_unix_ms: 0 })?;
        Ok(lock)
    }

    /// Takes the lock for `holder`, unless somebody's lease still runs.
    pub(super) fn try_acquire(&self, holder: &str, lease: Duration) -> io::Result<Attempt> {
        let _alone = self.alone()?;
        let state = self.load()?;
        let now = time::unix_ms();
        if state.holder.is_some() && now < state.lease_until_unix_ms {
            return Ok(Attempt::Held);
        }
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        let granted = State {
            generation: state.generation.checked_add(1).ok_or_else(|| bad("is used up"))?,
            holder: Some(holder.to_owned()),
            lease_until_unix_ms: now.saturating_add(lease_ms),
        };
        self.store(&granted)?;
        Ok(Attempt::Granted {
            generation: granted.generation,
            granted_unix_ms: now,
            lease_until_unix_ms: granted.lease_until_unix_ms,
        })
    }

    /// Gives the lock back, unless it has moved on; says whether it was still this generation's.
    pub(super) fn release(&self, generation: u64) -> io::Result<bool> {
        let _alone = self.alone()?;
        let state = self.load()?;
        let is_held = state.generation == generation && state.holder.is_some();
        if is_held {
            self.store(&State { holder: None, lease_until_unix_ms: 0, ..state })?;
        }
        Ok(is_held)
    }

    /// Keeps every other process out, until it is dropped. The state itself cannot be what is
    /// locked: a change puts another file in its place.
    fn alone(&self) -> io::Result<File> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(self.path.with_extension("mutex"))?;
        file.lock()?;
        Ok(file)
    }

    fn load(&self) -> io::Result<State> {
        serde_json::from_slice(&fs::read(&self.path)?).map_err(|_| bad("is damaged"))
    }

    fn store(&self, state: &State) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        file.sync_all()?;
        fs::rename(beside, &self.path)
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the lock's counter {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    fn generation(attempt: Attempt) -> u64 {
        match attempt {
            Attempt::Granted { generation, .. } => generation,
            Attempt::Held => 0,
        }
    }

    #[test]
    fn one_holder_at_a_time_until_the_lease_runs_out() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::create(&folder.path().join("lock.json"), 40).unwrap();
        assert_eq!(generation(lock.try_acquire("a", Duration::from_millis(40)).unwrap()), 41);
        assert_eq!(lock.try_acquire("b", LONG).unwrap(), Attempt::Held);
        time::sleep(Duration::from_millis(50));
        assert_eq!(generation(lock.try_acquire("b", LONG).unwrap()), 42);
        assert_eq!(lock.try_acquire("a", LONG).unwrap(), Attempt::Held);
    }

    #[test]
    fn the_counter_survives_a_release_and_a_late_release_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::create(&folder.path().join("lock.json"), 0).unwrap();
        assert_eq!(generation(lock.try_acquire("a", LONG).unwrap()), 1);
        assert!(lock.release(1).unwrap());
        assert!(!lock.release(1).unwrap());
        assert_eq!(generation(lock.try_acquire("b", LONG).unwrap()), 2);
        assert!(!lock.release(1).unwrap(), "an old generation cannot give back the new one's lock");
        assert_eq!(lock.try_acquire("c", LONG).unwrap(), Attempt::Held);
    }

    #[test]
    fn racing_holders_never_share_a_generation() {
        let folder = tempfile::tempdir().unwrap();
        let lock = LockFile::create(&folder.path().join("lock.json"), 0).unwrap();
        let racers: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                let race = move || {
                    let grants = (0..25).map(|_| lock.try_acquire("x", Duration::ZERO).unwrap());
                    grants.map(generation).collect::<Vec<u64>>()
                };
                std::thread::spawn(race)
            })
            .collect();
        let mut all: Vec<u64> = racers.into_iter().flat_map(|race| race.join().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (1..=100).collect::<Vec<u64>>());
    }

    #[test]
    fn a_lost_counter_is_an_error_and_never_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock.json");
        assert!(LockFile::at(&path).try_acquire("a", LONG).is_err());
        fs::write(&path, "{}").unwrap();
        assert!(LockFile::at(&path).try_acquire("a", LONG).is_err());
    }
}
