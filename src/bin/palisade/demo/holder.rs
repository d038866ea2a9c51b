//! A lock holder as a process of its own: `palisade demo-holder`.
//!
//! It takes the lock from the coordinator's file by itself, and says on its standard output what it
//! does and what it wants sent to the store; see [`protocol`](super::protocol). It never looks at
//! the lease again before it writes. That is no carelessness: whatever it looked at could change
//! between the look and the write, because a process can be stopped between any two steps.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::failure::{Doing, Failure, Result};
use super::lock::{Attempt, LockFile};
use super::protocol::{Said, Told};
use super::time::{Deadline, sleep};
use super::wire::{self, Answer, Grant};

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The coordinator's file.
    #[arg(long)]
    lock: PathBuf,
    #[arg(long)]
    name: String,
    /// What the lock protects.
    #[arg(long)]
    resource: String,
    #[arg(long, default_value_t = 1_000)]
    lease_ms: u64,
    /// Work under this generation, which another process of the same holder was granted.
    #[arg(long)]
    generation: Option<u64>,
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum Role {
    /// Rebuild a cache entry and write it to a plain file.
    RebuildFile { file: PathBuf },
    /// Rebuild a cache entry and write it through the guard.
    Rebuild,
    /// Charge an account, and ask again if no answer comes.
    Charge,
    /// Sell one unit to each buyer.
    Sell,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    // A stopped process would outlive a demo that was killed.
    #[cfg(target_os = "linux")]
    let _best_effort =
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    match act(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _unheard = writeln!(io::stderr(), "holder {}: {failure}", options.name);
            ExitCode::FAILURE
        }
    }
}

fn act(options: &Options) -> Result<()> {
    let lock = LockFile::at(&options.lock);
    let generation = match options.generation {
        Some(generation) => generation,
        None => acquire(&lock, options)?,
    };
    let grant = Grant {
        resource: options.resource.clone(),
        token: generation,
        holder: options.name.clone(),
    };
    let inbox = listen()?;
    match &options.role {
        Role::RebuildFile { file } => {
            let value = rebuild(&inbox, &grant)?;
            fs::write(file, &value).doing("write the cache file")?;
            say(&Said::WroteFile { value })?;
        }
        Role::Rebuild => {
            let value = rebuild(&inbox, &grant)?;
            let request = grant.write(None, &json!([wire::put(CACHE_KEY, &value)]));
            if ask(&inbox, CACHE_KEY, &request)?.is_refused_for(wire::STALE_TOKEN) {
                return say(&Said::LostLock); // and stop: there is nothing to give back
            }
        }
        Role::Charge => charge(&inbox, &grant)?,
        Role::Sell => return sell(&inbox, &grant, &lock),
    }
    while let Ok(told) = inbox.recv() {
        if matches!(told, Told::Release) {
            break;
        }
    }
    release(&lock, generation)
}

pub(super) const CACHE_KEY: &str = "price";

fn acquire(lock: &LockFile, options: &Options) -> Result<u64> {
    let lease = Duration::from_millis(options.lease_ms);
    let deadline = Deadline::after(LOCK_WAIT_MAX);
    while !deadline.is_over() {
        match lock.try_acquire(&options.name, lease).doing("use the lock's file")? {
            Attempt::Granted { generation, granted_unix_ms, lease_until_unix_ms } => {
                say(&Said::Granted { generation, granted_unix_ms, lease_until_unix_ms })?;
                return Ok(generation);
            }
            Attempt::Held => sleep(Duration::from_millis(5)),
        }
    }
    Err(Failure::new("the lock never became free"))
}

/// Longer than any lease of the demo.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(20);

fn release(lock: &LockFile, generation: u64) -> Result<()> {
    lock.release(generation).doing("use the lock's file")?;
    say(&Said::Released)
}

/// Works out what belongs into the cache: here, the shop's price and who asked.
fn rebuild(inbox: &Receiver<Told>, grant: &Grant) -> Result<String> {
    say(&Said::AsksShop)?;
    let told = hear(inbox)?;
    let Told::Price { price } = told else {
        return Err(unexpected(&told));
    };
    Ok(format!("{price} (written by {}, token {})", grant.holder, grant.token))
}

