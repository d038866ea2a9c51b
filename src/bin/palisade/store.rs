//! `init`, `info` and `verify`: the store as a whole.

use std::path::Path;

use palisade::clock::SystemClock;
use palisade::engine::{self, RocksEngine};
use palisade::{Guard, Settings};

use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Opens the store for a verb or for `apply`.
pub(crate) fn open(path: &Path, settings: Settings) -> Result<Guard, Failure> {
    Ok(pollster::block_on(Guard::builder().settings(settings).open(path))?)
}

pub(crate) fn init(path: &Path, output: Output) -> Result<Exit, Failure> {
    RocksEngine::init(path, &SystemClock)?;
    output.made(path, &engine::info(path)?)?;
    Ok(Exit::Done)
}

pub(crate) fn info(path: &Path, output: Output) -> Result<Exit, Failure> {
    output.info(&engine::info(path)?)?;
    Ok(Exit::Done)
}

pub(crate) fn verify(path: &Path, output: Output) -> Result<Exit, Failure> {
    let found = engine::verify(path, |records| {
        output.progress(&format!("{records} records read"));
    });
    output.progress("");
    let found = found?;
    output.verification(&found)?;
    Ok(if found.problems == 0 { Exit::Done } else { Exit::Other })
}
