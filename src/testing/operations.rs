//! put, delete, add, check: what they do, what they refuse, and how versions move.

use crate::limits::{
    HOLDER_BYTES_MAX, IDEMPOTENCY_KEY_BYTES_MAX, KEY_BYTES_MAX, OPERATIONS_MAX,
    RESOURCE_NAME_BYTES_MAX, VALUE_BYTES_MAX,
};
use crate::rule::Rejection;
use crate::testing::Subject;
use crate::testing::support::{built, grant, open, rejection, under, value};
use crate::types::{Condition, Entry, Grant, OperationResult, Outcome, Value};

/// Absent, present, and at a version; the present version is told.
pub fn step_4_a_failed_check_refuses_everything(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put("k", "v"))).expect("accepted");
    let failing = [
        ("k", Condition::Absent, Some(1)),
        ("k", Condition::Version(2), Some(1)),
        ("missing", Condition::Present, None),
        ("missing", Condition::Version(1), None),
    ];
    for (key, condition, present) in failing {
        let write = under(&holder).put("other", "x").check(key, condition);
        let refused = rejection(guard.write(built(write)));
        assert!(
            matches!(&refused, Rejection::VersionMismatch { found, expected, .. }
                if *found == present && *expected == condition),
            "{refused:?}"
        );
    }
    assert_eq!(value(&guard, "r", "other"), None);
    let holding = under(&holder)
        .check("k", Condition::Present)
        .check("k", Condition::Version(1))
        .check("missing", Condition::Absent);
    assert_eq!(guard.write(built(holding)).expect("all hold").version(), 1, "no data changed");
}

/// Its bounds, and those of 64 bits; the present value is told.
pub fn step_4_a_counter_stays_within_its_bounds(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put_counter("n", 3))).expect("accepted");
    let beyond = [
        under(&holder).add("n", -4).min(0),
        under(&holder).add("n", 3).max(5),
        under(&holder).add("n", i64::MAX),
        under(&holder).add("n", 1).min(5),
    ];
    for write in beyond {
        let refused = rejection(guard.write(built(write)));
        assert!(matches!(refused, Rejection::BoundExceeded { value: 3, .. }), "{refused:?}");
    }
    let edge = guard.write(built(under(&holder).add("n", -3).min(0).max(0))).expect("exact");
    assert_eq!(edge.results(), [OperationResult::Counter(0)]);
    guard.write(built(under(&holder).put_counter("n", i64::MIN))).expect("accepted");
    let refused = rejection(guard.write(built(under(&holder).add("n", -1))));
    assert!(matches!(refused, Rejection::BoundExceeded { .. }), "{refused:?}");
    assert_eq!(value(&guard, "r", "n"), Some(i64::MIN.to_string()));
}

/// `put` and `put_counter` replace either.
pub fn step_4_bytes_cannot_be_added_to(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put("k", "7"))).expect("accepted");
    let refused = rejection(guard.write(built(under(&holder).add("k", 1))));
    assert!(matches!(refused, Rejection::TypeMismatch { .. }), "{refused:?}");
    guard.write(built(under(&holder).put_counter("k", 7).add("k", 1))).expect("a counter now");
    guard.write(built(under(&holder).put("k", "bytes"))).expect("bytes again");
    assert_eq!(value(&guard, "r", "k").as_deref(), Some("bytes"));
}

/// Each sees those before it; all share one version.
pub fn step_5_all_operations_are_applied_in_order(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    let write = under(&holder)
        .put("a", "1")
        .check("a", Condition::Version(1))
        .add("n", 2)
        .add("n", 3)
        .delete("a")
        .check("a", Condition::Absent)
        .put("a", "2");
    let receipt = guard.write(built(write)).expect("accepted");
    let counter = OperationResult::Counter;
    let done = OperationResult::Done;
    assert_eq!(receipt.results(), [done, done, counter(2), counter(5), done, done, done]);
    let seen = guard.read("r", ["a", "n"]).expect("readable");
    let versions: Vec<u64> = seen.entries.iter().flatten().map(|entry| entry.version).collect();
    assert_eq!((seen.version, versions), (1, vec![1, 1]));
    assert_eq!(value(&guard, "r", "a").as_deref(), Some("2"));
}

