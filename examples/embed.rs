//! The guard embedded in a program: a holder that was replaced tries to write.
//!
//!   cargo run --example embed
#![expect(clippy::print_stdout, reason = "an example prints")]

use palisade::{Error, FencingToken, Grant, Guard, Rejection, WriteRequest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let guard = pollster::block_on(Guard::create(directory.path().join("store")))?.blocking();

    // Your lock service hands out the numbers. Each holder keeps the one it was given.
    let first =
        Grant::new("cache/product:17", FencingToken::generation(33)?)?.held_by("worker-a")?;
    let second =
        Grant::new("cache/product:17", FencingToken::generation(34)?)?.held_by("worker-b")?;

    // worker-a is paused, its lease runs out, worker-b takes over and fills the cache.
    let fill = WriteRequest::under(&second).put("page", "rebuilt by worker-b").build()?;
    println!("worker-b: version {}", guard.write(fill)?.version());

    // worker-a wakes up and writes.
    let late = WriteRequest::under(&first).put("page", "rebuilt by worker-a").build()?;
    match guard.write(late) {
        Err(Error::Rejected(refused @ Rejection::StaleToken { .. })) => {
            println!("worker-a: {refused}");
        }
        other => return Err(format!("the late write was not refused: {other:?}").into()),
    }

    let seen = guard.read("cache/product:17", ["page"])?;
    println!("the cache holds {:?}", seen.value("page"));
    Ok(())
}
