//! Behaviour, through public interfaces.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test that cannot go on says where, and fails"
)]

mod cli;
mod demo;
