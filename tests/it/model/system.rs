//! The systems under test: a guard on either engine, on a disk that can fail.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::DirEntry;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use palisade::clock::ManualClock;
use palisade::engine::{
    Engine, EngineContext, EngineError, Fault, MemoryEngine, MemoryStore, NoHooks, RocksEngine,
};
use palisade::record::key;
use palisade::rule::{Answer as Ruled, Group, Request};
use palisade::types::FencedRead;
use palisade::{FencingToken, Guard, Key, Settings, Timestamp, WriteRequest};
use pollster::block_on;
use proptest_state_machine::StateMachineTest;
use tempfile::TempDir;

use super::answer::Answer;
use super::plan::{Fate, IDEMPOTENCY_KEYS, KEYS, RESOURCES, Step};
use super::reference::{Ask, Grant, Model, Operation, Record};

/// Where a store lies.
pub(super) trait Disk: std::fmt::Debug + Sized + 'static {
    /// What a run of many histories on it has to meet.
    const MEETS: &'static [&'static str];

    fn new(clock: &ManualClock) -> Self;

    fn open(&self, context: EngineContext) -> Arc<dyn Engine>;

    /// The ends of a commit that it can stage.
    fn fates() -> Vec<Fate>;

    /// Lets the next commit end as `fate` says.
    fn arm(&self, fate: Fate);

    /// What is left of it when the process or the power is gone; the store is open still.
    fn strike(&self, fate: Fate) -> Self;

    /// Every stored record by its key; the store is closed.
    fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)>;
}

#[derive(Debug)]
pub(super) struct Memory(MemoryStore);

impl Disk for Memory {
    const MEETS: &'static [&'static str] = &[
        "applied",
        "replayed",
        "replayed after the fence moved",
        "fence changed",
        "read",
        "stale token",
        "closed",
        "split generation",
        "version mismatch",
        "bound exceeded",
        "type mismatch",
        "key reused",
        "in doubt",
    ];

    fn new(_: &ManualClock) -> Self {
        Self(MemoryStore::new())
    }

    fn open(&self, context: EngineContext) -> Arc<dyn Engine> {
        Arc::new(MemoryEngine::open(&self.0, context))
    }

    fn fates() -> Vec<Fate> {
        vec![Fate::WriteFails, Fate::SyncFailsAndIsKept, Fate::SyncFailsAndIsLost]
    }

    fn arm(&self, fate: Fate) {
        match fate {
            Fate::WriteFails => self.0.fail_next(Fault::Write),
            Fate::SyncFailsAndIsKept | Fate::SyncFailsAndIsLost => self.0.fail_next(Fault::Sync),
            Fate::Kill => {}
        }
    }

    fn strike(&self, fate: Fate) -> Self {
        if fate == Fate::SyncFailsAndIsLost {
            self.0.cut_power();
        }
        Self(self.0.clone())
    }

    fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.0.records()
    }
}

#[derive(Debug)]
pub(super) struct Rocks(TempDir);

impl Disk for Rocks {
    const MEETS: &'static [&'static str] =
        Memory::MEETS.split_last().expect("the last one is what a failing disk makes").1;

    fn new(clock: &ManualClock) -> Self {
        let directory = tempfile::tempdir().unwrap();
        RocksEngine::init(directory.path(), clock).unwrap();
        Self(directory)
    }

    fn open(&self, context: EngineContext) -> Arc<dyn Engine> {
        Arc::new(RocksEngine::open(self.0.path(), context).unwrap())
    }

    fn fates() -> Vec<Fate> {
        vec![Fate::Kill]
    }

    fn arm(&self, _: Fate) {}

    /// A copy of the files while the store is open is what `kill -9` leaves.
    fn strike(&self, _: Fate) -> Self {
        let copy = tempfile::tempdir().unwrap();
        copy_files(self.0.path(), copy.path());
        Self(copy)
    }

    fn records(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let found = palisade::engine::verify(self.0.path(), |_| {}).unwrap();
        assert_eq!(found.problems, 0, "{found:?}");
        let options = rocksdb::Options::default();
        let db = rocksdb::DB::open_for_read_only(&options, self.0.path(), false).unwrap();
        let all = db.iterator(rocksdb::IteratorMode::Start).map(Result::unwrap);
        all.map(|(key, record)| (key.into_vec(), record.into_vec())).collect()
    }
}

/// Copies the files as they are at one moment: again, where RocksDB removed an old one meanwhile.
fn copy_files(from: &Path, to: &Path) {
    loop {
        let before = files(from);
        let copied = before
            .keys()
            .try_for_each(|name| std::fs::copy(from.join(name), to.join(name)).map(|_| ()));
        if copied.is_ok() && files(from) == before {
            return;
        }
        for name in files(to).keys() {
            std::fs::remove_file(to.join(name)).unwrap();
        }
    }
}

fn files(path: &Path) -> BTreeMap<OsString, u64> {
    let entries = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    let size = |entry: &DirEntry| entry.metadata().map_or(0, |metadata| metadata.len());
    entries.map(|entry| (entry.file_name(), size(&entry))).collect()
}

