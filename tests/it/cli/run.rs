//! Running the program, and what came of it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// A directory with a store in it.
pub(super) struct Store {
    folder: TempDir,
}

/// What one run of the program came to.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) code: i32,
    pub(super) out: Vec<u8>,
    pub(super) err: String,
}

impl Store {
    /// A new store.
    pub(super) fn new() -> Self {
        let store = Self::missing();
        store.run("init").succeeds();
        store
    }

    /// The place for a store.
    pub(super) fn missing() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// `palisade` with these words as its arguments.
    pub(super) fn run(&self, arguments: &str) -> Done {
        self.run_with(arguments.split_whitespace(), b"")
    }

    /// With arguments that are no mere words, and something to read.
    pub(super) fn run_with<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Done {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // Beside the reading of the output, as neither pipe holds everything. One that does not
        // read to the end is no error.
        let writer = thread::spawn(move || stdin.write_all(&input).is_ok());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Done {
            code: output.status.code().expect("no signal ended it"),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The answers of `apply` to these lines.
    pub(super) fn apply(&self, lines: &[&str]) -> Vec<Value> {
        self.run_with(["apply"], lines.join("\n").as_bytes()).json_lines()
    }

    /// The command, with its input and output open and no settings from the environment.
    pub(super) fn command<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = program();
        command.arg("--data-dir").arg(self.path()).args(arguments);
        command
    }
}

/// The program without any argument.
pub(super) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_palisade"));
    let settings = std::env::vars_os().map(|(name, _)| name);
    for name in settings.filter(|name| name.to_string_lossy().starts_with("PALISADE_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Done {
    pub(super) fn succeeds(self) -> Self {
        self.exits(0)
    }

    #[track_caller]
    pub(super) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{} {}", String::from_utf8_lossy(&self.out), self.err);
        self
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap()
    }

    pub(super) fn json_lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The one line on standard error.
    #[track_caller]
    pub(super) fn complaint(&self) -> &str {
        let line = self.err.strip_suffix('\n').expect("a whole line");
        assert!(!line.contains('\n'), "more than one line: {line}");
        assert!(self.out.is_empty(), "an error left something in the output: {}", self.text());
        line
    }

    /// The one object on standard error; it has all four parts of an error.
    #[track_caller]
    pub(super) fn error(&self) -> Value {
        let error: Value = serde_json::from_str(self.complaint()).unwrap();
        let names: Vec<&String> = error.as_object().unwrap().keys().collect();
        assert_eq!(names, ["reason", "applied", "message", "metadata"]);
        error
    }
}

/// `apply`, with somebody at the other end who waits for each answer.
pub(super) struct Conversation {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
}

impl Conversation {
    pub(super) fn with(store: &Store, arguments: &str) -> Self {
        let words = ["apply"].into_iter().chain(arguments.split_whitespace());
        let mut child = store.command(words).spawn().unwrap();
        let requests = child.stdin.take();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, answers) = sync_channel(1_000);
        thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, requests, answers }
    }

    pub(super) fn say(&mut self, line: &str) {
        writeln!(self.requests.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next answer, which must not need another line to come out.
    pub(super) fn hear(&self) -> Value {
        let line = self.answers.recv_timeout(Duration::from_secs(60)).expect("an answer in time");
        serde_json::from_str(&line).unwrap()
    }

    pub(super) fn end(&mut self) -> i32 {
        drop(self.requests.take());
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // Most have ended by themselves; only a failing test leaves one behind.
        let _ended = self.child.kill().is_err();
        let _reaped = self.child.wait().is_ok();
    }
}
