//! The only place that asks the machine for the time, or waits.
//!
//! Time comes in through [`Clock`], so that tests own it. `StoreClock` keeps the promise that a
//! store's time never runs backwards while it is open.

#![expect(clippy::disallowed_types, reason = "the one place where time comes in")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::types::Timestamp;

/// Tells the time. Replace it to own the time in a test.
pub trait Clock: Send + Sync + std::fmt::Debug + 'static {
    /// The time now. It may jump; the store evens that out.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to it")]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 is as wrong as one at 1970, and no promise rests on either.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A clock that stands still until it is set.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that stands at `now`.
    #[must_use]
    pub fn at(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_unix_millis()))
    }

    /// Sets it, forwards or backwards.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.as_unix_millis(), Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Ordering::SeqCst))
    }
}

/// A store's time: the clock's, and never before what it last was.
#[derive(Debug)]
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    last: AtomicU64,
}

impl StoreClock {
    /// A store's time that goes on from `last`.
    pub(crate) fn new(clock: Arc<dyn Clock>, last: Timestamp) -> Self {
        Self { clock, last: AtomicU64::new(last.as_unix_millis()) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let now = self.clock.now().as_unix_millis();
        let before = self.last.fetch_max(now, Ordering::SeqCst);
        Timestamp::from_unix_millis(before.max(now))
    }
}

/// Measures how long something took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// Waits for `duration`, blocking the thread.
#[cfg(feature = "testing")]
#[expect(clippy::disallowed_methods, reason = "the one place that waits")]
pub(crate) fn pause(duration: Duration) {
    std::thread::sleep(duration);
}
