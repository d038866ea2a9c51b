//! The rule as a pure function, where its answer alone does not show what it writes.
//!
//! Some of what is stored matters only later: the last token that used an idempotency key, the
//! tokens of records that were forgotten, a value's expiry. It has to be right from the first
//! format on, so it is looked at in the write set itself.

use std::collections::HashMap;

use palisade::rule::{
    Answer, Decision, Group, KeyRecord, Rejection, Request, ResourceView, StoredValue, View,
    evaluate, key_state, read,
};
use palisade::{
    FencingToken, Grant, Head, IdempotencyKey, Key, KeyOutcome, Outcome, Timestamp, Value,
    WriteRequest,
};

fn token(text: &str) -> FencingToken {
    text.parse().unwrap()
}

fn grant(text: &str) -> Grant {
    Grant::new("r", token(text)).unwrap()
}

fn key() -> IdempotencyKey {
    IdempotencyKey::text("k1").unwrap()
}

fn write(text: &str) -> WriteRequest {
    WriteRequest::under(&grant(text)).idempotency_key("k1").unwrap().add("n", 1).build().unwrap()
}

fn view(resource: ResourceView) -> View {
    View { now: Timestamp::from_unix_millis(1_000), resources: vec![resource] }
}

fn decide(request: Request, resource: ResourceView) -> Decision {
    evaluate(&Group::of(request), &view(resource))
}

/// A resource as it is stored after `decision`.
fn after(decision: &Decision) -> ResourceView {
    let writes = &decision.writes.resources[0];
    ResourceView {
        head: writes.head.clone(),
        values: writes.values.iter().filter_map(|(k, v)| Some((k.clone(), v.clone()?))).collect(),
        records: writes.records.iter().cloned().collect(),
        listed: Vec::new(),
    }
}

fn forgotten_through(text: &str) -> Head {
    let claimed = decide(Request::Claim(grant("9")), ResourceView::default());
    let mut head = after(&claimed).head;
    head.forgotten_through = Some(token(text));
    head
}

#[test]
fn a_replay_under_a_newer_admitted_token_stores_that_token() {
    let stored = after(&decide(Request::Write(write("5")), ResourceView::default()));
    assert_eq!(stored.records[&key()].last_used, token("5"));

    let replay = decide(Request::Write(write("7")), stored.clone());
    let record: &KeyRecord = &replay.writes.resources[0].records[0].1;
    assert_eq!((record.token, record.last_used), (token("5"), token("7")));

    let claimed = decide(Request::Claim(grant("8")), stored.clone());
    let fenced = ResourceView { records: stored.records, ..after(&claimed) };
    let late = decide(Request::Write(write("7")), fenced.clone());
    assert!(late.writes.is_empty(), "a token that is not admitted is not stored: {late:?}");
    let under_the_fence = decide(Request::Write(write("8")), fenced);
    assert_eq!(under_the_fence.writes.resources[0].records[0].1.last_used, token("8"));
}

#[test]
fn what_was_forgotten_is_unknown_and_not_unapplied() {
    let state = |view: &View| key_state(view, &key()).outcome;
    assert_eq!(state(&view(ResourceView::default())), KeyOutcome::NotApplied);
    let head = forgotten_through("3");
    let resource = ResourceView { head, ..ResourceView::default() };
    assert_eq!(state(&view(resource.clone())), KeyOutcome::Unknown);

    let told = |presented: &str| {
        let mut decision = decide(Request::Write(write(presented)), resource.clone());
        match decision.verdicts.pop() {
            Some(Err(Rejection::StaleToken { key_state: Some(state), .. })) => state.outcome,
            other => panic!("stale, and not {other:?}"),
        }
    };
    assert_eq!(told("4"), KeyOutcome::NotApplied, "nothing at or above 4 was forgotten");
    assert_eq!(told("3"), KeyOutcome::Unknown);
    assert_eq!(told("2"), KeyOutcome::Unknown);
}

#[test]
fn a_value_is_absent_from_the_moment_it_expires() {
    let name = Key::try_from("n").unwrap();
    let expiring = |at: u64| {
        let stored = StoredValue {
            value: Value::Counter(41),
            version: 1,
            expires_at: Some(Timestamp::from_unix_millis(at)),
        };
        let values = HashMap::from([(name.clone(), stored)]);
        ResourceView { values, ..ResourceView::default() }
    };
    for (at, present) in [(999, false), (1_000, false), (1_001, true)] {
        let seen = read(&view(expiring(at)), std::slice::from_ref(&name));
        assert_eq!(seen.entries[0].is_some(), present, "expires at {at}, and it is 1000");
        let decision = decide(Request::Write(write("5")), expiring(at));
        let Ok(Answer::Written(receipt)) = &decision.verdicts[0] else { panic!("{decision:?}") };
        let sum = if present { 42 } else { 1 };
        assert_eq!(receipt.results(), [palisade::OperationResult::Counter(sum)]);
        assert_eq!(receipt.outcome(), Outcome::Applied);
    }
}

#[test]
fn a_refusal_alone_writes_nothing() {
    let stored = after(&decide(Request::Claim(grant("9")), ResourceView::default()));
    for late in [
        Request::Write(write("8")),
        Request::Claim(grant("8")),
        Request::Close(grant("8")),
        Request::Retire(grant("8")),
    ] {
        let decision = decide(late, stored.clone());
        assert!(decision.verdicts[0].is_err());
        assert!(decision.writes.is_empty(), "{decision:?}");
    }
}
