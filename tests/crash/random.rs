//! Chance, from a seed that a failure tells.

use std::thread;
use std::time::{Duration, SystemTime};

/// A xorshift generator. When a test panics, it says how to run it again.
pub(crate) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// Seeded by `PALISADE_TEST_SEED`, or else by the time.
    pub(crate) fn new() -> Self {
        let by_time = || {
            let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            u64::from(since.subsec_nanos()) ^ since.as_secs()
        };
        let chosen = std::env::var("PALISADE_TEST_SEED").ok();
        let parsed = chosen.map(|seed| seed.parse().expect("PALISADE_TEST_SEED is a number"));
        let seed = parsed.unwrap_or_else(by_time);
        Self { seed, state: seed | 1 }
    }

    /// From 0 to `end` - 1.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        let end = u64::try_from(among.len()).unwrap();
        &among[usize::try_from(self.below(end)).unwrap()]
    }

    /// Waits for any time up to `most`.
    pub(crate) fn wait_up_to(&mut self, most: Duration) {
        let nanos = u64::try_from(most.as_nanos()).unwrap();
        thread::sleep(Duration::from_nanos(self.below(nanos.max(1))));
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("to choose as this run did: PALISADE_TEST_SEED={}", self.seed);
        }
    }
}
