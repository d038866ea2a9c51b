//! A disk that fails, in memory.
//!
//! After a failed write or sync nobody knows what the disk holds: those in flight hear "unknown",
//! whatever was decided for them, and everybody after them "not applied". What the disk really
//! holds shows after a restart, and a retry with the key finds the one true outcome either way.

use std::sync::Arc;

use palisade::engine::{Engine, EngineContext, Fault, MemoryEngine, MemoryStore};
use palisade::rule::{Group, Request};
use palisade::{Blocking, Error, FencingToken, Grant, Guard, Outcome, WriteRequest};

fn open(store: &MemoryStore) -> Blocking {
    let engine = MemoryEngine::open(store, EngineContext::default());
    Guard::builder().on_engine(Arc::new(engine)).unwrap().blocking()
}

fn grant(generation: u64) -> Grant {
    Grant::new("r", FencingToken::generation(generation).unwrap()).unwrap()
}

fn add(generation: u64) -> WriteRequest {
    let write = WriteRequest::under(&grant(generation));
    write.idempotency_key("k1").unwrap().add("n", 1).build().unwrap()
}

#[test]
fn r7_a_failed_commit_is_unknown_and_the_store_is_poisoned() {
    for fault in [Fault::Write, Fault::Sync] {
        let store = MemoryStore::new();
        let guard = open(&store);
        store.fail_next(fault);
        let error = guard.write(add(5)).unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
        assert!(!error.definitely_not_applied());
        assert!(error.to_string().contains("same idempotency key"), "{error}");
        let after = [
            guard.write(add(5)).map(|_| ()),
            guard.claim(grant(6)).map(|_| ()),
            guard.read("r", ["n"]).map(|_| ()),
            guard.fence("r").map(|_| ()),
        ];
        for answer in after {
            let error = answer.unwrap_err();
            assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
            assert!(error.definitely_not_applied());
        }
    }
}

#[test]
fn r7_a_retry_after_a_restart_finds_the_one_true_outcome() {
    for (fault, power, kept) in [
        (Fault::Write, false, false),
        (Fault::Write, true, false),
        (Fault::Sync, true, false),
        (Fault::Sync, false, true),
    ] {
        let store = MemoryStore::new();
        let guard = open(&store);
        store.fail_next(fault);
        guard.write(add(5)).unwrap_err();
        drop(guard);
        if power {
            store.cut_power();
        }
        let guard = open(&store);
        let receipt = guard.write(add(5)).unwrap();
        let expected = if kept { Outcome::Replayed } else { Outcome::Applied };
        assert_eq!(receipt.outcome(), expected, "{fault:?}, power cut: {power}");
        assert_eq!(receipt.version(), 1, "once, and only once");
    }
}

#[test]
fn r6_a_refusal_that_rests_on_a_lost_fence_is_unknown_too() {
    let store = MemoryStore::new();
    let engine = MemoryEngine::open(&store, EngineContext::default());
    let mut group = Group::of(Request::Claim(grant(7)));
    let late = WriteRequest::under(&grant(6)).add("n", 1).build().unwrap();
    group.push(Request::Write(late.clone()));
    store.fail_next(Fault::Sync);
    let result = pollster::block_on(engine.commit(vec![group])).pop().unwrap();
    assert!(result.is_err(), "the refusal must not leave: {result:?}");
    drop(engine);
    store.cut_power();
    open(&store).write(late).expect("generation 7 was never durable, so 6 is not stale");
}

#[test]
fn a_commit_that_writes_nothing_needs_no_sync() {
    let store = MemoryStore::new();
    let guard = open(&store);
    guard.claim(grant(7)).unwrap();
    store.fail_next(Fault::Sync);
    let stale = guard.claim(grant(6)).unwrap_err();
    assert!(matches!(stale, Error::Rejected(_)), "it rests on durable state alone: {stale:?}");
    guard.claim(grant(8)).expect_err("the fault still waits for a commit that writes");
}
