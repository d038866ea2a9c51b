//! Behaviour, through public interfaces.
#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on says where, and fails"
)]

mod cli;
mod embedded;
mod format;
mod model;
