//! What a request and its answer are made of.
//!
//! Every type here is checked when it is built, so that a value which exists is valid: nothing
//! further in checks a length or a range again. Owns no decision and no stored form.

mod fingerprint;
mod grant;
mod head;
mod holder;
mod idempotency;
mod invalid;
mod name;
mod receipt;
pub(crate) mod request;
mod timestamp;
mod token;
mod value;

pub use fingerprint::Fingerprint;
pub use grant::Grant;
pub use head::{Fence, Head};
pub use holder::Holder;
pub use idempotency::IdempotencyKey;
pub use invalid::{Invalid, Problem};
pub use name::ResourceName;
pub use receipt::{
    Entry, FenceChange, KeyOutcome, KeyState, OperationResult, Outcome, Receipt, Snapshot,
};
pub use request::{Condition, FencedRead, Operation, WriteBuilder, WriteRequest};
pub use timestamp::Timestamp;
pub use token::FencingToken;
pub use value::{Key, Value, ValueBytes};
