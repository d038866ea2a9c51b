//! Short hands of the suite.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::engine::{BoxFuture, Hooks, NoHooks};
use crate::error::Error;
use crate::guard::{Blocking, Guard};
use crate::rule::Rejection;
use crate::testing::Subject;
use crate::types::{FencingToken, Grant, Value, WriteBuilder, WriteRequest};

/// A guard on the subject's store. Drop it before the next one is opened.
pub(super) fn open(subject: &mut dyn Subject) -> Blocking {
    open_async(subject, Arc::new(NoHooks)).blocking()
}

pub(super) fn open_async(subject: &mut dyn Subject, hooks: Arc<dyn Hooks>) -> Guard {
    Guard::builder().on_engine(subject.open(hooks)).expect("a thread is left")
}

pub(super) fn token(text: &str) -> FencingToken {
    text.parse().expect("a token")
}

pub(super) fn grant(resource: &str, token_text: &str) -> Grant {
    Grant::new(resource, token(token_text)).expect("a grant")
}

pub(super) fn held(resource: &str, token: &str, holder: &str) -> Grant {
    grant(resource, token).held_by(holder).expect("a holder")
}

pub(super) fn under(grant: &Grant) -> WriteBuilder {
    WriteRequest::under(grant)
}

pub(super) fn keyed(grant: &Grant, key: &str) -> WriteBuilder {
    WriteRequest::under(grant).idempotency_key(key).expect("an idempotency key")
}

pub(super) fn built(builder: WriteBuilder) -> WriteRequest {
    builder.build().expect("a valid write")
}

/// The refusal of the rule that `result` has to be.
pub(super) fn rejection<T: std::fmt::Debug>(result: Result<T, Error>) -> Rejection {
    match result {
        Err(Error::Rejected(rejection)) => rejection,
        other => unreachable!("the rule should have refused, and the answer was {other:?}"),
    }
}

/// Asserts that `result` is refused because `presented` is older than `current`.
pub(super) fn assert_stale<T: std::fmt::Debug>(
    result: Result<T, Error>,
    presented: &str,
    current: &str,
) {
    let expected = (token(presented), token(current));
    let refused = rejection(result);
    assert!(
        matches!(&refused, Rejection::StaleToken { presented, current, .. }
            if (*presented, *current) == expected),
        "expected a stale token, {presented} against {current}, and got {refused:?}"
    );
}

/// The value of one key, as text; counters in decimal.
pub(super) fn value(guard: &Blocking, resource: &str, key: &str) -> Option<String> {
    let snapshot = guard.read(resource, [key]).expect("readable");
    let entry = snapshot.entries.into_iter().next().flatten()?;
    Some(match entry.value {
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).expect("text"),
        Value::Counter(counter) => counter.to_string(),
    })
}

/// The fence of a resource in text form.
pub(super) fn fence(guard: &Blocking, resource: &str) -> Option<String> {
    let head = guard.fence(resource).expect("readable");
    head.fence.map(|fence| fence.token.to_string())
}

/// Where a hook halts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    BetweenReadAndCommit,
    AfterCommitBeforeReply,
}

/// Hooks that halt the first commit which comes by in one window, until they are released.
#[derive(Debug)]
pub(super) struct Halt {
    window: Window,
    state: Mutex<HaltState>,
    changed: Condvar,
}

#[derive(Debug, PartialEq, Eq)]
enum HaltState {
    Armed,
    Halted,
    Released,
}

impl Halt {
    pub(super) fn at(window: Window) -> Arc<Self> {
        Arc::new(Self { window, state: Mutex::new(HaltState::Armed), changed: Condvar::new() })
    }

    /// Waits until a commit has come to the window.
    pub(super) fn wait_until_halted(&self) {
        let mut state = self.state.lock();
        while *state == HaltState::Armed {
            self.changed.wait(&mut state);
        }
    }

    pub(super) fn release(&self) {
        *self.state.lock() = HaltState::Released;
        self.changed.notify_all();
    }

    /// Halts by blocking the thread that commits, which is what a paused machine does.
    fn come_by(&self, window: Window) -> BoxFuture<'_, ()> {
        if window == self.window {
            let mut state = self.state.lock();
            if *state == HaltState::Armed {
                *state = HaltState::Halted;
                self.changed.notify_all();
                while *state == HaltState::Halted {
                    self.changed.wait(&mut state);
                }
            }
        }
        Box::pin(std::future::ready(()))
    }
}

impl Hooks for Halt {
    fn between_read_and_commit(&self) -> BoxFuture<'_, ()> {
        self.come_by(Window::BetweenReadAndCommit)
    }

    fn after_commit_before_reply(&self) -> BoxFuture<'_, ()> {
        self.come_by(Window::AfterCommitBeforeReply)
    }
}
