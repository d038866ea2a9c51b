//! A point in time, as the store's clock gives it.

use std::time::Duration;

/// Milliseconds since 1970-01-01 UTC, by the store's clock. It orders nothing: tokens do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The time `millis` milliseconds after 1970-01-01 UTC.
    #[must_use]
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01 UTC.
    #[must_use]
    pub const fn as_unix_millis(self) -> u64 {
        self.0
    }

    /// How long before `later` this was; zero if it was not before it.
    #[must_use]
    pub const fn elapsed_until(self, later: Self) -> Duration {
        Duration::from_millis(later.0.saturating_sub(self.0))
    }
}
