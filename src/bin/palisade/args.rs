//! The arguments: what can be asked, in the words of the help.
//!
//! Names, tokens and keys stay text here; the library checks them, so that its errors are the same
//! on every way in. Invariant: an argument is never read as another's default.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use palisade::Invalid;

use crate::demo;

/// The storage side of a distributed lock: refuses late writes.
///
/// A lock can expire while its holder is paused; the holder wakes and writes over its successor.
/// Palisade remembers for every resource the highest fencing token it has accepted, and refuses
/// whatever comes under an older one, in the same atomic, durable step that stores the data.
///
/// A fencing token is the number your lock returned when it was acquired: 42, or 3:42 where an
/// operator has raised the epoch to 3. `palisade demo` shows all of it at work.
#[derive(Debug, Parser)]
#[command(name = "palisade", version, arg_required_else_help = true, after_help = HELP, after_long_help = LONG_HELP)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command understands.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// Directory of the store; `palisade init` makes one
    #[arg(long, value_name = "DIR", global = true, env = "PALISADE_DATA_DIR")]
    #[arg(hide_env_values = true, help_heading = GLOBAL)]
    data_dir: Option<PathBuf>,
    /// Fencing token to present, as the lock returned it: 42, or 3:42 in epoch 3
    #[arg(long, global = true, env = "PALISADE_TOKEN", hide_env_values = true)]
    #[arg(allow_negative_numbers = true, help_heading = GRANT)]
    pub(crate) token: Option<String>,
    /// Who was granted the token: the same text from all who work under one grant, or none
    #[arg(long, global = true, env = "PALISADE_HOLDER", hide_env_values = true)]
    #[arg(help_heading = GRANT)]
    pub(crate) holder: Option<String>,
    /// Name of the event (order 7, not the job), so that a retried write is applied once
    #[arg(long, value_name = "KEY", global = true, env = "PALISADE_IDEMPOTENCY_KEY")]
    #[arg(hide_env_values = true, help_heading = GRANT)]
    pub(crate) idempotency_key: Option<String>,
    /// Results and errors for people, as JSON, or as JSON on one line
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "table", global = true)]
    #[arg(env = "PALISADE_OUTPUT", hide_env_values = true, help_heading = GLOBAL)]
    pub(crate) output: Format,
    /// Print no confirmations: only what was asked for, such as a value or a sum, and errors
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub(crate) quiet: bool,
}

