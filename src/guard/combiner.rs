//! The combiner: gathers the requests that wait, so that many share one commit.
//!
//! Requests wait in a bounded queue. One plain thread takes what has queued, groups it by
//! resource, hands it to the engine, and answers. A caller that finds the queue empty and nobody
//! deciding commits on its own thread instead. Invariants: a resource is in one undecided group at
//! a time; requests of one resource are decided in the order in which they were submitted; a
//! request that was taken up is decided on and answered, whoever still listens.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{oneshot, watch};

use crate::clock::Stopwatch;
use crate::engine::{Engine, EngineError, GroupResult};
use crate::error::Error;
use crate::guard::wait::block_on;
use crate::limits::BATCH_BYTES_MAX;
use crate::rule::{Answer, Group, Request};
use crate::settings::Settings;
use crate::types::ResourceName;

/// Owns the queue and the thread; dropping it decides on what still waits, then stops.
#[derive(Debug)]
pub(super) struct Combiner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    stopped: watch::Receiver<bool>,
}

#[derive(Debug)]
struct Shared {
    engine: Arc<dyn Engine>,
    settings: Settings,
    queue: Mutex<Queue>,
    /// Signalled when the thread may have something to do.
    work: Condvar,
    /// How many wait, for the thread to watch without taking the lock.
    waiting: AtomicUsize,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Whether somebody decides: the thread, or a caller on its own thread.
    deciding: bool,
    state: State,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Serving,
    /// Takes nothing new, and decides on what waits.
    Stopping,
    /// A decision panicked: what the store holds is no longer known here.
    Broken,
}

#[derive(Debug)]
struct Waiting {
    request: Request,
    answer: oneshot::Sender<Result<Answer, Error>>,
}

impl Combiner {
    pub(super) fn start(engine: Arc<dyn Engine>, settings: Settings) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            engine,
            settings,
            queue: Mutex::default(),
            work: Condvar::new(),
            waiting: AtomicUsize::new(0),
        });
        let (tell, stopped) = watch::channel(false);
        let worker = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("palisade-combiner".to_owned()).spawn(move || {
                Worker { shared: &worker, sync_time: Duration::ZERO, groups: Groups::default() }
                    .run();
                tell.send_replace(true);
            })?;
        Ok(Self { shared, thread: Some(thread), stopped })
    }

    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        &self.shared.engine
    }

    /// Submits `request` and waits for its answer. Dropping the future after its first poll
    /// changes nothing: the request is decided on all the same.
    pub(super) async fn decide(&self, request: Request) -> Result<Answer, Error> {
        match self.shared.submit(request)? {
            Submitted::Waits(answer) => answer.await.unwrap_or_else(|_| {
                Err(Error::OutcomeUnknown { why: "the guard broke down".to_owned() })
            }),
            Submitted::Decides(request) => self.shared.decide_here(request),
        }
    }

    /// Takes nothing new, and waits until all that was taken is answered.
    pub(super) async fn stop(&self) {
        self.shared.stop();
        let mut stopped = self.stopped.clone();
        // An error means that the thread is gone, which is what is waited for.
        let _gone = stopped.wait_for(|stopped| *stopped).await.is_err();
    }
}

impl Drop for Combiner {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // Its panic was reported where it happened, and everyone waiting was told.
            let _panicked = thread.join().is_err();
        }
    }
}

enum Submitted {
    /// In the queue; the answer comes.
    Waits(oneshot::Receiver<Result<Answer, Error>>),
    /// Nobody else is at work: the caller decides on it now.
    Decides(Request),
}

