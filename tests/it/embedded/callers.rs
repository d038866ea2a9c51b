//! Many callers at once, callers that go away, too many callers, and callers that come too late.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use palisade::{
    Error, Guard, KeyOutcome, OperationResult, Outcome, Rejection, Settings, WriteBuilder,
    WriteRequest,
};

use super::gate::Gate;
use super::{Opening, Store, grant, stores};

fn write(resource: &str, build: impl FnOnce(WriteBuilder) -> WriteBuilder) -> WriteRequest {
    build(WriteRequest::under(&grant(resource, 7))).build().unwrap()
}

fn keyed(key: &str) -> WriteRequest {
    write("r", |write| write.idempotency_key(key).unwrap().add("stock", -1).min(0))
}

fn stocked(store: &Store, settings: Settings) -> Guard {
    let guard = store.open_with(Opening { settings, ..Opening::default() });
    let stock = write("r", |write| write.put_counter("stock", 100));
    pollster::block_on(guard.write(stock)).unwrap();
    guard
}

fn stock(guard: &Guard) -> i64 {
    let seen = pollster::block_on(guard.read("r", ["stock"])).unwrap();
    seen.entries[0].as_ref().unwrap().value.as_counter().unwrap()
}

fn queued() -> Settings {
    let mut settings = Settings::default();
    settings.inline_commits = false;
    settings
}

