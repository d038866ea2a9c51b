//! The store: a process that runs `palisade apply`, asked over its pipes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::failure::{Failure, Result};
use super::log::What;
use super::process::{Line, PATIENCE, Process};
use super::stage::Stage;
use super::time::Deadline;
use super::wire::{self, Reading};

/// The process that owns the store. Its answers come in the order of the requests.
pub(super) struct Store {
    process: Process,
    dir: PathBuf,
}

impl Store {
    /// Makes an empty store and opens it.
    pub(super) fn create(stage: &mut Stage) -> Result<Self> {
        let dir = stage.dir.join("store");
        stage.spawn("palisade init", &arguments("init", &dir))?.finish()?;
        Self::open(stage, dir)
    }

    fn open(stage: &mut Stage, dir: PathBuf) -> Result<Self> {
        let mut arguments = arguments("apply", &dir);
        arguments.extend(["--concurrency".to_owned(), CONCURRENCY.to_string()]);
        let process = stage.spawn("the store", &arguments)?;
        Ok(Self { process, dir })
    }

    /// Opens the store again in a new process, after this one was killed.
    pub(super) fn reopen(&mut self, stage: &mut Stage) -> Result<()> {
        *self = Self::open(stage, self.dir.clone())?;
        Ok(())
    }

    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Sends a request and waits for its answer, while no other is on its way.
    pub(super) fn ask(&mut self, stage: &mut Stage, request: &Value) -> Result<Value> {
        self.process.tell(request)?;
        self.answer(stage)
    }

    fn answer(&mut self, stage: &mut Stage) -> Result<Value> {
        match stage.hub.next_from(&self.process, Deadline::after(PATIENCE))? {
            Line::Text(answer) => Ok(answer),
            Line::Garbled(text) => {
                Err(Failure::new(format!("the store says what is no JSON: {text:?}")))
            }
            Line::End => Err(self.process.has_ended("too early")),
        }
    }

    /// Reads `keys` and notes what is there.
    pub(super) fn look(
        &mut self,
        stage: &mut Stage,
        resource: &str,
        keys: &[String],
    ) -> Result<Reading> {
        let mut all = Reading::default();
        for some in keys.chunks(READ_KEYS_MAX) {
            let one = Reading::parse(&self.ask(stage, &wire::read(resource, some))?)?;
            all.entries.extend(one.entries);
            all.version = one.version;
            all.fence = one.fence;
        }
        stage.note(What::Read {
            resource: resource.to_owned(),
            entries: all.entries.clone(),
            version: all.version,
            fence: all.fence,
        })?;
        Ok(all)
    }

    /// Asks what became of idempotency keys, and notes it.
    pub(super) fn look_up(
        &mut self,
        stage: &mut Stage,
        resource: &str,
        keys: &[String],
    ) -> Result<()> {
        let mut applied = BTreeMap::new();
        for key in keys {
            let answer = self.ask(stage, &wire::key_state(resource, key))?;
            if let Some(version) = wire::parse_key_state(&answer)? {
                applied.insert(key.clone(), version);
            }
        }
        let (resource, asked) = (resource.to_owned(), keys.len());
        stage.note(What::KeyStates { resource, asked, applied })
    }

    /// Ends the process in good order, then has `palisade verify` read every record.
    pub(super) fn close_and_verify(mut self, stage: &mut Stage) -> Result<()> {
        // Its exit code tells that lines were refused, which is no surprise here.
        let status = self.process.end()?;
        if status.code().is_none() {
            return Err(self.process.has_ended(&format!("with {status}")));
        }
        let mut verify = stage.spawn("palisade verify", &arguments("verify", &self.dir))?;
        let sound = verify.end()?.success();
        stage.note(What::Verified { sound })
    }
}

/// Requests that the store works on at once.
const CONCURRENCY: u32 = 16;

/// Keys that one read may name.
const READ_KEYS_MAX: usize = palisade::limits::READ_KEYS_MAX;

fn arguments(verb: &str, dir: &Path) -> Vec<String> {
    vec![verb.to_owned(), "--data-dir".to_owned(), dir.to_string_lossy().into_owned()]
}
