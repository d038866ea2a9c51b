//! Many requests, one commit.
//!
//! A commit is halted while more requests come in. They have to share the next commit, whether
//! they are about one resource or many, and be decided in the order in which they came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

use palisade::engine::{BoxFuture, Hooks};
use palisade::{
    Error, FencingToken, Grant, Guard, OperationResult, Receipt, Settings, WriteRequest,
};
use tokio::sync::Semaphore;

/// Counts commits, and lets one through for each permit.
#[derive(Debug)]
struct Turnstile {
    permits: Semaphore,
    commits: AtomicUsize,
}

impl Turnstile {
    fn closed() -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(0), commits: AtomicUsize::new(0) })
    }
}

impl Hooks for Turnstile {
    fn between_read_and_commit(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.permits.acquire().await.unwrap().forget();
            self.commits.fetch_add(1, Ordering::SeqCst);
        })
    }
}

fn guard(hooks: Arc<Turnstile>, batch_requests_max: usize) -> Guard {
    let mut settings = Settings::default();
    settings.inline_commits = false;
    settings.batch_requests_max = batch_requests_max;
    Guard::builder().settings(settings).hooks(hooks).in_memory().unwrap()
}

fn add(resource: String) -> WriteRequest {
    let grant = Grant::new(resource, FencingToken::generation(1).unwrap()).unwrap();
    WriteRequest::under(&grant).add("n", 1).build().unwrap()
}

type Pending<'g> = std::pin::Pin<Box<dyn Future<Output = Result<Receipt, Error>> + 'g>>;

/// Submits without waiting for the answers.
fn submit(guard: &Guard, writes: Vec<WriteRequest>) -> Vec<Pending<'_>> {
    let mut pending: Vec<Pending<'_>> = Vec::new();
    for write in writes {
        let mut answer: Pending<'_> = Box::pin(guard.write(write));
        assert!(answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        pending.push(answer);
    }
    pending
}

fn sums(pending: Vec<Pending<'_>>) -> Vec<i64> {
    let sum = |answer: Pending<'_>| match pollster::block_on(answer).unwrap().results() {
        [OperationResult::Counter(sum)] => *sum,
        other => panic!("one sum, and not {other:?}"),
    };
    pending.into_iter().map(sum).collect()
}

/// Halts a first commit, lets `writes` queue behind it, and counts the commits they take.
fn commits_for(writes: Vec<WriteRequest>, batch_requests_max: usize) -> (usize, Vec<i64>) {
    let turnstile = Turnstile::closed();
    let guard = guard(Arc::clone(&turnstile), batch_requests_max);
    let first = submit(&guard, vec![add("first".to_owned())]);
    turnstile.permits.add_permits(1);
    sums(first);
    // The thread may be on its way into the next commit with one request or more; from here on it
    // halts there, and all that it did not take waits.
    let pending = submit(&guard, writes);
    turnstile.permits.add_permits(1_000);
    let sums = sums(pending);
    (turnstile.commits.load(Ordering::SeqCst) - 1, sums)
}

#[test]
fn writes_to_one_hot_resource_share_a_commit_and_keep_their_order() {
    let writes = (0..500).map(|_| add("hot".to_owned())).collect();
    let (commits, sums) = commits_for(writes, 1_024);
    assert!(commits <= 2, "500 writes took {commits} commits");
    assert_eq!(sums, (1..=500).collect::<Vec<i64>>());
}

#[test]
fn writes_to_many_resources_share_a_commit() {
    let writes = (0..500).map(|n| add(format!("r{n}"))).collect();
    let (commits, sums) = commits_for(writes, 1_024);
    assert!(commits <= 2, "500 writes took {commits} commits");
    assert_eq!(sums, vec![1; 500]);
}

#[test]
fn a_batch_has_its_limit_and_no_order_is_lost_at_its_edge() {
    let writes = (0..100).map(|_| add("hot".to_owned())).collect();
    let (commits, sums) = commits_for(writes, 10);
    assert!((10..=11).contains(&commits), "100 writes took {commits} commits of 10");
    assert_eq!(sums, (1..=100).collect::<Vec<i64>>());
}
