//! Tokens against the fence: who is admitted, who is refused, and what outlives what.

use crate::error::Error;
use crate::limits::TOKEN_NUMBER_MAX;
use crate::record::key;
use crate::rule::{Group, Rejection, Request};
use crate::testing::Subject;
use crate::testing::support::{
    assert_stale, built, fence, grant, held, keyed, open, rejection, token, under, value,
};
use crate::types::{Holder, KeyOutcome, ResourceName};

/// The refusal names both tokens and the successor, and says that the write was not applied.
pub fn r1_an_older_token_is_refused(subject: &mut dyn Subject) {
    let guard = open(subject);
    let (old, new) = (grant("r", "41"), held("r", "42", "worker-b"));
    guard.write(built(under(&old).put("k", "from 41"))).expect("accepted");
    guard.write(built(under(&new).put("k", "from 42"))).expect("accepted");

    let late = guard.write(built(keyed(&old, "late").put("k", "late")));
    let text = late.as_ref().expect_err("refused").to_string();
    assert!(late.as_ref().expect_err("refused").definitely_not_applied());
    let Rejection::StaleToken { presented, current, current_holder, key_state, .. } =
        rejection(late)
    else {
        unreachable!("expected a stale token: {text}");
    };
    assert_eq!((presented, current), (token("41"), token("42")));
    assert_eq!(current_holder.as_ref().map(Holder::as_str), Some("worker-b"));
    let key_state = key_state.expect("the write has a key");
    assert_eq!(key_state.outcome, KeyOutcome::NotApplied);
    assert!(key_state.is_final_for(token("41")), "fenced off for good");
    assert!(!key_state.is_final_for(token("42")), "the successor may still send it");
    for part in ["41", "42", "worker-b", "acquire again"] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
    assert_eq!(value(&guard, "r", "k").as_deref(), Some("from 42"));
}

/// Requests that are decided together see each other, in order.
pub fn r1_tokens_never_go_down_within_one_commit(subject: &mut dyn Subject) {
    let engine = subject.open(std::sync::Arc::new(crate::engine::NoHooks));
    let put = |text: &str| Request::Write(built(under(&grant("r", text)).put("k", text)));
    let mut group = Group::of(put("5"));
    group.push(Request::Claim(grant("r", "7")));
    group.push(put("6"));
    group.push(put("7"));
    let mut results = pollster::block_on(engine.commit(vec![group]));
    let verdicts = results.pop().expect("one group").expect("decided");
    let accepted: Vec<bool> = verdicts.iter().map(Result::is_ok).collect();
    assert_eq!(accepted, [true, true, false, true], "{verdicts:?}");
    assert!(
        matches!(verdicts.get(2), Some(Err(Rejection::StaleToken { current, .. }))
            if *current == token("7")),
        "{verdicts:?}"
    );
}

/// Not as text, not in 32 bits, not in the bytes of the wrong end.
pub fn r1_tokens_are_compared_as_numbers(subject: &mut dyn Subject) {
    let ascending = [
        1,
        9,
        10,
        99,
        100,
        255,
        256,
        65_535,
        65_536,
        (1 << 32) - 1,
        1 << 32,
        (1 << 53) + 1,
        TOKEN_NUMBER_MAX - 1,
        TOKEN_NUMBER_MAX,
    ];
    let texts: Vec<String> = ascending.iter().map(u64::to_string).collect();
    for (older, newer) in texts.iter().zip(texts.iter().skip(1)) {
        let guard = open(subject);
        guard.claim(grant("r", older)).expect("not older than the fence");
        guard.claim(grant("r", newer)).expect("newer than the fence");
        assert_stale(guard.claim(grant("r", older)), older, newer);
        drop(guard);
        let guard = open(subject);
        assert_stale(guard.claim(grant("r", older)), older, newer);
    }
}

/// A coordinator that starts again from 1 is survived by a higher epoch.
pub fn r1_the_epoch_comes_before_the_generation(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.claim(grant("r", "1000")).expect("accepted");
    assert_stale(guard.claim(grant("r", "401")), "401", "1000");
    guard.claim(grant("r", "1:1")).expect("a higher epoch");
    assert_stale(guard.claim(grant("r", "2000")), "2000", "1:1");
}

