//! Acts 1 and 2: a holder is stopped, its lease runs out, a successor writes, the first one wakes
//! and writes. Without the guard to a plain file; with it through the store.

use std::fs;
use std::path::Path;

use super::claims;
use super::failure::{Doing, Result};
use super::holder::CACHE_KEY;
use super::holding::{Holding, Role, out_of_turn};
use super::lock::LockFile;
use super::log::{Act, Delivery, What};
use super::protocol::{Said, Told};
use super::stage::{Stage, tell};
use super::store::Store;
use super::wire::Answer;

pub(super) fn without_guard(stage: &mut Stage) -> Result<()> {
    stage.open(
        Act::WithoutGuard,
        "1. Without the guard: two holders of one lock, and a plain file",
    )?;
    // As if the lock had been taken forty times before.
    LockFile::create(&stage.lock(CACHE), 40).doing("make the lock's file")?;
    let file = stage.dir.join("cache-entry.txt");
    two_holders(stage, &mut Medium::File(&file))?;
    stage.judge(claims::without_guard(&stage.log))
}

pub(super) fn with_guard(stage: &mut Stage, store: &mut Store) -> Result<()> {
    let title = "2. With the guard: the same again, but both write through it, with their tokens";
    stage.open(Act::WithGuard, title)?;
    two_holders(stage, &mut Medium::Guard(store))?;
    stage.judge(claims::with_guard(&stage.log))
}

/// Where the entry is kept.
enum Medium<'a> {
    /// Whoever writes last wins.
    File(&'a Path),
    Guard(&'a mut Store),
}

const CACHE: &str = "cache/product:17";
const LEASE_MS: u32 = 1_000;
const OLD_PRICE: &str = "19.90";
const NEW_PRICE: &str = "24.90";

fn two_holders(stage: &mut Stage, medium: &mut Medium<'_>) -> Result<()> {
    let file = match medium {
        Medium::File(file) => file.to_string_lossy().into_owned(),
        Medium::Guard(_) => String::new(),
    };
    let work: &[&str] = if file.is_empty() { &["rebuild"] } else { &["rebuild-file", &file] };
    let role = |name| Role { name, resource: CACHE, lease_ms: LEASE_MS, work };

    let mut first = role("A").start(stage)?;
    asks_shop(stage, &first)?;
    stage.tell(format_args!(
        "A takes the lock: generation {}, a lease of 1 second; the shop's price is {OLD_PRICE}",
        first.token
    ))?;
    first.pause(stage)?;
    // On its way as A stops: A will read it when it wakes.
    tell(&mut first.process, &Told::Price { price: OLD_PRICE.to_owned() })?;
    stage.tell("A is paused before it can write (SIGSTOP); the price changes to 24.90")?;

    let mut second = role("B").start(stage)?;
    stage.tell(format_args!(
        "A's lease has run out, so B, which waited, takes the lock: generation {}",
        second.token
    ))?;
    asks_shop(stage, &second)?;
    tell(&mut second.process, &Told::Price { price: NEW_PRICE.to_owned() })?;
    stage.tell("B asks for the price, rebuilds the cache entry and writes it")?;
    write(stage, medium, &mut second)?;
    look(stage, medium)?;

    first.resume(stage)?;
    stage.tell("A wakes, knows nothing of all this, and writes what it has")?;
    write(stage, medium, &mut first)?;
    look(stage, medium)?;
    second.release(stage)?;
    first.process.finish()?;
    second.process.finish()
}

fn asks_shop(stage: &mut Stage, holding: &Holding) -> Result<()> {
    let said = holding.hear(stage)?;
    if matches!(said, Said::AsksShop) { Ok(()) } else { Err(out_of_turn(&said)) }
}

fn write(stage: &mut Stage, medium: &mut Medium<'_>, holding: &mut Holding) -> Result<()> {
    let holder = holding.name.clone();
    let Medium::Guard(store) = medium else {
        let said = holding.hear(stage)?;
        let Said::WroteFile { value } = said else {
            return Err(out_of_turn(&said));
        };
        return stage.note(What::WroteFile { holder, value });
    };
    let answer = holding.carry(stage, store, Delivery::Delivered)?;
    stage.add(format_args!("{answer}"))?;
    if matches!(answer, Answer::Refused(_)) {
        let said = holding.hear(stage)?;
        let Said::LostLock = said else {
            return Err(out_of_turn(&said));
        };
        stage.note(What::LostLock { holder })?;
        stage.add("A has learnt that its lock is lost, and stops")?;
    }
    Ok(())
}

/// Notes and tells what is really there.
fn look(stage: &mut Stage, medium: &mut Medium<'_>) -> Result<()> {
    let value = match medium {
        Medium::File(file) => {
            let value = fs::read_to_string(file).doing("read the cache file")?;
            stage.note(What::FileHolds { value: value.clone() })?;
            value
        }
        Medium::Guard(store) => {
            let mut reading = store.look(stage, CACHE, &[CACHE_KEY.to_owned()])?;
            reading.entries.remove(CACHE_KEY).unwrap_or_default()
        }
    };
    stage.add(format_args!("the entry is now: {value}"))
}
