//! Holds the place of the demonstration.

pub(crate) mod holder;

use std::process::ExitCode;

/// What `palisade demo` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(_options: &Options) -> ExitCode {
    ExitCode::FAILURE
}
