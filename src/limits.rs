//! Every fixed bound of Palisade, with its reason.
//!
//! Owns the numbers; nothing else in the crate spells one out. Invariants between them are checked
//! when the crate is compiled, at the foot of the file.

/// Bytes of a resource's name. Long enough for a path or a URL, short enough to be a storage key.
pub const RESOURCE_NAME_BYTES_MAX: usize = 512;

/// Bytes of a holder's name: a session or lease identifier of any known coordinator fits.
pub const HOLDER_BYTES_MAX: usize = 256;

/// Bytes of a key inside a resource.
pub const KEY_BYTES_MAX: usize = 1_024;

/// Bytes of a value. A larger one belongs in a blob store, with its address kept here.
pub const VALUE_BYTES_MAX: usize = 1 << 20;

/// Bytes of a text idempotency key; the length payment interfaces commonly allow.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// Operations of one write.
pub const OPERATIONS_MAX: usize = 128;

/// Keys of one read: as many as one write can touch.
pub const READ_KEYS_MAX: usize = OPERATIONS_MAX;

/// Bytes of one request, counted as [`WriteRequest::size`](crate::WriteRequest::size) counts them.
pub const REQUEST_BYTES_MAX: usize = 4 << 20;

/// Highest epoch and highest generation: what SQL and JVM coordinators can carry in a signed number.
pub const TOKEN_NUMBER_MAX: u64 = (1 << 63) - 1;

/// Highest version of a resource. At a million writes a second it lasts for 292,000 years, so
/// counting up needs no answer for an overflow; a stored record above it is damaged.
pub const VERSION_MAX: u64 = (1 << 63) - 1;

/// Requests that one commit decides together, unless the settings say otherwise: past some
/// hundreds the sync is no longer what a commit waits for, and a larger batch only adds latency.
pub const BATCH_REQUESTS_DEFAULT: usize = 1_024;

/// Bytes of the requests that one commit decides together; bounds the write batch in memory.
pub const BATCH_BYTES_MAX: usize = 16 << 20;

/// Requests that may wait for a commit, unless the settings say otherwise: about a tenth of a
/// second of work, so that a full queue is still emptied before its callers have given up.
pub const QUEUE_REQUESTS_DEFAULT: usize = 16_384;

/// Bytes of the requests that may wait for a commit, unless the settings say otherwise.
pub const QUEUE_BYTES_DEFAULT: usize = 64 << 20;

/// Heads that the embedded store keeps in memory, unless the settings say otherwise. An entry is
/// some 200 bytes with a short name and at most about 1.5 KiB.
pub const HEAD_CACHE_ENTRIES_DEFAULT: usize = 65_536;

/// Bytes of the embedded store's block cache, unless the settings say otherwise.
pub const BLOCK_CACHE_BYTES_DEFAULT: usize = 64 << 20;

/// Keys that retiring a resource deletes one by one. More are removed as one range: cheap to
/// write, but every range left in memory slows the reads beside it, so small resources do without.
pub const RETIRE_POINT_DELETES_MAX: usize = 1_024;

const _: () = assert!(KEY_BYTES_MAX + VALUE_BYTES_MAX < REQUEST_BYTES_MAX);
const _: () = assert!(OPERATIONS_MAX <= 255, "results are indexed by one byte");
const _: () = assert!(OPERATIONS_MAX * KEY_BYTES_MAX < REQUEST_BYTES_MAX);
const _: () = assert!(REQUEST_BYTES_MAX <= BATCH_BYTES_MAX, "every request fits a batch");
const _: () = assert!(REQUEST_BYTES_MAX <= QUEUE_BYTES_DEFAULT);
const _: () = assert!(BATCH_REQUESTS_DEFAULT <= QUEUE_REQUESTS_DEFAULT);
const _: () = assert!(HOLDER_BYTES_MAX <= 65_535, "lengths are stored in two bytes");
