//! Holds the place of the demonstration's processes.

use std::process::ExitCode;

/// What `palisade demo-holder` takes.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

pub(crate) fn run(_options: &Options) -> ExitCode {
    ExitCode::FAILURE
}