#[test]
fn sixty_four_threads_with_one_idempotency_key_decrement_once() {
    for store in stores() {
        for settings in [Settings::default(), queued()] {
            let guard = stocked(&store, settings);
            let (key, blocking) = (format!("sale-{}", stock_version(&guard)), guard.blocking());
            let receipts: Vec<_> = thread::scope(|scope| {
                let ask = || blocking.write(keyed(&key)).unwrap();
                let threads: Vec<_> = (0..64).map(|_| scope.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let applied = receipts.iter().filter(|r| r.outcome() == Outcome::Applied).count();
            assert_eq!((applied, receipts.len()), (1, 64));
            assert!(receipts.iter().all(|r| r.results() == [OperationResult::Counter(99)]));
            assert!(receipts.iter().all(|r| r.version() == receipts[0].version()));
            assert_eq!(stock(&guard), 99);
        }
    }
}

fn stock_version(guard: &Guard) -> u64 {
    pollster::block_on(guard.fence("r")).unwrap().version
}

#[test]
fn five_hundred_callers_buy_exactly_the_hundred_in_stock() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build().unwrap();
    for store in stores() {
        for (settings, sale) in [(Settings::default(), "a"), (queued(), "b")] {
            let guard = stocked(&store, settings);
            let answers = runtime.block_on(async {
                let buy = |number| {
                    let guard = guard.clone();
                    let write = keyed(&format!("{sale}-{number}"));
                    tokio::spawn(async move { guard.write(write).await })
                };
                let callers: Vec<_> = (0..500).map(buy).collect();
                let mut answers = Vec::new();
                for caller in callers {
                    answers.push(caller.await.unwrap());
                }
                answers
            });
            let mut left: Vec<i64> = Vec::new();
            let mut sold_out = 0;
            for answer in answers {
                match answer {
                    Ok(receipt) => {
                        assert_eq!(receipt.outcome(), Outcome::Applied);
                        let [OperationResult::Counter(now)] = receipt.results() else {
                            panic!("{receipt:?}");
                        };
                        left.push(*now);
                    }
                    Err(Error::Rejected(Rejection::BoundExceeded { value: 0, .. })) => {
                        sold_out += 1;
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
            left.sort_unstable();
            assert_eq!(left, (0..100).collect::<Vec<i64>>(), "each one was sold once");
            assert_eq!((sold_out, stock(&guard)), (400, 0));
        }
    }
}

#[test]
fn a_write_whose_caller_goes_away_is_decided_on_all_the_same() {
    for store in stores() {
        // On the caller's own thread: done before the future can be dropped.
        let guard = store.open();
        assert!(abandon(guard.write(write("r", |write| write.add("stock", 5)))).is_ready());
        assert_eq!(stock(&guard), 5);
        drop(guard);

        // In the queue: dropped while the commit it belongs to has not begun.
        let gate = Gate::shut();
        let guard = store.open_with(Opening { settings: queued(), hooks: gate.clone() });
        assert!(abandon(guard.write(keyed("first"))).is_pending());
        gate.wait_for_one();
        assert!(abandon(guard.write(keyed("second"))).is_pending());
        assert!(abandon(guard.claim(grant("r", 8))).is_pending());
        gate.open();
        // A retry is answered at once, behind them, by what they did.
        let receipt = pollster::block_on(guard.write(keyed("second"))).unwrap();
        assert_eq!((receipt.outcome(), receipt.version()), (Outcome::Replayed, 3));
        assert_eq!(receipt.fence().unwrap().token, grant("r", 8).token());
        assert_eq!(stock(&guard), 3);
    }
}

#[test]
fn a_write_that_was_never_polled_was_never_sent() {
    for store in stores() {
        let guard = store.open();
        drop(guard.write(write("r", |write| write.put("key", "value"))));
        drop(guard.claim(grant("r", 8)));
        let head = pollster::block_on(guard.fence("r")).unwrap();
        assert_eq!((head.fence, head.version), (None, 0));
    }
}

#[test]
fn what_waits_when_the_last_guard_goes_away_is_still_decided_on() {
    for store in stores() {
        let gate = Gate::shut();
        let guard = store.open_with(Opening { settings: queued(), hooks: gate.clone() });
        for number in 0..10 {
            let add = write("r", |write| write.add("stock", 1).put(number.to_string(), ""));
            assert!(abandon(guard.write(add)).is_pending());
        }
        gate.wait_for_one();
        // It stops before anything is let through, and the others wait still.
        assert!(abandon(guard.shut_down()).is_pending());
        thread::scope(|scope| {
            scope.spawn(move || drop(guard));
            gate.open();
        });
        assert_eq!(stock(&store.open()), 10);
    }
}

/// Polls `future` once and drops it.
fn abandon<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_full_queue_answers_at_once_and_what_it_refused_is_never_applied() {
    let mut by_requests = queued();
    by_requests.queue_requests_max = 2;
    let mut by_bytes = queued();
    by_bytes.queue_bytes_max = 2 * keyed("1").size();
    for settings in [by_requests, by_bytes] {
        for store in stores() {
            drop(stocked(&store, Settings::default()));
            overfill(&store, settings.clone());
            let guard = store.open();
            let over = pollster::block_on(guard.key_state("r", "4")).unwrap();
            assert_eq!((over.outcome, stock(&guard)), (KeyOutcome::NotApplied, 97));
        }
    }
}

/// Halts one write in its commit, fills the queue with two, and sees the fourth one refused.
fn overfill(store: &Store, settings: Settings) {
    let gate = Gate::shut();
    let guard = store.open_with(Opening { settings, hooks: gate.clone() });
    assert!(abandon(guard.write(keyed("1"))).is_pending());
    gate.wait_for_one();
    assert!(abandon(guard.write(keyed("2"))).is_pending());
    let mut third = pin!(guard.write(keyed("3")));
    assert!(third.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let Poll::Ready(Err(error)) = abandon(guard.write(keyed("4"))) else {
        panic!("the third one in a queue for two was not refused at once");
    };
    assert!(error.definitely_not_applied());
    assert!(matches!(error, Error::Overloaded { waiting_requests: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("back off and ask again"), "{error}");
    gate.open();
    assert_eq!(pollster::block_on(third).unwrap().outcome(), Outcome::Applied);
    let second = pollster::block_on(guard.write(keyed("2"))).unwrap();
    assert_eq!(second.outcome(), Outcome::Replayed, "it waited, and there is room again");
}

#[test]
fn a_guard_that_shuts_down_answers_what_it_took_and_takes_nothing_new() {
    for store in stores() {
        shut_down_under_way(&store);
        let guard = store.open();
        let late = pollster::block_on(guard.key_state("r", "late")).unwrap();
        assert_eq!(late.outcome, KeyOutcome::NotApplied);
        let token = late.fence.unwrap().token;
        assert_eq!(token, grant("r", 7).token(), "the refused claim raised nothing");
    }
}

fn shut_down_under_way(store: &Store) {
    let gate = Gate::shut();
    let hooks = gate.clone();
    let guard = store.open_with(Opening { settings: queued(), hooks });
    let mut context = Context::from_waker(Waker::noop());
    let mut taken = pin!(guard.write(keyed("taken")));
    assert!(taken.as_mut().poll(&mut context).is_pending());
    gate.wait_for_one();
    let mut waiting = pin!(guard.claim(grant("r", 7)));
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    let mut shutting = pin!(guard.shut_down());
    assert!(shutting.as_mut().poll(&mut context).is_pending(), "two are not answered yet");

    let Poll::Ready(Err(error)) = abandon(guard.write(keyed("late"))) else {
        panic!("a guard that shuts down took a write");
    };
    assert!(matches!(error, Error::Closing), "{error:?}");
    assert!(error.definitely_not_applied());
    assert!(matches!(abandon(guard.claim(grant("r", 9))), Poll::Ready(Err(Error::Closing))));

    gate.open();
    pollster::block_on(shutting);
    let Poll::Ready(Err(rejected)) = taken.poll(&mut context) else {
        panic!("shut down, and what it was deciding on is not answered");
    };
    assert_eq!(rejected.reason(), "BOUND_EXCEEDED", "it was decided on: the stock is 0");
    let answer = waiting.poll(&mut context);
    assert!(matches!(answer, Poll::Ready(Ok(_))), "shut down, and what waited is not answered");
    pollster::block_on(guard.shut_down());
}

#[test]
fn one_cached_head_and_many_give_the_same_answers() {
    let run = |entries: usize| -> Vec<String> {
        let [_, store] = stores();
        let mut settings = Settings::default();
        settings.head_cache_entries_max = entries;
        let guard = store.open_with(Opening { settings, ..Opening::default() });
        let mut answers = Vec::new();
        let (mut random, names) = (1_u64, ["a", "b", "c", "d"]);
        for step in 0..400_u64 {
            // A small step of a linear congruence, the same in every run.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let pick = |n: u64, shift: u32| (random >> shift) % n;
            let grant =
                grant(names[usize::try_from(pick(4, 33)).unwrap()], 1 + step / 60 + pick(4, 40));
            answers.push(pollster::block_on(async {
                match pick(20, 45) {
                    0 => format!("{:?}", guard.claim(grant).await),
                    1 => format!("{:?}", guard.close(grant).await),
                    2 => format!("{:?}", guard.retire(grant).await),
                    3 => format!("{:?}", guard.read(grant.resource(), ["n"]).await),
                    _ => {
                        let write = WriteRequest::under(&grant).add("n", 1).max(9);
                        format!("{:?}", guard.write(write.build().unwrap()).await)
                    }
                }
            }));
        }
        answers
    };
    let (few, many) = (run(1), run(65_536));
    for (step, (few, many)) in few.iter().zip(&many).enumerate() {
        assert_eq!(few, many, "step {step}");
    }
    assert!(many.iter().filter(|answer| answer.starts_with("Ok(Receipt")).count() > 50);
    assert!(many.iter().filter(|answer| answer.contains("StaleToken")).count() > 50);
}