/// Also where no data was ever written.
pub fn r1_the_fence_survives_a_restart(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.claim(held("r", "3:7", "a")).expect("accepted");
    let before = guard.fence("r").expect("readable");
    drop(guard);
    let guard = open(subject);
    assert_eq!(guard.fence("r").expect("readable"), before);
    assert_stale(guard.write(built(under(&grant("r", "3:6")).put("k", "v"))), "3:6", "3:7");
}

/// A holder writes many times under one token.
pub fn r2_an_equal_token_is_accepted(subject: &mut dyn Subject) {
    let guard = open(subject);
    for version in 1..=5 {
        let receipt = guard.write(built(under(&held("r", "5", "a")).put("k", "v")));
        assert_eq!(receipt.expect("accepted").version(), version);
    }
}

/// Every verb that takes a grant refuses an older token, and changes nothing.
pub fn r3_everything_that_changes_data_is_fenced(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&grant("r", "6")).put("k", "v"))).expect("accepted");
    let before = guard.read("r", ["k"]).expect("readable");
    let old = grant("r", "5");
    let writes = [
        under(&old).put("k", "late"),
        under(&old).put_counter("k", 1),
        under(&old).delete("k"),
        under(&old).delete("missing"),
        under(&old).add("n", 1),
        under(&old).check("k", crate::types::Condition::Present),
    ];
    for write in writes {
        assert_stale(guard.write(built(write)), "5", "6");
    }
    assert_stale(guard.claim(old.clone()), "5", "6");
    assert_stale(guard.close(old.clone()), "5", "6");
    assert_stale(guard.retire(old.clone()), "5", "6");
    assert_stale(guard.read_fenced(old, ["k"]), "5", "6");
    assert_eq!(guard.read("r", ["k"]).expect("readable"), before);
}

/// Delete and retire never lower or drop it.
pub fn r4_the_fence_outlives_the_data(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put("k", "v"))).expect("accepted");
    guard.write(built(under(&holder).delete("k"))).expect("accepted");
    drop(guard);
    let guard = open(subject);
    assert_stale(guard.write(built(under(&grant("r", "4")).put("k", "late"))), "4", "5");
    guard.retire(holder).expect("accepted");
    drop(guard);
    let guard = open(subject);
    assert_stale(guard.write(built(under(&grant("r", "4")).put("k", "late"))), "4", "5");
    assert_eq!(value(&guard, "r", "k"), None);
}

/// Not even the operations before the one that fails.
pub fn r5_a_refusal_changes_no_data(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put("k", "v").put_counter("n", 3))).expect("accepted");
    let before = guard.read("r", ["k", "n", "new"]).expect("readable");
    let refused = [
        under(&holder).put("new", "x").delete("k").add("n", -4).min(0),
        under(&holder).put("new", "x").check("k", crate::types::Condition::Absent),
        under(&holder).put("new", "x").add("k", 1),
        under(&grant("r", "4")).put("new", "x"),
    ];
    for write in refused {
        let error = guard.write(built(write)).expect_err("refused");
        assert!(error.definitely_not_applied(), "{error:?}");
        assert_eq!(guard.read("r", ["k", "n", "new"]).expect("readable"), before);
    }
    drop(guard);
    assert_eq!(open(subject).read("r", ["k", "n", "new"]).expect("readable"), before);
}

/// The resource is refused as corrupt, its neighbour is not.
pub fn r10_a_damaged_head_is_never_read_as_no_fence(subject: &mut dyn Subject) {
    let guard = open(subject);
    for resource in ["r", "s"] {
        guard.claim(grant(resource, "9")).expect("accepted");
    }
    drop(guard);
    let mut stored = Vec::new();
    key::head(&ResourceName::try_from("r").expect("a name"), &mut stored);
    subject.overwrite(&stored, b"no head at all");
    let guard = open(subject);
    let write = guard.write(built(under(&grant("r", "1")).put("k", "v")));
    assert!(matches!(write, Err(Error::Corrupt { .. })), "{write:?}");
    assert!(matches!(guard.fence("r"), Err(Error::Corrupt { .. })));
    assert!(matches!(guard.read("r", ["k"]), Err(Error::Corrupt { .. })));
    assert_stale(guard.claim(grant("s", "8")), "8", "9");
}

