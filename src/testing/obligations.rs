//! The obligations of an engine, by number: writers are halted inside the engine, in the windows
//! that random load never meets, and others try to get in between.

use std::sync::Arc;
use std::thread;

use crate::engine::{BoxFuture, Engine, Hooks, NoHooks};
use crate::error::Error;
use crate::guard::{Blocking, Guard};
use crate::record::key;
use crate::rule::{Group, Request};
use crate::settings::Settings;
use crate::testing::Subject;
use crate::testing::support::{
    Halt, Window, assert_stale, built, fence, grant, keyed, open, under, value,
};
use crate::types::{Condition, KeyOutcome, OperationResult, Outcome, ResourceName};

/// A write is halted after it has read the fence, and a newer token is claimed meanwhile. An
/// engine may let either go first; it may not let both have seen the old fence.
pub fn obligation_1_the_head_is_validated_at_the_commit_point(subject: &mut dyn Subject) {
    let (engine, halt) = halted_engine(subject, Window::BetweenReadAndCommit);
    let (old, new) = (guard_on(&engine), guard_on(&engine));
    let late = thread::spawn(move || old.write(built(under(&grant("r", "5")).put("k", "late"))));
    halt.wait_until_halted();
    let claimed = thread::spawn(move || new.claim(grant("r", "6")));
    give_way(&claimed);
    let claimed_first = claimed.is_finished();
    halt.release();
    let late = late.join().expect("no panic");
    claimed.join().expect("no panic").expect("a newer token is accepted");
    if claimed_first {
        assert_stale(late, "5", "6");
    }
    let guard = guard_on(&engine);
    assert_eq!(fence(&guard, "r").as_deref(), Some("6"));
    assert_stale(guard.write(built(under(&grant("r", "5")).put("k", "later"))), "5", "6");
}

/// Two writers both find a key absent; only one may create it. And two that add to one counter.
pub fn obligation_1_absences_are_validated_at_the_commit_point(subject: &mut dyn Subject) {
    let (engine, halt) = halted_engine(subject, Window::BetweenReadAndCommit);
    let create = |name: &'static str| {
        let guard = guard_on(&engine);
        let write = under(&grant("r", "5")).check("k", Condition::Absent).put("k", name);
        let write = built(write.add("n", 1));
        thread::spawn(move || guard.write(write))
    };
    let first = create("first");
    halt.wait_until_halted();
    let second = create("second");
    give_way(&second);
    halt.release();
    let results = [first.join().expect("no panic"), second.join().expect("no panic")];
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    assert_eq!(value(&guard_on(&engine), "r", "n").as_deref(), Some("1"));
}

/// An answer is out; the writer that was under way all along comes too late.
pub fn obligation_2_no_older_write_commits_after_an_answer(subject: &mut dyn Subject) {
    for _ in 0..50 {
        let guard = open(subject);
        let name = "contended";
        let base = guard.fence(name).expect("readable").fence;
        let base = base.map_or(0, |fence| fence.token.generation_number());
        let (old, new) = ((base + 1).to_string(), (base + 2).to_string());
        let writer = {
            let (guard, old) = (guard.clone(), old.clone());
            thread::spawn(move || {
                let late = || guard.write(built(under(&grant(name, &old)).add("late", 1)));
                let accepted = (0..1_000).take_while(|_| late().is_ok()).count();
                i64::try_from(accepted).expect("few")
            })
        };
        guard.claim(grant(name, &new)).expect("newer");
        let after = value(&guard, name, "late");
        writer.join().expect("no panic");
        assert_eq!(value(&guard, name, "late"), after, "nothing older came in after the answer");
        assert_stale(guard.claim(grant(name, &old)), &old, &new);
    }
}

/// Neither to the write, nor to the refusal that rests on it.
pub fn obligation_3_no_answer_leaves_before_the_commit(subject: &mut dyn Subject) {
    let (engine, halt) = halted_engine(subject, Window::BetweenReadAndCommit);
    let mut group = Group::of(Request::Claim(grant("r", "7")));
    group.push(Request::Write(built(under(&grant("r", "6")).put("k", "v"))));
    let committing = {
        let engine = Arc::clone(&engine);
        thread::spawn(move || pollster::block_on(engine.commit(vec![group])))
    };
    halt.wait_until_halted();
    give_way(&committing);
    assert!(!committing.is_finished(), "an answer left before the commit");
    halt.release();
    let verdicts = committing.join().expect("no panic").pop().expect("one group");
    let accepted: Vec<bool> = verdicts.expect("decided").iter().map(Result::is_ok).collect();
    assert_eq!(accepted, [true, false]);
}

