//! A holder as the demo sees it: a child process that has the lock, and whose lines it carries.

use serde_json::Value;

use super::failure::{Failure, Result};
use super::log::{Delivery, What};
use super::process::Process;
use super::protocol::{Said, Told};
use super::stage::{Stage, tell};
use super::store::Store;
use super::wire::Answer;

/// What to start a holder with.
pub(super) struct Role<'a> {
    pub(super) name: &'a str,
    pub(super) resource: &'a str,
    pub(super) lease_ms: u32,
    /// The subcommand of `demo-holder`, and what it takes.
    pub(super) work: &'a [&'a str],
}

/// A holder that was granted the lock.
pub(super) struct Holding {
    pub(super) process: Process,
    pub(super) name: String,
    pub(super) token: u64,
}

impl Role<'_> {
    /// Starts a process that takes the lock, however long that may need.
    pub(super) fn start(&self, stage: &mut Stage) -> Result<Holding> {
        let process =
            stage.spawn(&format!("holder {}", self.name), &self.arguments(stage, None))?;
        let granted = stage.hear(&process)?;
        let Said::Granted { generation, granted_unix_ms, lease_until_unix_ms } = granted else {
            return Err(out_of_turn(&granted));
        };
        stage.note(What::Granted {
            holder: self.name.to_owned(),
            generation,
            from: stage.start.of_unix_ms(granted_unix_ms),
            lease_until: stage.start.of_unix_ms(lease_until_unix_ms),
        })?;
        Ok(Holding { process, name: self.name.to_owned(), token: generation })
    }

    /// Starts one more process that works under the grant of `holding`.
    pub(super) fn join(&self, stage: &mut Stage, holding: &Holding) -> Result<Process> {
        let arguments = self.arguments(stage, Some(holding.token));
        stage.spawn(&format!("a worker of {}", self.name), &arguments)
    }

    fn arguments(&self, stage: &Stage, generation: Option<u64>) -> Vec<String> {
        let mut arguments: Vec<String> = vec!["demo-holder".to_owned()];
        let mut option = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        option("--lock", stage.lock(self.resource).to_string_lossy().into_owned());
        option("--name", self.name.to_owned());
        option("--resource", self.resource.to_owned());
        option("--lease-ms", self.lease_ms.to_string());
        if let Some(generation) = generation {
            option("--generation", generation.to_string());
        }
        arguments.extend(self.work.iter().map(|&word| word.to_owned()));
        arguments
    }
}

impl Holding {
    pub(super) fn hear(&self, stage: &mut Stage) -> Result<Said> {
        stage.hear(&self.process)
    }

    /// Stops its process.
    pub(super) fn pause(&self, stage: &mut Stage) -> Result<()> {
        self.process.pause()?;
        stage.note(What::Paused { holder: self.name.clone() })
    }

    /// Lets its process go on.
    pub(super) fn resume(&self, stage: &mut Stage) -> Result<()> {
        // Noted first: what the process does from here comes after it.
        stage.note(What::Resumed { holder: self.name.clone() })?;
        self.process.resume()
    }

    /// Waits for its next request, carries it to the store, and the answer back if it is to arrive.
    pub(super) fn carry(
        &mut self,
        stage: &mut Stage,
        store: &mut Store,
        delivery: Delivery,
    ) -> Result<Answer> {
        let said = self.hear(stage)?;
        let Said::Request { name, request } = said else {
            return Err(out_of_turn(&said));
        };
        let (holder, token) = (self.name.clone(), self.token);
        stage.note(What::Sent { holder: holder.clone(), token, name: name.clone() })?;
        let line: Value = store.ask(stage, &request)?;
        let answer = Answer::parse(&line)?;
        let told = name.clone();
        stage.note(What::Answered { holder, token, name, answer: answer.clone(), delivery })?;
        match delivery {
            Delivery::Delivered => {
                tell(&mut self.process, &Told::Answer { name: told, answer: line })?;
            }
            Delivery::Lost => {}
        }
        Ok(answer)
    }

    /// Has it give the lock back.
    pub(super) fn release(&mut self, stage: &mut Stage) -> Result<()> {
        tell(&mut self.process, &Told::Release)?;
        let said = self.hear(stage)?;
        let Said::Released = said else {
            return Err(out_of_turn(&said));
        };
        stage.note(What::Released { holder: self.name.clone() })
    }
}

pub(super) fn out_of_turn(said: &Said) -> Failure {
    Failure::new(format!("a holder said {said:?} out of turn"))
}
