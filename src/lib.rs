//! The storage side of a distributed lock.
//!
//! A lock can expire while its holder is paused; the holder wakes and writes over its successor.
//! Only the resource can stop that write. Palisade is that resource: for every resource it keeps
//! the highest fencing token it has accepted, and refuses anything older, in the same atomic,
//! durable step that stores the data.
//!
//! ```
//! use palisade::{FencingToken, Grant, Guard, WriteRequest};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # pollster::block_on(async {
//! let guard = Guard::in_memory()?; // or Guard::create("data/orders").await?
//! // The token is the one your lock returned when it was acquired.
//! let grant = Grant::new("orders/7", FencingToken::generation(42)?)?.held_by("lease-7f3a")?;
//! let write = WriteRequest::under(&grant)
//!     .idempotency_key("charge-7")?
//!     .put("status", "paid")
//!     .build()?;
//! let receipt = guard.write(write.clone()).await?;
//! assert_eq!(receipt.version(), 1);
//! let again = guard.write(write).await?; // the answer was lost: ask again, with the same key
//! assert_eq!(again.outcome(), palisade::Outcome::Replayed);
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # The promise
//!
//! - An older token never commits after a newer one was accepted: across restart, kill -9 and
//!   power loss, and inside one commit.
//! - An answer leaves only after everything it rests on is durable.
//! - A refusal is a promise: this delivery of the request was not and will not be applied.
//! - A write with an idempotency key is applied once, however often it is sent.
//! - What is unknown is called unknown: see [`Error::definitely_not_applied`].
//!
//! # Layout
//!
//! Lower modules never name higher ones: `limits`, [`types`], [`rule`], [`record`], then `error`,
//! [`clock`] and `settings`, then [`engine`], then `guard`. [`rule`] alone decides, and is pure;
//! an [`engine::Engine`] makes its decisions atomic and durable; the guard in front gathers the
//! requests that wait, so that many share one commit.
//!
//! # The way of one write
//!
//! 1. [`WriteRequest`] is built, and every limit is checked. An invalid one cannot exist.
//! 2. [`Guard::write`] puts it into the combiner's queue; a full queue refuses it at once.
//! 3. The combiner groups what waits by resource and hands the groups to the engine.
//! 4. The engine reads what the groups touch, asks [`rule::evaluate`], and commits once, durably.
//! 5. Answers go back, refusals too only now.

#![forbid(unsafe_code)]

/// The README's examples compile.
#[cfg(all(doctest, feature = "rocksdb"))]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod clock;
pub mod engine;
mod error;
mod guard;
pub mod limits;
pub mod record;
pub mod rule;
mod settings;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;

#[doc(inline)]
pub use error::{Error, OpenError};
pub use guard::{Blocking, Guard, GuardBuilder};
pub use rule::Rejection;
pub use settings::Settings;
pub use types::{
    Condition, Entry, Fence, FenceChange, FencingToken, Grant, Head, Holder, IdempotencyKey,
    Invalid, Key, KeyOutcome, KeyState, Operation, OperationResult, Outcome, Receipt, ResourceName,
    Snapshot, Timestamp, Value, WriteBuilder, WriteRequest,
};