/// A reader meanwhile sees the state before, or waits.
pub fn obligation_3_nothing_uncommitted_is_readable(subject: &mut dyn Subject) {
    let (engine, halt) = halted_engine(subject, Window::BetweenReadAndCommit);
    let writer = guard_on(&engine);
    let writing = thread::spawn(move || writer.write(built(under(&grant("r", "5")).put("k", "v"))));
    halt.wait_until_halted();
    let reader = guard_on(&engine);
    let reading = thread::spawn(move || reader.read("r", ["k"]));
    give_way(&reading);
    let seen = if reading.is_finished() { Some(reading.join()) } else { None };
    halt.release();
    writing.join().expect("no panic").expect("accepted");
    if let Some(seen) = seen {
        let seen = seen.expect("no panic").expect("readable");
        assert_eq!((seen.version, seen.fence), (0, None), "seen before it was committed");
    }
    assert_eq!(value(&guard_on(&engine), "r", "k").as_deref(), Some("v"));
}

/// The commit's future is dropped in either window: all of it is there, or nothing.
pub fn obligation_4_a_dropped_commit_tears_nothing(subject: &mut dyn Subject) {
    for (index, window) in
        [Window::BetweenReadAndCommit, Window::AfterCommitBeforeReply].into_iter().enumerate()
    {
        let resource = format!("r{index}");
        let stuck = Arc::new(Stuck { window });
        let engine = subject.open(stuck);
        let write = built(keyed(&grant(&resource, "5"), "k1").put("k", "v").add("n", 1));
        {
            let mut commit = engine.commit(vec![Group::of(Request::Write(write.clone()))]);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(commit.as_mut().poll(&mut context).is_pending(), "halted in {window:?}");
        }
        drop(engine);
        let guard = open(subject);
        let head = guard.fence(resource.as_str()).expect("readable");
        let known = guard.key_state(resource.as_str(), "k1").expect("readable");
        let applied = head.version == 1;
        assert_eq!(applied, head.fence.is_some());
        assert_eq!(applied, value(&guard, &resource, "k").is_some());
        assert_eq!(applied, matches!(known.outcome, KeyOutcome::Applied(_)));
        let again = guard.write(write).expect("accepted");
        assert_eq!(again.outcome() == Outcome::Replayed, applied);
        assert_eq!(value(&guard, &resource, "n").as_deref(), Some("1"));
    }
}

/// One group of a commit meets a damaged head; its neighbours are decided on.
pub fn obligation_6_a_failing_group_fails_alone(subject: &mut dyn Subject) {
    let guard = open(subject);
    for resource in ["a", "b", "c"] {
        guard.claim(grant(resource, "5")).expect("accepted");
    }
    drop(guard);
    let mut stored = Vec::new();
    key::head(&ResourceName::try_from("b").expect("a name"), &mut stored);
    subject.overwrite(&stored, b"damage");
    let engine = subject.open(Arc::new(NoHooks));
    let group = |name| Group::of(Request::Write(built(under(&grant(name, "5")).put("k", "v"))));
    let results = pollster::block_on(engine.commit(vec![group("a"), group("b"), group("c")]));
    let decided: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(decided, [true, false, true], "{results:?}");
    let guard = guard_on(&engine);
    assert_eq!(value(&guard, "c", "k").as_deref(), Some("v"));
    assert!(matches!(guard.fence("b"), Err(Error::Corrupt { .. })));
}

/// However often the rule runs, each of many adders hears a sum that nobody else hears.
pub fn obligation_7_only_the_committed_verdict_leaves(subject: &mut dyn Subject) {
    let engine = subject.open(Arc::new(NoHooks));
    let sums = add_from_many_threads(&engine);
    assert_eq!(sums, (1..=ADDERS * ADDS).collect::<Vec<i64>>());
    assert_eq!(value(&guard_on(&engine), "hot", "n"), Some((ADDERS * ADDS).to_string()));
}

/// What one guard has raised the other one enforces, whatever the engine keeps in memory.
pub fn obligation_8_two_guards_on_one_engine_are_safe(subject: &mut dyn Subject) {
    let engine = subject.open(Arc::new(NoHooks));
    let (one, two) = (guard_on(&engine), guard_on(&engine));
    for generation in (1..20).step_by(2) {
        let (older, newer) = (generation.to_string(), (generation + 1).to_string());
        one.write(built(under(&grant("r", &older)).add("n", 1))).expect("newer");
        two.write(built(under(&grant("r", &newer)).add("n", 1))).expect("newer");
        assert_stale(one.write(built(under(&grant("r", &older)).add("n", 1))), &older, &newer);
    }
    assert_eq!(value(&one, "r", "n").as_deref(), Some("20"));
}

/// Heads that an engine keeps in memory are those of the last commit, whoever else was in it.
pub fn obligation_8_what_is_kept_in_memory_is_what_is_stored(subject: &mut dyn Subject) {
    let engine = subject.open(Arc::new(NoHooks));
    let add = |name: &str, generation: u64| {
        let grant = grant(name, &generation.to_string());
        Group::of(Request::Write(built(under(&grant).add("n", 1))))
    };
    let mut all_accepted = true;
    for generation in 1..5 {
        for names in [&["a", "b", "c"][..], &["c"], &["b", "a"], &["a"]] {
            let groups = names.iter().map(|name| add(name, generation)).collect();
            for result in pollster::block_on(engine.commit(groups)) {
                all_accepted &= result.expect("decided").iter().all(Result::is_ok);
            }
            for name in ["a", "b", "c"].iter().filter(|_| generation > 1) {
                let mut late = pollster::block_on(engine.commit(vec![add(name, generation - 1)]));
                let late = late.pop().expect("one group").expect("decided");
                assert!(late.iter().all(Result::is_err), "{name} under {generation} - 1: {late:?}");
            }
        }
    }
    assert!(all_accepted);
}