fn charge(inbox: &Receiver<Told>, grant: &Grant) -> Result<()> {
    let open = grant.write(None, &json!([wire::put_counter(BALANCE_KEY, BALANCE)]));
    ask(inbox, "open the account", &open)?;
    let charge = |amount| grant.write(Some(CHARGE), &json!([wire::take(BALANCE_KEY, amount)]));
    say(&Said::Request { name: CHARGE.to_owned(), request: charge(CHARGED) })?;
    if inbox.recv_timeout(ANSWER_WAIT).is_ok() {
        return Err(Failure::new("the answer that was to be lost has come"));
    }
    ask(inbox, CHARGE, &charge(CHARGED))?;
    ask(inbox, OTHER_CHARGE, &charge(CHARGED_BY_MISTAKE))?;
    Ok(())
}

pub(super) const BALANCE_KEY: &str = "balance";
pub(super) const BALANCE: i64 = 100;
pub(super) const CHARGE: &str = "charge-7";
pub(super) const CHARGED: i64 = 30;
pub(super) const OTHER_CHARGE: &str = "charge-7, another amount";
pub(super) const CHARGED_BY_MISTAKE: i64 = 35;
pub(super) const ANSWER_WAIT: Duration = Duration::from_millis(300);

/// One order for each buyer, all under one grant. An order whose outcome is unknown is sent again as
/// it was, with its key; after a refusal by the fence nothing more is sent.
fn sell(inbox: &Receiver<Told>, grant: &Grant, lock: &LockFile) -> Result<()> {
    let mut open: BTreeMap<String, Value> = BTreeMap::new();
    let mut is_holder = true;
    while let Ok(told) = inbox.recv() {
        match told {
            Told::Buyer { number } => {
                let name = order(number);
                if !is_holder {
                    say(&Said::GaveUp { name })?;
                    continue;
                }
                let buyer = format!("buyer {number}");
                let operations = json!([wire::take(STOCK_KEY, 1), wire::put(&name, &buyer)]);
                let request = grant.write(Some(&name), &operations);
                open.insert(name.clone(), request.clone());
                say(&Said::Request { name, request })?;
            }
            Told::Answer { name, answer } => {
                let answer = Answer::parse(&answer)?;
                let Some(request) = open.remove(&name) else {
                    return Err(Failure::new(format!("nobody asked about {name}")));
                };
                if answer.is_refused_for(wire::OUTCOME_UNKNOWN) {
                    open.insert(name.clone(), request.clone());
                    say(&Said::Request { name, request })?;
                } else if answer.is_refused_for(wire::STALE_TOKEN) && is_holder {
                    is_holder = false;
                    say(&Said::LostLock)?;
                }
            }
            Told::Release => release(lock, grant.token)?,
            Told::Price { .. } => return Err(unexpected(&told)),
        }
    }
    Ok(())
}

pub(super) const STOCK_KEY: &str = "stock";

/// The name of a buyer's order: idempotency key, key of the stored order, name of the request.
pub(super) fn order(buyer: u32) -> String {
    format!("order/{buyer:04}")
}

/// The buyer whose order has that name.
pub(super) fn buyer(order: &str) -> Option<u32> {
    order.strip_prefix("order/")?.parse().ok()
}

/// Has `request` sent, and waits for its answer.
fn ask(inbox: &Receiver<Told>, name: &str, request: &Value) -> Result<Answer> {
    say(&Said::Request { name: name.to_owned(), request: request.clone() })?;
    let told = hear(inbox)?;
    let Told::Answer { answer, .. } = told else {
        return Err(unexpected(&told));
    };
    Answer::parse(&answer)
}

fn hear(inbox: &Receiver<Told>) -> Result<Told> {
    inbox.recv().doing("hear from the demo")
}

fn unexpected(told: &Told) -> Failure {
    Failure::new(format!("was told {told:?} out of turn"))
}

fn say(said: &Said) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let line = serde_json::to_string(said).doing("write JSON")?;
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).doing("speak to the demo")
}

/// What the demo says, from a thread of its own, so that waiting for it can have an end.
fn listen() -> Result<Receiver<Told>> {
    let (tell, inbox) = sync_channel(TOLD_MAX);
    let hear = move || {
        for line in io::stdin().lock().lines() {
            let Some(told) = line.ok().and_then(|line| serde_json::from_str(&line).ok()) else {
                return;
            };
            if tell.send(told).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("hear".to_owned()).spawn(hear).doing("start a thread")?;
    Ok(inbox)
}

/// What the demo may say ahead of the holder.
const TOLD_MAX: usize = 1_024;