impl Global {
    pub(crate) fn data_dir(&self) -> Result<&Path, Invalid> {
        self.data_dir.as_deref().ok_or_else(|| {
            let expected = "given: the store's directory, with --data-dir or in PALISADE_DATA_DIR";
            Invalid::malformed("data_dir", expected)
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Table,
    Json,
    Jsonl,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Watch a stale writer being refused: the whole story, with real processes
    Demo(demo::Options),
    /// One of the demonstration's processes
    #[command(hide = true)]
    DemoHolder(demo::holder::Options),
    /// Make an empty store in a new or empty directory
    #[command(after_help = "Example:\n  palisade init --data-dir data")]
    Init,
    /// Store a value under a key
    #[command(after_help = PUT)]
    Put(Put),
    /// Print the value of a key; exit code 8 if there is none
    #[command(after_help = GET)]
    Get(Get),
    /// Delete a key; deleting an absent one is no error
    #[command(after_help = "Example:\n  palisade del orders/7 status --token 42")]
    Del(Del),
    /// Add to a counter, within bounds; a missing counter counts as 0
    #[command(after_help = ADD)]
    Add(Add),
    /// Raise the fence to the token: from here every older holder is shut out
    #[command(after_help = "Example:\n  palisade claim orders/7 --token 42 --holder worker-a")]
    Claim(On),
    /// Print keys of a resource, all at one moment, with its version and fence
    #[command(after_help = READ)]
    Read(Read),
    /// End the token's generation: from here only a newer token is accepted
    #[command(after_help = "Example:\n  palisade close orders/7 --token 42")]
    Close(On),
    /// Delete all data of a resource, then close it; its fence and version stay
    #[command(after_help = "Example:\n  palisade retire orders/7 --token 42")]
    Retire(On),
    /// Print the highest token a resource has accepted; exit code 8 if it was never seen
    #[command(after_help = "Example:\n  palisade fence orders/7")]
    Fence(On),
    /// Print what became of an idempotency key: applied, not applied, or unknown
    #[command(after_help = "Example:\n  palisade key-state orders/7 charge-7")]
    KeyState(KeyState),
    /// Answer JSON Lines requests from a file or standard input, one line each, in order
    #[command(after_help = APPLY)]
    Apply(Apply),
    /// Read every record of the store and check that it holds; changes nothing
    #[command(after_help = "Exit code 1 if anything is wrong. The store must not be in use.")]
    Verify,
    /// Print what the store says of itself
    Info,
}

#[derive(Args, Debug)]
pub(crate) struct Put {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Key inside the resource
    pub(crate) key: OsString,
    /// Value to store; `-` reads it from standard input
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: OsString,
    /// Store VALUE as a counter, for `add`
    #[arg(long)]
    pub(crate) counter: bool,
    #[command(flatten)]
    pub(crate) conditions: Conditions,
}

#[derive(Args, Debug)]
pub(crate) struct Get {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Key inside the resource
    pub(crate) key: OsString,
}

#[derive(Args, Debug)]
pub(crate) struct Del {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Key inside the resource
    pub(crate) key: OsString,
    #[command(flatten)]
    pub(crate) conditions: Conditions,
}

#[derive(Args, Debug)]
pub(crate) struct Add {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Key of the counter
    pub(crate) key: OsString,
    /// What to add; below 0 it is taken away
    #[arg(allow_negative_numbers = true, value_parser = counter)]
    pub(crate) delta: i64,
    /// Refuse, with exit code 7, if the sum would be less
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = counter)]
    pub(crate) min: Option<i64>,
    /// Refuse, with exit code 7, if the sum would be more
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = counter)]
    pub(crate) max: Option<i64>,
    #[command(flatten)]
    pub(crate) conditions: Conditions,
}

/// At most one of them.
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct Conditions {
    /// Refuse, with exit code 5, if KEY is present
    #[arg(long = "if-absent")]
    pub(crate) absent: bool,
    /// Refuse, with exit code 5, if KEY is absent
    #[arg(long = "if-present")]
    pub(crate) present: bool,
    /// Refuse, with exit code 5, unless KEY last changed at version N, as `read` prints it
    #[arg(long = "if-version", value_name = "N")]
    pub(crate) version: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct On {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
}

#[derive(Args, Debug)]
pub(crate) struct Read {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Keys inside the resource; with none, only version and fence are printed
    #[arg(value_name = "KEY")]
    pub(crate) keys: Vec<OsString>,
    /// Claim the resource under --token and read in one step: shut the old holder out, then look
    #[arg(long)]
    pub(crate) fenced: bool,
}

#[derive(Args, Debug)]
pub(crate) struct KeyState {
    /// What the lock protects, such as orders/7
    pub(crate) resource: String,
    /// Idempotency key of the write in question
    #[arg(value_name = "IDEMPOTENCY_KEY")]
    pub(crate) event: String,
}

#[derive(Args, Debug)]
pub(crate) struct Apply {
    /// File of requests; standard input if left out or `-`
    pub(crate) file: Option<PathBuf>,
    /// How many requests may be under way at once; those that wait together share one sync
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = concurrency)]
    pub(crate) concurrency: usize,
}

fn counter(text: &str) -> Result<i64, String> {
    text.parse()
        .map_err(|_| format!("it has to be a whole number from {} to {}", i64::MIN, i64::MAX))
}

fn concurrency(text: &str) -> Result<usize, String> {
    let most = CONCURRENCY_MAX;
    text.parse()
        .ok()
        .filter(|number| (1..=most).contains(number))
        .ok_or_else(|| format!("it has to be a whole number from 1 to {most}"))
}

/// More would gain nothing: it is as much as one commit decides together.
const CONCURRENCY_MAX: usize = 1_024;

