//! Idempotency keys: retries are recognised, and only retries are.

use crate::error::Error;
use crate::record::key;
use crate::rule::{Answer, Group, Rejection, Request};
use crate::testing::Subject;
use crate::testing::support::{
    assert_stale, built, fence, grant, held, keyed, open, rejection, token, under, value,
};
use crate::types::{
    Condition, Holder, IdempotencyKey, KeyOutcome, OperationResult, Outcome, Receipt, ResourceName,
};

/// Under the same token, an older one, a newer one and another holder: one effect, and the first
/// receipt each time, with the present fence beside it.
pub fn step_2_a_retry_is_recognised_under_any_token(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&grant("r", "5")).put_counter("n", 10))).expect("accepted");
    let decrement = |token: &str| built(keyed(&grant("r", token), "order-7").add("n", -1).min(0));
    let first = guard.write(decrement("5")).expect("applied");
    assert_eq!((first.outcome(), first.version()), (Outcome::Applied, 2));

    let same = |receipt: &Receipt, fence: &str| {
        assert_eq!(receipt.outcome(), Outcome::Replayed);
        assert_eq!(receipt.version(), first.version());
        assert_eq!(receipt.token(), first.token());
        assert_eq!(receipt.applied_at(), first.applied_at());
        assert_eq!(receipt.results(), [OperationResult::Counter(9)]);
        assert_eq!(receipt.fence().map(|fence| fence.token), Some(token(fence)));
    };
    same(&guard.write(decrement("5")).expect("replayed"), "5");
    guard.claim(held("r", "6", "b")).expect("accepted");
    same(&guard.write(decrement("5")).expect("replayed, though older"), "6");
    same(&guard.write(decrement("8")).expect("replayed, though newer"), "8");
    assert_eq!(value(&guard, "r", "n").as_deref(), Some("9"));
    assert_stale(guard.write(built(keyed(&grant("r", "5"), "order-8").add("n", -1))), "5", "8");
}

/// And is stored with the record: the key is kept while that token is the fence's.
pub fn step_2_a_retry_under_a_newer_token_raises_the_fence(subject: &mut dyn Subject) {
    let guard = open(subject);
    let write = |token: &str| built(keyed(&grant("r", token), "k1").put("k", "v"));
    guard.write(write("5")).expect("applied");
    guard.write(write("6")).expect("replayed");
    assert_eq!(fence(&guard, "r").as_deref(), Some("6"));
    drop(guard);
    let guard = open(subject);
    assert_stale(guard.claim(grant("r", "5")), "5", "6");
}

/// Whatever the token. A newer one raises the fence here too.
pub fn step_2_a_key_for_other_operations_is_refused(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(keyed(&grant("r", "5"), "k1").put("k", "first"))).expect("applied");
    for newer in ["5", "4", "6"] {
        let other = guard.write(built(keyed(&grant("r", newer), "k1").put("k", "second")));
        let refused = rejection(other);
        assert!(
            matches!(&refused, Rejection::KeyReused { first_version: 1, first_token, .. }
                if *first_token == token("5")),
            "{refused:?}"
        );
    }
    assert_eq!(value(&guard, "r", "k").as_deref(), Some("first"));
    assert_eq!(fence(&guard, "r").as_deref(), Some("6"));
}

/// Neither does a key that is reused; and the answer is the same.
pub fn step_2_a_retry_that_is_not_admitted_raises_nothing(subject: &mut dyn Subject) {
    let guard = open(subject);
    let write = |grant| built(keyed(&grant, "k1").put("k", "v"));
    guard.write(write(held("r", "5", "a"))).expect("applied");
    guard.close(held("r", "5", "a")).expect("closed");
    let before = guard.fence("r").expect("readable");
    let replayed = [
        guard.write(write(held("r", "5", "a"))).expect("replayed, though closed"),
        guard.write(write(held("r", "5", "b"))).expect("replayed, though split"),
        guard.write(write(held("r", "4", "a"))).expect("replayed, though older"),
    ];
    assert!(replayed.iter().all(|receipt| receipt.outcome() == Outcome::Replayed));
    assert_eq!(guard.fence("r").expect("readable"), before);
}

/// The second of two equal requests that are decided together is a retry of the first.
pub fn a_retry_in_the_same_commit_is_recognised(subject: &mut dyn Subject) {
    let engine = subject.open(std::sync::Arc::new(crate::engine::NoHooks));
    let write = Request::Write(built(keyed(&grant("r", "5"), "k1").add("n", 1)));
    let mut group = Group::of(write.clone());
    group.push(write.clone());
    group.push(write);
    let mut results = pollster::block_on(engine.commit(vec![group]));
    let verdicts = results.pop().expect("one group").expect("decided");
    let outcome = |verdict: &Result<Answer, Rejection>| match verdict {
        Ok(Answer::Written(receipt)) => (receipt.outcome(), receipt.results().to_vec()),
        other => unreachable!("not written: {other:?}"),
    };
    let one = vec![OperationResult::Counter(1)];
    let expected = [
        (Outcome::Applied, one.clone()),
        (Outcome::Replayed, one.clone()),
        (Outcome::Replayed, one),
    ];
    assert_eq!(verdicts.iter().map(outcome).collect::<Vec<_>>(), expected);
}

