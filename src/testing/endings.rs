//! Close and retire: the end of a generation, and of a resource's data.

use crate::rule::{Answer, Group, Rejection, Request};
use crate::testing::Subject;
use crate::testing::support::{
    assert_stale, built, grant, held, keyed, open, rejection, token, under, value,
};
use crate::types::Condition;

/// Everything else under the closed token is refused; a newer one reopens.
pub fn step_3_a_closed_generation_admits_a_newer_token_only(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = held("r", "5", "a");
    guard.write(built(under(&holder).put("k", "v"))).expect("accepted");
    let change = guard.close(holder.clone()).expect("closed");
    assert!(change.fence.closed);
    assert_eq!(change.previous.map(|fence| fence.closed), Some(false));
    drop(guard);
    let guard = open(subject);
    let closed =
        |refused: Rejection| assert!(matches!(refused, Rejection::Closed { .. }), "{refused:?}");
    closed(rejection(guard.write(built(keyed(&holder, "k1").put("k", "late")))));
    closed(rejection(guard.claim(holder.clone())));
    closed(rejection(guard.read_fenced(holder, ["k"])));
    assert_stale(guard.claim(grant("r", "4")), "4", "5");
    assert_eq!(value(&guard, "r", "k").as_deref(), Some("v"));
    let reopened = guard.claim(held("r", "6", "b")).expect("newer");
    assert!(!reopened.fence.closed);
    guard.write(built(under(&held("r", "6", "b")).put("k", "w"))).expect("accepted");
}

/// By the same holder, or one that is not named; and retire likewise.
pub fn closing_may_be_repeated(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = held("r", "5", "a");
    guard.write(built(under(&holder).put("k", "v"))).expect("accepted");
    let first = guard.close(holder.clone()).expect("closed");
    let second = guard.close(holder.clone()).expect("closed already");
    assert_eq!((&second.fence, second.version), (&first.fence, first.version));
    let retired = guard.retire(holder.clone()).expect("retired");
    let again = guard.retire(holder).expect("retired already");
    assert_eq!((&again.fence, again.version), (&retired.fence, retired.version));
    guard.close(grant("r", "5")).expect("no holder, no other holder");
}

/// Another holder of the closed token hears that it is closed.
pub fn step_3_closed_comes_before_split(subject: &mut dyn Subject) {
    let guard = open(subject);
    guard.close(held("r", "5", "a")).expect("closed");
    for result in [
        guard.claim(held("r", "5", "b")),
        guard.close(held("r", "5", "b")),
        guard.retire(held("r", "5", "b")),
    ] {
        let refused = rejection(result);
        assert!(matches!(refused, Rejection::Closed { .. }), "{refused:?}");
    }
}

/// Values of every kind; the version moves by one, and only if there was anything.
pub fn retiring_deletes_everything_and_closes(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    let empty = guard.retire(grant("never", "1")).expect("accepted");
    assert_eq!((empty.version, empty.fence.closed), (0, true));
    guard.write(built(under(&holder).put("a", "1").put_counter("b", 2))).expect("accepted");
    guard.write(built(under(&holder).put("c", "3"))).expect("accepted");
    let change = guard.retire(holder.clone()).expect("retired");
    assert_eq!((change.version, change.fence.closed, change.fence.token), (3, true, token("5")));
    drop(guard);
    let guard = open(subject);
    let seen = guard.read("r", ["a", "b", "c"]).expect("readable");
    assert!(seen.entries.iter().all(Option::is_none), "{seen:?}");
    assert_eq!(seen.version, 3);
    assert_eq!(guard.retire(holder).expect("repeated").version, 3);
}

/// A close does not get in the way of the retire that follows it.
pub fn retire_after_close_still_deletes(subject: &mut dyn Subject) {
    let guard = open(subject);
    let holder = grant("r", "5");
    guard.write(built(under(&holder).put("k", "v"))).expect("accepted");
    guard.close(holder.clone()).expect("closed");
    assert_eq!(guard.retire(holder).expect("retired").version, 2);
    assert_eq!(value(&guard, "r", "k"), None);
}

/// What was put and deleted before it in the same commit, and what is put after it.
pub fn retiring_within_a_commit_sees_what_came_before(subject: &mut dyn Subject) {
    let engine = subject.open(std::sync::Arc::new(crate::engine::NoHooks));
    let write = |token, key| Request::Write(built(under(&grant("r", token)).put(key, token)));
    let delete = |token, key| Request::Write(built(under(&grant("r", token)).delete(key)));
    let commit = |requests: Vec<Request>| {
        let mut requests = requests.into_iter();
        let mut group = Group::of(requests.next().expect("at least one"));
        requests.for_each(|request| group.push(request));
        let mut results = pollster::block_on(engine.commit(vec![group]));
        let verdicts = results.pop().expect("one group").expect("decided");
        let version = |answer| match answer {
            Ok(Answer::Written(receipt)) => receipt.version(),
            Ok(Answer::Fenced(change)) => change.version,
            other => unreachable!("refused: {other:?}"),
        };
        verdicts.into_iter().map(version).collect::<Vec<u64>>()
    };
    let retire = |token| Request::Retire(grant("r", token));
    assert_eq!(commit(vec![write("1", "a"), write("1", "b"), retire("1")]), [1, 2, 3]);
    assert_eq!(commit(vec![write("2", "a")]), [4]);
    // All that is stored is deleted by the first request, so the retire finds nothing.
    assert_eq!(commit(vec![delete("2", "a"), retire("2"), write("3", "c")]), [5, 5, 6]);
    assert_eq!(commit(vec![write("3", "d")]), [7]);
    // One of two stored keys is deleted, so the retire finds the other.
    assert_eq!(commit(vec![delete("3", "c"), retire("3"), write("4", "e")]), [8, 9, 10]);
    // What is stored is gone for whatever follows the retire in its commit.
    let add = Request::Write(built(under(&grant("r", "5")).add("n", 1)));
    let again = Request::Write(built(under(&grant("r", "6")).add("n", 1).delete("e")));
    assert_eq!(commit(vec![add, retire("5"), again]), [11, 12, 13]);
    let create = under(&grant("r", "7")).check("n", Condition::Absent).put("e", "7");
    assert_eq!(commit(vec![retire("6"), Request::Write(built(create))]), [14, 15]);
    drop(engine);
    let guard = open(subject);
    assert_eq!(value(&guard, "r", "n"), None);
    let seen = guard.read("r", ["a", "b", "c", "d", "e"]).expect("readable");
    let present: Vec<bool> = seen.entries.iter().map(Option::is_some).collect();
    assert_eq!(present, [false, false, false, false, true]);
}

/// Resources whose names begin like its own, or sort next to it.
pub fn retiring_leaves_neighbours_alone(subject: &mut dyn Subject) {
    let guard = open(subject);
    let names = ["q", "r", "r ", "r1", "r/x", "s"];
    for name in names {
        guard.write(built(under(&grant(name, "5")).put("k", name))).expect("accepted");
    }
    guard.retire(grant("r", "5")).expect("retired");
    for name in names {
        let expected = (name != "r").then_some(name);
        assert_eq!(value(&guard, name, "k").as_deref(), expected, "{name:?}");
    }
}
