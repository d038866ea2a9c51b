//! What every act needs: where things are, the children's queue, the log, and the story's voice.

use std::fmt;
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, Stdout, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::claims::Claim;
use super::failure::{Doing, Failure, Result};
use super::log::{Act, Event, What};
use super::process::{Hub, Line, PATIENCE, Process};
use super::protocol::{Said, Told};
use super::time::{Deadline, Start};

pub(super) struct Stage {
    pub(super) dir: PathBuf,
    pub(super) hub: Hub,
    pub(super) log: Vec<Event>,
    pub(super) start: Start,
    pub(super) claims: Vec<Claim>,
    act: Act,
    act_start: Duration,
    program: PathBuf,
    log_file: BufWriter<File>,
    stdout: Stdout,
    is_colored: bool,
}

impl Stage {
    pub(super) fn new(dir: &Path, program: PathBuf) -> Result<Self> {
        let log_file = File::create(dir.join(LOG)).doing("write the log")?;
        Ok(Self {
            dir: dir.to_owned(),
            hub: Hub::new(),
            log: Vec::new(),
            start: Start::now(),
            claims: Vec::new(),
            act: Act::WithoutGuard,
            act_start: Duration::ZERO,
            program,
            log_file: BufWriter::new(log_file),
            stdout: stdout(),
            is_colored: stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        })
    }

    /// Begins an act: what happens from here belongs to it.
    pub(super) fn open(&mut self, act: Act, title: &str) -> Result<()> {
        self.act = act;
        self.act_start = self.start.elapsed();
        self.say("")?;
        let title = self.painted("1", title);
        self.say(&title)
    }

    /// The coordinator's file for the lock of `resource`.
    pub(super) fn lock(&self, resource: &str) -> PathBuf {
        self.dir.join(format!("lock-{}.json", resource.replace(['/', ':'], "-")))
    }

    /// Tells what has just happened, with the seconds since the act began.
    pub(super) fn tell(&self, text: impl fmt::Display) -> Result<()> {
        let since = self.start.elapsed().saturating_sub(self.act_start).as_secs_f64();
        self.say(&format!("   {since:6.2} s   {text}"))
    }

    /// Tells a part of the story. An empty text is an empty line.
    pub(super) fn say(&self, text: &str) -> Result<()> {
        let mut stdout = self.stdout.lock();
        match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::unheard()),
            told => told.doing("tell the story"),
        }
    }

    /// Tells more of what has just happened.
    pub(super) fn add(&self, text: impl fmt::Display) -> Result<()> {
        self.say(&format!("              {text}"))
    }

    /// Tells which claims of an act hold.
    pub(super) fn judge(&mut self, claims: Vec<Claim>) -> Result<()> {
        for claim in claims {
            let mark = if claim.is_held { ("32", "[held]") } else { ("31", "[BROKEN]") };
            self.say(&format!("   {} {}", self.painted(mark.0, mark.1), claim.text))?;
            self.claims.push(claim);
        }
        Ok(())
    }

    fn painted(&self, color: &str, text: &str) -> String {
        if self.is_colored { format!("\x1b[{color}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Notes what happens now.
    pub(super) fn note(&mut self, what: What) -> Result<()> {
        let event = Event { at: self.start.elapsed(), act: self.act, what };
        let line = serde_json::to_string(&event).doing("write the log")?;
        writeln!(self.log_file, "{line}").doing("write the log")?;
        self.log.push(event);
        Ok(())
    }

    /// Makes sure that the log's file is complete.
    pub(super) fn flush_log(&mut self) -> Result<()> {
        self.log_file.flush().doing("write the log")
    }

    /// Starts this very program with other arguments.
    pub(super) fn spawn(&mut self, name: &str, arguments: &[String]) -> Result<Process> {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        // What the user has set for `palisade` is not meant for these.
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"PALISADE_") {
                command.env_remove(name);
            }
        }
        let complaints = self.dir.join(COMPLAINTS);
        self.hub.spawn(name, command, &complaints)
    }

    /// What a holder says next.
    pub(super) fn hear(&mut self, holder: &Process) -> Result<Said> {
        let line = self.hub.next_from(holder, Deadline::after(PATIENCE))?;
        said(holder, line)
    }
}

/// Every event, a line each.
const LOG: &str = "events.jsonl";

/// What the children write to their standard error.
pub(super) const COMPLAINTS: &str = "children.log";

/// What a holder's line says.
pub(super) fn said(holder: &Process, line: Line) -> Result<Said> {
    match line {
        Line::Text(line) => {
            serde_json::from_value(line).doing(format_args!("understand {}", holder.name()))
        }
        Line::Garbled(text) => {
            Err(Failure::new(format!("{} says what is no JSON: {text:?}", holder.name())))
        }
        Line::End => Err(holder.has_ended("too early")),
    }
}

/// Says something to a holder.
pub(super) fn tell(holder: &mut Process, told: &Told) -> Result<()> {
    holder.tell(&serde_json::to_value(told).doing("write JSON")?)
}
