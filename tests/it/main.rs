//! Behaviour, through public interfaces; one binary, because RocksDB takes long to link.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test that goes wrong shall stop"
)]

mod cli;
mod combiner;
mod demo;
mod embedded;
mod failing_disk;
mod faults;
mod format;
mod limits;
mod model;
mod rule;
mod runtime;
mod suite;
