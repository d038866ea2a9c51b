//! `apply`: a request a line in, an answer a line out, in the same order.
//!
//! Invariants: every line that is not blank has exactly one answer, and it is flushed as soon as it
//! is known; requests of one resource take effect in the order of their lines, whatever the
//! concurrency; at most that many are under way; a line that is wrong stops nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, Waker};
use std::thread;

use palisade::limits::REQUEST_BYTES_MAX;
use palisade::types::Problem;
use palisade::{Error, Guard, Invalid, ResourceName, Settings};
use parking_lot::{Condvar, Mutex};
use pollster::block_on;
use serde_json::json;

use crate::args::Apply;
use crate::failure::{Exit, Failure, error_json, exit_of};
use crate::request::{Answer, Request, Running};
use crate::{store, wire};

pub(crate) fn run(data_dir: &Path, apply: &Apply) -> Result<Exit, Failure> {
    let file = apply.file.as_deref().filter(|file| *file != Path::new("-"));
    let failed = |source| Failure::Input { path: file.map(Path::to_owned), source };
    let reader: Box<dyn BufRead> = match file {
        Some(file) => Box::new(BufReader::new(File::open(file).map_err(failed)?)),
        None => Box::new(io::stdin().lock()),
    };
    let mut lines = Lines { reader, number: 0 };
    let mut settings = Settings::default();
    let Some(queue) = apply.concurrency.checked_sub(2) else {
        let guard = store::open(data_dir, settings)?;
        return one_by_one(&mut lines, &guard, failed);
    };
    // Whoever is alone submits faster than it answers only if it does not commit by itself.
    settings.inline_commits = false;
    // What is under way is bounded here, so the queue never has to refuse it.
    let most = REQUEST_BYTES_MAX.saturating_mul(apply.concurrency);
    settings.queue_bytes_max = settings.queue_bytes_max.max(most);
    settings.queue_requests_max = settings.queue_requests_max.max(apply.concurrency);
    let guard = store::open(data_dir, settings)?;
    many_at_once(&mut lines, &guard, queue, failed)
}

fn one_by_one(
    lines: &mut Lines,
    guard: &Guard,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<Exit, Failure> {
    let mut printer = Printer::new();
    while let Some((number, request)) = lines.next().map_err(&failed)? {
        let result = match request {
            Ok(request) => block_on(request.run(guard.clone())),
            Err(invalid) => Err(invalid.into()),
        };
        printer.print(number, &result).map_err(Failure::Output)?;
    }
    Ok(printer.worst)
}

/// This thread reads and submits, another waits for the answers and prints them. One request is
/// with each, and `queue` lie between them.
fn many_at_once(
    lines: &mut Lines,
    guard: &Guard,
    queue: usize,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<Exit, Failure> {
    let (submitted, to_print) = sync_channel(queue);
    let answered = Answered::default();
    thread::scope(|scope| {
        let printer = thread::Builder::new()
            .name("palisade-answers".to_owned())
            .spawn_scoped(scope, || print_all(to_print, &answered))
            .map_err(Failure::Output)?;
        let read = Submitter { guard, submitted, answered: &answered, latest: Latest::default() }
            .submit_all(lines);
        let broken = || Err(io::Error::other("the printing thread broke down"));
        let worst = printer.join().unwrap_or_else(|_| broken()).map_err(Failure::Output)?;
        read.map_err(failed)?;
        Ok(worst)
    })
}

/// Dropped with the last line, which ends the printer too.
struct Submitter<'a> {
    guard: &'a Guard,
    submitted: SyncSender<(u64, Progress)>,
    answered: &'a Answered,
    latest: Latest,
}

impl Submitter<'_> {
    fn submit_all(mut self, lines: &mut Lines) -> io::Result<()> {
        while let Some((number, request)) = lines.next()? {
            let progress = match request {
                Ok(request) => self.begin(number, request),
                Err(invalid) => Progress::Done(Err(invalid.into())),
            };
            if self.submitted.send((number, progress)).is_err() {
                break; // nobody prints any more, and the printer knows why
            }
        }
        Ok(())
    }

    fn begin(&mut self, number: u64, request: Request) -> Progress {
        let keeps_its_turn = request.keeps_its_turn();
        if keeps_its_turn {
            self.latest.note(request.resource(), number, self.answered);
        } else {
            // It is read at once, so what stands before it has to be done, and nothing that comes
            // after it may be submitted before it is.
            self.answered.wait_for(self.latest.of(request.resource()));
        }
        let mut running = request.run(self.guard.clone());
        if !keeps_its_turn {
            return Progress::Done(block_on(running));
        }
        // The first poll submits it; whoever prints the answer drives it to its end.
        match running.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Progress::Done(result),
            Poll::Pending => Progress::UnderWay(running),
        }
    }
}

