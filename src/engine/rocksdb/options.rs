//! RocksDB's settings. Each one that a promise rests on says which.

use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, DBRecoveryMode, LogLevel, Options, WriteOptions,
};

/// The options with which a store is opened, never made: a lost CURRENT would otherwise open an
/// empty store in place of the old one, and delete its files.
pub(super) fn to_open(block_cache_bytes: usize) -> Result<Options, rocksdb::Error> {
    // What the crate has no setter for. Protection bytes catch flipped bits on their way through
    // memory; recovered data is flushed to new files before the first answer, because after a
    // failed sync it may lie in the page cache only; and the only recovery from an error is a
    // reopen, so RocksDB shall not try one by itself.
    let mut options = Options::default().get_options_from_string(
        "memtable_protection_bytes_per_key=8;block_protection_bytes_per_key=8;\
         paranoid_file_checks=true;avoid_flush_during_recovery=false;max_bgerror_resume_count=0",
    )?;
    options.create_if_missing(false);
    integrity(&mut options);
    size(&mut options, block_cache_bytes);
    Ok(options)
}

/// The options with which a new store is made.
pub(super) fn to_make(block_cache_bytes: usize) -> Result<Options, rocksdb::Error> {
    let mut options = to_open(block_cache_bytes)?;
    options.create_if_missing(true);
    options.set_error_if_exists(true);
    Ok(options)
}

/// Every write is on disk before it is answered. There is no other kind.
pub(super) fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

fn integrity(options: &mut Options) {
    options.set_paranoid_checks(true);
    // Refuses a log that is damaged anywhere but in a torn last record. RocksDB's own default
    // drops every write after the damage, acknowledged ones included.
    options.set_wal_recovery_mode(DBRecoveryMode::TolerateCorruptedTailRecords);
    options.set_track_and_verify_wals_in_manifest(true);
    options.set_write_dbid_to_manifest(true);
    // A recycled log ends in old records, which this recovery mode cannot tell from damage.
    options.set_recycle_log_file_num(0);
    // Readers must not see what a crash takes back.
    options.set_manual_wal_flush(false);
    options.set_wal_bytes_per_sync(0);
    options.set_unordered_write(false);
    options.set_enable_pipelined_write(false);
    options.set_allow_mmap_writes(false);
}

fn size(options: &mut Options, block_cache_bytes: usize) {
    // Small, so that recovery is quick and a full disk is left with little free space.
    options.set_write_buffer_size(16 << 20);
    options.set_max_total_wal_size(64 << 20);
    options.set_compression_type(DBCompressionType::Lz4);
    // An idempotency key that was never seen is the common case: filters answer it without a read.
    options.set_memtable_prefix_bloom_ratio(0.05);
    options.set_memtable_whole_key_filtering(true);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_cache(&Cache::new_lru_cache(block_cache_bytes));
    options.set_block_based_table_factory(&table);
    // RocksDB's own log of its doings, in the directory: bounded.
    options.set_log_level(LogLevel::Warn);
    options.set_max_log_file_size(4 << 20);
    options.set_keep_log_file_num(4);
    options.set_stats_dump_period_sec(0);
}
