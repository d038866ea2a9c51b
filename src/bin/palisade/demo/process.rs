//! Child processes, their pipes, and the one queue in which all that they say arrives.
//!
//! Invariants: no wait is without a deadline; a child that is dropped is dead, also a stopped one;
//! a line that a dying child did not finish is not a line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;

use super::failure::{Doing, Failure, Result};
use super::time::{Deadline, sleep};

/// How long the demo waits for what takes a child milliseconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Which child said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProcessId(u64);

/// Something a child said; nothing more will come after [`Line::End`].
#[derive(Debug)]
pub(super) enum Line {
    Text(Value),
    Garbled(String),
    End,
}

/// Where the lines of all children arrive.
#[derive(Debug)]
pub(super) struct Hub {
    tell: SyncSender<(ProcessId, Line)>,
    heard: Receiver<(ProcessId, Line)>,
    /// Heard while another child was listened to.
    put_by: VecDeque<(ProcessId, Line)>,
    processes: u64,
}

/// Lines that wait to be heard. A child that says more has to wait.
const LINES_MAX: usize = 1_024;

impl Hub {
    pub(super) fn new() -> Self {
        let (tell, heard) = sync_channel(LINES_MAX);
        Self { tell, heard, put_by: VecDeque::new(), processes: 0 }
    }

    /// Starts `command`, whose complaints go to the file `complaints`.
    pub(super) fn spawn(
        &mut self,
        name: &str,
        mut command: Command,
        complaints: &Path,
    ) -> Result<Process> {
        let complaints = File::options().create(true).append(true).open(complaints);
        let complaints = complaints.doing("open a log file")?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(complaints);
        let mut child = command.spawn().doing(format_args!("start {name}"))?;
        self.processes = self.processes.saturating_add(1);
        let id = ProcessId(self.processes);
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let process = Process { id, name: name.to_owned(), child, stdin };
        let stdout = stdout.ok_or_else(|| Failure::new("a child has no standard output"))?;
        let tell = self.tell.clone();
        std::thread::Builder::new()
            .name(format!("hear {name}"))
            .spawn(move || listen(BufReader::new(stdout), id, &tell))
            .doing("start a thread")?;
        Ok(process)
    }

    /// What any child says next.
    pub(super) fn next(&mut self, deadline: Deadline) -> Result<(ProcessId, Line)> {
        match self.put_by.pop_front() {
            Some(heard) => Ok(heard),
            None => self.hear(deadline),
        }
    }

    /// What `process` says next.
    pub(super) fn next_from(&mut self, process: &Process, deadline: Deadline) -> Result<Line> {
        if let Some(at) = self.put_by.iter().position(|(id, _)| *id == process.id) {
            return Ok(self.put_by.remove(at).map_or(Line::End, |(_, line)| line));
        }
        loop {
            let heard = self.hear(deadline).map_err(|_| process.is_silent())?;
            if heard.0 == process.id {
                return Ok(heard.1);
            }
            self.put_by.push_back(heard);
        }
    }

    fn hear(&self, deadline: Deadline) -> Result<(ProcessId, Line)> {
        self.heard.recv_timeout(deadline.left()).doing("wait longer for a child process")
    }
}

fn listen(mut stdout: impl BufRead, id: ProcessId, tell: &SyncSender<(ProcessId, Line)>) {
    let mut text = String::new();
    loop {
        text.clear();
        let length = stdout.read_line(&mut text).unwrap_or(0);
        let line = match text.strip_suffix('\n') {
            _ if length == 0 => Line::End,
            None => continue, // cut off by the child's death; the end follows
            Some(line) => serde_json::from_str(line)
                .map_or_else(|_| Line::Garbled(line.to_owned()), Line::Text),
        };
        let is_end = matches!(line, Line::End);
        if tell.send((id, line)).is_err() || is_end {
            return;
        }
    }
}

/// A child process. It is killed when it is dropped.
#[derive(Debug)]
pub(super) struct Process {
    id: ProcessId,
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Process {
    pub(super) fn id(&self) -> ProcessId {
        self.id
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Says a line to it.
    pub(super) fn tell(&mut self, line: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().ok_or_else(|| Failure::new("its input is closed"))?;
        let sent = writeln!(stdin, "{line}").and_then(|()| stdin.flush());
        sent.doing(format_args!("write to {}", self.name))
    }

    /// Stops it where it is, and sees that it has stopped.
    pub(super) fn pause(&self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).doing(format_args!("stop {}", self.name))?;
        let deadline = Deadline::after(PATIENCE);
        // Leaves the state where it is, so that the child's end is still there to be collected.
        let options = WaitIdOptions::STOPPED
            | WaitIdOptions::EXITED
            | WaitIdOptions::NOHANG
            | WaitIdOptions::NOWAIT;
        while !deadline.is_over() {
            match waitid(WaitId::Pid(pid), options).doing(format_args!("see {}", self.name))? {
                Some(status) if status.stopped() => return Ok(()),
                Some(_) => return Err(self.has_ended("instead of stopping")),
                None => sleep(Duration::from_millis(1)),
            }
        }
        Err(Failure::new(format!("{} does not stop", self.name)))
    }

    /// Lets it go on.
    pub(super) fn resume(&self) -> Result<()> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::CONT).doing(format_args!("resume {}", self.name))
    }

    /// Kills it: no handler of its own runs, and nothing that it holds in memory survives.
    pub(super) fn kill(&mut self) -> Result<ExitStatus> {
        self.stdin = None;
        self.child.kill().doing(format_args!("kill {}", self.name))?;
        self.child.wait().doing(format_args!("see {} dead", self.name))
    }

    /// Closes its input and waits for it to end by itself, well.
    pub(super) fn finish(mut self) -> Result<()> {
        let status = self.end()?;
        if status.success() { Ok(()) } else { Err(self.has_ended(&format!("with {status}"))) }
    }

    /// Closes its input and waits for it to end by itself.
    pub(super) fn end(&mut self) -> Result<ExitStatus> {
        self.stdin = None;
        let deadline = Deadline::after(PATIENCE);
        while !deadline.is_over() {
            match self.child.try_wait().doing(format_args!("see the end of {}", self.name))? {
                Some(status) => return Ok(status),
                None => sleep(Duration::from_millis(2)),
            }
        }
        Err(Failure::new(format!("{} does not end", self.name)))
    }

    pub(super) fn has_ended(&self, how: &str) -> Failure {
        Failure::new(format!("{} ended {how}", self.name))
    }

    pub(super) fn is_silent(&self) -> Failure {
        Failure::new(format!("{} said nothing for too long", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that is dead already is collected all the same; nobody is left to tell of an error.
        let _dead = self.child.kill();
        let _collected = self.child.wait();
    }
}