const GRANT: &str = "Grant, for what changes a resource";
const GLOBAL: &str = "Global options";

const HELP: &str = "\
Example:
  export PALISADE_DATA_DIR=data
  palisade init
  palisade put orders/7 status paid --token 42
  palisade claim orders/7 --token 43                # the lock has moved on
  palisade put orders/7 status shipped --token 42   # refused, exit code 4

More, and the exit codes: palisade --help";

const LONG_HELP: &str = "\
Example:
  export PALISADE_DATA_DIR=data
  palisade init
  palisade put orders/7 status paid --token 42 --idempotency-key charge-7
  palisade get orders/7 status
  palisade add inventory/sku-42 stock -1 --min 0 --token 7
  palisade claim orders/7 --token 43                # the lock has moved on
  palisade put orders/7 status shipped --token 42   # refused, exit code 4

Exit codes:
  0  done, or recognised as a retry of what was done
  1  anything else
  2  the command or the request is wrong: fix it
  3  the store cannot be used, or the outcome is unknown: ask again with the same
     idempotency key
  4  refused by the fence: the lock is lost, stop
  5  a version is not the expected one: read again
  6  the idempotency key belongs to another write
  7  a counter would leave its bounds
  8  not found

After 2 and 4 to 8 nothing was applied. With --output json an error is an object with
`reason`, `applied`, `message` and `metadata` on standard error; every 64-bit number is text.";

const PUT: &str = "\
Examples:
  palisade put orders/7 status paid --token 42
  palisade put orders/7 status paid --token 42 --idempotency-key charge-7
  palisade put orders/7 invoice - --token 42 < invoice.pdf
  palisade put inventory/sku-42 stock 100 --counter --if-absent --token 42";

const GET: &str = "\
It needs no token, and proves none: between this and a write the lock may be lost.

Examples:
  palisade get orders/7 status
  palisade get orders/7 invoice > invoice.pdf    # one newline longer
  palisade get orders/7 status --output json     # with its version";

const ADD: &str = "\
Examples:
  palisade add inventory/sku-42 stock -1 --min 0 --token 42
  left=$(palisade add inventory/sku-42 stock -1 --min 0 --token 42 --quiet)";

const READ: &str = "\
Examples:
  palisade read orders/7 status invoice
  palisade read orders/7 status --fenced --token 43";

const APPLY: &str = r#"Requests, one JSON object a line (`token` is text or a whole number; `holder` and
`idempotency_key` may be left out):
  {"op":"write","resource":"orders/7","token":"42","holder":"a","idempotency_key":"charge-7",
   "do":[{"put":{"key":"status","value":"paid"}},
         {"put_counter":{"key":"stock","value":"100"}},
         {"add":{"key":"stock","delta":"-1","min":"0","max":"100"}},
         {"delete":{"key":"draft"}},
         {"check":{"key":"status","is":"absent"}}]}      or "present" or {"version":"3"}
  {"op":"claim","resource":"orders/7","token":"42"}      close and retire likewise
  {"op":"read","resource":"orders/7","keys":["status"]}
  {"op":"read_fenced","resource":"orders/7","token":"42","keys":["status"]}
  {"op":"fence","resource":"orders/7"}
  {"op":"key_state","resource":"orders/7","idempotency_key":"charge-7"}
Where bytes are not text, `key_base64` and `value_base64` stand in for `key` and `value`; a key
to read is then {"key_base64":"..."}. An unknown field is an error, never ignored.

Answers, one line each, in the order of the requests:
  {"ok":{"outcome":"applied","version":"7","token":"42","fence":"42","results":[null,"99"]}}
  {"error":{"reason":"STALE_TOKEN","applied":false,"message":"...","metadata":{"current":"43"}}}
`applied` is false or "unknown". A blank line has no answer.

Exit code 0 if every request was done or refused by the rules; 2 if a line is wrong; 3 if an
outcome is unknown or the store cannot be used; 1 otherwise. The lines after a wrong one are
answered all the same.

Example:
  echo '{"op":"claim","resource":"orders/7","token":"43"}' | palisade apply --data-dir data"#;
