//! The reference: group commit by hand, as one would write it in an afternoon. It checks nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rocksdb::{BlockBasedOptions, Cache, DB, DBCompressionType, Options, WriteBatch, WriteOptions};
use tokio::sync::oneshot;

use crate::load::Write;

/// A thread that drains a channel, writes one synced batch, and answers. After a group it waits
/// for as many again, at most half a sync, so that callers do not split into two groups.
pub struct GroupCommit {
    sender: Option<SyncSender<Waiting>>,
    thread: Option<JoinHandle<()>>,
}

type Waiting = (Write, oneshot::Sender<()>);

impl GroupCommit {
    pub fn open(path: &Path) -> Self {
        let db = open(path);
        let (sender, receiver) = sync_channel(16_384);
        let thread = std::thread::spawn(move || commit_groups(&db, &receiver));
        Self { sender: Some(sender), thread: Some(thread) }
    }

    pub async fn write(&self, write: Write) {
        let (answer, answered) = oneshot::channel();
        self.sender.as_ref().unwrap().send((write, answer)).unwrap();
        answered.await.unwrap();
    }
}

impl Drop for GroupCommit {
    fn drop(&mut self) {
        drop(self.sender.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

/// One thread, one synced write at a time: what a lone writer compares itself with.
pub fn write_alone(db: &DB, write: &Write) {
    let mut batch = WriteBatch::default();
    put(&mut batch, write);
    db.write_opt(batch, &synced()).unwrap();
}

pub fn open(path: &Path) -> Arc<DB> {
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_write_buffer_size(64 << 20);
    options.set_max_write_buffer_number(4);
    options.set_compression_type(DBCompressionType::Lz4);
    let mut table = BlockBasedOptions::default();
    table.set_bloom_filter(10.0, false);
    table.set_block_cache(&Cache::new_lru_cache(256 << 20));
    options.set_block_based_table_factory(&table);
    Arc::new(DB::open(&options, path).unwrap())
}

fn commit_groups(db: &DB, receiver: &Receiver<Waiting>) {
    let (mut expected, mut sync_time) = (1, Duration::from_micros(100));
    while let Ok(first) = receiver.recv() {
        let mut group = vec![first];
        let since = Instant::now();
        while group.len() < GROUP_MAX {
            match receiver.try_recv() {
                Ok(next) => group.push(next),
                Err(_) if group.len() < expected && since.elapsed() < sync_time / 2 => {
                    std::thread::yield_now();
                }
                Err(_) => break,
            }
        }
        expected = group.len();
        let mut batch = WriteBatch::default();
        for (write, _) in &group {
            put(&mut batch, write);
        }
        let began = Instant::now();
        db.write_opt(batch, &synced()).unwrap();
        sync_time = (sync_time * 7 + began.elapsed()) / 8;
        for (_, answer) in group {
            answer.send(()).unwrap();
        }
    }
}

/// A value of 100 bytes, a fence of 16, an idempotency record of 64.
fn put(batch: &mut WriteBatch, write: &Write) {
    batch.put([b"d", write.resource.as_bytes()].concat(), [b'v'; 100]);
    batch.put([b"h", write.resource.as_bytes()].concat(), [7; 16]);
    batch.put([b"i", write.key.as_bytes()].concat(), [b'r'; 64]);
}

fn synced() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_sync(true);
    options
}

const GROUP_MAX: usize = 512;