impl Shared {
    fn submit(&self, request: Request) -> Result<Submitted, Error> {
        let size = request.size();
        let mut queue = self.queue.lock();
        match queue.state {
            State::Serving => {}
            State::Stopping => return Err(Error::Closing),
            State::Broken => return Err(broken()),
        }
        let inline = self.settings.inline_commits && self.engine.caps().inline_commits;
        if inline && queue.waiting.is_empty() && !queue.deciding {
            queue.deciding = true;
            return Ok(Submitted::Decides(request));
        }
        let bytes = queue.bytes.saturating_add(size);
        let settings = &self.settings;
        if queue.waiting.len() >= settings.queue_requests_max || bytes > settings.queue_bytes_max {
            return Err(Error::Overloaded {
                waiting_requests: queue.waiting.len(),
                waiting_bytes: queue.bytes,
            });
        }
        let (answer, receiver) = oneshot::channel();
        queue.bytes = bytes;
        queue.waiting.push_back(Waiting { request, answer });
        self.waiting.store(queue.waiting.len(), Ordering::Relaxed);
        if queue.waiting.len() == 1 && !queue.deciding {
            self.work.notify_one();
        }
        Ok(Submitted::Waits(receiver))
    }

    /// Decides on one request on the caller's thread. It cannot be abandoned half-way.
    fn decide_here(&self, request: Request) -> Result<Answer, Error> {
        let turn = Turn { shared: self };
        let mut results = block_on(self.engine.commit(vec![Group::of(request)]));
        let mut answers = answers(results.pop(), 1);
        drop(turn);
        answers.pop().unwrap_or_else(|| Err(unanswered()))
    }

    fn stop(&self) {
        let mut queue = self.queue.lock();
        if queue.state == State::Serving {
            queue.state = State::Stopping;
        }
        self.work.notify_one();
    }
}

/// The turn of whoever decides. It ends when dropped; in a panic everything ends with it.
struct Turn<'s> {
    shared: &'s Shared,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut queue = self.shared.queue.lock();
        queue.deciding = false;
        if std::thread::panicking() {
            queue.state = State::Broken;
            queue.bytes = 0;
            for waiting in queue.waiting.drain(..) {
                // Whoever does not listen any more does not need the answer.
                let _unheard = waiting.answer.send(Err(broken()));
            }
        }
        if !queue.waiting.is_empty() || queue.state != State::Serving {
            self.shared.work.notify_one();
        }
    }
}

/// The thread's side.
struct Worker<'s> {
    shared: &'s Shared,
    /// How long a commit takes, smoothed.
    sync_time: Duration,
    groups: Groups,
}

impl Worker<'_> {
    fn run(mut self) {
        while self.wait_for_work() {
            let turn = Turn { shared: self.shared };
            let mut answered = usize::MAX;
            // A lone caller comes back by itself, and commits on its own thread.
            while answered > 1 {
                self.let_refill(answered);
                answered = self.commit();
            }
            drop(turn);
        }
    }

    /// Takes the turn once something waits and nobody decides; false when there is no more to do.
    fn wait_for_work(&self) -> bool {
        let mut queue = self.shared.queue.lock();
        loop {
            if queue.state == State::Broken {
                return false;
            }
            if !queue.deciding {
                if !queue.waiting.is_empty() {
                    queue.deciding = true;
                    return true;
                }
                if queue.state == State::Stopping {
                    return false;
                }
            }
            self.shared.work.wait(&mut queue);
        }
    }

    /// Gives the callers of a group that was just answered a moment to come again, so that they
    /// do not split into two groups that wait for each other's syncs.
    fn let_refill(&self, answered: usize) {
        if answered == usize::MAX {
            return;
        }
        let patience = self.sync_time.checked_div(2).unwrap_or_default();
        let since = Stopwatch::start();
        while self.shared.waiting.load(Ordering::Relaxed) < answered && since.elapsed() < patience {
            std::thread::yield_now();
        }
    }

    /// Commits what waits, up to a batch, and says how many requests that was.
    fn commit(&mut self) -> usize {
        self.take_batch();
        let taken = self.groups.requests;
        if taken == 0 {
            return 0;
        }
        let (groups, listeners) = self.groups.take();
        let took = Stopwatch::start();
        let results = block_on(self.shared.engine.commit(groups));
        self.sync_time = smooth(self.sync_time, took.elapsed());
        let mut results = results.into_iter();
        for listeners in listeners {
            let answers = answers(results.next(), listeners.len());
            for (listener, answer) in listeners.into_iter().zip(answers) {
                // Whoever does not listen any more does not need the answer.
                let _unheard = listener.send(answer);
            }
        }
        taken
    }

    fn take_batch(&mut self) {
        let mut queue = self.shared.queue.lock();
        let requests_max = self.shared.settings.batch_requests_max.max(1);
        let mut bytes: usize = 0;
        while self.groups.requests < requests_max {
            let Some(next) = queue.waiting.front() else {
                break;
            };
            let size = next.request.size();
            bytes = bytes.saturating_add(size);
            if bytes > BATCH_BYTES_MAX && self.groups.requests > 0 {
                break;
            }
            let Some(waiting) = queue.waiting.pop_front() else {
                break;
            };
            queue.bytes = queue.bytes.saturating_sub(size);
            self.groups.add(waiting);
        }
        self.shared.waiting.store(queue.waiting.len(), Ordering::Relaxed);
    }
}

