//! Behaviour, through public interfaces.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that breaks down is a test that fails"
)]

mod embedded;
mod format;
mod model;