/// Two groups of one resource in one commit are decided one after the other.
pub fn two_groups_of_one_resource_see_each_other(subject: &mut dyn Subject) {
    let engine = subject.open(Arc::new(NoHooks));
    let add = |token| Group::of(Request::Write(built(under(&grant("r", token)).add("n", 1))));
    let other = Group::of(Request::Claim(grant("s", "1")));
    let groups = vec![add("5"), other, add("6"), add("5"), add("6")];
    let results = pollster::block_on(engine.commit(groups));
    let accepted = |result: &crate::engine::GroupResult| {
        result.as_ref().expect("decided").iter().all(Result::is_ok)
    };
    let accepted: Vec<bool> = results.iter().map(accepted).collect();
    assert_eq!(accepted, [true, true, true, false, true]);
    assert_eq!(value(&guard_on(&engine), "r", "n").as_deref(), Some("3"));
}

/// The future is dropped while the write waits behind another: it is applied all the same, and a
/// retry learns of it.
pub fn r8_a_vanished_caller_changes_nothing(subject: &mut dyn Subject) {
    let (engine, halt) = halted_engine(subject, Window::BetweenReadAndCommit);
    let guard = queueing_guard(&engine);
    let first = {
        let guard = guard.blocking();
        thread::spawn(move || guard.write(built(under(&grant("r", "5")).add("n", 1))))
    };
    halt.wait_until_halted();
    let write = built(keyed(&grant("r", "5"), "k1").add("n", 1));
    {
        let mut waiting = Box::pin(guard.write(write.clone()));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(waiting.as_mut().poll(&mut context).is_pending(), "it waits behind the first");
    }
    halt.release();
    first.join().expect("no panic").expect("accepted");
    let again = guard.blocking().write(write).expect("known");
    assert_eq!(again.outcome(), Outcome::Replayed);
    assert_eq!(value(&guard.blocking(), "r", "n").as_deref(), Some("2"));
}

const ADDERS: i64 = 8;
const ADDS: i64 = 25;

fn add_from_many_threads(engine: &Arc<dyn Engine>) -> Vec<i64> {
    let adder = |_| {
        let guard = guard_on(engine);
        let add = move || match guard.write(built(under(&grant("hot", "5")).add("n", 1))) {
            Ok(receipt) => match receipt.results() {
                [OperationResult::Counter(sum)] => *sum,
                other => unreachable!("one sum, and not {other:?}"),
            },
            Err(error) => unreachable!("accepted, and not {error}"),
        };
        thread::spawn(move || (0..ADDS).map(|_| add()).collect::<Vec<i64>>())
    };
    let adders: Vec<_> = (0..ADDERS).map(adder).collect();
    let mut sums: Vec<i64> =
        adders.into_iter().flat_map(|adder| adder.join().expect("no panic")).collect();
    sums.sort_unstable();
    sums
}

fn halted_engine(subject: &mut dyn Subject, window: Window) -> (Arc<dyn Engine>, Arc<Halt>) {
    let halt = Halt::at(window);
    (subject.open(Arc::<Halt>::clone(&halt)), halt)
}

fn guard_on(engine: &Arc<dyn Engine>) -> Blocking {
    Guard::builder().on_engine(Arc::clone(engine)).expect("a thread is left").blocking()
}

/// A guard whose callers never commit on their own thread.
fn queueing_guard(engine: &Arc<dyn Engine>) -> Guard {
    let settings = Settings { inline_commits: false, ..Settings::default() };
    let builder = Guard::builder().settings(settings);
    builder.on_engine(Arc::clone(engine)).expect("a thread is left")
}

/// Gives a thread the chance to go as far as it can. Where the engine makes it wait it is still
/// running afterwards; nothing is concluded from how long it takes.
fn give_way<T>(other: &thread::JoinHandle<T>) {
    for _ in 0..2_000 {
        if other.is_finished() {
            return;
        }
        crate::clock::pause(std::time::Duration::from_micros(100));
    }
}

/// Hooks that never let a commit go on from one window.
#[derive(Debug)]
struct Stuck {
    window: Window,
}

impl Hooks for Stuck {
    fn between_read_and_commit(&self) -> BoxFuture<'_, ()> {
        self.come_by(Window::BetweenReadAndCommit)
    }

    fn after_commit_before_reply(&self) -> BoxFuture<'_, ()> {
        self.come_by(Window::AfterCommitBeforeReply)
    }
}

impl Stuck {
    fn come_by(&self, window: Window) -> BoxFuture<'_, ()> {
        if window == self.window {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }
}