type Listeners = Vec<oneshot::Sender<Result<Answer, Error>>>;

/// A batch by resource.
#[derive(Default)]
struct Groups {
    decided_together: Vec<Group>,
    listeners: Vec<Listeners>,
    places: HashMap<ResourceName, usize>,
    requests: usize,
}

impl Groups {
    fn add(&mut self, Waiting { request, answer }: Waiting) {
        self.requests = self.requests.saturating_add(1);
        let place = self.places.get(request.resource()).copied();
        let group = place.and_then(|place| {
            Some((self.decided_together.get_mut(place)?, self.listeners.get_mut(place)?))
        });
        if let Some((group, listeners)) = group {
            group.push(request);
            listeners.push(answer);
        } else {
            self.places.insert(request.resource().clone(), self.decided_together.len());
            self.decided_together.push(Group::of(request));
            self.listeners.push(vec![answer]);
        }
    }

    fn take(&mut self) -> (Vec<Group>, Vec<Listeners>) {
        self.places.clear();
        self.requests = 0;
        (std::mem::take(&mut self.decided_together), std::mem::take(&mut self.listeners))
    }
}

/// One answer for each of a group's `requests`.
fn answers(result: Option<GroupResult>, requests: usize) -> Vec<Result<Answer, Error>> {
    match result {
        Some(Ok(verdicts)) if verdicts.len() == requests => {
            let answer = |verdict: Result<Answer, crate::rule::Rejection>| {
                verdict.map_err(|rejection| {
                    tracing::info!(reason = rejection.reason(), "{rejection}");
                    Error::Rejected(rejection)
                })
            };
            verdicts.into_iter().map(answer).collect()
        }
        Some(Err(error)) => std::iter::repeat_n(Err(failed(error)), requests).collect(),
        Some(Ok(_)) | None => std::iter::repeat_n(Err(unanswered()), requests).collect(),
    }
}

/// What an engine's failure means to a caller.
pub(super) fn failed(error: EngineError) -> Error {
    match error {
        EngineError::NotApplied(why) | EngineError::Unavailable(why) => Error::Unavailable { why },
        EngineError::Contended => {
            Error::Unavailable { why: "others got in between too often".to_owned() }
        }
        EngineError::Corrupt { resource, record, damage } => {
            Error::Corrupt { resource, record, damage }
        }
        EngineError::Unknown(why) => Error::OutcomeUnknown { why },
    }
}

fn unanswered() -> Error {
    Error::OutcomeUnknown { why: "the engine gave no answer".to_owned() }
}

fn broken() -> Error {
    Error::Unavailable { why: "the guard broke down; open the store again".to_owned() }
}

/// Follows a change within a few commits, and shrugs off a single slow one.
fn smooth(before: Duration, latest: Duration) -> Duration {
    before.saturating_mul(7).saturating_add(latest).checked_div(8).unwrap_or(latest)
}