/// A guard on a store on a disk; closed only while it is opened again.
#[derive(Debug)]
pub(super) struct System<D> {
    clock: Arc<ManualClock>,
    settings: Settings,
    disk: D,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    engine: Arc<dyn Engine>,
    guard: Guard,
}

impl<D: Disk> StateMachineTest for System<D> {
    type SystemUnderTest = Self;
    type Reference = Model<D>;

    fn init_test(model: &Model<D>) -> Self {
        let clock = Arc::new(ManualClock::at(Timestamp::from_unix_millis(model.clock)));
        let mut settings = Settings::default();
        settings.inline_commits = model.inline_commits;
        settings.head_cache_entries_max = model.head_cache_entries_max;
        let disk = D::new(&clock);
        let mut system = Self { clock, settings, disk, open: None };
        system.open();
        system
    }

    fn apply(mut system: Self, model: &Model<D>, step: Step) -> Self {
        system.clock.set(Timestamp::from_unix_millis(model.clock));
        let (asks, expected): (Vec<_>, Vec<_>) = model.last.exchanges.iter().cloned().unzip();
        match step {
            Step::Tick(_) => {}
            Step::Ask(_) | Step::Together(_) => assert_eq!(system.ask(&asks), expected),
            Step::Reopen => {
                system.open = None;
                system.open();
            }
            Step::Crash(_, Fate::Kill) => {
                assert_eq!(system.ask(&asks), expected);
                system.crash(Fate::Kill);
            }
            Step::Crash(_, fate) => {
                system.disk.arm(fate);
                assert_eq!(system.ask_in_one_commit(&asks), expected);
                system.see_it_serve_nothing();
                system.crash(fate);
            }
        }
        system
    }

    /// All that can be seen is as the model has it.
    fn check_invariants(system: &Self, model: &Model<D>) {
        let guard = &system.open.as_ref().unwrap().guard;
        for name in RESOURCES {
            let see = |ask: Ask| {
                let answer = block_on(ask_guard(guard, &ask));
                assert_eq!(answer, model.resources[name].see(&ask), "{ask:?}");
            };
            see(Ask::Read(name, KEYS.to_vec()));
            see(Ask::Fence(name));
            for key in IDEMPOTENCY_KEYS {
                see(Ask::KeyState(name, key));
            }
        }
    }

    /// What is stored is what the model has, and nothing beside it.
    fn teardown(mut system: Self, model: Model<D>) {
        system.open = None;
        let mut expected = BTreeSet::new();
        for (name, resource) in &model.resources {
            expected.extend(resource.fence.as_ref().map(|_| (*name).to_owned()));
            expected.extend(resource.data.keys().map(|key| format!("{name} value {key}")));
            let record = |(key, record): (_, &Record)| {
                format!("{name} record {key} last used under {:?}", record.last_used)
            };
            expected.extend(resource.records.iter().map(record));
        }
        let found: BTreeSet<String> = system.disk.records().iter().filter_map(stored).collect();
        assert_eq!(found, expected);
    }
}

fn stored((stored, record): &(Vec<u8>, Vec<u8>)) -> Option<String> {
    match key::owner(stored).expect("a key of the format") {
        key::Owner::Store => None,
        key::Owner::Head(name) => Some(name.to_string()),
        key::Owner::Value(name, key) => {
            Some(format!("{name} value {}", key.as_bytes().escape_ascii()))
        }
        key::Owner::Idempotency(name, key) => {
            let record = palisade::record::decode_key_record(stored, record).unwrap();
            let last_used = (record.last_used.epoch(), record.last_used.generation_number());
            Some(format!("{name} record {key} last used under {last_used:?}"))
        }
        other => panic!("a record that this test does not know: {other:?}"),
    }
}

impl<D: Disk> System<D> {
    fn open(&mut self) {
        let (clock, settings) = (self.clock.clone(), self.settings.clone());
        let context = EngineContext { clock, hooks: Arc::new(NoHooks), settings };
        let engine = self.disk.open(context);
        let builder = Guard::builder().settings(self.settings.clone());
        let guard = builder.on_engine(Arc::clone(&engine)).unwrap();
        self.open = Some(Open { engine, guard });
    }

    fn crash(&mut self, fate: Fate) {
        let left = self.disk.strike(fate);
        self.open = None;
        self.disk = left;
        self.open();
    }

    /// Asks all at once, each one handed over before the next, and waits for all answers.
    fn ask(&self, asks: &[Ask]) -> Vec<Answer> {
        let guard = &self.open.as_ref().unwrap().guard;
        let mut waiting: Vec<_> = asks.iter().map(|ask| Box::pin(ask_guard(guard, ask))).collect();
        let answers: Vec<_> = waiting.iter_mut().map(|answer| poll(answer.as_mut())).collect();
        let answers = answers.into_iter().zip(waiting);
        answers
            .map(|(answer, waiting)| match answer {
                Poll::Ready(answer) => answer,
                Poll::Pending => block_on(waiting),
            })
            .collect()
    }

