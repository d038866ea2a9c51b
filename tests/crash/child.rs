//! The program as a child process: lines in, lines out, and an end at any moment.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A running `palisade`.
pub(crate) struct Child {
    process: std::process::Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    errors: Option<JoinHandle<String>>,
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The lines of its output that nobody had received.
    pub(crate) output: Vec<String>,
    pub(crate) errors: String,
}

impl Child {
    /// Starts `palisade arguments --data-dir directory`.
    pub(crate) fn start(arguments: &[&str], directory: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_palisade"))
            .args(arguments)
            .arg("--data-dir")
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let (tell, output) = sync_channel(LINES_MAX);
        let lines = BufReader::new(process.stdout.take().unwrap());
        thread::spawn(move || {
            for line in whole_lines(lines) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        let mut stderr = process.stderr.take().unwrap();
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Self { input: process.stdin.take(), process, output, errors: Some(errors) }
    }

    /// Sends lines; a child that is gone does not get them.
    pub(crate) fn send(&mut self, lines: &str) {
        let input = self.input.as_mut().expect("the input is open until the end");
        input.write_all(lines.as_bytes()).and_then(|()| input.flush()).unwrap_or_default();
    }

    /// Its next line of output.
    pub(crate) fn receive(&mut self) -> String {
        self.output.recv_timeout(HANGS_AFTER).unwrap_or_else(|error| {
            let ended = self.process.try_wait();
            panic!("no answer ({error}); the child has ended: {ended:?}")
        })
    }

    /// Kill -9.
    pub(crate) fn kill(mut self) -> Ended {
        self.process.kill().unwrap();
        self.end()
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        drop(self.input.take());
        let output = self.output.iter().collect();
        let errors = self.errors.take().unwrap().join().unwrap();
        Ended { status: self.process.wait().unwrap(), output, errors }
    }
}

/// A test that fails leaves no process behind.
impl Drop for Child {
    fn drop(&mut self) {
        if thread::panicking() {
            self.process.kill().unwrap_or_default();
        }
    }
}

/// All lines that are complete; a kill may cut the last one.
fn whole_lines(mut reader: impl BufRead) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap_or_default();
        line.strip_suffix('\n').map(str::to_owned)
    })
}

/// More than a test leaves unread.
const LINES_MAX: usize = 10_000;
/// Far beyond anything that happens when all is well.
const HANGS_AFTER: Duration = Duration::from_secs(60);
