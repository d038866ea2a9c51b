//! The demo's time: how long it has run, until when it waits, and the wall clock that leases use.
//!
//! The only file of the demo that asks the machine for the time, or sleeps.

#![expect(clippy::disallowed_types, reason = "the one place where the demo's time comes in")]

use std::time::{Duration, Instant};

use palisade::clock::{Clock, SystemClock};

/// When the demo began; the times in its log count from here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    instant: Instant,
    unix_ms: u64,
}

impl Start {
    pub(super) fn now() -> Self {
        Self { instant: Instant::now(), unix_ms: unix_ms() }
    }

    pub(super) fn elapsed(self) -> Duration {
        self.instant.elapsed()
    }

    /// Where a moment of the wall clock lies in the log.
    pub(super) fn of_unix_ms(self, unix_ms: u64) -> Duration {
        Duration::from_millis(unix_ms.saturating_sub(self.unix_ms))
    }
}

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn after(wait: Duration) -> Self {
        let now = Instant::now();
        Self(now.checked_add(wait).unwrap_or(now))
    }

    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    pub(super) fn is_over(self) -> bool {
        self.left().is_zero()
    }
}

/// Milliseconds since 1970 by the wall clock, on which leases run.
pub(super) fn unix_ms() -> u64 {
    SystemClock.now().as_unix_millis()
}

#[expect(clippy::disallowed_methods, reason = "the one place where the demo waits")]
pub(super) fn sleep(time: Duration) {
    std::thread::sleep(time);
}