/// A claim answers with the fence before and after.
pub fn step_3_a_claim_raises_the_fence_and_no_version(subject: &mut dyn Subject) {
    let guard = open(subject);
    let first = guard.claim(held("r", "5", "a")).expect("accepted");
    assert_eq!((first.previous, first.version), (None, 0));
    let second = guard.claim(grant("r", "6")).expect("accepted");
    assert_eq!(second.previous.as_ref(), Some(&first.fence));
    assert_eq!((second.fence.token, second.fence.holder), (token("6"), None));
    assert_eq!(second.version, 0);
}

/// The first holder keeps the number; a newer one settles it.
pub fn step_3_one_number_for_two_holders_is_a_split(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&held("r", "7", "a")).put("k", "a"))).expect("accepted");
    let split = guard.write(built(under(&held("r", "7", "b")).put("k", "b")));
    let refused = rejection(split);
    assert!(
        matches!(&refused, Rejection::SplitGeneration { first_holder, .. }
            if first_holder.as_str() == "a"),
        "{refused:?}"
    );
    assert_eq!(value(&guard, "r", "k").as_deref(), Some("a"));
    guard.write(built(under(&grant("r", "7")).put("k", "unnamed"))).expect("no holder, no split");
    guard.write(built(under(&held("r", "8", "b")).put("k", "b"))).expect("newer");
}

/// Durably: the binding holds after a restart.
pub fn step_3_a_holder_is_bound_to_an_equal_token_that_had_none(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.claim(grant("r", "7")).expect("accepted");
    guard.claim(held("r", "7", "a")).expect("bound");
    drop(guard);
    let guard = open(subject);
    let refused = rejection(guard.claim(held("r", "7", "b")));
    assert!(matches!(refused, Rejection::SplitGeneration { .. }), "{refused:?}");
}

/// Once an answer rests on generation 8, no generation 7 gets in, also after a restart.
pub fn step_3_a_newer_token_raises_the_fence_even_if_refused(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&grant("r", "7")).put_counter("n", 1))).expect("accepted");
    let refused = rejection(guard.write(built(under(&grant("r", "8")).add("n", -2).min(0))));
    assert!(matches!(refused, Rejection::BoundExceeded { value: 1, .. }), "{refused:?}");
    assert_stale(guard.write(built(under(&grant("r", "7")).add("n", 1))), "7", "8");
    drop(guard);
    let guard = open(subject);
    assert_eq!(fence(&guard, "r").as_deref(), Some("8"));
    assert_stale(guard.write(built(under(&grant("r", "7")).add("n", 1))), "7", "8");
}

/// `r1` and `r10` share nothing, and neither do `a` and `a/b`.
pub fn names_are_opaque(subject: &mut dyn Subject) {
    let guard = open(subject);
    let names = ["r", "r1", "r10", "r1/x", "R1", "r1 ", "ß", "ss"];
    for (index, name) in names.iter().enumerate() {
        let token = (index + 1).to_string();
        guard.write(built(under(&grant(name, &token)).put("k", *name))).expect("accepted");
    }
    drop(guard);
    let guard = open(subject);
    for (index, name) in names.iter().enumerate() {
        assert_eq!(value(&guard, name, "k").as_deref(), Some(*name));
        assert_eq!(fence(&guard, name), Some((index + 1).to_string()));
    }
}

/// Claim and read in one step.
pub fn a_fenced_read_shuts_the_old_holder_out(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.write(built(under(&grant("r", "5")).put("k", "old"))).expect("accepted");
    let seen = guard.read_fenced(grant("r", "6"), ["k", "missing"]).expect("admitted");
    let present: Vec<bool> = seen.entries.iter().map(Option::is_some).collect();
    assert_eq!(present, [true, false]);
    assert_eq!(seen.version, 1);
    assert_eq!(seen.fence.map(|fence| fence.token), Some(token("6")));
    assert_stale(guard.write(built(under(&grant("r", "5")).put("k", "late"))), "5", "6");
}
