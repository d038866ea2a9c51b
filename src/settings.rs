//! Plain settings of a guard and of the embedded store.

use crate::limits;

/// How a guard gathers writes and how much memory it may use. Every field has a default.
///
/// ```
/// let mut settings = palisade::Settings::default();
/// settings.queue_requests_max = 1_000;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Requests that one commit decides together. More make a commit larger, not more frequent.
    /// Values below 1 count as 1. Default: 1,024.
    pub batch_requests_max: usize,
    /// Requests that may wait for a commit; the next one is refused as overloaded.
    /// Default: 16,384.
    pub queue_requests_max: usize,
    /// Bytes of the requests that may wait for a commit. Default: 64 MiB.
    pub queue_bytes_max: usize,
    /// Whether a caller that finds nobody else at work commits on its own thread. It saves two
    /// hand-overs and blocks that thread for one sync. Default: true.
    pub inline_commits: bool,
    /// Heads the embedded store keeps in memory. Values below 1 count as 1. Default: 65,536.
    pub head_cache_entries_max: usize,
    /// Bytes of the embedded store's block cache. Default: 64 MiB.
    pub block_cache_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch_requests_max: limits::BATCH_REQUESTS_DEFAULT,
            queue_requests_max: limits::QUEUE_REQUESTS_DEFAULT,
            queue_bytes_max: limits::QUEUE_BYTES_DEFAULT,
            inline_commits: true,
            head_cache_entries_max: limits::HEAD_CACHE_ENTRIES_DEFAULT,
            block_cache_bytes: limits::BLOCK_CACHE_BYTES_DEFAULT,
        }
    }
}