fn print_all(to_print: Receiver<(u64, Progress)>, answered: &Answered) -> io::Result<Exit> {
    let _end = End(answered);
    let mut printer = Printer::new();
    for (number, progress) in to_print {
        let result = match progress {
            Progress::Done(result) => result,
            Progress::UnderWay(running) => block_on(running),
        };
        answered.raise(number);
        printer.print(number, &result)?;
    }
    Ok(printer.worst)
}

/// A request that was submitted.
enum Progress {
    UnderWay(Running),
    Done(Result<Answer, Error>),
}

/// The number of the last line that was answered.
#[derive(Debug, Default)]
struct Answered {
    line: Mutex<u64>,
    raised: Condvar,
}

impl Answered {
    fn raise(&self, line: u64) {
        *self.line.lock() = line;
        self.raised.notify_all();
    }

    fn wait_for(&self, line: u64) {
        self.raised.wait_while(&mut self.line.lock(), |answered| *answered < line);
    }

    fn is_past(&self, line: u64) -> bool {
        *self.line.lock() >= line
    }
}

/// Once dropped, nobody answers any more, and nobody has to wait for it.
struct End<'a>(&'a Answered);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.raise(u64::MAX);
    }
}

/// The latest line of each resource that may still be under way.
#[derive(Debug, Default)]
struct Latest {
    lines: HashMap<ResourceName, u64>,
    /// How many to keep before those that are answered are dropped.
    most: usize,
}

impl Latest {
    fn note(&mut self, resource: &ResourceName, line: u64, answered: &Answered) {
        self.lines.insert(resource.clone(), line);
        if self.lines.len() > self.most {
            self.lines.retain(|_, line| !answered.is_past(*line));
            self.most = self.lines.len().saturating_mul(2).max(LATEST_KEPT_MIN);
        }
    }

    fn of(&self, resource: &ResourceName) -> u64 {
        self.lines.get(resource).copied().unwrap_or_default()
    }
}

/// The lines of the input, with their numbers.
struct Lines {
    reader: Box<dyn BufRead>,
    number: u64,
}

impl Lines {
    /// The next line that is not blank.
    fn next(&mut self) -> io::Result<Option<(u64, Result<Request, Invalid>)>> {
        loop {
            let mut line = Vec::new();
            let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
            self.reader.by_ref().take(most).read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(None);
            }
            self.number = self.number.saturating_add(1);
            if line.last() == Some(&b'\n') {
                line.pop();
            } else if line.len() > LINE_BYTES_MAX {
                let found = line.len().saturating_add(skip_line(&mut *self.reader)?);
                let problem = Problem::TooLong { found, max: LINE_BYTES_MAX, unit: "bytes" };
                return Ok(Some((self.number, Err(Invalid::new("request", problem)))));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some((self.number, wire::request(&line))));
            }
        }
    }
}

/// Passes over the rest of a line, and says how long it was.
fn skip_line(reader: &mut dyn BufRead) -> io::Result<usize> {
    let mut skipped: usize = 0;
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let rest = end.unwrap_or(bytes.len());
        let is_last = end.is_some() || bytes.is_empty();
        reader.consume(rest.saturating_add(usize::from(end.is_some())));
        skipped = skipped.saturating_add(rest);
        if is_last {
            return Ok(skipped);
        }
    }
}

/// Writes the answers, and keeps the exit code.
struct Printer {
    out: BufWriter<io::StdoutLock<'static>>,
    worst: Exit,
}

impl Printer {
    fn new() -> Self {
        Self { out: BufWriter::new(io::stdout().lock()), worst: Exit::Done }
    }

    fn print(&mut self, line: u64, result: &Result<Answer, Error>) -> io::Result<()> {
        let json = match result {
            Ok(answer) => json!({ "ok": wire::answer(answer) }),
            Err(error) => {
                self.note(error);
                json!({ "error": error_json(error, Some(line)) })
            }
        };
        serde_json::to_writer(&mut self.out, &json)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }

    /// A refusal is an answer like any other. Of the rest, what may have been applied weighs most.
    fn note(&mut self, error: &Error) {
        let exit = match error {
            Error::Rejected(_) => return,
            Error::Invalid(_)
            | Error::Overloaded { .. }
            | Error::Closing
            | Error::Unavailable { .. }
            | Error::OutcomeUnknown { .. }
            | Error::Corrupt { .. }
            | _ => exit_of(error),
        };
        let rank = |exit: Exit| BY_WEIGHT.iter().position(|other| *other == exit);
        if rank(exit) > rank(self.worst) {
            self.worst = exit;
        }
    }
}

/// The exit codes of `apply`, the lightest first.
const BY_WEIGHT: [Exit; 4] = [Exit::Done, Exit::Usage, Exit::Other, Exit::Unreachable];

/// Bytes of a line: twice a request's limit, as escapes and base64 make it longer.
const LINE_BYTES_MAX: usize = 2 * REQUEST_BYTES_MAX;

/// Resources remembered before it is worth the time to forget some.
const LATEST_KEPT_MIN: usize = 4_096;