    /// Lets the engine decide on all of `asks` in one commit, whatever the guard would make of
    /// them; a single one goes through the guard.
    fn ask_in_one_commit(&self, asks: &[Ask]) -> Vec<Answer> {
        if asks.len() == 1 {
            return self.ask(asks);
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut places = Vec::new();
        for ask in asks {
            let Some(request) = request(ask) else {
                continue;
            };
            let place = groups.iter().position(|group| group.resource() == request.resource());
            if let Some(place) = place {
                groups[place].push(request);
                places.push(place);
            } else {
                places.push(groups.len());
                groups.push(Group::of(request));
            }
        }
        let mut results = block_on(self.open.as_ref().unwrap().engine.commit(groups));
        let answers = places.into_iter().map(|place| match &mut results[place] {
            Ok(verdicts) => match verdicts.remove(0) {
                Ok(Ruled::Written(receipt)) => receipt.into(),
                Ok(Ruled::Fenced(change)) => change.into(),
                Ok(Ruled::Read(snapshot)) => snapshot.into(),
                Ok(other) => panic!("no request is answered {other:?}"),
                Err(rejection) => Answer::from(palisade::Error::from(rejection)),
            },
            Err(EngineError::Unknown(_)) => Answer::InDoubt,
            Err(other) => panic!("{other:?}"),
        });
        answers.collect()
    }

    /// After a failed commit nobody is told anything that may not last, and nothing is applied.
    fn see_it_serve_nothing(&self) {
        let highest = (1 << 63) - 1;
        let highest = Grant { resource: RESOURCES[0], token: (highest, highest), holder: None };
        let asks = [
            Ask::Claim(highest.clone()),
            Ask::Retire(highest),
            Ask::Read(RESOURCES[1], KEYS.to_vec()),
            Ask::Fence(RESOURCES[2]),
            Ask::KeyState(RESOURCES[0], IDEMPOTENCY_KEYS[0]),
        ];
        assert_eq!(self.ask(&asks), vec![Answer::Down; asks.len()]);
    }
}

async fn ask_guard(guard: &Guard, ask: &Ask) -> Answer {
    match ask {
        Ask::Write { .. } => Answer::of(guard.write(write(ask)).await),
        Ask::Claim(by) => Answer::of(guard.claim(grant(by)).await),
        Ask::Close(by) => Answer::of(guard.close(grant(by)).await),
        Ask::Retire(by) => Answer::of(guard.retire(grant(by)).await),
        Ask::ReadFenced(by, keys) => {
            Answer::of(guard.read_fenced(grant(by), keys.iter().copied()).await)
        }
        Ask::Read(resource, keys) => Answer::of(guard.read(*resource, keys.iter().copied()).await),
        Ask::Fence(resource) => Answer::of(guard.fence(*resource).await),
        Ask::KeyState(resource, key) => Answer::of(guard.key_state(*resource, *key).await),
    }
}

/// What is decided on; reads without a grant are not.
fn request(ask: &Ask) -> Option<Request> {
    Some(match ask {
        Ask::Write { .. } => Request::Write(write(ask)),
        Ask::Claim(by) => Request::Claim(grant(by)),
        Ask::Close(by) => Request::Close(grant(by)),
        Ask::Retire(by) => Request::Retire(grant(by)),
        Ask::ReadFenced(by, keys) => {
            let keys = keys.iter().map(|key| Key::try_from(*key).unwrap()).collect();
            Request::ReadFenced(FencedRead::new(grant(by), keys).unwrap())
        }
        Ask::Read(..) | Ask::Fence(_) | Ask::KeyState(..) => return None,
    })
}

fn grant(by: &Grant) -> palisade::Grant {
    let (epoch, generation) = by.token;
    let token = FencingToken::generation(generation).unwrap().in_epoch(epoch).unwrap();
    let grant = palisade::Grant::new(by.resource, token).unwrap();
    by.holder.map_or(grant.clone(), |holder| grant.held_by(holder).unwrap())
}

fn write(ask: &Ask) -> WriteRequest {
    let Ask::Write { grant: by, key, operations } = ask else {
        panic!("not a write: {ask:?}");
    };
    let mut write = WriteRequest::under(&grant(by));
    if let Some(key) = key {
        write = write.idempotency_key(*key).unwrap();
    }
    for operation in operations {
        write = match *operation {
            Operation::Put(key, value) => write.put(key, value),
            Operation::PutCounter(key, value) => write.put_counter(key, value),
            Operation::Delete(key) => write.delete(key),
            Operation::Add { key, delta, min, max } => {
                let write = write.add(key, delta);
                let write = if let Some(min) = min { write.min(min) } else { write };
                if let Some(max) = max { write.max(max) } else { write }
            }
            Operation::Check(key, condition) => write.check(key, condition),
        };
    }
    write.build().unwrap()
}

fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