/// Also right after it was deleted.
pub fn a_missing_counter_counts_as_zero(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put_counter("n", 9))).expect("accepted");
    let write = under(&holder).delete("n").add("n", -2);
    let receipt = guard.write(built(write)).expect("accepted");
    assert_eq!(receipt.results().last(), Some(&OperationResult::Counter(-2)));
}

/// Neither a check, nor deleting what is absent, nor a claim moves it.
pub fn the_version_moves_only_with_data(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    let version = |write| guard.write(built(write)).expect("accepted").version();
    assert_eq!(version(under(&holder).delete("missing")), 0);
    assert_eq!(version(under(&holder).check("missing", Condition::Absent)), 0);
    assert_eq!(version(under(&holder).put("k", "v")), 1);
    assert_eq!(version(under(&holder).put("k", "v")), 2, "the same value is still a change");
    assert_eq!(version(under(&holder).delete("missing")), 2);
    assert_eq!(version(under(&holder).put("a", "1").put("b", "2")), 3);
    assert_eq!(guard.claim(grant("r", "6")).expect("accepted").version, 3);
}

/// Not after delete and re-create, not after retire, not after a restart.
pub fn a_version_never_comes_back(subject: &mut dyn Subject) {
    let guard = open(subject);
    let key_version = |guard: &crate::guard::Blocking| {
        let seen = guard.read("r", ["k"]).expect("readable");
        seen.entries.into_iter().flatten().next().map(|entry| entry.version)
    };
    guard.write(built(under(&grant("r", "5")).put("k", "1"))).expect("accepted");
    guard.write(built(under(&grant("r", "5")).delete("k"))).expect("accepted");
    guard.write(built(under(&grant("r", "5")).put("k", "2"))).expect("accepted");
    assert_eq!(key_version(&guard), Some(3));
    assert_eq!(guard.retire(grant("r", "5")).expect("retired").version, 4);
    drop(guard);
    let guard = open(subject);
    guard.write(built(under(&grant("r", "6")).put("k", "3"))).expect("accepted");
    assert_eq!(key_version(&guard), Some(5));
}

/// Zero bytes, 0xff, and keys that begin like others.
pub fn keys_of_any_bytes_are_kept_apart(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    let keys: [&[u8]; 7] =
        [b"\x00", b"\x00\x00", b"\xff", b"\xff\xff", b"k", b"k\x00", b"\xc3\x28"];
    for (index, key) in keys.iter().enumerate() {
        let number = i64::try_from(index).expect("few");
        guard.write(built(under(&holder).put_counter(*key, number))).expect("accepted");
    }
    drop(guard);
    let guard = open(subject);
    let seen = guard.read("r", keys).expect("readable");
    let values: Vec<Option<Value>> =
        seen.entries.into_iter().map(|entry| entry.map(|Entry { value, .. }| value)).collect();
    let expected: Vec<Option<Value>> = (0..7).map(|number| Some(Value::Counter(number))).collect();
    assert_eq!(values, expected);
}

/// Every name, key, value and list at its limit, at once where they fit into one request.
pub fn the_longest_of_everything_fits(subject: &mut dyn Subject) {
    let guard = open(subject);
    let name = "n".repeat(RESOURCE_NAME_BYTES_MAX);
    let holder = Grant::new(
        name.as_str(),
        "9223372036854775807:9223372036854775807".parse().expect("a token"),
    )
    .and_then(|grant| grant.held_by("h".repeat(HOLDER_BYTES_MAX)))
    .expect("a grant");
    let mut write = under(&holder)
        .idempotency_key("i".repeat(IDEMPOTENCY_KEY_BYTES_MAX))
        .expect("a key")
        .put("k".repeat(KEY_BYTES_MAX), vec![0xa5; VALUE_BYTES_MAX]);
    for index in 1..OPERATIONS_MAX {
        write = write.add(format!("counter-{index}"), i64::MAX);
    }
    let write = built(write);
    assert_eq!(guard.write(write.clone()).expect("accepted").outcome(), Outcome::Applied);
    drop(guard);
    let guard = open(subject);
    let again = guard.write(write).expect("known");
    assert_eq!((again.outcome(), again.results().len()), (Outcome::Replayed, OPERATIONS_MAX));
    let seen = guard.read(name.as_str(), ["k".repeat(KEY_BYTES_MAX)]).expect("readable");
    let stored = seen.entries.into_iter().flatten().next().map(|entry| entry.value);
    assert_eq!(stored, Some(Value::Bytes(vec![0xa5; VALUE_BYTES_MAX].into())));
}