/// Neither the fence's refusals nor those of the operations: a later try is executed.
pub fn a_refusal_binds_no_key(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&grant("r", "5")).put_counter("n", 3))).expect("accepted");
    let take = |token: &str| built(keyed(&grant("r", token), "k1").add("n", -5).min(0));
    let refused = rejection(guard.write(take("5")));
    assert!(matches!(refused, Rejection::BoundExceeded { .. }), "{refused:?}");
    assert_stale(guard.write(take("4")), "4", "5");
    guard.write(built(under(&grant("r", "5")).put_counter("n", 10))).expect("restocked");
    let receipt = guard.write(take("5")).expect("executed now");
    assert_eq!(receipt.outcome(), Outcome::Applied);
    assert_eq!(value(&guard, "r", "n").as_deref(), Some("5"));
}

/// On another resource it names another event.
pub fn a_key_belongs_to_its_resource(subject: &mut dyn Subject) {
    let guard = open(subject);
    for resource in ["r", "r1"] {
        let write = built(keyed(&grant(resource, "5"), "k1").put("k", resource));
        assert_eq!(guard.write(write).expect("applied").outcome(), Outcome::Applied);
    }
}

/// Deleting or retiring forgets no key, before a restart and after.
pub fn keys_outlive_data_and_restarts(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    let write = built(keyed(&holder, "k1").put("k", "v"));
    guard.write(write.clone()).expect("applied");
    guard.write(built(under(&holder).delete("k"))).expect("applied");
    guard.retire(holder).expect("retired");
    assert_eq!(guard.write(write.clone()).expect("known").outcome(), Outcome::Replayed);
    drop(guard);
    let guard = open(subject);
    assert_eq!(guard.write(write).expect("known").outcome(), Outcome::Replayed);
    assert_eq!(value(&guard, "r", "k"), None);
}

/// Whatever differs in resource or operations makes another request; token and holder do not.
pub fn a_fingerprint_sees_every_part_of_a_request(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(keyed(&holder, "k1").add("n", 1).min(0).max(9))).expect("applied");
    let others = [
        keyed(&holder, "k1").add("n", 2).min(0).max(9),
        keyed(&holder, "k1").add("m", 1).min(0).max(9),
        keyed(&holder, "k1").add("n", 1).min(1).max(9),
        keyed(&holder, "k1").add("n", 1).min(0).max(8),
        keyed(&holder, "k1").add("n", 1).min(0),
        keyed(&holder, "k1").add("n", 1).max(9),
        keyed(&holder, "k1").put_counter("n", 1),
        keyed(&holder, "k1").put("n", "1"),
        keyed(&holder, "k1").delete("n"),
        keyed(&holder, "k1").check("n", Condition::Present),
        keyed(&holder, "k1").add("n", 1).min(0).max(9).delete("n"),
    ];
    for other in others {
        let refused = rejection(guard.write(built(other)));
        assert!(matches!(refused, Rejection::KeyReused { .. }), "{refused:?}");
    }
    let again = built(keyed(&held("r", "9", "b"), "k1").add("n", 1).min(0).max(9));
    assert_eq!(guard.write(again).expect("the same").outcome(), Outcome::Replayed);
}

/// Applied with its receipt, or not applied; and with the fence it was read under.
pub fn key_state_tells_what_became_of_a_key(subject: &mut dyn Subject) {
    let guard = open(subject);
    let before = guard.key_state("r", "k1").expect("readable");
    assert_eq!((before.outcome, before.fence), (KeyOutcome::NotApplied, None));
    let first = guard.write(built(keyed(&grant("r", "5"), "k1").add("n", 4))).expect("applied");
    guard.claim(held("r", "6", "b")).expect("accepted");
    let state = guard.key_state("r", "k1").expect("readable");
    let KeyOutcome::Applied(receipt) = &state.outcome else {
        unreachable!("applied, and told {state:?}");
    };
    assert_eq!(receipt.version(), first.version());
    assert_eq!(receipt.results(), first.results());
    assert_eq!(receipt.token(), token("5"));
    let bound = state.fence.as_ref().and_then(|fence| fence.holder.as_ref());
    assert_eq!(bound.map(Holder::as_str), Some("b"));
    assert!(state.is_final_for(token("5")));
}

/// Its retry is refused as corrupt, and not executed again.
pub fn r10_a_damaged_key_record_is_never_read_as_unknown(subject: &mut dyn Subject) {
    let guard = open(subject);
    let write = built(keyed(&grant("r", "5"), "k1").add("n", 1));
    guard.write(write.clone()).expect("applied");
    drop(guard);
    let mut stored = Vec::new();
    let (resource, name) = (ResourceName::try_from("r"), IdempotencyKey::text("k1"));
    key::idempotency(&resource.expect("a name"), &name.expect("a key"), &mut stored);
    subject.overwrite(&stored, &[1, 2, 3]);
    let guard = open(subject);
    assert!(matches!(guard.write(write), Err(Error::Corrupt { .. })));
    assert!(matches!(guard.key_state("r", "k1"), Err(Error::Corrupt { .. })));
    assert_eq!(value(&guard, "r", "n").as_deref(), Some("1"));
}
