//! The guard inside a tokio runtime.
//!
//! Callers commit on their own thread, in the middle of a task, and tokio gives a task a budget: once
//! it is used up, tokio's own primitives stay pending until the task yields. A wait that never
//! yields would then spin for ever. The tests go far beyond the budget without yielding.

use palisade::{FencingToken, Grant, Guard, WriteRequest};

const FAR_BEYOND_THE_BUDGET: i64 = 2_000;

fn add() -> WriteRequest {
    let grant = Grant::new("r", FencingToken::generation(1).unwrap()).unwrap();
    WriteRequest::under(&grant).add("n", 1).build().unwrap()
}

#[tokio::test]
async fn a_task_may_write_on_and_on() {
    let guard = Guard::in_memory().unwrap();
    for _ in 0..FAR_BEYOND_THE_BUDGET {
        guard.write(add()).await.unwrap();
    }
    let seen = guard.read("r", ["n"]).await.unwrap();
    assert_eq!(seen.version, 2_000);
}

#[tokio::test]
async fn the_blocking_face_works_inside_a_task_too() {
    let mut settings = palisade::Settings::default();
    for inline_commits in [true, false] {
        settings.inline_commits = inline_commits;
        let guard = Guard::builder().settings(settings.clone()).in_memory().unwrap().blocking();
        for _ in 0..FAR_BEYOND_THE_BUDGET {
            guard.write(add()).unwrap();
        }
        guard.shut_down();
    }
}
